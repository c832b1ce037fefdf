// hfp, mst, rcm, horizon: all that is known is ordered before it runs, and each memory node runs its part of the order
// (the first three after Gonthier, Marchal, Thibault 2021 and 2022; packaged_plan.hpp says which order, orders/ how it is
// made). For horizon copies run ahead of the tasks, and tasks that would take their room wait (copies_ahead.hpp). And it
// follows a plan from a file (followed_plan.hpp).
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
#include "sched/load.hpp"
#include "sched/missing.hpp"
#include "sched/nodes.hpp"
#include "sched/policies/copies_ahead.hpp"
#include "sched/policies/expected_places.hpp"
#include "sched/policies/followed_plan.hpp"
#include "sched/policies/packaged_plan.hpp"
#include "sched/policies/turns.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"
#include "sched/theft.hpp"

namespace vicinal::sched {
namespace {

using trace::Measure;
using trace::Reason;

struct PackagedTask {
  graph::Task* task = nullptr;
  NodeIndex node = 0;
  std::uint64_t place = 0;  // in the order of the node: rises
  std::int64_t duration_ns = 0;
  bool ready = false;
  bool given = false;
  FutureUses::TaskUses uses;
  CopiesAhead::Place ahead;
};

struct PackagedNode {
  base::SureMap<std::uint64_t, PackagedTask*> ready;  // not given, by place
  Load load;                                          // queued: planned, ready or not
  bool keeps_back = false;  // ready tasks whose turn has not come, from workers that asked
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
  Missing missing;
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
            .plans = true,
            .plans_copies = copies_ahead(),
            .starts_in_order = followed_.has_value()};
  }

  bool follow(const std::shared_ptr<const graph::KeptPlan>& plan) override {
    if (rules_.plan.algorithm != packaged::Algorithm::horizon) return false;
    followed_.emplace(plan);
    return true;
  }
  memory::VictimChoice* victims() override { return rules_.belady ? &future_ : nullptr; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    nodes_.start(context);
    future_.start(context);
    queues_.resize(nodes_.count());
    ahead_.start(context, nodes_);
    if (!followed_) return;
    followed_->start(nodes_);
    turns_.start(context);
  }

  void plan(const KnownTasks& known) override {
    const packaged::Plan plan =
        packaged::plan(known, rules_.plan, nodes_, past(known), followed_ ? &*followed_ : nullptr);
    if (followed_) {
      followed_->warn();
      turns_.planned();
    }
    for (const auto& [task, node] : plan.tasks) {
      PackagedTask& record = records_.open(*task);
      record = {};
      record.task = task;
      append(record, node);
      // Where a combination runs is not known yet.
      const bool stays = task->kind != graph::TaskKind::combination;
      if (copies_ahead() && stays) {
        ahead_.expect(*task, node, record.ahead);
        places_.note(*task, node, record.place);
      }
      if (!decisions_.heard()) continue;
      Telling told = decisions_.about(*task, Reason::in_package, trace::Among::nodes);
      told.consider({nodes_[node].id.value, {{Measure::place, record.place}}}, true);
      told.tell();
    }
    if (!copies_ahead()) return;
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      ahead_.allow(node, plan.ahead, plan.one_by_one == node);
      ahead_.ask(node);
    }
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override {
    PackagedTask* const record = records_.find(task);
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
    queues_[record->node].ready.emplace(record->place, record);
    if (followed_ && !any_comes()) ask_all_again();
  }

  graph::Task* pop(WorkerId worker) override {
    if (followed_) turns_.asks(worker);
    PackagedTask* record = first_for(worker);
    if (record == nullptr) {
      record = taken_for(worker);
    } else if (decisions_.heard()) {
      tell_first(*record, worker);
    }
    if (record == nullptr) {
      if (followed_ && !any_comes()) ask_all_again();
      return nullptr;
    }
    const NodeIndex node = record->node;
    take_out(*record);
    give(*record, node);
    ahead_.ask(node);
    if (followed_) ask_again(node);  // the next one has its turn
    return record->task;
  }

  bool may_move(graph::Task& task, WorkerId to) override {
    PackagedTask& record = records_.of(task);
    queues_[record.node].load.end(record.duration_ns);
    give(record, nodes_.of(to));
    return true;
  }

  void task_done(graph::Task& task, WorkerId worker) override {
    if (followed_) turns_.ended(worker);
    if (task.policy_data == nullptr) return;  // its plan failed
    PackagedTask& record = records_.of(task);
    if (record.given) {
      queues_[record.node].load.end(record.duration_ns);
    } else {
      take_out(record);
    }
    future_.forget(task, record.uses);
    followed_ ? ask_all_again() : ask_again(record.node);
    records_.close(task);
  }

