// The engine around the way of a task: how its parts are put together, the end of a wait, reports.
#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "base/sure_memory.hpp"
#include "engine/lifecycle.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

Engine::Engine(EngineConfig config)
    : config_(std::move(config)),
      recorder_(config_.simulated ? config_.now : std::function<Time()>{}),
      policy_(std::move(config_.policy)),
      traits_(policy_->traits()),
      timed_(config_.models != nullptr && !config_.simulated &&
             sched::wants_run_times(traits_, config_.machine)),
      node_workers_(workers_by_node(config_.machine, traits_.moves_tasks)),
      counters_(config_.machine.workers.size(), config_.now, config_.simulated, recorder_,
                awaited_),
      sleepers_(config_.machine, node_workers_, drivers_, config_.simulated),
      errors_(sleepers_),
      residency_(config_.machine, drivers_,
                 policy_->victims() != nullptr ? memory::VictimChooser::policy
                                               : memory::VictimChooser::memory,
                 traits_.keeps_order ? memory::UseOrder::as_announced : memory::UseOrder::any,
                 config_.rules),
      trivial_(residency_.trivial()),
      changes_gear_(traits_.two_gears && !trivial_),
      is_planned_(traits_.plans || changes_gear_),
      contention_(config_.machine, config_.heeds_contention, !traits_.chooses_workers),
      pool_(counters_.count()),
      gate_(
          *policy_, [this](graph::Task& task, WorkerId worker) { retire(task, worker); }, recorder_,
          [this] { errors_.cancel(base::out_of_memory("handed a task to the policy")); },
          config_.time_policy),
      eligibility_(config_.machine, residency_, config_.simulated),
      ready_(config_.machine, eligibility_, config_.count_ready),
      costs_(config_.machine, residency_, timed_ ? config_.models : nullptr),
      prefetch_requests_(config_.machine.nodes.size(), residency_, config_.rules),
      copies_(config_.machine),
      producers_(config_.machine, residency_, !config_.rules.any()),
      view_({config_.machine, config_.now, residency_, eligibility_, costs_, sleepers_,
             prefetch_requests_, gate_, config_.notify_waiters, &recorder_},
            config_.seed) {
  const LookAheadParts parts{config_.machine, residency_, gate_,   eligibility_, costs_,
                             counters_,       sleepers_,  errors_, copies_,      view_};
  const LookAheadOptions options{.depth = config_.look_ahead,
                                 .one_at_a_time = config_.rules.pipeline || config_.rules.unified,
                                 .on_demand = config_.rules.unified,
                                 .moves_tasks = traits_.moves_tasks,
                                 .in_flight = traits_.in_flight,
                                 .own_victims = policy_->victims() != nullptr,
                                 .plans_copies = traits_.plans_copies,
                                 .in_order = traits_.starts_in_order};
  for (const NodeDescription& node : config_.machine.nodes) {
    const NodeWorkers& workers = node_workers_[look_aheads_.size()];
    look_aheads_.push_back(std::make_unique<LookAhead>(parts, node, workers, options));
  }
  for (const WorkerDescription& worker : config_.machine.workers) {
    if (timed_) timers_.emplace_back(*config_.models, worker.kind);
  }
  processor_timers_.resize(config_.machine.workers.size());
  recorder_.hand_on_to(config_.listener);
  residency_.tell(&recorder_, config_.now);
  residency_.record(recorder_);
  if (timed_) recorder_.set_above(kTimesTasks);
  if (traits_.two_gears && traits_.plans) {
    throw UsageError(
        "policy " + std::string(policy_->name()) +
        ": its traits say plans and two_gears; a policy with two gears plans in the second, so "
        "leave plans out");
  }
  policy_->start(view_);
  if (!changes_gear_) return;
  has_devices_ = std::ranges::any_of(
      config_.machine.workers, [](const WorkerDescription& worker) { return worker.node != kRam; });
  log_.emplace(pool_);
  gate_.set_gears(*log_, config_.machine.workers.size());
}

Engine::~Engine() = default;

void Engine::attach(std::vector<Driver*> node_drivers, std::vector<Driver*> worker_drivers) {
  drivers_.attach(std::move(node_drivers), std::move(worker_drivers));
  residency_.reserve();
  counters_.start();
  if (has_devices_) gate_.change_gear(sched::Gear::planned);
}

// --- how long tasks run

void Engine::hand_on_run_times() {
  for (RunTimer& timer : timers_) timer.flush();
}

// --- waiting

void Engine::submission_closed() {
  gate_.submission_closed();
  plan_new(1);
  look_at_gear();
  grant_fresh_prefetches();
}

bool Engine::stalled() const {
  return sleepers_.all_asleep_or_away() && performing_.load() == 0 && !gate_.has_deferred() &&
         residency_.quiet() && !drivers_.any_runs();
}

// Tasks that it was expected to take are somebody else's now.
void Engine::worker_leaves(WorkerId worker) {
  counters_.begin_idle(worker);
  sleepers_.leave(worker);
  if (!counters_.all_ended()) sleepers_.wake_all();
}

void Engine::worker_comes(WorkerId worker) {
  sleepers_.come(worker);
}

// What could not be written is tried again from now on: the user may have made room.
std::exception_ptr Engine::take_error() {
  const Errors::Taken taken = errors_.take();
  // Or somebody else was told: an acquisition that found no room.
  if (taken.broken || residency_.broken()) {
    memory::Actions actions;
    residency_.try_again(actions);
    perform(actions);
  }
  return taken.error;
}

// --- reports

Statistics Engine::statistics() const {
  Statistics s;
  residency_.statistics(s);
  counters_.report(s);
  s.now = config_.now();
  s.scheduling = gate_.time_in_policy();
  for (const WorkerDescription& worker : config_.machine.workers) {
    const auto busy = drivers_.of(worker.id).busy(worker.id);
    s.workers.push_back({counters_.tasks_run(worker.id),
                         busy ? *busy : counters_.busy(worker.id, s.now),
                         counters_.started(worker.id), counters_.awaiting(worker.id, s.now)});
    s.tasks_running += s.workers.back().running;
  }
  s.tasks_ready = ready_.count();
  if (!s.tasks_ready) return s;
  *s.tasks_ready += producers_.throttled() + contention_.waiting();
  for (const auto& ahead : look_aheads_) *s.tasks_ready += ahead->size();
  return s;
}

// Only what can be read while others go on: a task in a look-ahead cannot end while its lock is held.
std::string Engine::describe() const {
  std::string text = std::to_string(counters_.submitted()) + " tasks submitted, " +
                     std::to_string(counters_.ended()) + " ended, policy " +
                     std::string(policy_->name()) + "\n";
  for (const WorkerDescription& worker : config_.machine.workers) {
    const std::string running = counters_.running_name(worker.id);
    text += "worker " + std::to_string(worker.id.value) + " on " +
            config_.machine.nodes[worker.node.value].name +
            (running.empty() ? ": runs nothing" : ": runs " + running) + "\n";
  }
  for (const auto& ahead : look_aheads_) {
    const std::lock_guard lock(ahead->mutex());
    text += ahead->describe();
  }
  if (producers_.any_throttled()) {
    text += std::to_string(producers_.throttled()) +
            " tasks that make new data wait until data in memory are used up\n";
  }
  text += contention_.describe();
  constexpr std::size_t kNamed = 4;
  return text + precedences_.describe(kNamed) + residency_.describe();
}

}  // namespace vicinal::engine
