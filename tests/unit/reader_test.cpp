#include "trace/reader.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/recording_builder.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using vicinal::testing::RecordingBuilder;
using vicinal::testing::TemporaryFolder;

// "time lane event first rest...", an event each.
std::vector<std::string> events_of(const Reader& reader) {
  std::vector<std::string> lines;
  reader.each([&](const RecordedEvent& event) {
    std::string line = std::to_string(event.time) + " " + std::to_string(event.lane) + " " +
                       std::string(entry(event.event).name) + " " + std::to_string(event.first);
    for (const std::uint64_t word : event.rest) line += " " + std::to_string(word);
    lines.push_back(line);
  });
  return lines;
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    events_of(Reader(bytes, "run.vtrace"));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of_file(const std::string& path) {
  try {
    const Reader reader(path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

// Where the segments begin.
std::size_t segments_of(const RecordingBuilder& recording) {
  return kFrontBytes + recording.head().size();
}

std::vector<std::byte> changed(std::span<const std::byte> bytes, std::size_t at,
                               std::uint64_t word) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  std::memcpy(copy.data() + at, &word, sizeof word);
  return copy;
}

// --- what a good file says

TEST(Reader, GivesTheEventsOfAllThreadsInTheOrderOfTime) {
  RecordingBuilder recording;
  recording.lane(2).at(20).add(Event::task_started, 0, {7, 1});
  recording.lane(2).at(60).add(Event::task_ended, 0, {7, 0, 0});
  recording.lane(1).at(10).add(Event::worker_slept, 1);
  recording.lane(1).at(60).add(Event::worker_woke, 1);  // equal times: the lower lane first
  const Reader reader(recording.bytes(), "by hand");
  EXPECT_THAT(events_of(reader), ElementsAre("10 1 worker slept 1", "20 2 task started 0 7 1",
                                             "60 1 worker woke 1", "60 2 task ended 0 7 0 0"));
  EXPECT_TRUE(reader.is_complete());
  EXPECT_TRUE(reader.is_simulated());
  EXPECT_EQ(reader.cut_bytes(), 0U);
  EXPECT_EQ(reader.path(), "by hand");
  EXPECT_EQ(reader.recorded(), kAllCategories);
}

TEST(Reader, PutsTheSegmentsOfAThreadInOrderWhereverTheyLieInTheFile) {
  const auto slept = [](std::uint64_t time) {
    return RecordingBuilder::Words{
        time, std::uint64_t{2} << 16 | static_cast<std::uint64_t>(Event::worker_slept)};
  };
  RecordingBuilder recording;
  recording.put({.lane = 3, .number = 1, .offset = 0}, slept(30));
  recording.put({.lane = 3, .number = 0, .offset = 16}, slept(20));
  recording.put({.lane = 3, .number = 0, .offset = 0}, slept(10));
  EXPECT_THAT(events_of(Reader(recording.bytes(), "by hand")),
              ElementsAre("10 3 worker slept 0", "20 3 worker slept 0", "30 3 worker slept 0"));
}

TEST(Reader, KeepsTheOrderOfAThreadWhoseTimesGoBackward) {
  RecordingBuilder recording;
  recording.lane(0).at(50).add(Event::worker_slept, 0).at(40).add(Event::worker_woke, 0);
  recording.lane(1).at(45).add(Event::worker_slept, 1);
  EXPECT_THAT(events_of(Reader(recording.bytes(), "by hand")),
              ElementsAre("45 1 worker slept 1", "50 0 worker slept 0", "50 0 worker woke 0"));
}

TEST(Reader, ReadsTextsWithoutTheZerosBehindThem) {
  RecordingBuilder recording;
  recording.add_text(Event::mark, "eight by", 0);  // a whole word, no zero
  recording.add_text(Event::mark, "", 0);
  recording.registered(9, "A(3,4)", 4096, 1, 8);
  std::vector<std::string> texts;
  Reader(recording.bytes(), "by hand").each([&](const RecordedEvent& event) {
    texts.emplace_back(event.text());
  });
  EXPECT_THAT(texts, ElementsAre("eight by", "", "A(3,4)"));
}

TEST(Reader, TakesThePaceOfTheCounterFromItsFirstToItsLastPair) {
  RecordingBuilder recording(
      {.clock = ClockKind::counter, .origin = {.ticks = 1'000, .ns = 5'000}, .ns_per_tick = 7});
  recording.at(2'001'000).add(Event::worker_slept, 0);
  recording.at(500).add(Event::worker_woke, 0);
  // 4'000'000 ticks in 2 ms: half a nanosecond each. The pair before it says something else.
  recording.clock({.ticks = 1'000'000, .ns = 90'000});
  recording.clock({.ticks = 4'001'000, .ns = 2'005'000});
  EXPECT_THAT(events_of(Reader(recording.bytes(), "by hand")),
              ElementsAre("1000000 0 worker slept 0", "1000000 0 worker woke 0"));
}

TEST(Reader, TakesThePaceOfTheHeadWherePairsAreCloserThanAMillisecond) {
  RecordingBuilder recording(
      {.clock = ClockKind::counter, .origin = {.ticks = 1'000, .ns = 5'000}, .ns_per_tick = 0.25});
  recording.at(900).add(Event::worker_slept, 0);  // before the recording began
  recording.at(5'000).add(Event::worker_woke, 0);
  recording.clock({.ticks = 3'000, .ns = 9'000});
  EXPECT_THAT(events_of(Reader(recording.bytes(), "by hand")),
              ElementsAre("0 0 worker slept 0", "1000 0 worker woke 0"));
}

TEST(Reader, SaysHowManyEventsWereLost) {
  RecordingBuilder recording;
  recording.add(Event::events_lost, 30).lane(1).add(Event::events_lost, 12);
  EXPECT_EQ(Reader(recording.bytes(false), "cut").events_lost(), 42U);  // as far as events tell
  EXPECT_EQ(Reader(recording.bytes(true, 50), "whole").events_lost(), 50U);
}

TEST(Reader, GivesWhatTheHeadSaysOfTheRun) {
  RecordingBuilder recording(
      {.recorded = bit(Category::always) | bit(Category::memory), .run = R"({"policy":"darts"})"});
  const Reader reader(recording.bytes(), "by hand");
  EXPECT_EQ(reader.run(), R"({"policy":"darts"})");
  EXPECT_EQ(reader.recorded(), bit(Category::always) | bit(Category::memory));
}

// Of a fixed run, not of the writer: a file keeps its meaning.
TEST(Reader, ReadsPackedSegmentsByTheFormThatTheHeaderGives) {
  const auto event = static_cast<std::uint8_t>(Event::task_ended);
  const std::uint8_t bytes[] = {
      // slot 9, another head; time 100: 200; bits 0..31 differ, the first field 2 more: 4 << 1 | 1
      0x80 | 9, 0xc8, 0x01, 0x09,
      // the event and 5 words, 0x50000 | event: zigzag
      static_cast<std::uint8_t>((2 * event) | 0x80), 0x80, 0x28,
      // task 7 and run time 65
      0x05, 14, 0x82, 0x01,
      // the same slot and head; time 1 less: task 8, run time as before
      9, 0x01, 0x01, 2,
      // the same, first field 1 less: zigzag 1, << 1
      0x80 | 9, 0x00, 0x02, 0x00};
  RecordingBuilder::Words packed(1 + (sizeof bytes + 7) / 8);
  packed[0] = 15;
  std::memcpy(packed.data() + 1, bytes, sizeof bytes);
  RecordingBuilder recording;
  recording.put({.kind = SegmentHead::kPacked, .lane = 4}, packed);
  EXPECT_THAT(events_of(Reader(recording.bytes(), "by hand")),
              ElementsAre("100 4 task ended 2 7 0 65", "100 4 task ended 2 8 0 65",
                          "100 4 task ended 1 8 0 65"));
}

TEST(Reader, ReadsFilesOfTheFirstForm) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 3);
  const auto bytes = changed(recording.bytes(), 8, std::uint64_t{kByteOrder} << 32 | 1);
  EXPECT_THAT(events_of(Reader(bytes, "old")), ElementsAre("5 0 worker slept 3"));
}

// --- runs that were killed

TEST(Reader, ReadsAFileWithoutItsEnd) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0);
  const Reader reader(recording.bytes(false), "by hand");
  EXPECT_FALSE(reader.is_complete());
  EXPECT_EQ(reader.cut_bytes(), 0U);
  EXPECT_THAT(events_of(reader), ElementsAre("5 0 worker slept 0"));
}

TEST(Reader, ReadsAFileUpToItsLastWholeSegmentWhereverItWasCut) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0).cut();
  recording.at(6).add(Event::worker_woke, 0);
  const auto bytes = recording.bytes(false);
  const std::size_t segment = sizeof(SegmentHead) + 16;  // an event of two words
  const std::size_t begin = bytes.size() - 2 * segment;
  for (std::size_t size = begin; size <= bytes.size(); ++size) {
    const Reader reader(bytes.first(size), "cut");
    const std::size_t whole = (size - begin) / segment;
    EXPECT_FALSE(reader.is_complete());
    EXPECT_EQ(reader.cut_bytes(), (size - begin) % segment) << size;
    EXPECT_EQ(events_of(reader).size(), whole) << size;
  }
}