  void passed_on() override {
    turns_.passed_on();
    if (followed_) ask_all_again();
  }

  void data_forgotten(graph::Handle& handle) override {
    future_.forget(handle);
    places_.forget(handle);
  }

 private:
  bool copies_ahead() const { return rules_.plan.algorithm == packaged::Algorithm::horizon; }
  std::int64_t time_on(const PackagedTask& record, NodeIndex node) const {
    const Time known = nodes_.run_time(*record.task, node);
    return known > Time{0} ? known.ns : packaged::kUnknownTime.ns;
  }
  // Where data are, and where what was planned before will have put them.
  packaged::Past past(const KnownTasks& known) const {
    packaged::Past past;
    for (NodeIndex node = 0; node < nodes_.count(); ++node) past.busy.push_back(busy(node));
    if (!copies_ahead()) return past;
    past.data.resize(known.data.size());
    for (std::size_t d = 0; d < known.data.size(); ++d) {
      const graph::Handle* const handle = known.data[d];
      if (handle == nullptr) continue;
      past.data[d] = places_.of(*handle, context_->presence(*handle), nodes_, future_);
    }
    return past;
  }
  // Behind all that the node has.
  void append(PackagedTask& record, NodeIndex node) {
    record.place = ++last_place_;
    enter(record, node);
  }
  void take_out(PackagedTask& record) {
    queues_[record.node].load.take_out(record.duration_ns);
    ahead_.forget(record.node, record.ahead);
    if (record.ready) queues_[record.node].ready.erase(record.place);
  }
  void enter(PackagedTask& record, NodeIndex node) {
    record.node = node;
    record.duration_ns = time_on(record, node);
    queues_[node].load.queue(record.duration_ns);
    if (record.ready) queues_[node].ready.emplace(record.place, &record);
    future_.expect_on(*record.task, nodes_[node].id, record.uses);
  }

  void give(PackagedTask& record, NodeIndex node) {
    record.given = true;
    record.node = node;
    queues_[node].load.give(record.duration_ns);
    future_.give(*record.task, nodes_[node].id, record.uses);
  }

  Time busy(NodeIndex node) const { return {queues_[node].load.left_ns() / nodes_.workers(node)}; }

  // --- of the node's own tasks

  PackagedTask* first_for(WorkerId worker) {
    const std::size_t most = rules_.ready_first || decisions_.heard() ? kWindow : 1;
    window_.clear();
    std::size_t early = 0;
    for (const auto& [place, record] : queues_[nodes_.of(worker)].ready) {
      if (!has_turn(*record)) break;
      if (!context_->can_run(*record->task, worker)) continue;
      if (is_early(*record)) {
        if (++early == kWindow) break;
        continue;
      }
      window_.push_back({record, rules_.ready_first ? missing_of(*record) : Missing{}});
      if (window_.size() == most) break;
    }
    if (window_.empty()) return nullptr;
    return std::ranges::min_element(window_, {}, &InWindow::missing)->record;
  }

  // Of a plan from a file: all before it on its node have been given, or nothing could bring the turn.
  bool has_turn(const PackagedTask& record) {
    if (!followed_ || ahead_.is_next(record.node, record.ahead)) return true;
    queues_[record.node].keeps_back = any_comes();
    return !queues_[record.node].keeps_back;
  }
  // Something is under way that may bring a turn.
  bool any_comes() const {
    return turns_.any_comes() || std::ranges::any_of(queues_, [&](const PackagedNode& node) {
             return node.load.given() > 0 || starts_one(node);
           });
  }
  // Its worker has not asked yet.
  bool starts_one(const PackagedNode& node) const {
    if (node.ready.empty()) return false;
    const PackagedTask& first = *node.ready.begin()->second;
    return ahead_.is_next(first.node, first.ahead) && !nodes_.all_away(first.node);
  }

  void ask_all_again() {
    for (NodeIndex node = 0; node < nodes_.count(); ++node) ask_again(node);
  }
  void ask_again(NodeIndex node) {
    if (!std::exchange(queues_[node].keeps_back, false)) return;
    for (const WorkerId each : nodes_[node].workers) context_->wake(each);
  }

  // Kept for a worker of the node, which asks again when what the node was given has ended.
  bool is_early(const PackagedTask& record) {
    PackagedNode& node = queues_[record.node];
    if (node.load.given() == 0) return false;
    if (!ahead_.is_early(*record.task, record.node, record.ahead)) return false;
    node.keeps_back = true;
    return true;
  }

