// dmda, dmdar, dmdas, heft and random: a task is given to a worker when it becomes ready, by predicted
// times, and waits in the queue of that worker.
//
// dmda, dmdar, dmdas are StarPU's "deque model" policies, compared with in Gonthier et al. 2024. For
// each worker w that can run the task,
//   S    when w has done what it was given,
//   L    predicted time of what is queued for w,
//   P    predicted time to bring what the task reads and what has not been requested on w's node,
//   C_w  = max(S + L, now + P) + the task's time on w;
// the task goes to the worker of the least alpha (C_w - min C) + beta P, alpha = beta = 1, the first on
// ties. P may count twice: that keeps tasks near their data when P hides behind other work. Its data
// are asked for at once. The three differ in the order of the queue, see Order in dm_queue.hpp.
//
// heft is the dynamic form of Topcuoglu et al. 2002: tasks that became ready since a worker asked last
// are placed by decreasing priority (upward ranks, where priorities are bottom levels), each on the
// worker where it ends first, C_w alone; queues are in the order of priorities.
//
// random draws the worker, with a probability that is proportional to its speed on the task (StarPU's
// policy of that name), and predicts nothing else.
//
// Departures from the reference: S is set right whenever a task ends, so an error of the model does not
// add up. What waits for a worker that is away is given to whoever else asks and has nothing queued. And
// where workers are of several kinds one that has nothing takes from the end of a queue of another kind
// what would end sooner with it: a task of higher priority goes ahead of what was placed before, which then
// waits longer than was predicted for it.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/load.hpp"
#include "sched/nodes.hpp"
#include "sched/policies/dm_ledger.hpp"
#include "sched/policies/dm_queue.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/theft.hpp"

namespace vicinal::sched {
namespace {

using trace::Measure;

// The prediction for a task on a worker that can run it.
struct Prediction {
  std::uint32_t worker;
  std::int64_t duration_ns;
  std::int64_t transfer_ns = 0;
  std::int64_t free_ns = 0;    // S + L
  std::int64_t finish_ns = 0;  // C
  std::size_t tasks = 0;       // queued for the worker, or given to it
};

base::SureVector<trace::Score> scores_of(const Prediction& on, trace::Reason reason) {
  if (reason == trace::Reason::drawn) return {{Measure::run, on.duration_ns}};
  return {{Measure::free_at, on.free_ns},
          {Measure::transfer, on.transfer_ns},
          {Measure::run, on.duration_ns},
          {Measure::end, on.finish_ns},
          {Measure::tasks, on.tasks}};
}

enum class Placement : std::uint8_t {
  near,    // least alpha (C_w - min C) + beta P
  finish,  // least C_w, tasks placed by decreasing priority
  random,
};

struct DequeStrategy {
  std::string_view name;
  Placement placement = Placement::near;
  dm::Order order;
};

struct ListedWorker {
  explicit ListedWorker(dm::Order order) : queue(order) {}
  dm::Queue queue;
  Load load;           // queued: with the delays that their data cause
  bool waits = false;  // has asked and found nothing
};

// Tasks at the end of another's queue that one which has nothing looks at.
constexpr std::size_t kLastOfWorker = 32;

class DequeModel final : public Policy {
 public:
  explicit DequeModel(const DequeStrategy& strategy) : strategy_(strategy) {}
  std::string_view name() const override { return strategy_.name; }
  PolicyTraits traits() const override {
    return {.chooses_workers = true,
            .wants_ends = true,
            .wants_run_times = true,
            .keeps_order = !strategy_.order.ready_first};
  }

  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    ledger_.start(context);
    nodes_.start(context);
    on_node_.resize(nodes_.count());
    for (const WorkerDescription& worker : context.machine().workers) {
      workers_.emplace_back(strategy_.order);
      takes_ = takes_ || (predicts() && worker.kind != kind_of(WorkerId{0}));
    }
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override {
    if (strategy_.placement == Placement::finish) {
      unplaced_.push_back(task);
    } else {
      place(task);
    }
  }

  graph::Task* pop(WorkerId worker) override {
    while (graph::Task* const task = unplaced_.pop_front()) place(*task);
    dm::TaskRecord* record = workers_[worker.value].queue.first();
    if (record == nullptr) record = left_behind(worker);
    if (record == nullptr) record = sooner_with(worker);
    note_wait(worker, record == nullptr);
    if (record == nullptr) return nullptr;
    if (decisions_.heard()) tell_given(*record, worker);
    const WorkerId queued_for = record->worker;
    give(*record, worker);
    wake_who_takes_from(queued_for);
    std::array<const graph::Task*, PolicyContext::kComing> coming;
    const std::size_t known = workers_[worker.value].queue.coming(coming);
    context_->coming({coming.data(), known}, worker);
    if (predicts()) ledger_.warm(*record);
    return record->task;
  }

