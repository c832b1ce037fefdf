// A codelet's function says where its tasks run.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "vicinal/error.hpp"
#include "vicinal/placement.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A core and two accelerators, for real or simulated.
class PlacingFunction : public ::testing::TestWithParam<bool> {
 protected:
  void start(const std::string& policy = "directed") {
    if (GetParam()) {
      MachineDescription machine =
          testing::around_ram({{NodeId{0}, "ram", NodeKind::ram, std::nullopt},
                               {NodeId{1}, "one", NodeKind::device, std::nullopt},
                               {NodeId{2}, "two", NodeKind::device, std::nullopt}},
                              {});
      for (std::uint32_t w = 0; w < 3; ++w) {
        WorkerDescription worker;
        worker.id = WorkerId{w};
        worker.kind = w == 0 ? ProcessorKind::cpu : ProcessorKind::emulated;
        worker.node = NodeId{w};
        machine.workers.push_back(worker);
      }
      runtime.emplace(machine, Options{.policy = policy});
    } else {
      Options options{.workers = 1, .accelerators = 2};
      options.policy = policy;
      options.accelerator_memory = 1_MiB;
      runtime.emplace(options);
    }
    for (int i = 0; i < 4; ++i) {
      data.push_back(runtime->register_empty(Bytes{64}, "d" + std::to_string(i)));
    }
  }
  Codelet placed(std::function<Place(const Placement&)> place) const {
    Codelet codelet{.name = "work", .cpu = [](KernelContext&) {}, .place = std::move(place)};
    codelet.expected.fill(Time{1000});
    return codelet;
  }
  std::vector<std::uint64_t> tasks_by_worker() {
    runtime->wait();
    std::vector<std::uint64_t> tasks;
    for (const auto& worker : runtime->statistics().workers) tasks.push_back(worker.tasks);
    return tasks;
  }
  std::string refusal(const Codelet& codelet, const std::string& name = "t7") {
    try {
      runtime->submit({.codelet = &codelet, .operands = {W(data[0])}, .name = name});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "taken";
  }

  std::optional<Runtime> runtime;
  std::vector<Handle> data;
};

INSTANTIATE_TEST_SUITE_P(On, PlacingFunction, ::testing::Bool(), [](const auto& instance) {
  return instance.param ? "a_simulated_machine" : "this_machine";
});

TEST_P(PlacingFunction, SaysOnWhichMemoryNodeATaskRuns) {
  start();
  const Codelet codelet =
      placed([](const Placement& p) { return NodeId{p.parameter<int>() % 3 == 0 ? 2U : 1U}; });
  for (int i = 0; i < 9; ++i) {
    runtime->submit({.codelet = &codelet,
                     .operands = {W(data[static_cast<std::size_t>(i) % 4])},
                     .parameters = i});
  }
  EXPECT_THAT(tasks_by_worker(), ElementsAre(0U, 6U, 3U));
}

TEST_P(PlacingFunction, MaySayAWorkerOrNothing) {
  start();
  const Codelet codelet = placed([](const Placement& p) -> Place {
    if (p.priority() == 1) return WorkerId{0};
    if (p.priority() == 2) return WorkerId{2};
    return std::nullopt;
  });
  runtime->advise(data[3], NodeId{2});
  for (const int priority : {1, 2, 2, 0}) {
    runtime->submit({.codelet = &codelet, .operands = {W(data[3])}, .priority = priority});
  }
  EXPECT_THAT(tasks_by_worker(), ElementsAre(1U, 0U, 3U));
}

TEST_P(PlacingFunction, IsToldOfTheTaskItsOperandsAndTheMachine) {
  start();
  std::string told;
  const Codelet codelet = placed([&](const Placement& p) {
    told = p.task() + " " + std::to_string(p.operands()) + " " + p.name(0) + " " + p.name(1) + " " +
           std::to_string(p.layout(1).bytes().value) +
           (p.mode(0) == AccessMode::RW ? " RW" : " ?") + (p.handle(1) == data[2] ? " same" : "") +
           " " + std::to_string(p.advised(1).value_or(NodeId{9}).value) +
           (p.advised(0) ? " advised" : "") + " " + std::to_string(p.machine().nodes.size());
    return Place();
  });
  const Codelet plain = placed({});
  runtime->submit({.codelet = &plain, .operands = {W(data[1])}});
  runtime->submit({.codelet = &plain, .operands = {W(data[2])}});
  runtime->advise(data[2], NodeId{1});
  const Parts parts = runtime->partition(data[1], row_blocks(2));
  runtime->submit({.codelet = &codelet, .operands = {RW(parts[1]), R(data[2])}, .name = "told"});
  EXPECT_EQ(told, "told 2 d1[1] d2 64 RW same 1 3");
  runtime->wait();
}

TEST_P(PlacingFunction, IsNotAskedWhereTheTaskSaysItselfNorUnderAnotherPolicy) {
  start();
  const Codelet codelet = placed([](const Placement&) -> Place { throw Error("asked"); });
  runtime->submit({.codelet = &codelet, .operands = {W(data[0])}, .node = NodeId{1}});
  runtime->submit({.codelet = &codelet, .operands = {W(data[0])}, .worker = WorkerId{2}});
  EXPECT_THAT(tasks_by_worker(), ElementsAre(0U, 1U, 1U));
  runtime.reset();
  data.clear();
  start("eager");
  EXPECT_EQ(refusal(codelet), "taken");
  runtime->wait();
}

TEST_P(PlacingFunction, ThatThrowsIsAnErrorOfTheSubmission) {
  start();
  const Codelet throws =
      placed([](const Placement&) -> Place { throw std::runtime_error("no map"); });
  EXPECT_THAT(refusal(throws),
              AllOf(HasSubstr("codelet work"), HasSubstr("task t7"), HasSubstr("no map")));
  const Codelet throws_something = placed([](const Placement&) -> Place { throw 1; });
  EXPECT_THAT(refusal(throws_something), AllOf(HasSubstr("codelet work"), HasSubstr("task t7")));
  const Codelet misreads =
      placed([](const Placement& p) { return NodeId{p.parameter<std::uint32_t>()}; });
  EXPECT_THAT(refusal(misreads), AllOf(HasSubstr("task t7"), HasSubstr("asks for 4")));
  const Codelet counts_wrong = placed([](const Placement& p) { return p.advised(1); });
  EXPECT_THAT(refusal(counts_wrong), AllOf(HasSubstr("task t7"), HasSubstr("no operand 1")));
  EXPECT_THAT(tasks_by_worker(), ElementsAre(0U, 0U, 0U));
}

TEST_P(PlacingFunction, ThatNamesNoNodeOrWorkerOfTheMachineIsAnError) {
  start();
  const Codelet beyond = placed([](const Placement&) { return NodeId{3}; });
  EXPECT_THAT(refusal(beyond), AllOf(HasSubstr("codelet work"), HasSubstr("task t7"),
                                     HasSubstr("memory node 3; the machine has 3")));
  const Codelet nobody = placed([](const Placement&) { return WorkerId{17}; });
  EXPECT_THAT(refusal(nobody),
              AllOf(HasSubstr("task t7"), HasSubstr("worker 17; the machine has 3")));
}

}  // namespace
}  // namespace vicinal
