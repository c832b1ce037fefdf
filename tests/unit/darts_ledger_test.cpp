// The ledger of DARTS counts as it goes; here everything is counted anew after each of many random
// events.

#include "sched/policies/darts_ledger.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/fake_context.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sched::darts {
namespace {

using testing::FakeContext;
using testing::FakeGraph;
using testing::FakeOperand;

class LedgerUnderRandomEvents {
 public:
  explicit LedgerUnderRandomEvents(std::uint64_t seed) : random_(seed) {
    // The second device is too small for tasks of three operands and more.
    for (const Bytes limit : {Bytes{1000}, Bytes{250}, Bytes{1000}}) {
      context_.add_worker(context_.add_device(limit));
    }
    ledger_.start(context_);
    for (int i = 0; i < 12; ++i) data_.push_back(&graph_.data("d"));
  }

  void step() {
    const NodeIndex node = static_cast<NodeIndex>(random_.below(ledger_.nodes().count()));
    graph::Handle& handle = *data_[random_.below(data_.size())];
    switch (random_.below(8)) {
      case 0:
      case 1:
        add();
        break;
      case 2:
        plan(node);
        break;
      case 3:
        pull(node);
        break;
      case 4:
        finish();
        break;
      case 5: {
        const bool put = random_.below(2) == 0;
        put ? context_.put(handle, id_of(node)) : context_.take_away(handle, id_of(node));
        if (auto* data = record_of(handle)) ledger_.refresh(*data, node);
        break;
      }
      case 6:
        move(node);
        break;
      default:
        context_.take_away(handle, id_of(node));
        if (auto* data = record_of(handle)) ledger_.leave_node(*data, node);
        break;
    }
  }

  void check() {
    std::size_t in_main = 0;
    for (const TaskRecord* task : tasks_) in_main += task->stage == Stage::main ? 1 : 0;
    std::size_t visited = 0;
    ledger_.main().find_first([&](const TaskRecord&) { return ++visited == 0; });
    EXPECT_EQ(visited, in_main);
    for (NodeIndex node = 0; node < ledger_.nodes().count(); ++node) {
      check_tasks(node);
      check_plan(node);
      for (const graph::Handle* handle : data_) {
        if (handle->policy_data != nullptr) check_data(*record_of(*handle), node);
      }
      const auto listed = std::ranges::count_if(data_, [&](const graph::Handle* handle) {
        return handle->policy_data != nullptr && record_of(*handle)->nodes[node].listed;
      });
      EXPECT_EQ(ledger_.books(node).absent.size(), static_cast<std::size_t>(listed));
    }
  }

 private:
  NodeId id_of(NodeIndex node) const { return ledger_.nodes()[node].id; }
  static DataRecord* record_of(const graph::Handle& handle) {
    return static_cast<DataRecord*>(handle.policy_data);
  }
  TaskRecord* random_task(Stage stage) {
    std::vector<TaskRecord*> some;
    for (TaskRecord* task : tasks_) {
      if (task->stage == stage) some.push_back(task);
    }
    return some.empty() ? nullptr : some[random_.below(some.size())];
  }

  void add() {
    std::vector<FakeOperand> operands;
    for (graph::Handle* handle : data_) {
      if (operands.size() < 5 && random_.below(3) == 0) {
        operands.push_back({handle, static_cast<AccessMode>(1 + random_.below(3))});
      }
    }
    graph::Task& task =
        graph_.task("t", operands,
                    {.priority = static_cast<int>(random_.below(4)),
                     .time = Time{1 + static_cast<std::int64_t>(random_.below(50))}});
    TaskRecord& record = ledger_.add(task);
    tasks_.push_back(&record);
    const NodeIndex node = static_cast<NodeIndex>(random_.below(ledger_.nodes().count()));
    if (ledger_.is_free_on(record, node)) {
      ledger_.plan_before_missing(record, node);
    } else {
      ledger_.enter_main(record);
    }
  }
  void plan(NodeIndex node) {
    TaskRecord* const task = random_task(Stage::main);
    if (task == nullptr || !task->nodes[node].can_run) return;
    for (const Use& use : task->uses) {
      if (random_.below(2) == 0) ledger_.unlist(use.data->nodes[node], node);
    }
    ledger_.plan(*task, node);
  }
  void pull(NodeIndex other) {
    TaskRecord* const task = random_task(Stage::planned);
    if (task == nullptr) return;
    const bool steal = random_.below(4) == 0 && task->nodes[other].can_run;
    ledger_.pull(*task, steal ? other : task->node);
  }
  void move(NodeIndex node) {
    TaskRecord* const task = random_task(Stage::pulled);
    if (task != nullptr && task->nodes[node].can_run) ledger_.move_pulled(*task, node);
  }
  void finish() {
    const Stage stages[] = {Stage::main, Stage::planned, Stage::pulled, Stage::pulled};
    TaskRecord* const task = random_task(stages[random_.below(4)]);
    if (task == nullptr) return;
    ledger_.finish(*task);
    std::erase(tasks_, task);
  }

