// hfp, mst, rcm: all that is known is ordered before it runs, and each memory node runs its part of the order
// (Gonthier, Marchal, Thibault 2021 and 2022; packaged_plan.hpp says which order, orders/ how it is made).
//
// A node is given, of its tasks that are ready, the first; with ready=yes the one of the first 30 that lacks least on
// the node (the rule of dmdar, over the buffer of 30 tasks that the paper's machines have before each GPU). The look-ahead
// of the engine is behind it. With victims=belady the replica goes whose next use in the order comes last.
//
// A node whose tasks have all been given takes some from the node with most time left (steal=half): from the end of that
// one's order while they would end sooner here than all that the other has; with steal=one a single one.
//
// Departures from the reference:
//  - Only ready tasks are taken from another node, and by a node whose own tasks wait for others one at most: its order
//    stays what it is.
//  - The operands of the tasks that a node was given count as requested there: the look-ahead asks for them later.
//  - A combination of what tasks reduced learns where it runs when it is ready: it changes the node and keeps its place.
//  - What waits for workers that are away goes to whoever asks, whatever `steal` says.

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/future_uses.hpp"
#include "sched/policies/dm_records.hpp"
#include "sched/policies/packaged_nodes.hpp"
#include "sched/policies/packaged_plan.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

using packaged::NodeIndex;
using trace::Measure;
using trace::Reason;

struct PackagedTask {
  graph::Task* task = nullptr;
  NodeIndex node = 0;
  std::uint64_t place = 0;  // in the order of the node: rises
  std::int64_t duration_ns = 0;
  bool ready = false;
  bool given = false;
  FutureUses::Place uses;
};

struct NodeBooks {
  base::SureMap<std::uint64_t, PackagedTask*> ready;  // not given, by place
  std::size_t planned = 0;                            // not given, ready or not
  std::int64_t planned_ns = 0;
  std::int64_t given_ns = 0;  // of those that have not ended
};

enum class Steal : std::uint8_t { half, one, none };

struct Rules {
  std::string_view name;
  packaged::PlanRules plan;
  bool ready_first = true;
  bool belady = true;
  Steal steal = Steal::half;
};

struct InWindow {
  PackagedTask* record = nullptr;
  dm::Missing missing;
};
constexpr std::size_t kWindow = 30;
// Ready tasks at the end of another node's order that one which has none looks at.
constexpr std::size_t kLastOfNode = 32;

class Packaged final : public Policy {
 public:
  explicit Packaged(const Rules& rules) : rules_(rules) {}
  std::string_view name() const override { return rules_.name; }
  PolicyTraits traits() const override {
    return {.moves_tasks = rules_.steal != Steal::none,
            .wants_ends = true,
            .wants_run_times = true,
            .plans = true};
  }
  memory::VictimChoice* victims() override { return rules_.belady ? &future_ : nullptr; }
  void start(PolicyContext& context) override;
  void plan(const KnownTasks& known) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;
  bool may_move(graph::Task& task, WorkerId to) override;
  void task_done(graph::Task& task, WorkerId worker) override;
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

 private:
  static PackagedTask* record_of(const graph::Task& task) {
    return static_cast<PackagedTask*>(task.policy_data);
  }
  std::int64_t time_on(const PackagedTask& record, NodeIndex node) const {
    const Time known = nodes_.run_time(*record.task, node);
    return known > Time{0} ? known.ns : packaged::kUnknownTime.ns;
  }
  void append(PackagedTask& record, NodeIndex node);
  void take_out(PackagedTask& record);
  void enter(PackagedTask& record, NodeIndex node);
  void give(PackagedTask& record, NodeIndex node);
  Time busy(NodeIndex node) const;

  PackagedTask* first_for(WorkerId worker);
  dm::Missing missing_of(const PackagedTask& record) const;
  void tell_first(const PackagedTask& first, WorkerId worker) const;

