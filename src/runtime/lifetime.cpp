// The life of a runtime: wiring, start, end.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/thread_end.hpp"
#include "comm/reduction_trees.hpp"
#include "drivers/clock.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/status_text.hpp"
#include "sched/default_policy.hpp"
#include "sched/policy.hpp"
#include "trace/own_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// A file that cannot be used costs the predictions, not the run: it is told once per process.
void RuntimeImpl::read_models(engine::EngineConfig& config) {
  const bool wanted =
      !config.simulated && sched::wants_run_times(config.policy->traits(), config.machine);
  if (!wanted || options_.models == "none") return;
  config.models = &models_;
  models_file_ = machine::performance_model_file(options_.models);
  if (!models_file_) return;
  std::string why;
  if (models_.read(*models_file_, why) != machine::PerformanceModel::Reading::refused) return;
  base::process_log().warn_once("models " + *models_file_,
                                "the measured run times in " + *models_file_ +
                                    " are ignored: " + why +
                                    "; remove the file, or name another folder (option models)");
  models_file_.reset();
}

void RuntimeImpl::write_models() {
  engine_->hand_on_run_times();
  std::string why;
  if (!models_file_ || models_.write(*models_file_, why)) return;
  base::process_log().warn_once("models " + *models_file_,
                                "run times cannot be kept in " + *models_file_ + ": " + why +
                                    "; name another folder (option models), or none");
}

void RuntimeImpl::require_rules_apply(const engine::EngineConfig& config) const {
  if (!setup_.simulated) {
    throw UsageError("memory_rules: only a simulated machine has them; leave the option out");
  }
  if (config.policy->victims() != nullptr) {
    throw UsageError(
        "memory_rules: policy " + std::string(config.policy->name()) +
        " chooses what is evicted itself; leave the option out, or use another policy");
  }
}

void RuntimeImpl::place_on_numa_nodes() {
  const std::shared_ptr<sim::HostMemory>& memory = setup_.simulated->memory();
  const sim::NumaRules rules = sim::numa_rules_of(options_.numa_placement, options_.receive_numa,
                                                  memory ? memory->nodes() : 0);
  if (memory) {
    memory->homes().follow(rules);
    if (options_.contention != "off") {
      memory->homes().choose_by([this] { return engine_->quietest_numa_node(); });
    }
  }
  if (progress_) progress_->use_memory(memory);
}

namespace {

// Who did not name a policy in the program looks for the variable.
std::unique_ptr<sched::Policy> policy_of(const Options& options,
                                         const MachineDescription& machine) {
  if (options.policy == sched::kDefault || options.policy == sched::kAuto) {
    return sched::make_policy(sched::default_policy(options, &machine).policy);
  }
  try {
    return sched::make_policy(options.policy);
  } catch (const UsageError& error) {
    const char* const variable = std::getenv("VICINAL_POLICY");
    if (variable == nullptr || options.policy != variable) throw;
    throw UsageError(std::string("environment variable VICINAL_POLICY: ") + error.what());
  }
}

void follow(const std::string& plan, sched::Policy& policy) {
  if (plan.empty()) return;
  if (policy.follow(std::make_shared<const graph::KeptPlan>(graph::read_plan(plan)))) return;
  throw UsageError("option plan: policy " + std::string(policy.name()) +
                   " follows no plan; choose default or horizon, or leave the plan out");
}

}  // namespace

RuntimeImpl::RuntimeImpl(const Options& options, MachineSetup setup,
                         trace::DecisionListener* listener, std::unique_ptr<sched::Policy> policy,
                         std::shared_ptr<comm::Progress> ranks)
    : options_(options), setup_(std::move(setup)), progress_(std::move(ranks)) {
  base::watch_thread_end();
  engine::EngineConfig config;
  config.machine = setup_.machine;
  config.policy = policy != nullptr ? std::move(policy) : policy_of(options, config.machine);
  follow(options.plan, *config.policy);
  config.time_policy = options.measure_scheduling;
  config.look_ahead = options.look_ahead;
  config.heeds_contention = options.contention != "off";
  config.count_ready = !options.status.empty();
  config.count_bytes = options.window_bytes.value > 0;
  config.seed = options.seed;
  config.rules = memory::parse_rules(options.memory_rules);
  config.listener = listener;
  if (config.rules.any()) require_rules_apply(config);
  if (config.rules.unified) setup_.simulated->use_unified_memory();
  if (setup_.simulated) place_on_numa_nodes();
  config.notify_waiters = [this](WorkerId by) { notify_waiters(by); };
  config.simulated = setup_.simulated != nullptr;
  if (config.simulated) runtime::require_own_contention(options.contention);
  read_models(config);
  if (setup_.simulated) {
    config.now = [clock = setup_.simulated.get()] { return clock->now(); };
  } else {
    config.now = drivers::monotonic_now;
  }
  policy_name_ = config.policy->name();
  engine_ = std::make_unique<engine::Engine>(std::move(config));
  if (setup_.simulated) planner_.emplace(setup_.world->world, *engine_);
  application_ = std::make_unique<engine::Application>(
      *engine_, number_,
      engine::SubmissionsConfig{.window_tasks = options.window_tasks,
                                .window_bytes = options.window_bytes,
                                .computes_priorities = options.compute_priorities,
                                .plan_pause_seconds = setup_.simulated ? 0 : options.plan_pause,
                                .world = setup_.simulated ? &setup_.world->world : nullptr,
                                .shares_world = setup_.simulated && setup_.world->is_shared,
                                .lent_worker = slot(),
                                .waiting = waiting_});
  setup_.make_drivers(options_);
  engine_->attach(setup_.by_node(), setup_.by_worker());
  if (!options_.trace.empty()) {
    const trace::SharedRecording* const shared = shared_recording();
    const std::string file = shared != nullptr ? shared->file() : std::string();
    start_trace(file.empty() ? trace::next_own_file(options_.trace) : file, options_.trace_events);
  }
  if (slot()) engine_->worker_leaves(*slot());  // until somebody waits
  try {
    start();
    if (progress_) begin_with_ranks();
  } catch (...) {  // of the threads some may run, and they use the engine
    stop();
    throw;
  }
}

