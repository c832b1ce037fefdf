// A machine, data and tasks for tests of policies: the context an engine would give them, with
// replicas that lie where the test puts them.
//
//   FakeContext context;
//   const NodeId device = context.add_device(100_MiB);
//   const WorkerId worker = context.add_worker(device);
//   FakeGraph graph;
//   graph::Task& task = graph.task("t", {reading(graph.data("a"))});
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "graph/task.hpp"
#include "graph/task_pool.hpp"
#include "sched/policy.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::testing {

class FakeContext final : public sched::PolicyContext {
 public:
  explicit FakeContext(std::uint64_t seed = 1) : random_(seed) {
    machine_.nodes.push_back({.id = kRam, .name = "ram", .kind = NodeKind::ram, .limit = {}});
  }

  // --- the machine: RAM is there from the start, without workers
  NodeId add_device(std::optional<Bytes> limit = {}) {
    const NodeId id{static_cast<std::uint32_t>(machine_.nodes.size())};
    machine_.nodes.push_back(
        {.id = id, .name = "device", .kind = NodeKind::device, .limit = limit});
    return id;
  }
  // A core on RAM, an emulated accelerator elsewhere.
  WorkerId add_worker(NodeId node = kRam) {
    return add_worker(node, node == kRam ? ProcessorKind::cpu : ProcessorKind::emulated);
  }
  WorkerId add_worker(NodeId node, ProcessorKind kind) {
    const WorkerId id{static_cast<std::uint32_t>(machine_.workers.size())};
    machine_.workers.push_back({.id = id, .kind = kind, .node = node});
    return id;
  }
  NodeId node_of(WorkerId worker) const { return machine_.workers[worker.value].node; }

  // --- where replicas lie. The policy is not told: that is for the test to do.
  void put(const graph::Handle& handle, NodeId node) { replicas_.insert({&handle, node}); }
  void take_away(const graph::Handle& handle, NodeId node) { replicas_.erase({&handle, node}); }
  void put_operands(const graph::Task& task, NodeId node) {
    for (const graph::Access& access : task.accesses()) put(*access.handle, node);
  }
  void set_transfer_time(const graph::Handle& handle, NodeId node, Time time) {
    transfer_times_[{&handle, node}] = time;
  }
  void add_link(LinkDescription link) { machine_.links.push_back(std::move(link)); }
  void set_now(Time now) { now_ = now; }
  void set_away(WorkerId worker) { away_.insert(worker.value); }
  // Of the decisions. Before the policy is started.
  void set_listener(trace::DecisionListener& listener) { listener_ = &listener; }

  // --- what the policy requested
  struct Prefetch {
    const graph::Task* task;
    NodeId node;
    friend bool operator==(const Prefetch&, const Prefetch&) = default;
  };
  std::vector<Prefetch> prefetches;
  std::vector<const graph::Handle*> loads;
  std::vector<WorkerId> woken;
  std::vector<std::function<bool()>> deferred;
  // As the policy said last.
  mutable std::vector<const graph::Task*> expected;
  mutable WorkerId expected_worker = kNoWorker;

  // --- PolicyContext
  const MachineDescription& machine() const override { return machine_; }
  Time now() const override { return now_; }
  bool can_run(const graph::Task& task, WorkerId worker) const override {
    const auto only = task.only_worker();
    if (only && *only != worker) return false;
    const WorkerDescription& description = machine_.workers[worker.value];
    if (task.codelet->implementation(description.kind) == nullptr) return false;
    const auto limit = machine_.nodes[description.node.value].limit;
    return !limit || working_set(task) <= *limit;
  }
  bool on_node(const graph::Handle& handle, NodeId node) const override {
    return replicas_.contains({&handle, node});
  }
  sched::Presence presence(const graph::Handle& handle) const override {
    std::uint64_t on = 0;
    for (const NodeDescription& node : machine_.nodes) {
      if (on_node(handle, node.id)) on |= std::uint64_t{1} << node.id.value;
    }
    return {.valid = on, .on_node = on};
  }
  Bytes missing_bytes(const graph::Task& task, NodeId node) const override {
    Bytes missing;
    for (const graph::Access& access : task.accesses()) {
      if (reads(access.mode) && !on_node(*access.handle, node)) missing += access.handle->bytes();
    }
    return missing;
  }
  Time transfer_time(const graph::Handle& handle, NodeId node) const override {
    if (on_node(handle, node)) return {};
    const auto set = transfer_times_.find({&handle, node});
    if (set != transfer_times_.end()) return set->second;
    return {static_cast<std::int64_t>(handle.bytes().value)};  // 1 byte = 1 ns
  }
  Time run_time(const graph::Task& task, WorkerId worker) const override {
    return task.codelet->expected[static_cast<std::size_t>(machine_.workers[worker.value].kind)];
  }
  base::Random& random() override { return random_; }
  bool away(WorkerId worker) const override { return away_.contains(worker.value); }
  void prefetch(const graph::Task& task, NodeId node) override {
    prefetches.push_back({&task, node});
  }
  void load(const graph::Task& /*task*/, graph::Handle& handle, NodeId /*node*/,
            graph::Handle* /*victim*/) override {
    loads.push_back(&handle);
  }
  trace::DecisionListener* listener() const override { return listener_; }
  void coming(std::span<const graph::Task* const> tasks, WorkerId worker) const override {
    expected_worker = worker;
    expected.assign(tasks.begin(), tasks.end());
  }
  void wake(WorkerId worker) override { woken.push_back(worker); }
  void defer(std::function<bool()> slice) override { deferred.push_back(std::move(slice)); }