  // What comes for a task that the node was given counts as requested.
  Missing missing_of(const PackagedTask& record) const {
    const NodeId node = nodes_[record.node].id;
    const auto there = [&](std::uint64_t nodes) { return (nodes >> node.value & 1) != 0; };
    Missing missing;
    for (const graph::Access& access : record.task->accesses()) {
      const Presence presence = context_->presence(*access.handle);
      const bool requested = there(presence.on_node) || future_.is_given(*access.handle, node);
      missing += Missing::of({.size = access.handle->bytes().value,
                              .read = reads(access.mode),
                              .valid = there(presence.valid),
                              .requested = requested});
    }
    return missing;
  }

  void tell_first(const PackagedTask& first, WorkerId worker) const {
    const Reason reason = rules_.ready_first ? Reason::lacks_least_of_next : Reason::first_planned;
    Telling told = decisions_.asked_by(worker, reason, trace::Among::tasks);
    for (const auto& [record, missing] : window_) {
      trace::Candidate candidate{
          id_of(*record->task),
          Decisions::ranks(*record->task, static_cast<std::int64_t>(record->place))};
      if (rules_.ready_first) missing.score(candidate);
      told.consider(std::move(candidate), record == &first);
    }
    told.tell();
  }

  // --- of other nodes' tasks

  // From the node with most time left of those that have a task for the worker.
  PackagedTask* taken_for(WorkerId worker) {
    const PackagedTask* const last = find_where_most(
        nodes_.count(),
        [&](NodeIndex node) { return node == nodes_.of(worker) ? 0 : busy(node).ns + 1; },
        [&](NodeIndex node) { return last_for(worker, node); });
    if (last == nullptr) return nullptr;
    std::optional<Telling> theft;
    if (decisions_.heard()) theft = theft_from(last->node, worker);
    take_from(last->node, worker);
    PackagedTask* const record = first_for(worker);
    if (theft) theft->of(*record->task).tell();
    return record;
  }

  // The last of the ready ones that the worker may take from there, behind what it has taken.
  PackagedTask* last_for(WorkerId worker, NodeIndex other, std::int64_t taken_ns = 0) const {
    const bool left_behind = nodes_.all_away(other);
    if (rules_.steal == Steal::none && !left_behind) return nullptr;
    const auto& ready = queues_[other].ready;
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
  bool ends_sooner(const PackagedTask& record, NodeIndex node, std::int64_t taken_ns) const {
    const std::int64_t alone_ns = time_on(record, node);
    const std::int64_t shared_ns =
        (queues_[node].load.given_ns() + taken_ns + alone_ns) / nodes_.workers(node);
    return Time{std::max(alone_ns, shared_ns)} < busy(record.node);
  }

  void take_from(NodeIndex other, WorkerId worker) {
    const NodeIndex own = nodes_.of(worker);
    const bool several =
        rules_.steal == Steal::half && queues_[own].load.queued() == 0 && !nodes_.all_away(other);
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

  Telling theft_from(NodeIndex other, WorkerId worker) const {
    Telling told = decisions_.asked_by(worker, Reason::longest_left, trace::Among::nodes);
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      if (node == nodes_.of(worker) || last_for(worker, node) == nullptr) continue;
      told.consider({nodes_[node].id.value, {{Measure::time_left, busy(node).ns}}}, node == other);
    }
    return told;
  }

  const Rules rules_;
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  Nodes nodes_;
  std::vector<PackagedNode> queues_;  // by node
  std::uint64_t last_place_ = 0;
  FutureUses future_;
  CopiesAhead ahead_;
  ExpectedPlaces places_;  // of horizon
  std::optional<FollowedPlan> followed_;
  Turns turns_;  // of it
  Records<PackagedTask> records_;
  base::SureVector<InWindow> window_;
  base::SureVector<PackagedTask*> taken_;  // the last one first
};

std::unique_ptr<Policy> make_packaged(std::string_view name, packaged::PlanRules plan,
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
  return make_packaged("hfp",
                       {.algorithm = packaged::Algorithm::hfp,
                        .flip = settings.yes("flip"),
                        .rounds_sizes = settings.text("sizes") == "rounded",
                        .balance = balance == "time"       ? Balance::time
                                   : balance == "count"    ? Balance::count
                                   : balance == "duration" ? Balance::duration
                                                           : Balance::none},
                       settings);
}
std::unique_ptr<Policy> make_horizon(const Settings& settings) {
  return make_packaged("horizon", {.algorithm = packaged::Algorithm::horizon}, settings);
}
std::unique_ptr<Policy> make_mst(const Settings& settings) {
  return make_packaged("mst", {.algorithm = packaged::Algorithm::mst}, settings);
}
std::unique_ptr<Policy> make_rcm(const Settings& settings) {
  return make_packaged("rcm", {.algorithm = packaged::Algorithm::rcm}, settings);
}

}  // namespace vicinal::sched