TEST(Reader, LeavesOutZerosThatTheFileSystemPutAtTheEnd) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0);
  const auto bytes = recording.bytes(false);
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.resize(longer.size() + 4096);
  const Reader reader(longer, "by hand");
  EXPECT_EQ(reader.cut_bytes(), 4096U);
  EXPECT_EQ(events_of(reader).size(), 1U);
}

// --- files of other versions

TEST(Reader, LeavesOutEventsThatItDoesNotKnow) {
  RecordingBuilder recording;
  recording.replace_head(R"({"number":4,)",
                         R"({"number":900,"name":"task dreamt","category":"tasks","fields":)"
                         R"([{"name":"of","type":"sheep"}],"tail":"images"},{"number":4,)");
  recording.at(1).add_number(900, 4, {1, 2, 3}).at(2).add(Event::worker_slept, 4);
  EXPECT_THAT(events_of(Reader(recording.bytes(), "later")), ElementsAre("2 0 worker slept 4"));
}

TEST(Reader, FindsEventsByNameWhereTheirNumbersDiffer) {
  RecordingBuilder recording;
  const auto number = static_cast<unsigned>(Event::worker_slept);
  recording.replace_head(fmt::format(R"({{"number":{},"name":"worker slept")", number),
                         R"({"number":77,"name":"worker slept")");
  recording.at(1).add_number(77, 4);
  EXPECT_THAT(events_of(Reader(recording.bytes(), "other")), ElementsAre("1 0 worker slept 4"));
}

