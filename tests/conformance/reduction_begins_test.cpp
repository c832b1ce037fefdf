// A task that reduces and becomes ready while it is still being submitted, by the end of the task before it.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "support/policy_names.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

void set_zero(KernelContext& k) {
  *k.data<std::uint64_t>(0) = 0;
}
void add_kernel(KernelContext& k) {
  *k.data<std::uint64_t>(0) += *k.data<std::uint64_t>(1);
}
void count_up(KernelContext& k) {
  ++*k.data<std::uint64_t>(0);
}
void add_both(KernelContext& k) {
  *k.data<std::uint64_t>(2) += *k.data<std::uint64_t>(0) + *k.data<std::uint64_t>(1);
}
const Codelet kZero{.name = "zero", .cpu = set_zero};
const Codelet kAdd{.name = "add", .cpu = add_kernel};
const Codelet kCount{.name = "count", .cpu = count_up};
const Codelet kAddBoth{.name = "add both", .cpu = add_both};

class ReductionBegins : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, ReductionBegins,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()));

// The tasks before it are so short that they end while its accesses are being queued. It was then given its private copy
// while the submitting thread still looked for what it reduces into: the thread sanitizer told of that, and a lock that
// was never given back ended in a run that stood still.
TEST_P(ReductionBegins, WhenAllOfItIsSubmitted) {
  constexpr std::uint64_t kRounds = 1000;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t total = 0;
  Runtime runtime({.workers = 2, .policy = GetParam(), .models = "none"});
  const Handle left = runtime.register_buffer(&a, Bytes{sizeof a}, "left");
  const Handle right = runtime.register_buffer(&b, Bytes{sizeof b}, "right");
  const Handle sum = runtime.register_buffer(&total, Bytes{sizeof total}, "sum");
  runtime.set_reduction(sum, {.neutral = &kZero, .combine = &kAdd});
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    runtime.submit({.codelet = &kCount, .operands = {RW(left)}});
    runtime.submit({.codelet = &kCount, .operands = {RW(right)}});
    runtime.submit({.codelet = &kAddBoth, .operands = {R(left), R(right), Reduce(sum)}});
  }
  runtime.unregister(sum);
  runtime.wait();
  EXPECT_EQ(total, kRounds * (kRounds + 1));  // 2 + 4 + ... + 2 kRounds
}

}  // namespace
}  // namespace vicinal
