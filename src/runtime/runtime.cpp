#include "vicinal/runtime.hpp"

#include <utility>

#include "base/log.hpp"
#include "drivers/clock.hpp"
#include "graph/dependencies.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/timed_policy.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// A file that cannot be used costs the predictions, not the run: it is told once per process.
void RuntimeImpl::read_models(engine::EngineConfig& config) {
  const bool wanted = config.policy->wants_run_times() && !config.simulated;
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
        " chooses what is driven out itself; leave the option out, or use another policy");
  }
}

RuntimeImpl::RuntimeImpl(const Options& options, MachineSetup setup)
    : options_(options), setup_(std::move(setup)) {
  engine::EngineConfig config;
  config.machine = setup_.machine;
  config.policy = sched::make_policy(options.policy);
  if (options.measure_scheduling) {
    auto timed = std::make_unique<TimedPolicy>(std::move(config.policy));
    timed_policy_ = timed.get();
    config.policy = std::move(timed);
  }
  config.look_ahead = options.look_ahead;
  config.count_bytes = options.window_bytes.value > 0;
  config.seed = options.seed;
  config.rules = memory::parse_rules(options.memory_rules);
  if (config.rules.any()) require_rules_apply(config);
  config.notify_waiters = [this] { notify_waiters(); };
  config.simulated = setup_.simulated != nullptr;
  read_models(config);
  if (setup_.simulated) {
    config.now = [clock = setup_.simulated.get()] { return clock->now(); };
  } else {
    config.now = drivers::monotonic_now;
  }
  engine_ = std::make_unique<engine::Engine>(std::move(config));
  setup_.make_drivers(options_);
  engine_->attach(setup_.by_node(), setup_.by_worker());
  if (slot()) engine_->worker_leaves(*slot());  // until somebody waits
  setup_.start(*engine_);
  if (options_.stall_seconds > 0) watcher_ = std::thread([this] { watch(); });
}

RuntimeImpl::~RuntimeImpl() {
  const auto guarded = [](const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {
      base::process_log().warn(std::string("at the end of the runtime: ") + error.what());
    }
  };
  guarded([this] { wait(); });
  std::vector<graph::Handle*> left;
  {
    const std::lock_guard lock(handles_mutex_);
    for (graph::Handle& handle : handles_) {
      if (handle.owner == this) left.push_back(&handle);
    }
  }
  for (graph::Handle* handle : left) {
    guarded([&] { unregister(*handle, WriteBack::yes); });
  }
  if (watcher_.joinable()) {
    {
      const std::lock_guard lock(wait_mutex_);
      stopping_ = true;
    }
    watcher_wakes_.notify_all();
    watcher_.join();
  }
  setup_.stop();
  guarded([this] { write_models(); });
}

Statistics RuntimeImpl::statistics() const {
  Statistics statistics = engine_->statistics();
  if (timed_policy_ != nullptr) statistics.scheduling = timed_policy_->time();
  return statistics;
}

}  // namespace vicinal::runtime

namespace vicinal {

using runtime::RuntimeImpl;

Runtime::Runtime(const Options& options)
    : impl_(std::make_unique<RuntimeImpl>(options, runtime::MachineSetup(options))) {}

Runtime::Runtime(const MachineDescription& simulated, const Options& options)
    : impl_(std::make_unique<RuntimeImpl>(options, runtime::MachineSetup(simulated))) {}

Runtime::~Runtime() = default;

Handle Runtime::register_buffer(void* data, Bytes size, std::string name) {
  return register_layout(data, {size.value, 1, size.value, 1}, std::move(name));
}

Handle Runtime::register_tile(void* data, TileShape shape, std::string name) {
  return register_layout(data, shape.layout(), std::move(name));
}

Handle Runtime::register_layout(void* data, const Layout& layout, std::string name) {
  if (data == nullptr && layout.bytes().value > 0) {
    throw UsageError("register: the address of " + name +
                     " is null; use register_empty for data that "
                     "the runtime allocates");
  }
  graph::Home home;
  home.kind = graph::HomeKind::buffer;
  home.address = static_cast<std::byte*>(data);
  return impl_->add(layout, home, true, std::move(name));
}

Handle Runtime::register_empty(Bytes size, std::string name) {
  return impl_->add({size.value, 1, size.value, 1}, {}, false, std::move(name));
}

Handle Runtime::register_empty(TileShape shape, std::string name) {
  return impl_->add(shape.layout().packed(), {}, false, std::move(name));
}

Handle Runtime::register_file(const FileRegion& region, Bytes size, std::string name) {
  return impl_->add_file(region, {size.value, 1, size.value, 1}, std::move(name));
}

Handle Runtime::register_file(const FileRegion& region, TileShape shape, std::string name) {
  return impl_->add_file(region, shape.layout(), std::move(name));
}

Handle Runtime::register_simulated(Bytes size, NodeId home, std::string name) {
  return impl_->add_simulated(size, home, std::move(name));
}

void Runtime::unregister(Handle handle, WriteBack write_back) {
  impl_->unregister(impl_->check(handle, "unregister"), write_back);
}

void Runtime::invalidate(Handle handle) {
  graph::Handle& data = impl_->check(handle, "invalidate");
  impl_->when_granted(data, AccessMode::W, [this, &data] { impl_->engine().invalidate(data); });
  graph::forget_content(data);
}

void Runtime::wont_use(Handle handle) {
  graph::Handle& data = impl_->check(handle, "wont_use");
  if (!impl_->engine().rules().hint) return impl_->engine().wont_use(data);
  impl_->when_granted(data, AccessMode::R, [this, &data] { impl_->engine().wont_use(data); });
}

void Runtime::prefetch(Handle handle, NodeId node) {
  graph::Handle& data = impl_->check(handle, "prefetch");
  if (node.value >= machine().nodes.size()) {
    throw UsageError("prefetch: there is no memory node " + std::to_string(node.value) +
                     "; the machine has " + std::to_string(machine().nodes.size()));
  }
  if (impl_->engine().residency().trivial()) return;
  impl_->when_granted(data, AccessMode::R,
                      [this, &data, node] { impl_->engine().prefetch(data, node); });
}

TaskId Runtime::submit(const TaskSpec& spec) {
  const TaskId id = impl_->submit(spec);
  impl_->pass_submission_time();
  return id;
}
void Runtime::wait() {
  impl_->wait();
}
void Runtime::wait(Group& group) {
  impl_->wait(group);
}
void Runtime::wait(Handle handle) {
  impl_->wait(impl_->check(handle, "wait"));
}
void Runtime::cancel() {
  impl_->engine().cancel(nullptr);
}

Acquired Runtime::acquire(Handle handle, AccessMode mode) {
  graph::Handle& data = impl_->check(handle, "acquire");
  Acquired acquired;
  acquired.acquisition_ = impl_->acquire(data, mode).release();
  acquired.runtime_ = impl_.get();
  acquired.view_ = memory::view(data, kRam);
  return acquired;
}

const MachineDescription& Runtime::machine() const {
  return impl_->engine().machine();
}
Statistics Runtime::statistics() const {
  return impl_->statistics();
}
std::string Runtime::stall_report() const {
  return impl_->stall_report();
}

Acquired::Acquired(Acquired&& other) noexcept
    : runtime_(std::exchange(other.runtime_, nullptr)),
      acquisition_(std::exchange(other.acquisition_, nullptr)),
      view_(other.view_) {}

Acquired::~Acquired() {
  if (runtime_ == nullptr) return;
  const std::unique_ptr<runtime::Acquisition> acquisition(acquisition_);
  runtime_->release(*acquisition);
}

}  // namespace vicinal