  PackagedTask* taken_for(WorkerId worker);
  std::optional<NodeIndex> longest_left(WorkerId worker) const;
  PackagedTask* last_for(WorkerId worker, NodeIndex other, std::int64_t taken_ns = 0) const;
  bool ends_sooner(const PackagedTask& record, NodeIndex node, std::int64_t taken_ns) const;
  void take_from(NodeIndex other, WorkerId worker);
  trace::Decision theft_from(NodeIndex other, WorkerId worker) const;

  const Rules rules_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  packaged::Nodes nodes_;
  std::vector<NodeBooks> books_;  // by node
  std::uint64_t last_place_ = 0;
  FutureUses future_;
  RecordPool<PackagedTask> records_;
  base::SureVector<InWindow> window_;
  base::SureVector<PackagedTask*> taken_;  // the last one first
};

void Packaged::start(PolicyContext& context) {
  context_ = &context;
  decisions_.start(context);
  nodes_.start(context);
  future_.start(context);
  books_.resize(nodes_.count());
}

void Packaged::plan(const KnownTasks& known) {
  std::vector<Time> busy_now;
  for (NodeIndex node = 0; node < nodes_.count(); ++node) busy_now.push_back(busy(node));
  for (const auto& [task, node] : packaged::plan(known, rules_.plan, nodes_, std::move(busy_now))) {
    PackagedTask& record = records_.take();
    record = {};
    record.task = task;
    task->policy_data = &record;
    append(record, node);
    if (!decisions_.heard()) continue;
    trace::Decision decision = decisions_.about(*task, Reason::in_package, trace::Among::nodes);
    decision.consider(
        {nodes_.id(node).value, {{Measure::place, static_cast<std::int64_t>(record.place)}}}, true);
    decisions_.tell(std::move(decision));
  }
}

// Behind all that the node has.
void Packaged::append(PackagedTask& record, NodeIndex node) {
  record.place = ++last_place_;
  enter(record, node);
}

void Packaged::enter(PackagedTask& record, NodeIndex node) {
  record.node = node;
  record.duration_ns = time_on(record, node);
  NodeBooks& books = books_[node];
  ++books.planned;
  books.planned_ns += record.duration_ns;
  if (record.ready) books.ready.emplace(record.place, &record);
  future_.expect_on(*record.task, nodes_.id(node), record.uses);
}

void Packaged::take_out(PackagedTask& record) {
  NodeBooks& books = books_[record.node];
  --books.planned;
  books.planned_ns -= record.duration_ns;
  if (record.ready) books.ready.erase(record.place);
}

void Packaged::give(PackagedTask& record, NodeIndex node) {
  record.given = true;
  record.node = node;
  books_[node].given_ns += record.duration_ns;
  future_.give(*record.task, nodes_.id(node), record.uses);
}

Time Packaged::busy(NodeIndex node) const {
  return {(books_[node].planned_ns + books_[node].given_ns) / nodes_.workers(node)};
}

void Packaged::push(graph::Task& task, WorkerId /*releasing*/) {
  PackagedTask* const record = record_of(task);
  if (record == nullptr) {
    throw std::logic_error(std::string(name()) + ": task " + std::string(task.name()) +
                           " is ready and was in no plan");
  }
  const auto worker = task.only_worker();
  if (worker && nodes_.of(*worker) != record->node) {
    take_out(*record);
    future_.forget(task, record->uses);
    enter(*record, nodes_.of(*worker));
  }
  record->ready = true;
  books_[record->node].ready.emplace(record->place, record);
}

graph::Task* Packaged::pop(WorkerId worker) {
  PackagedTask* record = first_for(worker);
  if (record == nullptr) {
    record = taken_for(worker);
  } else if (decisions_.heard()) {
    tell_first(*record, worker);
  }
  if (record == nullptr) return nullptr;
  take_out(*record);
  give(*record, record->node);
  return record->task;
}

