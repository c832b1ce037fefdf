// Two runtimes of the host bind their workers to different processors, or not at all.
#include "drivers/cpu/processor_claims.hpp"

#include <cstdint>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vicinal::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Numbers that no processor has, and no other process of these tests claims.
std::vector<std::uint32_t> candidates() {
  const auto first = static_cast<std::uint32_t>(1'000'000 + getpid() % 100'000 * 10);
  return {first, first + 1, first + 2};
}

TEST(ProcessorClaims, TakeTheFirstThatNobodyHas) {
  const auto all = candidates();
  const ProcessorClaims first(all, 1);
  EXPECT_THAT(first.processors(), ElementsAre(all[0]));
  const ProcessorClaims second(all, 2);
  EXPECT_THAT(second.processors(), ElementsAre(all[1], all[2]));
}

TEST(ProcessorClaims, AreAllOrNone) {
  const auto all = candidates();
  const ProcessorClaims first(all, 2);
  const ProcessorClaims second(all, 2);
  EXPECT_THAT(second.processors(), IsEmpty());
  const ProcessorClaims third(all, 1);  // which the second did not keep
  EXPECT_THAT(third.processors(), ElementsAre(all[2]));
}

TEST(ProcessorClaims, EndWithWhoHasThem) {
  const auto all = candidates();
  {
    ProcessorClaims first(all, 3);
    const ProcessorClaims moved = std::move(first);
    EXPECT_THAT(ProcessorClaims(all, 1).processors(), IsEmpty());
  }
  EXPECT_THAT(ProcessorClaims(all, 3).processors(), ElementsAre(all[0], all[1], all[2]));
}

}  // namespace
}  // namespace vicinal::drivers
