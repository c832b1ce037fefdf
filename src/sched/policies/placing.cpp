// owner, load, directed and touch: a task is given to a memory node when it becomes ready, by where its data
// belong, and waits there for the node's workers, highest priority first. Bouteiller et al. 2025, section 3.1.
//
// The rule is that of PaRSEC (placement/device_selection.hpp); the four differ in which operands take part:
//   owner     those that are written
//   load      all
//   directed  all, and a task whose written operands belong nowhere follows what it reads (the paper's "inherited
//             mapping"); before them the node that the task names
//   touch     the same, but data belong to accelerators to which they are dealt by lot when one is to use them first;
//             advice does not count
// The nodes of the accelerators that can run a task are asked; RAM only where there is none, or where cores end the task
// before any of them (placement/cores.hpp; setting cores=last: not then either, as in PaRSEC). The end of a task is
// predicted as if all that was placed on a node, and has not ended, were done by all of its workers at once.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/placement/cores.hpp"
#include "sched/placement/device_selection.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

using placement::Device;
using placement::Flow;
using placement::Selection;

// What an operand that is only read does.
enum class Reads : std::uint8_t {
  ignored,
  weighed,   // as PaRSEC has it
  followed,  // after the written ones, as if it were written
};

struct PlacingStrategy {
  std::string_view name;
  Reads reads = Reads::ignored;
  bool names = false;  // the node that a task names counts first
  bool heeds = true;   // advice
  bool draws = false;  // data are dealt by lot
  double skew = 0;     // per cent
  bool cores = true;   // take what they end first
};

struct Placed {
  graph::Task* task = nullptr;
  Placed* previous = nullptr;  // in the queue
  Placed* next = nullptr;
  NodeId node;
  std::int64_t run_ns = 0;  // that it adds to the node's load
};

struct PlacedLinks {
  static int priority(const Placed& placed) { return placed.task->priority; }
  static Placed* next(const Placed& placed) { return placed.next; }
  static void set_next(Placed& placed, Placed* next) { placed.next = next; }
  static Placed* previous(const Placed& placed) { return placed.previous; }
  static void set_previous(Placed& placed, Placed* previous) { placed.previous = previous; }
};

struct PlacingNode {
  base::SureVector<WorkerId> workers;
  bool alike = true;  // they are of one kind
  PriorityList<Placed, PlacedLinks> queue;
  std::size_t queued = 0;
  std::int64_t load_ns = 0;  // of what was placed there and has not ended
};

// Of a task whose time is not known: then the number of tasks counts.
constexpr std::int64_t kUnknownRunTime = 1'000'000;

class Placing final : public Policy {
 public:
  explicit Placing(const PlacingStrategy& strategy) : strategy_(strategy) {}
  std::string_view name() const override { return strategy_.name; }
  PolicyTraits traits() const override {
    return {.wants_ends = true, .wants_run_times = true, .heeds_places = strategy_.names};
  }

  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_forgotten(graph::Handle& handle) override { handle.policy_data = nullptr; }

 private:
  NodeId node_of(WorkerId worker) const { return context_->machine().workers[worker.value].node; }
  static std::optional<NodeId> owner_of(const graph::Handle& handle);
  static void set_owner(graph::Handle& handle, NodeId node);
  void deal(const graph::Task& task);
  void add_device(const graph::Task& task, std::uint32_t node);
  void find_devices(const graph::Task& task);
  Flow flow_of(const graph::Access& access) const;
  Selection select(const graph::Task& task);
  const Device& choose(const graph::Task& task);
  void tell(const graph::Task& task, const Selection& selection) const;
  Placed* left_behind(WorkerId worker) const;
  Placed* left_behind(WorkerId worker, const PlacingNode& node) const;
  bool is_alone(const Placed& placed, const PlacingNode& node) const;
  void tell_given(const Placed& placed, WorkerId worker) const;

  const PlacingStrategy strategy_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  std::deque<PlacingNode> nodes_;
  RecordPool<Placed> records_;
  // The nodes that can run the task being placed, in reverse order.
  base::SureVector<Device> devices_;
  base::SureVector<Flow> flows_;
};

void Placing::start(PolicyContext& context) {
  context_ = &context;
  decisions_.start(context);
  nodes_.resize(context.machine().nodes.size());
  for (const WorkerDescription& worker : context.machine().workers) {
    PlacingNode& node = nodes_[worker.node.value];
    node.workers.push_back(worker.id);
    const WorkerId first = node.workers.front();
    node.alike &= context.machine().workers[first.value].kind == worker.kind;
  }
}

