// ap: PaRSEC's absolute priority, with its selection of devices (Gonthier et al. 2024, section 4.4; Bouteiller et
// al. 2025, section 3.1).
//
// Ready tasks wait in one list, highest priority first. Whoever asks for a task gives all of them that
// accelerators can run to these, by device_selection.hpp: owner computes, then what is read, then load. Each
// accelerator then runs its tasks in the order in which it was given them: what becomes ready later comes after
// them, whatever its priority. The order is fixed early.
// Tasks that no accelerator can run are left in the list for the cores, which take them by priority; where there
// are no accelerators these are all. As in PaRSEC a core runs none of the others, but for those that it ends before any
// accelerator (placement/cores.hpp; setting cores=last: not these either).
//
// A device's load is the predicted time of what it was given and has not ended. PaRSEC takes the peak speeds of the
// devices in place of times; here tasks whose time is not known count alike.
// An owner stays one when its replica is evicted: the paper lets it go then, PaRSEC's code does not.

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/placement/cores.hpp"
#include "sched/placement/device_selection.hpp"
#include "sched/placement/owners.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

using placement::Device;

struct Given {
  graph::Task* task = nullptr;
  Given* previous = nullptr;  // in the queue
  Given* next = nullptr;
  NodeId node;
  std::int64_t estimate_ns = 0;
};

struct Node {
  base::SureVector<WorkerId> workers;
  Chain<Given> queue;
  std::int64_t load_ns = 0;
};

constexpr std::int64_t kUnknownEstimate = 1'000'000;

class AbsolutePriority final : public Policy {
 public:
  AbsolutePriority(double skew, bool cores) : skew_(skew), cores_(cores) {}
  std::string_view name() const override { return "ap"; }
  PolicyTraits traits() const override { return {.wants_ends = true, .wants_run_times = true}; }

  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_forgotten(graph::Handle& handle) override { placement::forget_owner(handle); }

 private:
  NodeId node_of(WorkerId worker) const { return context_->machine().workers[worker.value].node; }
  const WorkerId* able_worker(const graph::Task& task, const Node& node) const;
  void give_to_device(graph::Task& task);
  const Device& select(const graph::Task& task);
  void tell_selected(const graph::Task& task, const placement::Selection& selection) const;
  Given* first_for(WorkerId worker, const Node& node) const;
  Node* left_behind(WorkerId worker);
  void tell_given(const Given& given, WorkerId worker, const Node& from) const;

  const double skew_;
  const bool cores_;  // take what they end first
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  base::SureDeque<Node> nodes_;
  TaskList for_devices_;  // tasks that a device can run, to be given out at the next pop
  TaskList for_cores_;    // the others
  RecordPool<Given> records_;
  // Of the task that is being given.
  base::SureVector<placement::Flow> flows_;
  base::SureVector<Device> devices_;
};

void AbsolutePriority::start(PolicyContext& context) {
  context_ = &context;
  decisions_.start(context);
  nodes_.resize(context.machine().nodes.size());
  for (const WorkerDescription& worker : context.machine().workers) {
    nodes_[worker.node.value].workers.push_back(worker.id);
  }
}

const WorkerId* AbsolutePriority::able_worker(const graph::Task& task, const Node& node) const {
  const auto able = std::ranges::find_if(
      node.workers, [&](WorkerId worker) { return context_->can_run(task, worker); });
  return able == node.workers.end() ? nullptr : &*able;
}

void AbsolutePriority::push(graph::Task& task, WorkerId /*releasing*/) {
  const bool device_can = std::any_of(nodes_.begin() + 1, nodes_.end(), [&](const Node& node) {
    return able_worker(task, node) != nullptr;
  });
  const bool goes = device_can && !(cores_ && placement::cores_end_first(task, *context_));
  (goes ? for_devices_ : for_cores_).push_back(task);
}

// --- the choice of a device -----------------------------------------------------------------------

void AbsolutePriority::give_to_device(graph::Task& task) {
  const Device& device = select(task);
  Node& node = nodes_[device.node.value];
  Given& given = records_.take();
  given = {.task = &task, .node = device.node, .estimate_ns = device.estimate_ns};
  task.policy_data = &given;
  node.queue.insert(given);
  node.load_ns += given.estimate_ns;
  placement::set_owner_of_written(task, device.node);
  for (const WorkerId worker : node.workers) context_->wake(worker);
}