  // Ended on whatever worker of the node it was given to.
  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    const dm::TaskRecord& record = records_.of(task);
    workers_[record.worker.value].load.end(record.duration_ns, context_->now());
    on_node_[nodes_.of(record.worker)].end(record.duration_ns);
    if (predicts()) ledger_.close(record);
    records_.close(task);
  }

  void data_loaded(graph::Handle& handle, NodeId node) override { ledger_.refresh(handle, node); }
  void data_evicted(graph::Handle& handle, NodeId node) override { ledger_.refresh(handle, node); }
  void data_forgotten(graph::Handle& handle) override { ledger_.forget(handle); }

 private:
  bool predicts() const { return strategy_.placement != Placement::random; }
  NodeId node_of(WorkerId worker) const { return nodes_.id_of(worker); }
  ProcessorKind kind_of(WorkerId worker) const {
    return context_->machine().workers[worker.value].kind;
  }
  void place(graph::Task& task) {
    dm::TaskRecord& record = records_.open(task);
    record.task = &task;
    record.number = ++last_number_;
    if (predicts()) ledger_.open(record);
    enqueue(record, choose(record));
    context_->wake(record.worker);
    wake_who_takes_from(record.worker);
  }

  void enqueue(dm::TaskRecord& record, const Prediction& chosen) {
    ListedWorker& worker = workers_[chosen.worker];
    record.worker = WorkerId{chosen.worker};
    record.duration_ns = chosen.duration_ns;
    record.delay_ns =
        std::max<std::int64_t>(0, chosen.finish_ns - chosen.duration_ns - chosen.free_ns);
    worker.load.queue(record.duration_ns + record.delay_ns);
    if (predicts()) ask_for_data(record);
    worker.queue.insert(record);
  }

  void ask_for_data(dm::TaskRecord& record) {
    const NodeId node = node_of(record.worker);
    context_->prefetch(*record.task, node);
    ledger_.request(record, node);
    if (strategy_.order.ready_first) ledger_.follow(record, node);
  }

  // --- the choice of a worker

  // Is the task's time known on all of them?
  bool find_workers(const graph::Task& task) {
    bool known = true;
    predictions_.clear();
    std::array<std::int64_t, kProcessorKinds> time_on;  // by kind; -1: not asked
    time_on.fill(-1);
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      if (!context_->can_run(task, WorkerId{w})) continue;
      std::int64_t& ns = time_on[static_cast<std::size_t>(context_->machine().workers[w].kind)];
      if (ns < 0) ns = context_->run_time(task, WorkerId{w}).ns;
      known = known && ns > 0;
      predictions_.push_back({.worker = w, .duration_ns = ns});
    }
    if (predictions_.empty()) {
      throw std::logic_error(std::string(name()) + ": no worker can run the ready task " +
                             std::string(task.name()));
    }
    return known;
  }

  void predict(const dm::TaskRecord& record) {
    const std::int64_t now = context_->now().ns;
    transfer_ns_.assign(context_->machine().nodes.size(), -1);
    for (Prediction& on : predictions_) {
      const NodeId node = node_of(WorkerId{on.worker});
      std::int64_t& transfer_ns = transfer_ns_[node.value];
      if (transfer_ns < 0) transfer_ns = ledger_.transfer_ns(record, node);
      const Load& load = workers_[on.worker].load;
      on.transfer_ns = transfer_ns;
      on.tasks = load.tasks();
      on.free_ns = load.free_at_ns({now});
      on.finish_ns = std::max(on.free_ns, now + on.transfer_ns) + on.duration_ns;
    }
  }

  const Prediction& choose(const dm::TaskRecord& record) {
    const bool times_known = find_workers(*record.task);
    if (strategy_.placement == Placement::random) {
      const double drawn = context_->random().uniform();
      return explained(record, trace::Reason::drawn, chosen_by(drawn), drawn);
    }
    predict(record);
    if (!times_known) return explained(record, trace::Reason::fewest_tasks, fewest_tasks());
    const bool near = strategy_.placement == Placement::near;
    return explained(record, near ? trace::Reason::least_cost : trace::Reason::earliest_end,
                     least_cost());
  }

