#include "base/text.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "vicinal/error.hpp"

namespace vicinal::base {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Parse>
std::string refusal(Parse parse, std::string_view text) {
  try {
    parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string bytes_refusal(std::string_view text) {
  return refusal([](std::string_view t) { parse_bytes(t); }, text);
}

// A text that cannot be, and the reason that its refusal gives.
struct Refused {
  std::string_view text;
  std::string reason;
};
template <typename Parse>
void expect_refused(Parse parse, const std::vector<Refused>& all) {
  for (const Refused& each : all) {
    EXPECT_THAT(refusal(parse, each.text), HasSubstr(each.reason)) << '"' << each.text << '"';
  }
}

TEST(ParseBytes, AcceptsBinaryUnitsDecimalUnitsAndBareSuffixes) {
  EXPECT_EQ(parse_bytes("0").value, 0U);
  EXPECT_EQ(parse_bytes("4096").value, 4096U);
  EXPECT_EQ(parse_bytes("4096B").value, 4096U);
  EXPECT_EQ(parse_bytes("1KiB").value, 1024U);
  EXPECT_EQ(parse_bytes("800MiB").value, 838'860'800U);   // 800 * 2^20
  EXPECT_EQ(parse_bytes("3 GiB").value, 3'221'225'472U);  // 3 * 2^30
  EXPECT_EQ(parse_bytes("2TiB").value, 2'199'023'255'552U);
  EXPECT_EQ(parse_bytes("7kB").value, 7000U);
  EXPECT_EQ(parse_bytes("5MB").value, 5'000'000U);
  EXPECT_EQ(parse_bytes("1TB").value, 1'000'000'000'000U);
  EXPECT_EQ(parse_bytes("2k").value, 2048U);
  EXPECT_EQ(parse_bytes("2M").value, 2'097'152U);
  EXPECT_EQ(parse_bytes("1g").value, 1'073'741'824U);
}

TEST(ParseBytes, IgnoresSpacesAroundAndCaseButThatOfB) {
  EXPECT_EQ(parse_bytes("  64 miB\n").value, 67'108'864U);
  EXPECT_EQ(parse_bytes("64MIB").value, 67'108'864U);
}

// 1 B is 8 b.
TEST(ParseBytes, ANumberOfBitsIsRefusedWithWhatToWrite) {
  EXPECT_THAT(bytes_refusal("64 Gb"),
              AllOf(HasSubstr("gigabits? write 8 GB;"), HasSubstr("for gigabytes write 64 GB")));
  EXPECT_THAT(bytes_refusal("1mib"), HasSubstr("mebibits? write 0.125 MiB;"));
  EXPECT_THAT(bytes_refusal("16b"), HasSubstr(" bits? write 2 B; for bytes write 16 B"));
  EXPECT_THAT(bytes_refusal("100 Gb/s"),
              HasSubstr("write 12.5 GB/s; for gigabytes write 100 GB/s"));
  EXPECT_THAT(bytes_refusal("10Mbit/s"), HasSubstr("megabits? write 1.25 MB/s;"));
  EXPECT_THAT(bytes_refusal("40 Gbps"), HasSubstr("write 5 GB/s;"));
  EXPECT_THAT(bytes_refusal("40 GBps"), HasSubstr("unknown unit"));
}

TEST(ParseBytes, RoundsAFractionOfAUnitToTheNearestByte) {
  EXPECT_EQ(parse_bytes("1.5 GB").value, 1'500'000'000U);
  EXPECT_EQ(parse_bytes(".5KiB").value, 512U);
  EXPECT_EQ(parse_bytes("2.k").value, 2048U);
  EXPECT_EQ(parse_bytes("0.3KiB").value, 307U);              // 307.2
  EXPECT_EQ(parse_bytes("0.1TiB").value, 109'951'162'778U);  // 109951162777.6
}

TEST(ParseBytes, ReachesTheLargestValueAndRefusesTheNext) {
  EXPECT_EQ(parse_bytes("18446744073709551615").value, std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(bytes_refusal("18446744073709551616"), HasSubstr("too large"));
  // 2^64 = 16777216 TiB.
  EXPECT_EQ(parse_bytes("16777215TiB").value, 16777215ULL << 40);
  EXPECT_THAT(bytes_refusal("16777216TiB"), HasSubstr("too large"));
  EXPECT_THAT(bytes_refusal("16777215.9999999999999TiB"), HasSubstr("too large"));
}

TEST(ParseBytes, ARefusalNamesTheTextTheReasonAndTheForms) {
  EXPECT_THAT(bytes_refusal("12 parsecs"),
              AllOf(HasSubstr("\"12 parsecs\""), HasSubstr("unknown unit \"parsecs\""),
                    HasSubstr("KiB"), HasSubstr("kB"), HasSubstr("1.5 GB")));
  expect_refused(parse_bytes, {{"", "empty"},
                               {"  ", "empty"},
                               {"-1MiB", "negative"},
                               {"MiB", "begin with a number"},
                               {".", "begin with a number"},
                               {"1.5", "fraction of a byte"},
                               {"1.5B", "fraction of a byte"},
                               {"1 MiB 2", "unknown unit"},
                               {"1e9", "unknown unit"},
                               {"0x10", "unknown unit"},
                               {"1.2.3MB", "unknown unit"},
                               {"nan", "begin with a number"}});
}

TEST(ParseCount, AcceptsSignsAndRefusesTheRest) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(parse_count("12", 0, kMost), 12U);
  EXPECT_EQ(parse_count("+12", 0, kMost), 12U);
  EXPECT_EQ(parse_count(" -0 ", 0, kMost), 0U);
  EXPECT_EQ(parse_count("18446744073709551615", 0, kMost), kMost);
  expect_refused([](std::string_view text) { parse_count(text, 0, kMost); },
                 {{"18446744073709551616", "64 bits"},
                  {"1.5", "\"1.5\""},
                  {"4 x", "not an integer"},
                  {"+-4", "not an integer"},
                  {"+", "not an integer"},
                  {"", "empty"}});
}

TEST(ParseCount, ARefusalOutOfRangeNamesTheRange) {
  EXPECT_EQ(parse_count("64", 1, 64), 64U);
  expect_refused([](std::string_view text) { parse_count(text, 1, 64); },
                 {{"65", "\"65\""},
                  {"65", "out of range. Write an integer from 1 to 64"},
                  {"0", "out of range"},
                  {"-5", "out of range"}});
}

TEST(ParseReal, AcceptsFiniteNumbersOnly) {
  EXPECT_EQ(parse_real("0.5"), 0.5);
  EXPECT_EQ(parse_real("-3"), -3.0);
  EXPECT_EQ(parse_real("+1e-6"), 1e-6);
  expect_refused(parse_real, {{"1e999", "fit a double"},
                              {"inf", "finite"},
                              {"nan", "finite"},
                              {"0,5", "\"0,5\""},
                              {"0,5", "not a number"},
                              {"+-1", "not a number"},
                              {"", "empty"}});
}

TEST(ParseBool, AcceptsTheUsualWords) {
  for (const auto* const text : {"true", "Yes", "ON", "1", " on "}) EXPECT_TRUE(parse_bool(text));
  for (const auto* const text : {"false", "No", "OFF", "0"}) EXPECT_FALSE(parse_bool(text));
  const auto refused = refusal([](std::string_view t) { parse_bool(t); }, "maybe");
  EXPECT_THAT(refused, AllOf(HasSubstr("\"maybe\""), HasSubstr("yes"), HasSubstr("off")));
  EXPECT_THROW(parse_bool(""), UsageError);
  EXPECT_THROW(parse_bool("2"), UsageError);
}

TEST(FormatBytes, ShowsFourDigitsAndNeverTwoNamesForOneSize) {
  EXPECT_EQ(format_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(format_bytes(Bytes{1024}), "1 KiB");
  EXPECT_EQ(format_bytes(Bytes{1536}), "1.5 KiB");
  EXPECT_EQ(format_bytes(Bytes{64'000'000}), "61.04 MiB");  // 61.035...
  EXPECT_EQ(format_bytes(Bytes{(1ULL << 20) - 1}), "1 MiB");
  EXPECT_EQ(format_bytes(Bytes{~0ULL}), "16 EiB");
}

TEST(FormatBytes, WhatItWritesInWholeUnitsIsReadBack) {
  for (const std::uint64_t n : {1ULL, 512ULL, 1024ULL, 838'860'800ULL, 3ULL << 40}) {
    EXPECT_EQ(parse_bytes(format_bytes(Bytes{n})).value, n);
  }
}

TEST(FormatDuration, PicksTheUnitAfterRounding) {
  EXPECT_EQ(format_duration(Time{0}), "0 ns");
  EXPECT_EQ(format_duration(Time{999}), "999 ns");
  EXPECT_EQ(format_duration(Time{1500}), "1.5 us");
  EXPECT_EQ(format_duration(Time{999'940}), "999.9 us");
  EXPECT_EQ(format_duration(Time{999'999}), "1 ms");
  EXPECT_EQ(format_duration(Time{12'345'678'901}), "12.35 s");
  EXPECT_EQ(format_duration(Time{59'999'999'999}), "1 min 00 s");
  EXPECT_EQ(format_duration(Time{123'000'000'000}), "2 min 03 s");
  EXPECT_EQ(format_duration(Time{3'599'600'000'000}), "1 h 00 min");
  EXPECT_EQ(format_duration(Time{3'720'000'000'000}), "1 h 02 min");
  EXPECT_EQ(format_duration(Time{-1500}), "-1.5 us");
  EXPECT_EQ(format_duration(Time{std::numeric_limits<std::int64_t>::min()}), "-2562047 h 47 min");
}

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // k>s, e>i, +g
  EXPECT_EQ(edit_distance("polciy", "policy"), 1U);   // one swap
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);          // 2 only if a swapped pair were edited again
}

TEST(Nearest, FindsTheMisspeltNameAndNothingFarAway) {
  constexpr std::array<std::string_view, 5> kNames{"memory", "policy", "workers", "look_ahead",
                                                   "disk"};
  EXPECT_EQ(nearest("memroy", kNames), "memory");
  EXPECT_EQ(nearest("POLICY", kNames), "policy");
  EXPECT_EQ(nearest("look-ahead", kNames), "look_ahead");
  EXPECT_EQ(nearest("worker", kNames), "workers");
  EXPECT_EQ(nearest("mem", kNames), "memory");  // its beginning
  EXPECT_EQ(nearest("dsik", kNames), "disk");
  EXPECT_EQ(nearest("me", kNames), "");  // two letters: too little to go by
  EXPECT_EQ(nearest("temperature", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("memory", {}), "");
}

TEST(Nearest, PrefersTheFewestEditsThenTheFirstNamed) {
  constexpr std::array<std::string_view, 3> kNames{"lws", "luf", "lru"};
  EXPECT_EQ(nearest("lrf", kNames), "luf");  // luf and lru are both one edit away
  EXPECT_EQ(nearest("lru", kNames), "lru");
}

TEST(Log, SaysAnAnnouncementOnceFromHoweverManyThreads) {
  std::vector<std::string> lines;
  Log log([&](std::string_view line) { lines.emplace_back(line); });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { log.warn_once("uring", "io_uring is refused"); });
    }
  }
  EXPECT_THAT(lines, ElementsAre("vicinal: warning: io_uring is refused"));
  EXPECT_TRUE(log.announce_once("other", "hello"));
  EXPECT_FALSE(log.announce_once("other", "hello"));
  log.warn("twice");
  log.warn("twice");
  EXPECT_THAT(lines, ElementsAre("vicinal: warning: io_uring is refused", "vicinal: hello",
                                 "vicinal: warning: twice", "vicinal: warning: twice"));
}

TEST(Stem, IsWhatNumberedNamesHaveInCommon) {
  EXPECT_EQ(stem("gemm(3,4)"), "gemm");
  EXPECT_EQ(stem("tile_17"), "tile");
  EXPECT_EQ(stem("read x [2]"), "read x");
  EXPECT_EQ(stem("potrf"), "potrf");
  EXPECT_EQ(stem("17"), "");
  EXPECT_EQ(stem(""), "");
}

}  // namespace
}  // namespace vicinal::base