const Device& AbsolutePriority::select(const graph::Task& task) {
  flows_.clear();
  for (const graph::Access& access : task.accesses()) {
    flows_.push_back(
        {.written = writes(access.mode), .owner = placement::owner_of(*access.handle)});
  }
  devices_.clear();
  for (auto number = static_cast<std::uint32_t>(nodes_.size()); --number > kRam.value;) {
    const WorkerId* const worker = able_worker(task, nodes_[number]);
    if (worker == nullptr) continue;
    const std::int64_t run_ns = context_->run_time(task, *worker).ns;
    devices_.push_back({.node = NodeId{number},
                        .load_ns = nodes_[number].load_ns,
                        .estimate_ns = run_ns > 0 ? run_ns : kUnknownEstimate});
  }
  const placement::Selection selection = placement::select_device(flows_, devices_, skew_);
  if (decisions_.heard()) tell_selected(task, selection);
  return devices_[selection.device];
}

void AbsolutePriority::tell_selected(const graph::Task& task,
                                     const placement::Selection& selection) const {
  trace::Decision decision = decisions_.about(task, selection.reason, trace::Among::nodes);
  const Device& chosen = devices_[selection.device];
  for (const Device& device : devices_) {
    trace::Candidate candidate{device.node.value,
                               {{trace::Measure::run, device.estimate_ns},
                                {trace::Measure::end, device.end_ns},
                                {trace::Measure::weighed_end, device.weighed_ns}}};
    if (device.operand) candidate.scores.push_back({trace::Measure::operand, *device.operand});
    decision.consider(std::move(candidate), &device == &chosen);
  }
  decisions_.tell(std::move(decision));
}

// --- what a worker is given -----------------------------------------------------------------------

graph::Task* AbsolutePriority::pop(WorkerId worker) {
  while (graph::Task* const task = for_devices_.pop_front()) give_to_device(*task);
  Node* from = &nodes_[node_of(worker).value];
  Given* given = first_for(worker, *from);
  if (given == nullptr) {
    graph::Task* const task =
        decisions_.take_first(for_cores_, worker, trace::Reason::highest_priority);
    if (task != nullptr) {
      placement::set_owner_of_written(*task, node_of(worker));
      return task;
    }
    from = left_behind(worker);
    if (from == nullptr) return nullptr;
    given = first_for(worker, *from);
    placement::set_owner_of_written(*given->task, node_of(worker));
  }
  if (decisions_.heard()) tell_given(*given, worker, *from);
  from->queue.unlink(*given);
  return given->task;
}

Given* AbsolutePriority::first_for(WorkerId worker, const Node& node) const {
  Given* given = node.queue.head;
  while (given != nullptr && !context_->can_run(*given->task, worker)) given = given->next;
  return given;
}

// Of the nodes whose workers are all away the one that has most tasks, and one for this worker.
Node* AbsolutePriority::left_behind(WorkerId worker) {
  Node* longest = nullptr;
  for (Node& node : nodes_) {
    const bool is_left =
        std::ranges::all_of(node.workers, [&](WorkerId other) { return context_->away(other); });
    if (!is_left || node.queue.size <= (longest == nullptr ? 0 : longest->queue.size)) continue;
    if (first_for(worker, node) != nullptr) longest = &node;
  }
  return longest;
}

void AbsolutePriority::tell_given(const Given& given, WorkerId worker, const Node& from) const {
  if (given.node == node_of(worker)) {
    return decisions_.tell_first(*given.task, worker, trace::Reason::first_pushed,
                                 [&](const auto& name) {
                                   const Given* at = from.queue.head;
                                   while (at != nullptr && !name(*at->task)) at = at->next;
                                 });
  }
  trace::Decision theft =
      decisions_.asked_by(worker, trace::Reason::longest_queue_left, trace::Among::nodes);
  theft.task = graph::TaskPool::id(*given.task);
  theft.consider(
      {given.node.value, {{trace::Measure::tasks, static_cast<std::int64_t>(from.queue.size)}}},
      true);
  decisions_.tell(std::move(theft));
}

void AbsolutePriority::task_done(graph::Task& task, WorkerId /*worker*/) {
  auto* const given = static_cast<Given*>(std::exchange(task.policy_data, nullptr));
  if (given == nullptr) return;  // a core's
  nodes_[given->node.value].load_ns -= given->estimate_ns;
  records_.give_back(*given);
}

}  // namespace

std::unique_ptr<Policy> make_ap(const Settings& settings) {
  return std::make_unique<AbsolutePriority>(settings.number("skew"),
                                            settings.text("cores") == "first");
}

}  // namespace vicinal::sched
