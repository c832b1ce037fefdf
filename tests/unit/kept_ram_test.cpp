#include "engine/kept_ram.hpp"

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

namespace vicinal::engine {
namespace {

TEST(KeptRam, GivesBlocksOfTheSameSizeAgain) {
  std::array<std::byte, 2> at{};
  KeptRam kept;
  EXPECT_EQ(kept.take(1_MiB), nullptr);
  EXPECT_EQ(kept.take(2_MiB), nullptr);
  EXPECT_TRUE(kept.keep(&at[0], 1_MiB));
  EXPECT_EQ(kept.take(2_MiB), nullptr);
  EXPECT_EQ(kept.take(1_MiB), &at[0]);
  EXPECT_EQ(kept.take(1_MiB), nullptr);
}

TEST(KeptRam, KeepsNoMoreThanIsInUse) {
  std::array<std::byte, 3> at{};
  KeptRam kept;
  for (int i = 0; i < 3; ++i) kept.take(100_MiB);
  EXPECT_TRUE(kept.keep(&at[0], 100_MiB));
  EXPECT_FALSE(kept.keep(&at[1], 100_MiB)) << "200 MiB kept, and 100 in use";
  const KeptRam::Block any = kept.take_any();
  EXPECT_EQ(any.address, &at[0]);
  EXPECT_EQ(any.bytes, 100_MiB);
  EXPECT_EQ(kept.take_any().address, nullptr);
}

}  // namespace
}  // namespace vicinal::engine
