// Bytes and times that do not fit.
#include "vicinal/units.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace vicinal {
namespace {

TEST(Duration, IsRoundedUpAndNeverLongerThanTheLongest) {
  EXPECT_EQ(duration(Bytes{1000}, BytesPerSecond{0}), Time{0});
  EXPECT_EQ(duration(Bytes{1000}, BytesPerSecond{1e9}), Time{1000});
  EXPECT_EQ(duration(Bytes{1}, BytesPerSecond{3e9}), Time{1});
  EXPECT_EQ(duration(Bytes{1ULL << 50}, BytesPerSecond{1000}), kLongestDuration);
  const Bytes most{std::numeric_limits<std::uint64_t>::max()};
  EXPECT_EQ(duration(most, BytesPerSecond{1e-300}), kLongestDuration);
}

}  // namespace
}  // namespace vicinal