 private:
  using Place = std::pair<const graph::Handle*, NodeId>;

  static Bytes working_set(const graph::Task& task) {
    Bytes bytes;
    for (const graph::Access& access : task.accesses()) bytes += access.handle->bytes();
    return bytes;
  }

  MachineDescription machine_;
  std::set<Place> replicas_;
  std::map<Place, Time> transfer_times_;
  std::set<std::uint32_t> away_;
  Time now_;
  base::Random random_;
  trace::DecisionListener* listener_ = nullptr;
};

struct FakeOperand {
  graph::Handle* handle;
  AccessMode mode;
};
inline FakeOperand reading(graph::Handle& handle) {
  return {&handle, AccessMode::R};
}
inline FakeOperand writing(graph::Handle& handle) {
  return {&handle, AccessMode::W};
}
inline FakeOperand changing(graph::Handle& handle) {
  return {&handle, AccessMode::RW};
}

// Owns tasks, data and codelets. A task has the name that the test gives it.
class FakeGraph {
 public:
  struct Attributes {
    int priority = 0;
    Time time{10};
    std::optional<Time> accelerator_time = {};  // else the same
    std::optional<WorkerId> worker = {};
    bool accelerators_only = false;
  };

  graph::Handle& data(std::string name, Bytes bytes = {100}) {
    graph::Handle& handle = handles_.emplace_back();
    handle.name = std::move(name);
    handle.id = {handles_.size()};
    handle.layout.column_bytes = bytes.value;
    handle.word = graph::kReader;  // a task that was submitted uses it
    return handle;
  }
  graph::Task& task(std::string name, const std::vector<FakeOperand>& operands,
                    const Attributes& attributes) {
    Codelet& codelet = codelets_.emplace_back();
    codelet.name = std::move(name);
    codelet.cpu = attributes.accelerators_only ? Kernel() : &no_kernel;
    codelet.kernels[ProcessorKind::emulated] = &no_kernel;
    codelet.expected = {attributes.time, attributes.accelerator_time.value_or(attributes.time)};
    graph::Task& task = tasks_.take(0);
    task.codelet = &codelet;
    task.priority = attributes.priority;
    if (attributes.worker || operands.size() > graph::kInlineAccesses) {
      task.extension = std::make_unique<graph::TaskExtension>();
      task.extension->worker = attributes.worker;
    }
    task.access_count = static_cast<std::uint16_t>(operands.size());
    const bool outside = operands.size() > graph::kInlineAccesses;
    if (outside) graph::allocate_outside(task, operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      task.accesses()[i] = graph::Access(*operands[i].handle, operands[i].mode, i, outside);
    }
    return task;
  }
  graph::Task& task(std::string name, const std::vector<FakeOperand>& operands = {}) {
    return task(std::move(name), operands, Attributes{});
  }

 private:
  static void no_kernel(KernelContext& /*context*/) {}

  std::deque<Codelet> codelets_;
  std::deque<graph::Handle> handles_;
  graph::TaskPool tasks_{1};
};

// "-" for no task.
inline std::string name_of(const graph::Task* task) {
  return task == nullptr ? "-" : std::string(task->name());
}

}  // namespace vicinal::testing