bool Packaged::may_move(graph::Task& task, WorkerId to) {
  PackagedTask& record = *record_of(task);
  books_[record.node].given_ns -= record.duration_ns;
  give(record, nodes_.of(to));
  return true;
}

void Packaged::task_done(graph::Task& task, WorkerId /*worker*/) {
  if (task.policy_data == nullptr) return;  // its plan failed
  PackagedTask& record = *record_of(task);
  if (record.given) {
    books_[record.node].given_ns -= record.duration_ns;
  } else {
    take_out(record);
  }
  future_.forget(task, record.uses);
  task.policy_data = nullptr;
  records_.give_back(record);
}

// --- of the node's own tasks

PackagedTask* Packaged::first_for(WorkerId worker) {
  const std::size_t most = rules_.ready_first || decisions_.heard() ? kWindow : 1;
  window_.clear();
  for (const auto& [place, record] : books_[nodes_.of(worker)].ready) {
    if (!context_->can_run(*record->task, worker)) continue;
    window_.push_back({record, rules_.ready_first ? missing_of(*record) : dm::Missing{}});
    if (window_.size() == most) break;
  }
  if (window_.empty()) return nullptr;
  return std::ranges::min_element(window_, {}, &InWindow::missing)->record;
}

// What comes for a task that the node was given counts as requested.
dm::Missing Packaged::missing_of(const PackagedTask& record) const {
  const NodeId node = nodes_.id(record.node);
  const auto there = [&](std::uint64_t nodes) { return (nodes >> node.value & 1) != 0; };
  dm::Missing missing;
  for (const graph::Access& access : record.task->accesses()) {
    const std::uint64_t bytes = access.handle->bytes().value;
    const Presence presence = context_->presence(*access.handle);
    const bool requested = there(presence.on_node) || future_.is_given(*access.handle, node);
    if (!requested) missing.unplaced += bytes;
    if (!reads(access.mode)) continue;
    if (!there(presence.valid)) missing.invalid += bytes;
    if (!requested) missing.unrequested += bytes;
  }
  return missing;
}

void Packaged::tell_first(const PackagedTask& first, WorkerId worker) const {
  const Reason reason = rules_.ready_first ? Reason::lacks_least_of_next : Reason::first_planned;
  trace::Decision decision = decisions_.asked_by(worker, reason, trace::Among::tasks);
  for (const auto& [record, missing] : window_) {
    trace::Candidate candidate{
        id_of(*record->task),
        Decisions::ranks(*record->task, static_cast<std::int64_t>(record->place))};
    if (rules_.ready_first) {
      for (const auto& [measure, bytes] :
           {std::pair(Measure::unrequested_bytes, missing.unrequested),
            std::pair(Measure::missing_bytes, missing.invalid),
            std::pair(Measure::unplaced_bytes, missing.unplaced)}) {
        candidate.scores.push_back({measure, static_cast<std::int64_t>(bytes)});
      }
    }
    decision.consider(std::move(candidate), record == &first);
  }
  decisions_.tell(std::move(decision));
}

// --- of other nodes'

PackagedTask* Packaged::taken_for(WorkerId worker) {
  const auto other = longest_left(worker);
  if (!other) return nullptr;
  std::optional<trace::Decision> theft;
  if (decisions_.heard()) theft = theft_from(*other, worker);
  take_from(*other, worker);
  PackagedTask* const record = first_for(worker);
  if (theft) {
    theft->task = graph::TaskPool::id(*record->task);
    decisions_.tell(*std::move(theft));
  }
  return record;
}

// The node with most time left of those that have one for the worker; the first on ties.
std::optional<NodeIndex> Packaged::longest_left(WorkerId worker) const {
  std::optional<NodeIndex> longest;
  for (NodeIndex node = 0; node < nodes_.count(); ++node) {
    if (node == nodes_.of(worker) || (longest && busy(node) <= busy(*longest))) continue;
    if (last_for(worker, node) != nullptr) longest = node;
  }
  return longest;
}

