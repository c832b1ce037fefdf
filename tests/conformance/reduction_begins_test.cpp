// A task that reduces and becomes ready while it is still being submitted, by the end of the task before it.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_names.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

void begin_sum(KernelContext& k) {
  *k.data<std::uint64_t>(0) = 0;
}
void add_sums(KernelContext& k) {
  *k.data<std::uint64_t>(0) += *k.data<std::uint64_t>(1);
}
void count_up(KernelContext& k) {
  ++*k.data<std::uint64_t>(0);
}
void add_pair(KernelContext& k) {
  *k.data<std::uint64_t>(2) += *k.data<std::uint64_t>(0) + *k.data<std::uint64_t>(1);
}
const Codelet kBeginSum{.name = "zero", .cpu = begin_sum};
const Codelet kAddSums{.name = "add", .cpu = add_sums};
const Codelet kCountUp{.name = "count", .cpu = count_up};
const Codelet kAddPair{.name = "add both", .cpu = add_pair};

class ReductionBegins : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, ReductionBegins,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()));

// The tasks before it are so short that they end while its accesses are being queued. It was then given its private copy
// while the submitting thread still looked for what it reduces into: the thread sanitizer told of that, and a lock that
// was never given back ended in a run that stood still. Rounds are short, so that the submission is not far ahead.
TEST_P(ReductionBegins, WhenAllOfItIsSubmitted) {
  constexpr std::uint64_t kRounds = 50;
  constexpr std::size_t kData = 8;
  std::vector<std::uint64_t> values(kData);
  std::uint64_t total = 0;
  Runtime runtime({.workers = 2, .policy = GetParam(), .models = "none"});
  std::vector<Handle> data;
  for (std::uint64_t& value : values) {
    data.push_back(runtime.register_buffer(&value, Bytes{sizeof value}, "value"));
  }
  const Handle sum = runtime.register_buffer(&total, Bytes{sizeof total}, "sum");
  runtime.set_reduction(sum, {.neutral = &kBeginSum, .combine = &kAddSums});
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const Handle value : data) runtime.submit({.codelet = &kCountUp, .operands = {RW(value)}});
    for (std::size_t d = 0; d < kData; ++d) {
      runtime.submit(
          {.codelet = &kAddPair, .operands = {R(data[d]), R(data[(d + 1) % kData]), Reduce(sum)}});
    }
    runtime.wait();
  }
  runtime.unregister(sum);
  for (const Handle value : data) runtime.unregister(value);
  EXPECT_EQ(total, kData * kRounds * (kRounds + 1));  // of each pair 2 + 4 + ... + 2 kRounds
}

}  // namespace
}  // namespace vicinal