void RuntimeImpl::provide_room_for_sends(Bytes bytes, const std::string& name) {
  room_for_sends_->provide(bytes, name, [this](const std::function<bool()>& done) {
    wait_until(done, "wait for room in which sends are kept");
  });
}

void RuntimeImpl::begin_with_ranks() {
  const bool is_limited = engine_->residency().limit(kRam).has_value();
  room_for_sends_.emplace(*application_);
  progress_->find_broadcasts(comm::finding_of_option(options_.broadcast_finding));
  application_->transfers.arrivals().set_up(
      arrival_rule_, setup_.machine, options_.seed ^ std::uint64_t{progress_->rank().value} << 32);
  sequence_ = std::make_unique<RankSequence>(
      *progress_, *application_, is_limited,
      comm::reduction_tree_of_option(options_.reduction_tree),
      RankSequence::Calls{
          [this] { return stall_report(); },
          [this](Bytes bytes, const std::string& name) { provide_room_for_sends(bytes, name); },
          [this](Handle local, const Reduction& reduction) {
            declare_reduction(local, reduction);
          }});
  application_->submissions.look_first();
  if (engine_->recorder().records()) sequence_->begin_recording();
}

Statistics RuntimeImpl::statistics() const {
  Statistics statistics = engine_->statistics();
  if (sequence_) {
    const comm::Progress::Counts counts = sequence_->counts();
    statistics.sent = counts.deliveries.sent;
    statistics.received = counts.deliveries.received;
    statistics.forwarded = counts.deliveries.forwarded;
    statistics.broadcasts = counts.deliveries.broadcasts;
    statistics.late_sends = counts.finding.late;
    statistics.versions_to_several = counts.finding.several;
    statistics.versions_in_time = counts.finding.in_time;
    statistics.broadcasts_missed = counts.finding.missed;
    statistics.messages = counts.messages;
    const RankSequence::PartialResults partials = sequence_->partial_results();
    statistics.partial_results = partials.all;
    statistics.partial_results_passed_on = partials.passed_on;
    statistics.placed_on_arrival = application_->transfers.arrivals().placed();
    statistics.rank_latency = counts.link.latency;
    statistics.rank_bandwidth = {counts.link.bytes_per_second};
  }
  return statistics;
}

void RuntimeImpl::start() {
  engine::SimulatedSubmitter* const submitter = application_->submissions.submitter();
  if (submitter != nullptr) {
    setup_.start(*submitter);
  } else {
    setup_.start(*engine_);
  }
  if (!options_.status.empty()) {
    status_.emplace(options_.status, kStatusBegins, number_, [this] {
      return status_text(engine_->statistics(), engine_->machine(), policy_name_);
    });
  }
  if (options_.stall_seconds <= 0) return;
  watcher_ = base::start_thread("that watches for stalls", [this] { watch(); });
}

void RuntimeImpl::stop() {
  status_.reset();
  if (watcher_.joinable()) {
    {
      const std::lock_guard lock(wait_mutex_);
      stopping_ = true;
    }
    watcher_wakes_.notify_all();
    watcher_.join();
  }
  setup_.stop();
}