// The last of the ready ones that the worker may take from there, behind what it has taken.
PackagedTask* Packaged::last_for(WorkerId worker, NodeIndex other, std::int64_t taken_ns) const {
  const bool left_behind = nodes_.all_away(other);
  if (rules_.steal == Steal::none && !left_behind) return nullptr;
  const auto& ready = books_[other].ready;
  std::size_t looks = 0;
  for (auto at = ready.rbegin(); at != ready.rend(); ++at) {
    if (!left_behind && looks++ == kLastOfNode) return nullptr;
    PackagedTask& record = *at->second;
    if (!context_->can_run(*record.task, worker)) continue;
    if (left_behind || ends_sooner(record, nodes_.of(worker), taken_ns)) return &record;
  }
  return nullptr;
}

// Than all that its own node has.
bool Packaged::ends_sooner(const PackagedTask& record, NodeIndex node,
                           std::int64_t taken_ns) const {
  const std::int64_t alone_ns = time_on(record, node);
  const std::int64_t shared_ns =
      (books_[node].given_ns + taken_ns + alone_ns) / nodes_.workers(node);
  return Time{std::max(alone_ns, shared_ns)} < busy(record.node);
}

void Packaged::take_from(NodeIndex other, WorkerId worker) {
  const NodeIndex own = nodes_.of(worker);
  const bool several =
      rules_.steal == Steal::half && books_[own].planned == 0 && !nodes_.all_away(other);
  PackagedTask* record = last_for(worker, other);
  std::int64_t taken_ns = 0;
  while (record != nullptr) {
    take_out(*record);
    future_.forget(*record->task, record->uses);
    taken_.push_back(record);
    taken_ns += time_on(*record, own);
    record = several ? last_for(worker, other, taken_ns) : nullptr;
  }
  for (; !taken_.empty(); taken_.pop_back()) append(*taken_.back(), own);
}

trace::Decision Packaged::theft_from(NodeIndex other, WorkerId worker) const {
  trace::Decision decision = decisions_.asked_by(worker, Reason::longest_left, trace::Among::nodes);
  for (NodeIndex node = 0; node < nodes_.count(); ++node) {
    if (node == nodes_.of(worker) || last_for(worker, node) == nullptr) continue;
    decision.consider({nodes_.id(node).value, {{Measure::time_left, busy(node).ns}}},
                      node == other);
  }
  return decision;
}

std::unique_ptr<Policy> make(std::string_view name, packaged::PlanRules plan,
                             const Settings& settings) {
  const std::string_view steal = settings.text("steal");
  return std::make_unique<Packaged>(Rules{.name = name,
                                          .plan = plan,
                                          .ready_first = settings.yes("ready"),
                                          .belady = settings.text("victims") == "belady",
                                          .steal = steal == "half"  ? Steal::half
                                                   : steal == "one" ? Steal::one
                                                                    : Steal::none});
}

}  // namespace

std::unique_ptr<Policy> make_hfp(const Settings& settings) {
  using packaged::Balance;
  const std::string_view balance = settings.text("balance");
  return make("hfp",
              {.algorithm = packaged::Algorithm::hfp,
               .flip = settings.yes("flip"),
               .rounds_sizes = settings.text("sizes") == "rounded",
               .balance = balance == "time"       ? Balance::time
                          : balance == "count"    ? Balance::count
                          : balance == "duration" ? Balance::duration
                                                  : Balance::none},
              settings);
}
std::unique_ptr<Policy> make_mst(const Settings& settings) {
  return make("mst", {.algorithm = packaged::Algorithm::mst}, settings);
}
std::unique_ptr<Policy> make_rcm(const Settings& settings) {
  return make("rcm", {.algorithm = packaged::Algorithm::rcm}, settings);
}

}  // namespace vicinal::sched
