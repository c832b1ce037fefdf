#include "base/legible.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vicinal/error.hpp"

namespace vicinal::base {
namespace {

using ::testing::StartsWith;

const std::string kBad = "\xEF\xBF\xBD";  // U+FFFD

TEST(Legible, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(legible("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82\n\t"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82\n\t");
  EXPECT_EQ(legible(std::string_view("a\0b\x7F\r", 5)), "a" + kBad + "b" + kBad + kBad);
  for (const std::string_view bytes :
       {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    // Longer than need be, half a character of UTF-16, beyond U+10FFFF, cut.
    EXPECT_THAT(legible(bytes), StartsWith(kBad));
  }
}

// The table of the Unicode standard on what is replaced: each longest beginning of a character once.
TEST(Legible, ReplacesEachPieceOfACharacterOnce) {
  EXPECT_EQ(legible("\xE2\x82"), kBad);
  EXPECT_EQ(legible("\xE2\x82x"), kBad + "x");
  EXPECT_EQ(legible("\xF0\x9F\x99\xF0\x9F\x99\x82"), kBad + "\xF0\x9F\x99\x82");
  EXPECT_EQ(legible("\xC0\xAF"), kBad + kBad);
  EXPECT_EQ(legible("\xFF"), kBad);
  EXPECT_EQ(legible(""), "");
}

TEST(Legible, ReplacesWhatMovesATerminalOrTurnsTheText) {
  for (const std::string_view evil :
       {"\x1B", "\x07", "\x7F", "\b", "\r", "\xC2\x80", "\xC2\x9B", "\xC2\x9F", "\xE2\x80\xA8",
        "\xE2\x80\xA9", "\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9",
        "\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    EXPECT_EQ(legible("a" + std::string(evil) + "b"), "a" + kBad + "b");
  }
  // Their neighbours are kept: U+00A0, U+2027, U+202F, U+2065, U+206A.
  for (const std::string good :
       {"\xC2\xA0", "\xE2\x80\xA7", "\xE2\x80\xAF", "\xE2\x81\xA5", "\xE2\x81\xAA"}) {
    EXPECT_EQ(legible(good), good);
  }
}

TEST(Legible, ANameStaysInItsLine) {
  EXPECT_EQ(legible_name("a\nb\tc"), "a" + kBad + "b" + kBad + "c");
  EXPECT_EQ(legible_name("gemm(3,1,0)"), "gemm(3,1,0)");
}

TEST(Legible, TheTextOfAnErrorIs) {
  EXPECT_EQ(std::string(UsageError("task \x1B[2Jgemm\nis wrong").what()),
            "task " + kBad + "[2Jgemm\nis wrong");
}

}  // namespace
}  // namespace vicinal::base
