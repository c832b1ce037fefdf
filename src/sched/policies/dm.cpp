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
#include "sched/policies/dm_decisions.hpp"
#include "sched/policies/dm_ledger.hpp"
#include "sched/policies/dm_queue.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {
namespace {

using dm::Prediction;

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

struct WorkerBooks {
  explicit WorkerBooks(dm::Order order) : queue(order) {}
  dm::Queue queue;
  std::int64_t queued_ns = 0;   // L: of those in the queue, with the delays their data cause
  std::int64_t given_ns = 0;    // of the tasks it was given and that have not ended
  std::int64_t free_at_ns = 0;  // when they will have ended
  std::size_t tasks = 0;        // queued or given
  bool waits = false;           // has asked and found nothing
};

// Tasks at the end of another's queue that one which has nothing looks at.
constexpr std::size_t kLastOfWorker = 32;

class DequeModel final : public Policy {
 public:
  explicit DequeModel(const DequeStrategy& strategy) : strategy_(strategy) {}
  std::string_view name() const override { return strategy_.name; }
  PolicyTraits traits() const override {
    return {
        .wants_ends = true, .wants_run_times = true, .keeps_order = !strategy_.order.ready_first};
  }

  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_loaded(graph::Handle& handle, NodeId node) override { ledger_.refresh(handle, node); }
  void data_evicted(graph::Handle& handle, NodeId node) override { ledger_.refresh(handle, node); }
  void data_forgotten(graph::Handle& handle) override { ledger_.forget(handle); }

 private:
  bool predicts() const { return strategy_.placement != Placement::random; }
  NodeId node_of(WorkerId worker) const { return context_->machine().workers[worker.value].node; }
  ProcessorKind kind_of(WorkerId worker) const {
    return context_->machine().workers[worker.value].kind;
  }
  void place(graph::Task& task);
  void enqueue(dm::TaskRecord& record, const Prediction& chosen);
  void ask_for_data(dm::TaskRecord& record);
  bool find_workers(const graph::Task& task);
  void predict(const dm::TaskRecord& record);
  const Prediction& choose(const dm::TaskRecord& record);
  const Prediction& fewest_tasks() const;
  const Prediction& least_cost() const;
  const Prediction& chosen_by(double drawn) const;
  const Prediction& explained(const dm::TaskRecord& record, trace::Reason reason,
                              const Prediction& chosen, std::optional<double> drawn = {});
  // A task that one of its workers was given may run on another.
  bool has_idle_worker(NodeId node) const {
    return on_node_[node.value].given < on_node_[node.value].workers;
  }
  dm::TaskRecord* left_behind(WorkerId worker);
  dm::TaskRecord* left_behind(WorkerId worker, WorkerId other);
  dm::TaskRecord* sooner_with(WorkerId worker);
  dm::TaskRecord* sooner_with(WorkerId worker, WorkerId other);
  void wake_who_takes_from(WorkerId worker);
  void note_wait(WorkerId worker, bool waits);
  void tell_given(const dm::TaskRecord& record, WorkerId worker);
  void give(dm::TaskRecord& record, WorkerId worker);