TEST(Reader, CutsFieldsThatItDoesNotKnowFromBetweenTheOthersAndTheTail) {
  RecordingBuilder recording;
  recording.replace_head(R"({"name":"part of","type":"handle"})",
                         R"({"name":"part of","type":"handle"},{"name":"colour","type":"number"})");
  recording.add_text(Event::handle_registered, "A", 0, {3, 4096, 0, 0xc0105});
  std::string text;
  std::size_t words = 0;
  Reader(recording.bytes(), "later").each([&](const RecordedEvent& event) {
    text = event.text();
    words = event.rest.size();
  });
  EXPECT_EQ(text, "A");
  EXPECT_EQ(words, 4U);  // three fields and a word of text
}

TEST(Reader, LeavesOutAnEventWhoseFieldsMeanSomethingElse) {
  RecordingBuilder recording;
  recording.replace_head(
      R"("fields":[{"name":"node","type":"node"},{"name":"handle","type":"handle"},{"name":"used")",
      R"("fields":[{"name":"node","type":"node"},{"name":"handle","type":"handle"},{"name":"free")");
  recording.at(1).add(Event::room_taken, 0, {1, 4096}).at(2).add(Event::worker_slept, 4);
  EXPECT_THAT(events_of(Reader(recording.bytes(), "other")), ElementsAre("2 0 worker slept 4"));
}

TEST(Reader, LeavesOutAnEventWithAChoiceThatIsNew) {
  RecordingBuilder recording;
  recording.replace_head("done|failed|cancelled", "done|failed|cancelled|forgotten");
  recording.at(1).add(Event::task_ended, 0, {7, 3, 0}).at(2).add(Event::task_ended, 0, {8, 2, 0});
  EXPECT_THAT(events_of(Reader(recording.bytes(), "later")), ElementsAre("2 0 task ended 0 8 2 0"));
}

TEST(Reader, FindsRulesAndMeasuresByName) {
  Decision decision(Reason::least_cost, Among::nodes, Time{});
  decision.consider({3, {{Measure::end, 70}}}, true);
  RecordingBuilder recording;
  recording.decided(decision);
  // The names change places, so the numbers of the file mean the other one; "place" is measure 0, "end" 8.
  recording.replace_head(R"("rules":["least cost","earliest end")",
                         R"("rules":["earliest end","least cost")");
  recording.replace_head(R"("measures":["place")", R"("measures":["end")");
  recording.replace_head(R"("free at","end")", R"("free at","place")");
  std::vector<std::string> found;
  Reader(recording.bytes(), "other").each([&](const RecordedEvent& event) {
    const auto read = read_decision(event.first, event.time, event.rest);
    ASSERT_TRUE(read);
    found.emplace_back(entry(read->reason).name);
    found.emplace_back(entry(read->candidates.at(0).scores.at(0).measure).name);
  });
  EXPECT_THAT(found, ElementsAre("earliest end", "place"));
}