void Placing::push(graph::Task& task, WorkerId /*releasing*/) {
  const Device& chosen = choose(task);
  Placed& placed = records_.take();
  placed = {.task = &task, .node = chosen.node, .run_ns = chosen.estimate_ns};
  task.policy_data = &placed;
  PlacingNode& node = nodes_[chosen.node.value];
  node.queue.push_back(placed);
  ++node.queued;
  node.load_ns += placed.run_ns;
  context_->wish(task, chosen.node);
  for (const WorkerId worker : node.workers) {
    if (node.workers.size() == 1 || task.only_worker() == worker) context_->wake(worker);
  }
}

// --- where data belong ----------------------------------------------------------------------------

std::optional<NodeId> Placing::owner_of(const graph::Handle& handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle.policy_data);
  if (number == 0) return std::nullopt;
  return NodeId{static_cast<std::uint32_t>(number - 1)};
}

// The pointer is a number: nothing is allocated for a datum.
void Placing::set_owner(graph::Handle& handle, NodeId node) {
  handle.policy_data = reinterpret_cast<void*>(std::uintptr_t{node.value} + 1);
}

// Data that no accelerator has used.
void Placing::deal(const graph::Task& task) {
  if (devices_.front().node == kRam) return;
  for (const graph::Access& access : task.accesses()) {
    if (owner_of(*access.handle) || access.mode == AccessMode::scratch) continue;
    const double drawn = context_->random().uniform();
    const auto number = static_cast<std::size_t>(drawn * static_cast<double>(devices_.size()));
    const Device& lot = devices_[std::min(number, devices_.size() - 1)];
    set_owner(*access.handle, lot.node);
    if (!decisions_.heard()) continue;
    trace::Decision decision = decisions_.about(task, trace::Reason::drawn, trace::Among::nodes);
    decision.handle = access.handle->id;
    decision.scores.push_back(Decisions::draw(drawn));
    for (const Device& on : devices_) {
      decision.consider({on.node.value, {{trace::Measure::run, 0}}}, &on == &lot);
    }
    decisions_.tell(std::move(decision));
  }
}

// --- the choice of a node -------------------------------------------------------------------------

void Placing::add_device(const graph::Task& task, std::uint32_t number) {
  const PlacingNode& node = nodes_[number];
  const auto able = std::ranges::find_if(
      node.workers, [&](WorkerId worker) { return context_->can_run(task, worker); });
  if (able == node.workers.end()) return;
  const std::int64_t known = context_->run_time(task, *able).ns;
  const auto workers = static_cast<std::int64_t>(node.workers.size());
  devices_.push_back(
      {.node = NodeId{number},
       .load_ns = node.load_ns,
       .estimate_ns = std::max<std::int64_t>(1, (known > 0 ? known : kUnknownRunTime) / workers)});
}

void Placing::find_devices(const graph::Task& task) {
  devices_.clear();
  const bool for_cores = strategy_.cores && placement::cores_end_first(task, *context_);
  for (auto number = static_cast<std::uint32_t>(nodes_.size());
       !for_cores && --number > kRam.value;) {
    add_device(task, number);
  }
  if (devices_.empty()) add_device(task, kRam.value);
  if (!devices_.empty()) return;
  throw std::logic_error(std::string(name()) + ": no worker can run the ready task " +
                         std::string(task.name()));
}

Flow Placing::flow_of(const graph::Access& access) const {
  const graph::Handle& handle = *access.handle;
  Flow flow{.written = writes(access.mode)};
  if (!flow.written && strategy_.reads == Reads::ignored) return flow;
  if (strategy_.heeds) flow.preferred = handle.preferred();
  flow.owner = owner_of(handle);
  const bool follows = !flow.written && strategy_.reads == Reads::followed;
  if (follows && !flow.preferred) flow.preferred = flow.owner;
  return flow;
}

Selection Placing::select(const graph::Task& task) {
  flows_.clear();
  const std::optional<NodeId> named = strategy_.names ? task.named_node() : std::nullopt;
  if (!named) {
    for (const graph::Access& access : task.accesses()) flows_.push_back(flow_of(access));
  }
  const Selection selection = placement::select_device(flows_, devices_, strategy_.skew);
  if (!named) return selection;
  const auto there = std::ranges::find(devices_, *named, &Device::node);
  if (there == devices_.end()) return {selection.device, trace::Reason::named_cannot_run};
  return {static_cast<std::size_t>(there - devices_.begin()), trace::Reason::named_by_task};
}

const Device& Placing::choose(const graph::Task& task) {
  find_devices(task);
  if (strategy_.draws) deal(task);
  const Selection selection = select(task);
  if (decisions_.heard()) tell(task, selection);
  return devices_[selection.device];
}

