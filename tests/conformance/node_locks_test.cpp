// Four accelerators that evict all the time, beside four cores: no node's lock is taken for what another node evicts.
// Builds without NDEBUG count that, and check the order of the locks; under sanitizers the rest is checked, too.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "runtime/runtime_impl.hpp"
#include "sched/policy.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

constexpr std::size_t kData = 40;
constexpr int kTasksOfEach = 600;

// The kernel adds the first elements of its inputs, and adds the sum to each element of its output.
void add_up(KernelContext& k) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i + 1 < k.operands(); ++i) sum += *k.data<std::int64_t>(i);
  const OperandView& into = k.operand(k.operands() - 1);
  for_each_element(into, [&](std::int64_t& x) { x += sum; });
}

const Codelet kAddUp{.name = "add_up", .cpu = add_up};
class NodeLocks : public ::testing::TestWithParam<std::string_view> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(NodeLocks, OfANodeAreNotTakenForAnothersEviction) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Options options = small_options(4);
  options.accelerators = 4;
  options.accelerator_memory = kPage * 6;
  options.memory = kPage * 20;
  options.disk = folder_.path();
  options.policy = std::string(GetParam());
  runtime::RuntimeImpl impl(options, runtime::MachineSetup(options));
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < kData; ++i) {
    handles.push_back(impl.add({kPage.value, 1, kPage.value, 8}, {}, false, std::to_string(i)));
    impl.submit(set(handles.back(), 1));
  }
  std::array<std::int64_t, kData> expected;
  expected.fill(1);
  base::Random random(seed);
  for (int t = 0; t < kTasksOfEach; ++t) {
    const std::size_t a = random.below(kData);
    const std::size_t b = (a + 1 + random.below(kData - 2)) % kData;
    const std::size_t c = (b + 1) % kData == a ? (b + 2) % kData : (b + 1) % kData;
    impl.submit({.codelet = &kAddUp, .operands = {R(handles[a]), R(handles[b]), RW(handles[c])}});
    expected[c] = (expected[c] + expected[a] + expected[b]) & ((1 << 20) - 1);
  }
  impl.wait();
  std::uint64_t evictions = 0;
  for (const NodeStatistics& node : impl.statistics().nodes) evictions += node.evictions;
  EXPECT_GT(evictions, 100U);
  impl.engine().residency().check();  // throws if a lock was
  for (std::size_t i = 0; i < kData; ++i) {
    const auto acquisition = impl.acquire(handles[i], AccessMode::R);
    const auto* value =
        reinterpret_cast<const std::int64_t*>(memory::view(*handles[i].impl(), kRam).address);
    EXPECT_EQ(*value & ((1 << 20) - 1), expected[i]) << "datum " << i;
    impl.release(*acquisition);
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const sched::PolicyEntry& entry : testing::tested_policies()) all.push_back(entry.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, NodeLocks, ::testing::ValuesIn(names()),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace vicinal