  const Prediction& fewest_tasks() const {
    return *std::ranges::min_element(predictions_, {}, &Prediction::tasks);
  }
  const Prediction& least_cost() const {
    const std::int64_t beta = strategy_.placement == Placement::near ? 1 : 0;
    // alpha min C is the same for all of them.
    return *std::ranges::min_element(predictions_, {}, [&](const Prediction& on) {
      return on.finish_ns + beta * on.transfer_ns;
    });
  }

  // Workers count alike if the task's time is not known on all of them.
  const Prediction& chosen_by(double drawn) const {
    const bool known =
        std::ranges::all_of(predictions_, [](const Prediction& on) { return on.duration_ns > 0; });
    const auto speed = [&](const Prediction& on) {
      return known ? 1.0 / static_cast<double>(on.duration_ns) : 1.0;
    };
    double sum = 0;
    for (const Prediction& on : predictions_) sum += speed(on);
    double left = drawn * sum;
    for (const Prediction& on : predictions_) {
      left -= speed(on);
      if (left < 0) return on;
    }
    return predictions_.back();  // rounding
  }

  const Prediction& explained(const dm::TaskRecord& record, trace::Reason reason,
                              const Prediction& chosen, std::optional<double> drawn = {}) {
    if (!decisions_.heard()) return chosen;
    Telling told = decisions_.about(*record.task, reason, trace::Among::workers);
    if (drawn) told.draw(*drawn);
    told.each(predictions_,
              [&](const Prediction& on) {
                return Choice{{on.worker, scores_of(on, reason)}, on.worker == chosen.worker};
              })
        .tell();
    return chosen;
  }

  // --- what a worker is given

  // A task that one of its workers was given may run on another.
  bool has_idle_worker(NodeId node) const {
    const NodeIndex there = nodes_.find(node);
    return on_node_[there].given() < nodes_[there].workers.size();
  }
  // Queued for a worker that is away: of the longest queue that has one this worker can run.
  dm::TaskRecord* left_behind(WorkerId worker) {
    return find_where_most(
        workers_.size(), [&](std::uint32_t w) { return workers_[w].queue.size(); },
        [&](std::uint32_t w) { return left_behind(worker, WorkerId{w}); });
  }

  dm::TaskRecord* left_behind(WorkerId worker, WorkerId other) {
    if (!context_->away(other)) return nullptr;
    return workers_[other.value].queue.find(
        [&](const dm::TaskRecord& queued) { return context_->can_run(*queued.task, worker); });
  }

  // Of the queue whose worker has most to do, for one that has nothing.
  dm::TaskRecord* sooner_with(WorkerId worker) {
    if (!takes_ || !has_idle_worker(node_of(worker))) return nullptr;
    return find_where_most(
        workers_.size(),
        [&](std::uint32_t w) {
          return workers_[w].queue.size() > 0 ? workers_[w].load.free_at_ns() : 0;
        },
        [&](std::uint32_t w) { return sooner_with(worker, WorkerId{w}); });
  }

  // The last one that the other would end later, by more than it takes to bring the data here (they are there
  // already, or on their way) and a quarter of the task's time: the readers of its result wait for a copy
  // that is not predicted, and may be near the other worker. Without the quarter a core beside GPUs makes some LU
  // factorisations longer (docs/performance.md).
  dm::TaskRecord* sooner_with(WorkerId worker, WorkerId other) {
    if (kind_of(worker) == kind_of(other)) return nullptr;
    dm::Queue& queue = workers_[other.value].queue;
    const std::int64_t now = context_->now().ns;
    std::int64_t ends_ns = workers_[other.value].load.free_at_ns({now});
    std::array<dm::TaskRecord*, kLastOfWorker> last;
    for (dm::TaskRecord* const record : std::span(last).first(queue.last(last))) {
      const std::int64_t there_ns = ends_ns;
      ends_ns -= record->duration_ns + record->delay_ns;
      if (record->duration_ns <= 0 || !context_->can_run(*record->task, worker)) continue;
      const std::int64_t alone_ns = context_->run_time(*record->task, worker).ns;
      const std::int64_t least_ns = alone_ns + alone_ns / 4;
      if (alone_ns <= 0 || now + least_ns >= there_ns) continue;
      if (now + least_ns + 2 * ledger_.transfer_ns(*record, node_of(worker)) < there_ns) {
        return record;
      }
    }
    return nullptr;
  }