  const DequeStrategy strategy_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  dm::Ledger ledger_;
  std::deque<WorkerBooks> books_;  // by worker
  std::size_t waiting_ = 0;        // of them, how many wait
  bool takes_ = false;             // workers are of several kinds, and times are predicted
  struct OnNode {
    std::size_t workers = 0;
    std::size_t given = 0;  // tasks that have not ended
  };
  std::vector<OnNode> on_node_;
  TaskList unplaced_;  // with Placement::finish: until a worker asks
  RecordPool<dm::TaskRecord> records_;
  std::uint64_t last_number_ = 0;
  // Of the task that is being placed.
  base::SureVector<Prediction> predictions_;
  base::SureVector<std::int64_t> transfer_ns_;  // by node, -1: not asked
};

void DequeModel::start(PolicyContext& context) {
  context_ = &context;
  decisions_.start(context);
  ledger_.start(context);
  on_node_.resize(context.machine().nodes.size());
  for (std::size_t i = 0; i < context.machine().workers.size(); ++i) {
    books_.emplace_back(strategy_.order);
    const WorkerDescription& worker = context.machine().workers[i];
    ++on_node_[worker.node.value].workers;
    takes_ = takes_ || (predicts() && worker.kind != kind_of(WorkerId{0}));
  }
}

void DequeModel::push(graph::Task& task, WorkerId /*releasing*/) {
  if (strategy_.placement == Placement::finish) {
    unplaced_.push_back(task);
  } else {
    place(task);
  }
}

void DequeModel::place(graph::Task& task) {
  dm::TaskRecord& record = records_.take();
  record.task = &task;
  record.number = ++last_number_;
  task.policy_data = &record;
  if (predicts()) ledger_.open(record);
  enqueue(record, choose(record));
  context_->wake(record.worker);
  wake_who_takes_from(record.worker);
}

void DequeModel::enqueue(dm::TaskRecord& record, const Prediction& chosen) {
  WorkerBooks& books = books_[chosen.worker];
  record.worker = WorkerId{chosen.worker};
  record.duration_ns = chosen.duration_ns;
  record.delay_ns =
      std::max<std::int64_t>(0, chosen.finish_ns - chosen.duration_ns - chosen.free_ns);
  books.queued_ns += record.duration_ns + record.delay_ns;
  ++books.tasks;
  if (predicts()) ask_for_data(record);
  books.queue.insert(record);
}

void DequeModel::ask_for_data(dm::TaskRecord& record) {
  const NodeId node = node_of(record.worker);
  context_->wish(*record.task, node);
  ledger_.request(record, node);
  if (strategy_.order.ready_first) ledger_.follow(record, node);
}

// --- the choice of a worker

const Prediction& DequeModel::choose(const dm::TaskRecord& record) {
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

const Prediction& DequeModel::explained(const dm::TaskRecord& record, trace::Reason reason,
                                        const Prediction& chosen, std::optional<double> drawn) {
  if (decisions_.heard()) {
    dm::tell(decisions_, {*record.task, reason, predictions_, chosen.worker, drawn});
  }
  return chosen;
}

// Is the task's time known on all of them?
bool DequeModel::find_workers(const graph::Task& task) {
  bool known = true;
  predictions_.clear();
  std::array<std::int64_t, kProcessorKinds> time_on;  // by kind; -1: not asked
  time_on.fill(-1);
  for (std::uint32_t w = 0; w < books_.size(); ++w) {
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

void DequeModel::predict(const dm::TaskRecord& record) {
  const std::int64_t now = context_->now().ns;
  transfer_ns_.assign(context_->machine().nodes.size(), -1);
  for (Prediction& on : predictions_) {
    const NodeId node = node_of(WorkerId{on.worker});
    std::int64_t& transfer_ns = transfer_ns_[node.value];
    if (transfer_ns < 0) transfer_ns = ledger_.transfer_ns(record, node);
    const WorkerBooks& books = books_[on.worker];
    on.transfer_ns = transfer_ns;
    on.tasks = books.tasks;
    on.free_ns = std::max(books.free_at_ns, now) + books.queued_ns;
    on.finish_ns = std::max(on.free_ns, now + on.transfer_ns) + on.duration_ns;
  }
}

const Prediction& DequeModel::least_cost() const {
  const std::int64_t beta = strategy_.placement == Placement::near ? 1 : 0;
  // alpha min C is the same for all of them.
  return *std::ranges::min_element(
      predictions_, {}, [&](const Prediction& on) { return on.finish_ns + beta * on.transfer_ns; });
}

const Prediction& DequeModel::fewest_tasks() const {
  return *std::ranges::min_element(predictions_, {}, &Prediction::tasks);
}

// Workers count alike if the task's time is not known on all of them.
const Prediction& DequeModel::chosen_by(double drawn) const {
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

// --- what a worker is given

graph::Task* DequeModel::pop(WorkerId worker) {
  while (graph::Task* const task = unplaced_.pop_front()) place(*task);
  dm::TaskRecord* record = books_[worker.value].queue.first();
  if (record == nullptr) record = left_behind(worker);
  if (record == nullptr) record = sooner_with(worker);
  note_wait(worker, record == nullptr);
  if (record == nullptr) return nullptr;
  if (decisions_.heard()) tell_given(*record, worker);
  const WorkerId queued_for = record->worker;
  give(*record, worker);
  wake_who_takes_from(queued_for);
  std::array<const graph::Task*, PolicyContext::kComing> coming;
  const std::size_t known = books_[worker.value].queue.coming(coming);
  context_->coming({coming.data(), known}, worker);
  if (predicts()) ledger_.warm(*record);
  return record->task;
}

void DequeModel::tell_given(const dm::TaskRecord& record, WorkerId worker) {
  dm::Queue& own = books_[worker.value].queue;
  if (own.size() > 0) return dm::tell_first(decisions_, worker, record, own);
  const bool left = context_->away(record.worker);
  trace::Decision theft = decisions_.asked_by(
      worker, left ? trace::Reason::longest_queue_left : trace::Reason::latest_to_end,
      trace::Among::workers);
  theft.task = graph::TaskPool::id(*record.task);
  for (std::uint32_t w = 0; w < books_.size(); ++w) {
    const bool wins = w == record.worker.value;
    const auto has_one = [&] {
      return (left ? left_behind(worker, WorkerId{w}) : sooner_with(worker, WorkerId{w})) !=
             nullptr;
    };
    if (!wins && !has_one()) continue;
    const WorkerBooks& books = books_[w];
    theft.consider({w,
                    {{trace::Measure::tasks, static_cast<std::int64_t>(books.queue.size())},
                     {trace::Measure::free_at, books.free_at_ns + books.queued_ns}}},
                   wins);
  }
  decisions_.tell(std::move(theft));
}

// Queued for a worker that is away: of the longest queue that has one this worker can run.
dm::TaskRecord* DequeModel::left_behind(WorkerId worker) {
  dm::TaskRecord* best = nullptr;
  std::size_t longest = 0;
  for (std::uint32_t w = 0; w < books_.size(); ++w) {
    const dm::Queue& queue = books_[w].queue;
    if (queue.size() <= longest) continue;
    dm::TaskRecord* const record = left_behind(worker, WorkerId{w});
    if (record == nullptr) continue;
    best = record;
    longest = queue.size();
  }
  return best;
}

dm::TaskRecord* DequeModel::left_behind(WorkerId worker, WorkerId other) {
  if (!context_->away(other)) return nullptr;
  return books_[other.value].queue.find(
      [&](const dm::TaskRecord& queued) { return context_->can_run(*queued.task, worker); });
}

// Of the queue whose worker has most to do, for one that has nothing.
dm::TaskRecord* DequeModel::sooner_with(WorkerId worker) {
  if (!takes_ || !has_idle_worker(node_of(worker))) return nullptr;
  dm::TaskRecord* best = nullptr;
  std::int64_t latest = 0;
  for (std::uint32_t w = 0; w < books_.size(); ++w) {
    const WorkerBooks& books = books_[w];
    const std::int64_t free_ns = books.free_at_ns + books.queued_ns;
    if (books.queue.size() == 0 || free_ns <= latest) continue;
    dm::TaskRecord* const record = sooner_with(worker, WorkerId{w});
    if (record == nullptr) continue;
    best = record;
    latest = free_ns;
  }
  return best;
}

// The last one that the other would end later, by more than it takes to bring the data here (they are there
// already, or on their way) and a quarter of the task's time: the readers of its result wait for a copy
// that is not predicted, and may be near the other worker. Without the quarter a core beside GPUs makes some LU
// factorisations longer (docs/performance.md).
dm::TaskRecord* DequeModel::sooner_with(WorkerId worker, WorkerId other) {
  if (kind_of(worker) == kind_of(other)) return nullptr;
  WorkerBooks& books = books_[other.value];
  const std::int64_t now = context_->now().ns;
  std::int64_t ends_ns = std::max(books.free_at_ns, now) + books.queued_ns;
  std::array<dm::TaskRecord*, kLastOfWorker> last;
  for (dm::TaskRecord* const record : std::span(last).first(books.queue.last(last))) {
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
void DequeModel::wake_who_takes_from(WorkerId worker) {
  if (!takes_ || waiting_ == 0 || books_[worker.value].queue.size() == 0) return;
  std::array<std::uint64_t, kProcessorKinds> looked{};  // bit n: one of memory node n
  for (std::uint32_t w = 0; w < books_.size(); ++w) {
    const NodeId node = node_of(WorkerId{w});
    if (!books_[w].waits || books_[w].queue.size() > 0) continue;
    if (!has_idle_worker(node) || context_->away(WorkerId{w})) continue;
    std::uint64_t& nodes = looked[static_cast<std::size_t>(kind_of(WorkerId{w}))];
    const std::uint64_t bit = std::uint64_t{1} << node.value;
    if ((std::exchange(nodes, nodes | bit) & bit) != 0) continue;
    if (sooner_with(WorkerId{w}, worker) == nullptr) continue;
    return context_->wake(WorkerId{w});
  }
}

void DequeModel::note_wait(WorkerId worker, bool waits) {
  if (std::exchange(books_[worker.value].waits, waits) == waits) return;
  waits ? ++waiting_ : --waiting_;
}

void DequeModel::give(dm::TaskRecord& record, WorkerId worker) {
  WorkerBooks& from = books_[record.worker.value];
  from.queue.remove(record);
  from.queued_ns -= record.duration_ns + record.delay_ns;
  --from.tasks;
  if (strategy_.order.ready_first) ledger_.unfollow(record);
  if (record.worker != worker) {
    if (predicts()) ledger_.take_back(record, node_of(record.worker));
    record.worker = worker;
    record.duration_ns = context_->run_time(*record.task, worker).ns;
    if (predicts())
      ledger_.request(record, node_of(record.worker));  // the look-ahead copies for it
  }
  WorkerBooks& to = books_[worker.value];
  to.free_at_ns = std::max(to.free_at_ns, context_->now().ns) + record.duration_ns;
  to.given_ns += record.duration_ns;
  ++on_node_[node_of(worker).value].given;
  ++to.tasks;
}

// Ended on whatever worker of the node it was given to.
void DequeModel::task_done(graph::Task& task, WorkerId /*worker*/) {
  auto& record = *static_cast<dm::TaskRecord*>(task.policy_data);
  WorkerBooks& books = books_[record.worker.value];
  books.given_ns -= record.duration_ns;
  --on_node_[node_of(record.worker).value].given;
  books.free_at_ns = context_->now().ns + books.given_ns;
  --books.tasks;
  if (predicts()) ledger_.close(record);
  task.policy_data = nullptr;
  records_.give_back(record);
}

}  // namespace

std::unique_ptr<Policy> make_dmda() {
  return std::make_unique<DequeModel>(DequeStrategy{"dmda", Placement::near, {}});
}
std::unique_ptr<Policy> make_dmdar() {
  return std::make_unique<DequeModel>(
      DequeStrategy{"dmdar", Placement::near, {.ready_first = true}});
}
std::unique_ptr<Policy> make_dmdas() {
  return std::make_unique<DequeModel>(
      DequeStrategy{"dmdas", Placement::near, {.by_priority = true, .ready_first = true}});
}
std::unique_ptr<Policy> make_heft() {
  return std::make_unique<DequeModel>(
      DequeStrategy{"heft", Placement::finish, {.by_priority = true}});
}
std::unique_ptr<Policy> make_random() {
  return std::make_unique<DequeModel>(DequeStrategy{"random", Placement::random, {}});
}

}  // namespace vicinal::sched