  static std::uint32_t missing(const TaskRecord& task, NodeIndex node, const DataRecord* besides) {
    return static_cast<std::uint32_t>(
        std::count_if(task.uses.begin(), task.uses.end(), [&](const Use& use) {
          return use.reads && use.data != besides && !use.data->nodes[node].present();
        }));
  }
  void check_tasks(NodeIndex node) {
    std::size_t ready = 0;
    for (const TaskRecord* task : tasks_) {
      if (!task->nodes[node].can_run) continue;
      const bool counted =
          task->stage == Stage::main || (task->stage == Stage::planned && task->node == node);
      EXPECT_TRUE(!counted || task->nodes[node].missing == missing(*task, node, nullptr));
      if (task->stage == Stage::main && missing(*task, node, nullptr) == 0) ++ready;
    }
    EXPECT_EQ(ledger_.books(node).ready_in_main, ready);
    std::size_t least = 99;
    for (const TaskRecord* task : tasks_) {
      const std::size_t misses = task->nodes[node].missing;
      if (task->stage != Stage::main || !task->nodes[node].can_run || misses < 3) continue;
      least = std::min(least, misses);
    }
    const TaskRecord* const found =
        ledger_.fewest(node).find(node, 99, [](const auto&) { return true; });
    EXPECT_EQ(found == nullptr ? 99 : found->nodes[node].missing, least);
  }
  void check_plan(NodeIndex node) const {
    const NodeBooks& books = ledger_.books(node);
    std::size_t planned = 0;
    for (const TaskRecord* task : tasks_) {
      planned += task->stage == Stage::planned && task->node == node && task->in_order ? 1 : 0;
    }
    EXPECT_EQ(books.load.queued() - books.planned.size, planned);
    std::size_t in_order = 0;
    books.in_order.find_first([&](const TaskRecord&) { return ++in_order == 0; });
    EXPECT_EQ(in_order, planned);
    planned = 0;
    bool passed = false;
    for (const TaskRecord* task = books.planned.head; task != nullptr; task = task->next) {
      passed = passed || task == books.maybe_missing;
      EXPECT_TRUE(passed || task->nodes[node].missing == 0);
      EXPECT_EQ(task->node, node);
      ++planned;
    }
    EXPECT_EQ(books.planned.size, planned);
  }
  void check_data(const DataRecord& data, NodeIndex node) const {
    DataOnNode expected;
    int free_priority = -1;
    int near_priority = -1;
    for (const TaskRecord* task : tasks_) {
      for (const Use& use : task->uses) {
        if (use.data != &data) continue;
        const bool here = task->node == node;
        if (task->stage == Stage::planned && here) ++expected.planned;
        if (task->stage == Stage::pulled && here) ++expected.pulled.uses;
        if (task->stage != Stage::main || !use.reads || !task->nodes[node].can_run) continue;
        expected.left_ns += task->nodes[node].duration_ns;
        const std::uint32_t others = missing(*task, node, &data);
        if (others == 0) {
          ++expected.free_tasks;
          expected.free_ns += task->nodes[node].duration_ns;
          free_priority = std::max(free_priority, task->task->priority);
        } else if (others == 1) {
          ++expected.near_tasks;
          near_priority = std::max(near_priority, task->task->priority);
        }
      }
    }
    const DataOnNode& at = data.nodes[node];
    EXPECT_EQ(at.planned, expected.planned);
    EXPECT_EQ(at.pulled.uses, expected.pulled.uses);
    EXPECT_EQ(at.free_tasks, expected.free_tasks);
    EXPECT_EQ(at.near_tasks, expected.near_tasks);
    EXPECT_EQ(at.free_ns, expected.free_ns);
    EXPECT_EQ(at.left_ns, expected.left_ns);
    check_priority(at.free_tasks, at.free_priority, at.free_priority_stale, free_priority);
    check_priority(at.near_tasks, at.near_priority, at.near_priority_stale, near_priority);
    EXPECT_FALSE(at.listed && at.present());
    EXPECT_TRUE(at.listed || at.present() || at.left_ns == 0 || at.planned > 0);
  }
  static void check_priority(std::uint32_t tasks, int noted, bool stale, int highest) {
    if (tasks == 0) return;
    if (stale) {
      EXPECT_GE(noted, highest);
    } else {
      EXPECT_EQ(noted, highest);
    }
  }

  base::Random random_;
  FakeContext context_;
  FakeGraph graph_;
  Ledger ledger_;
  std::vector<graph::Handle*> data_;
  std::vector<TaskRecord*> tasks_;  // in the ledger
};

TEST(DartsLedger, AgreesWithACountFromScratchAfterRandomEvents) {
  vicinal::testing::for_each_seed(10, [](base::Random& /*random*/, std::uint64_t seed) {
    LedgerUnderRandomEvents ledger(seed);
    for (int step = 0; step < 600; ++step) {
      ledger.step();
      ledger.check();
      if (::testing::Test::HasFailure()) return;
    }
  });
}

}  // namespace
}  // namespace vicinal::sched::darts