namespace {
void say(const std::exception& error) noexcept {
  try {
    base::process_log().warn(std::string("at the end of the runtime: ") + error.what());
  } catch (const std::bad_alloc&) {  // there is nobody to be told
  }
}

// Null, or the error, which has been said. What finds no memory may be tried again: others may have given some back,
// and nobody will come after this one.
template <typename Step>
std::exception_ptr guarded(const Step& step, int tries = 2) {
  try {
    step();
    return nullptr;
  } catch (const std::bad_alloc& error) {
    if (tries > 1) return guarded(step, tries - 1);
    say(error);
    return std::current_exception();
  } catch (const std::exception& error) {
    say(error);
    return std::current_exception();
  }
}

template <typename Kind>
bool is_a(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Kind&) {
    return true;
  } catch (...) {
    return false;
  }
}
}  // namespace

base::SureVector<Handle> RuntimeImpl::left_and_not_held() const {
  base::SureVector<Handle> left;
  application_->handles.for_each([&](graph::Handle& handle) {
    if (!handle.takes_tasks() || graph::is_part(handle) || handle.is_private) return;
    if (!application_->acquisitions.any_of(handle))
      left.push_back(application_->handles.name(handle));
  });
  return left;
}

// A task that has called exit, or has let go of the last that owned the runtime, does not end before the destructor
// does: nothing can be waited for. A task of another runtime that calls exit may be what tasks of this one wait for.
bool RuntimeImpl::is_inside_what_it_waits_for() const {
  const bool inside_any = engine::this_threads_task() != nullptr;
  return inside_any && (engine_->inside_task() != nullptr || base::thread_has_ended());
}

// Its threads go on until the process ends, and use what is here.
void RuntimeImpl::leave() noexcept {
  if (is_left_.exchange(true)) return;
  static std::atomic<RuntimeImpl*> last_left{
      nullptr};  // by which a search for leaks finds them all
  left_before_ = last_left.exchange(this);
  setup_.leave();
  if (status_) status_->write();
  end_trace();
  std::exception_ptr error;
  if (!base::thread_has_ended()) {
    guarded([] {
      throw UsageError(
          "it ends inside one of its own tasks, and so cannot wait for them: what has not begun "
          "does not run; let an object outside of tasks own it");
    });
  } else if (engine_->errors().any() && !engine_->errors().is_told()) {
    error = guarded([this] { std::rethrow_exception(engine_->take_error()); });
  }
  if (error) tell_undelivered(error);
}

void RuntimeImpl::tell_undelivered(const std::exception_ptr& error) const noexcept {
  const bool unwinds =
      std::uncaught_exceptions() > exceptions_at_start_;  // another error is on its way
  if (undelivered_ == Undelivered::terminates && !unwinds) end_program(error);
}

namespace {
constexpr double kLongestCopy = 10;  // seconds that the end of a runtime waits for one
}

// What waits for an acquisition that outlives this must not run later: its kernels may be gone.
void RuntimeImpl::close() noexcept {
  if (forked()) return;
  if (is_inside_what_it_waits_for()) return leave();
  const bool unwinds = std::uncaught_exceptions() > exceptions_at_start_;
  if (sequence_ && unwinds) guarded([this] { sequence_->end_early(); });
  const bool is_told = engine_->errors().is_told();
  const bool has_thrown = has_thrown_.load(std::memory_order_relaxed);
  std::exception_ptr undelivered = guarded([this] { wait(); });
  if (undelivered) {
    if (!engine_->counts().all_ended()) engine_->errors().cancel();
    if (is_a<UsageError>(undelivered))
      undelivered = engine_->errors().first();  // it could not wait
    // What has failed here comes back as the failure of the run, once the other ranks are told.
    const bool comes_back = sequence_ && has_thrown && is_a<RankError>(undelivered);
    if (is_told || comes_back) undelivered = nullptr;
  }
  for (const Handle handle : left_and_not_held()) {
    const std::exception_ptr error = guarded([&] { unregister(handle, WriteBack::yes); });
    // Poisoned: by what was told, or is told now. A device that has failed before fails here again.
    const bool is_new =
        error && !has_thrown && !is_a<UsageError>(error) && !is_a<PoisonedError>(error);
    if (is_new && !undelivered) undelivered = error;
  }
  // A copy that began when nobody used its datum any more holds room, which is the system's where RAM has no limit.
  if (!setup_.simulated) {
    guarded([this] {
      wait_until([this] { return application_->departures.sweep_behind_copies(); }, "the end",
                 Looks::when_idle, in_time(Time::from_seconds(kLongestCopy)));
    });
  }
  if (status_) status_->end();
  if (undelivered) {
    end_trace();
    tell_undelivered(undelivered);
  }
}

RuntimeImpl::~RuntimeImpl() {
  close();
  if (sequence_) {
    std::string failure;
    guarded([&] { failure = sequence_->finish(); });
    const bool is_new = !failure.empty() && !has_thrown_.load(std::memory_order_relaxed);
    if (is_new) tell_undelivered(guarded([&] { throw RankError(failure); }));
  }
  stop();
  release_rest();
  guarded([this] { write_models(); });
  end_trace();
}

}  // namespace vicinal::runtime