TEST(Reader, LeavesOutADecisionByARuleThatItDoesNotKnow) {
  RecordingBuilder recording;
  recording.decided(Decision(Reason::least_cost, Among::nodes, Time{}));
  recording.replace_head(R"("rules":["least cost")", R"("rules":["by the stars")");
  EXPECT_THAT(events_of(Reader(recording.bytes(), "later")), IsEmpty());
}

// --- what is no recording

TEST(Reader, RefusesWhatIsNoFileOfItsKindAndSaysWhatToDo) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal_of_file(folder.file("none.vtrace")),
              AllOf(HasSubstr("none.vtrace"), HasSubstr("No such file"), HasSubstr("--trace")));
  EXPECT_THAT(refusal_of_file(folder.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal_of_file("/dev/null"), HasSubstr("a device or a pipe"));
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of_file(pipe), HasSubstr("a device or a pipe"));
  const std::string path = folder.file("file");
  std::ofstream(path).flush();
  EXPECT_THAT(refusal_of_file(path),
              AllOf(HasSubstr(path), HasSubstr("byte 0: the file is empty")));
  std::ofstream(path) << "{\"traceEvents\": []}";
  EXPECT_THAT(refusal_of_file(path), HasSubstr("no recording: it does not begin with"));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  if (geteuid() != 0) {  // whom no rights stop
    EXPECT_THAT(refusal_of_file(path), HasSubstr("Permission denied"));
  }
}

TEST(Reader, ReadsAFileAsItReadsBytes) {
  const TemporaryFolder folder;
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0);
  const std::string path = folder.file("run.vtrace");
  recording.write(path);
  const Reader reader(path);
  EXPECT_THAT(events_of(reader), ElementsAre("5 0 worker slept 0"));
  EXPECT_EQ(reader.path(), path);
  EXPECT_EQ(reader.bytes(), std::filesystem::file_size(path));
}

TEST(Reader, RefusesAFileThatEndsInItsHead) {
  RecordingBuilder recording;
  const auto bytes = recording.bytes();
  for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{31}}) {
    EXPECT_THAT(refusal(bytes.first(size)),
                AllOf(HasSubstr("run.vtrace"), HasSubstr("ends before its head")));
  }
  EXPECT_THAT(refusal(bytes.first(segments_of(recording) - 1)), HasSubstr("of which"));
}

TEST(Reader, RefusesTheOtherOrderOfBytesAndLaterForms) {
  RecordingBuilder recording;
  const auto bytes = recording.bytes();
  EXPECT_THAT(refusal(changed(bytes, 8, std::uint64_t{__builtin_bswap32(kByteOrder)} << 32)),
              AllOf(HasSubstr("byte 12"), HasSubstr("other order of bytes")));
  EXPECT_THAT(refusal(changed(bytes, 8, std::uint64_t{kByteOrder} << 32 | 4)),
              AllOf(HasSubstr("byte 8"), HasSubstr("form 4, this program reads forms up to 3"),
                    HasSubstr("a later version")));
}

TEST(Reader, RefusesAHeadThatDoesNotSayWhatItMust) {
  struct Case {
    std::string from;
    std::string to;
    std::string why;
  };
  const Case cases[] = {
      {"{\"format\"", "[\"format\"", "no JSON"},
      {"vicinal recording", "vicinal ending", "\"format\""},
      {"\"clock\"", "\"watch\"", "lacks \"clock\""},
      {"\"simulated\"", "\"lunar\"", "kind of clock"},
      {"\"origin_ticks\":0", "\"origin_ticks\":9223372036854775807", "within 2^62"},
      {"\"origin_ticks\":0", "\"origin_ticks\":18446744073709551615", "within 2^62"},
      {"\"origin_ticks\":0", "\"origin_ticks\":1e99", "within 2^62"},
      {"\"ns_per_tick\":1.0", "\"ns_per_tick\":-1.0", "pace"},
      {"\"number\":1,", "\"number\":0,", "two events 0"},
      {"\"number\":1,", "\"number\":65536,", "16 bits"},
      {"task moved", "task scheduled", "an event twice"},
      {"\"rules\":[", "\"rules\":[7,", "no string"},
      {"\"origin_ns\":0", "\"origin_ns\":1e999", "no JSON"},
      {"\"run\":{}", "\"run\":3", "\"run\" is no object"},
      {"\"run\":{}", "\"run\":" + std::string(9999, '[') + std::string(9999, ']'), "in objects"},
  };
  for (const Case& each : cases) {
    RecordingBuilder recording;
    recording.replace_head(each.from, each.to);
    EXPECT_THAT(refusal(recording.bytes()),
                AllOf(HasSubstr("run.vtrace: byte "), HasSubstr(each.why)))
        << each.to.substr(0, 80);
  }
}

