// A worker does not ask the policy for a task where all that are ready are for processors of another kind.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "runtime/runtime_impl.hpp"
#include "sched/policy.hpp"
#include "support/small_runs.hpp"

namespace vicinal {
namespace {

// Counts the requests of workers that can run no task of the policy.
class Asked final : public sched::Policy {
 public:
  explicit Asked(std::atomic<std::size_t>& in_vain) : in_vain_(in_vain) {}
  std::string_view name() const override { return "asked"; }
  void start(sched::PolicyContext& context) override { context_ = &context; }
  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(&task); }
  graph::Task* pop(WorkerId worker) override {
    const auto first = std::ranges::find_if(
        ready_, [&](const graph::Task* task) { return context_->can_run(*task, worker); });
    if (first == ready_.end()) {
      if (!ready_.empty()) ++in_vain_;
      return nullptr;
    }
    graph::Task* const task = *first;
    ready_.erase(first);
    return task;
  }

 private:
  sched::PolicyContext* context_ = nullptr;
  std::deque<graph::Task*> ready_;
  std::atomic<std::size_t>& in_vain_;
};

TEST(ReadyByKind, CoresDoNotAskForTasksOfAccelerators) {
  constexpr std::size_t kTasks = 2000;
  std::atomic<std::size_t> in_vain{0};
  std::atomic<std::size_t> ran{0};
  const auto count = [&](KernelContext& /*context*/) { ++ran; };
  const Codelet there{.name = "there", .kernels = {{ProcessorKind::emulated, Kernel::bind(count)}}};
  const Codelet here{.name = "here", .cpu = Kernel::bind(count)};
  Options options = testing::small_options();
  options.accelerators = 1;
  options.workers = 2;
  {
    runtime::RuntimeImpl impl(options, runtime::MachineSetup(options), nullptr,
                              std::make_unique<Asked>(in_vain));
    for (std::size_t i = 0; i < kTasks; ++i) impl.submit({.codelet = &there});
    impl.wait();
    impl.submit({.codelet = &here});
    impl.wait();
  }
  EXPECT_EQ(ran, kTasks + 1);
  // Now and then a task comes between the look and the question.
  EXPECT_LT(in_vain, kTasks / 10);
}

}  // namespace
}  // namespace vicinal