  // Wakes a single waiting worker, which wakes the next when it has taken its task. Queued tasks may have come to end
  // later than when the worker asked, behind other tasks or since a task took longer.
  void wake_who_takes_from(WorkerId worker) {
    if (!takes_ || waiting_ == 0 || workers_[worker.value].queue.size() == 0) return;
    std::array<std::uint64_t, kProcessorKinds> looked{};  // bit n: one of memory node n
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      const NodeId node = node_of(WorkerId{w});
      if (!workers_[w].waits || workers_[w].queue.size() > 0) continue;
      if (!has_idle_worker(node) || context_->away(WorkerId{w})) continue;
      std::uint64_t& nodes = looked[static_cast<std::size_t>(kind_of(WorkerId{w}))];
      const std::uint64_t bit = std::uint64_t{1} << node.value;
      if ((std::exchange(nodes, nodes | bit) & bit) != 0) continue;
      if (sooner_with(WorkerId{w}, worker) == nullptr) continue;
      return context_->wake(WorkerId{w});
    }
  }

  void note_wait(WorkerId worker, bool waits) {
    if (std::exchange(workers_[worker.value].waits, waits) == waits) return;
    waits ? ++waiting_ : --waiting_;
  }
  void tell_given(const dm::TaskRecord& record, WorkerId worker) {
    dm::Queue& own = workers_[worker.value].queue;
    if (own.size() > 0) return own.tell_first(decisions_, worker, record);
    const bool left = context_->away(record.worker);
    Telling theft = decisions_.asked_by(
        worker, left ? trace::Reason::longest_queue_left : trace::Reason::latest_to_end,
        trace::Among::workers);
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      const bool wins = w == record.worker.value;
      const auto has_one = [&] {
        return (left ? left_behind(worker, WorkerId{w}) : sooner_with(worker, WorkerId{w})) !=
               nullptr;
      };
      if (!wins && !has_one()) continue;
      const auto& [queue, load, waits] = workers_[w];
      theft.consider({w, {{Measure::tasks, queue.size()}, {Measure::free_at, load.free_at_ns()}}},
                     wins);
    }
    theft.of(*record.task).tell();
  }

  void give(dm::TaskRecord& record, WorkerId worker) {
    ListedWorker& from = workers_[record.worker.value];
    from.queue.remove(record);
    from.load.take_out(record.duration_ns + record.delay_ns);
    if (strategy_.order.ready_first) ledger_.unfollow(record);
    if (record.worker != worker) {
      if (predicts()) ledger_.take_back(record, node_of(record.worker));
      record.worker = worker;
      record.duration_ns = context_->run_time(*record.task, worker).ns;
      if (predicts()) ledger_.request(record, node_of(worker));  // the look-ahead copies for it
    }
    workers_[worker.value].load.give(record.duration_ns, context_->now());
    on_node_[nodes_.of(worker)].give(record.duration_ns);
  }

  const DequeStrategy strategy_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  dm::Ledger ledger_;
  Nodes nodes_;
  std::deque<ListedWorker> workers_;
  std::vector<Load> on_node_;  // what their workers were given
  std::size_t waiting_ = 0;    // of them, how many wait
  bool takes_ = false;         // workers are of several kinds, and times are predicted
  TaskList unplaced_;          // with Placement::finish: until a worker asks
  Records<dm::TaskRecord> records_;
  std::uint64_t last_number_ = 0;
  // Of the task that is being placed.
  base::SureVector<Prediction> predictions_;
  base::SureVector<std::int64_t> transfer_ns_;  // by node, -1: not asked
};

std::unique_ptr<Policy> make_list_scheduler(std::string_view name, Placement placement,
                                            dm::Order order) {
  return std::make_unique<DequeModel>(DequeStrategy{name, placement, order});
}

}  // namespace

std::unique_ptr<Policy> make_dmda() {
  return make_list_scheduler("dmda", Placement::near, {});
}
std::unique_ptr<Policy> make_dmdar() {
  return make_list_scheduler("dmdar", Placement::near, {.ready_first = true});
}
std::unique_ptr<Policy> make_dmdas() {
  return make_list_scheduler("dmdas", Placement::near, {.by_priority = true, .ready_first = true});
}
std::unique_ptr<Policy> make_heft() {
  return make_list_scheduler("heft", Placement::finish, {.by_priority = true});
}
std::unique_ptr<Policy> make_random() {
  return make_list_scheduler("random", Placement::random, {});
}

}  // namespace vicinal::sched