void Placing::tell(const graph::Task& task, const Selection& selection) const {
  trace::Decision decision = decisions_.about(task, selection.reason, trace::Among::nodes);
  if (strategy_.names) decision.node = task.named_node();
  for (const Device& on : devices_) {
    trace::Candidate candidate{on.node.value,
                               {{trace::Measure::run, on.estimate_ns},
                                {trace::Measure::end, on.end_ns},
                                {trace::Measure::weighed_end, on.weighed_ns}}};
    if (on.operand) candidate.scores.push_back({trace::Measure::operand, *on.operand});
    decision.consider(std::move(candidate), &on == &devices_[selection.device]);
  }
  decisions_.tell(std::move(decision));
}

// --- what a worker is given -----------------------------------------------------------------------

graph::Task* Placing::pop(WorkerId worker) {
  const NodeId here = node_of(worker);
  Placed* placed = nodes_[here.value].queue.find_first(
      [&](const Placed& queued) { return context_->can_run(*queued.task, worker); });
  if (placed == nullptr) placed = left_behind(worker);
  if (placed == nullptr) return nullptr;
  if (decisions_.heard()) tell_given(*placed, worker);
  PlacingNode& from = nodes_[placed->node.value];
  from.queue.remove(*placed);
  --from.queued;
  from.load_ns -= placed->run_ns;
  nodes_[here.value].load_ns += placed->run_ns;
  placed->node = here;
  for (const graph::Access& access : placed->task->accesses()) {
    if (leaves_content(access.mode) && !strategy_.draws) set_owner(*access.handle, here);
  }
  return placed->task;
}

// Of the longest queue that has one for this worker, and nobody else who is there to run it.
Placed* Placing::left_behind(WorkerId worker) const {
  Placed* best = nullptr;
  std::size_t longest = 0;
  for (const PlacingNode& node : nodes_) {
    if (node.queued <= longest) continue;
    Placed* const placed = left_behind(worker, node);
    if (placed == nullptr) continue;
    best = placed;
    longest = node.queued;
  }
  return best;
}

Placed* Placing::left_behind(WorkerId worker, const PlacingNode& node) const {
  const auto is_there = [&](WorkerId other) { return !context_->away(other); };
  if (node.alike ? std::ranges::any_of(node.workers, is_there)
                 : std::ranges::all_of(node.workers, is_there)) {
    return nullptr;
  }
  return node.queue.find_first([&](const Placed& queued) {
    return context_->can_run(*queued.task, worker) && is_alone(queued, node);
  });
}

bool Placing::is_alone(const Placed& placed, const PlacingNode& node) const {
  return std::ranges::none_of(node.workers, [&](WorkerId other) {
    return !context_->away(other) && context_->can_run(*placed.task, other);
  });
}

void Placing::tell_given(const Placed& placed, WorkerId worker) const {
  const PlacingNode& from = nodes_[placed.node.value];
  if (placed.node == node_of(worker)) {
    return decisions_.tell_first(
        *placed.task, worker, trace::Reason::highest_priority, [&](const auto& name) {
          from.queue.find_first([&](const Placed& queued) { return name(*queued.task); });
        });
  }
  trace::Decision theft =
      decisions_.asked_by(worker, trace::Reason::longest_queue_left, trace::Among::nodes);
  theft.task = graph::TaskPool::id(*placed.task);
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    const PlacingNode& node = nodes_[number];
    if (left_behind(worker, node) == nullptr) continue;
    theft.consider({number, {{trace::Measure::tasks, static_cast<std::int64_t>(node.queued)}}},
                   &node == &from);
  }
  decisions_.tell(std::move(theft));
}

void Placing::task_done(graph::Task& task, WorkerId /*worker*/) {
  auto& placed = *static_cast<Placed*>(std::exchange(task.policy_data, nullptr));
  nodes_[placed.node.value].load_ns -= placed.run_ns;
  records_.give_back(placed);
}

}  // namespace

std::unique_ptr<Policy> make_owner(const Settings& settings) {
  return std::make_unique<Placing>(
      PlacingStrategy{.name = "owner", .cores = settings.text("cores") == "first"});
}
std::unique_ptr<Policy> make_load(const Settings& settings) {
  return std::make_unique<Placing>(PlacingStrategy{.name = "load",
                                                   .reads = Reads::weighed,
                                                   .skew = settings.number("skew"),
                                                   .cores = settings.text("cores") == "first"});
}
std::unique_ptr<Policy> make_directed(const Settings& settings) {
  return std::make_unique<Placing>(PlacingStrategy{.name = "directed",
                                                   .reads = Reads::followed,
                                                   .names = true,
                                                   .cores = settings.text("cores") == "first"});
}
std::unique_ptr<Policy> make_touch(const Settings& settings) {
  return std::make_unique<Placing>(PlacingStrategy{.name = "touch",
                                                   .reads = Reads::followed,
                                                   .heeds = false,
                                                   .draws = true,
                                                   .cores = settings.text("cores") == "first"});
}

}  // namespace vicinal::sched