// --- what was one

TEST(Reader, SeesEveryBitThatIsChanged) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0).cut();
  recording.lane(1).at(6).add(Event::worker_woke, 0);
  const auto bytes = recording.bytes();
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const auto flip = [&](std::size_t bit) { copy[bit / 8] ^= std::byte{1} << bit % 8; };
  for (std::size_t bit = 0; bit < copy.size() * 8;
       bit += bit < segments_of(recording) * 8 ? 7 : 1) {
    flip(bit);
    EXPECT_THAT(refusal(copy), HasSubstr("run.vtrace: byte ")) << bit;
    flip(bit);
  }
}

TEST(Reader, SaysWhereASegmentIsDamaged) {
  RecordingBuilder recording;
  recording.at(5).add(Event::worker_slept, 0).cut();
  recording.at(6).add(Event::worker_woke, 0);
  const auto bytes = recording.bytes();
  const std::size_t second = segments_of(recording) + sizeof(SegmentHead) + 16;
  EXPECT_THAT(refusal(changed(bytes, second + sizeof(SegmentHead), 7)),
              AllOf(HasSubstr("byte " + std::to_string(second) + ": the checksum"),
                    HasSubstr("copy it anew")));
  EXPECT_THAT(refusal(changed(bytes, second, 7)), HasSubstr("no segment begins here"));
  // Longer than the file: it looks cut, but for what follows.
  const std::size_t bytes_of_second = second + offsetof(SegmentHead, bytes);
  EXPECT_THAT(refusal(changed(bytes, bytes_of_second, std::uint64_t{1} << 60)),
              AllOf(HasSubstr("byte " + std::to_string(second)), HasSubstr("another one follows")));
}

TEST(Reader, RefusesWhatLiesBehindTheEndAndWhatIsThereTwice) {
  RecordingBuilder recording;
  recording.put({.kind = SegmentHead::kEnd}, {0}).clock({});
  EXPECT_THAT(refusal(recording.bytes(false)), HasSubstr("goes on behind its end"));
  RecordingBuilder twice;
  twice.put({.lane = 1}, {0, 0x20013}).put({.lane = 1}, {0, 0x20013});
  EXPECT_THAT(refusal(twice.bytes()), HasSubstr("holds already"));
}

TEST(Reader, RefusesEventsThatCannotBe) {
  constexpr std::uint64_t kSlept = static_cast<std::uint64_t>(Event::worker_slept);
  constexpr std::uint64_t kSubmitted = static_cast<std::uint64_t>(Event::task_submitted);
  constexpr std::uint64_t kEnded = static_cast<std::uint64_t>(Event::task_ended);
  struct Case {
    RecordingBuilder::Words words;
    std::string why;
  };
  const Case cases[] = {
      {{0}, "ends within an event"},
      {{0, kSlept | 9 << 16}, "longer than its segment"},
      {{0, kSlept}, "an event of 0 words"},
      {{0, kSlept | 1 << 16}, "an event of 1 words"},
      {{0, kSlept | 3 << 16, 0}, "an event of 3 words"},
      {{0, 0xffff | 2 << 16}, "no event 65535"},
      {{std::uint64_t{1} << 63, kSlept | 2 << 16}, "time of the event"},
      {{~std::uint64_t{0} >> 1, kSlept | 2 << 16}, "time of the event"},
      {{0, kEnded | 5 << 16, 7, 3, 0}, "none of its choices"},
      {{0, kSubmitted | 6 << 16, 7, 1, 0, 1 << 4 | 9}, "mode of access"},
  };
  for (const Case& each : cases) {
    RecordingBuilder recording;
    recording.put({}, each.words);
    EXPECT_THAT(
        refusal(recording.bytes()),
        AllOf(HasSubstr("byte " + std::to_string(segments_of(recording) + sizeof(SegmentHead))),
              HasSubstr(each.why)));
  }
}

TEST(Reader, RefusesAClockThatContradictsItself) {
  RecordingBuilder recording(
      {.clock = ClockKind::counter, .origin = {.ticks = 1'000, .ns = 5'000}, .ns_per_tick = 0.25});
  recording.clock({.ticks = 1'000, .ns = 9'000'000'000});
  EXPECT_THAT(refusal(recording.bytes()), HasSubstr("clocks of the recording contradict"));
  recording.clock({.ticks = std::int64_t{1} << 62, .ns = 9'000'000'000});
  EXPECT_THAT(refusal(recording.bytes()), HasSubstr("a time that cannot be"));
}

}  // namespace
}  // namespace vicinal::trace
