#include "drivers/queued/queued_driver.hpp"

#include <algorithm>
#include <new>
#include <sys/prctl.h>
#include <utility>

#include <fmt/format.h>

#include "base/nested_error.hpp"
#include "base/processor.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#include "drivers/clock.hpp"
#include "drivers/cpu/binding.hpp"
#include "drivers/run_kernel.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

// One copy or one task in flight.
struct QueuedDriver::Operation final : StagedFlight {
  void ended(int with) noexcept override {
    failure = with;
    driver->note_ended(*this);
  }
  // An emulated accelerator's, on a thread of the device.
  void run_here(std::ptrdiff_t shift) noexcept override {
    const QueuedConfig& config = driver->config_;
    driver->completions_->call_apart([&] {
      error = run_kernel(
          *task,
          {.worker = config.worker, .node = config.node, .kind = config.kind, .shift = shift});
    });
  }
  QueuedDriver* driver = nullptr;
  memory::Copy copy;  // of which `handle` is null for a task
  graph::Task* task = nullptr;
  std::function<void()> check;  // of the kernel's, when the task has ended
  std::uint32_t queue = 0;      // of a task
  int failure = 0;
  Operation* before = nullptr;  // in the list of the ended
};

QueuedDriver::QueuedDriver(const QueuedConfig& config, std::unique_ptr<QueuedDevice> device)
    : DeviceDriver(device->name()),
      config_(config),
      device_(std::move(device)),
      staged_in_(*device_, QueuedDevice::kIn,
                 [this](const memory::Copy& copy) { return pin_offered(copy); }),
      staged_out_(*device_, QueuedDevice::kOut,
                  [this](const memory::Copy& copy) { return pin_offered(copy); }),
      on_queue_(config.run_queues, 0) {}

QueuedDriver::~QueuedDriver() {
  stop();
  for (std::byte* const begin : pinned_.take_all()) device_->unpin(begin);
}

void QueuedDriver::start(engine::Completions& completions) {
  completions_ = &completions;
  thread_ = base::start_thread("of " + device_->name(), [this] { run(); });
}

std::byte* QueuedDriver::reserve(NodeId /*node*/, Bytes bytes) {
  return device_->allocate(bytes);
}

std::byte* QueuedDriver::allocate(NodeId /*node*/, Bytes bytes) {
  throw CapacityError(fmt::format("{} asked of {} outside its memory: give it a limit",
                                  base::format_bytes(bytes), device_->name()));
}

void QueuedDriver::start_copy(const memory::Copy& copy) {
  const bool comes = copy.to.node == config_.node;
  const NodeId other = comes ? copy.from.node : copy.to.node;
  const bool goes = copy.from.node == config_.node && other == kRam;
  if (!goes && !(comes && (other == kRam || peer_of(other) != nullptr))) refuse(copy);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(copy);
    any_waits_.store(true, std::memory_order_relaxed);
  }
  gate_.wake();
}

void QueuedDriver::pin(std::byte* address, Bytes bytes) {
  if (!config_.pin || !device_->pins() || bytes.value == 0) return;
  device_->pin(address, bytes);
  pinned_.add(address, bytes);
}

void QueuedDriver::unpin(std::byte* address) noexcept {
  offered_.remove(address);
  if (pinned_.remove(address)) device_->unpin(address);
}

// Without memory to note it the range is staged.
bool QueuedDriver::offer(std::byte* address, Bytes bytes) noexcept {
  if (!config_.pin || !device_->pins()) return false;
  try {
    return offered_.add(address, bytes);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void QueuedDriver::wake(WorkerId /*worker*/) {
  gate_.wake();
}

std::optional<Time> QueuedDriver::busy(WorkerId /*worker*/) const {
  return busy_.load(std::memory_order_relaxed);
}

void QueuedDriver::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);  // the wake releases it
  gate_.wake();
  thread_.join();
  staged_in_.stop();
  staged_out_.stop();
  device_->drain();
}

// Copies first: tasks may wait for them. A stop waits for what is in flight.
void QueuedDriver::run() {
  name_this_thread(fmt::format("device {}", config_.node.value));
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; else the system lets short sleeps take longer
  for (;;) {
    const std::uint32_t epoch = gate_.epoch();
    bool any = true;
    while (any) {
      any = end_some();
      any |= take_copies();
      const bool stopping = stopping_.load(std::memory_order_relaxed);
      if (stopping && in_flight_ == 0 && !any) return;
      if (!stopping && runs_.load(std::memory_order_relaxed) < config_.most_runs) {
        any |= completions_->advance(config_.worker);
      }
    }
    sleep(epoch);
  }
}

// Until there is more to do. Who has waited for long waits on for an eighth of that time before it asks again: a run that
// ends is seen after an eighth of its time at most, and long ones cost a few questions each.
void QueuedDriver::sleep(std::uint32_t epoch) {
  constexpr Time kAwake{30'000};
  if (device_->ask() == 0) {
    gate_.wait(epoch);
    return;
  }
  const Time begin = monotonic_now();
  while (gate_.epoch() == epoch) {
    const Time waited = monotonic_now() - begin;
    if (waited < kAwake) {
      base::pause();
    } else if (gate_.wait(epoch, Time{waited.ns / 8})) {
      return;
    }
    device_->ask();  // what has ended wakes the gate
  }
}

bool QueuedDriver::take_copies() {
  if (!any_waits_.load(std::memory_order_relaxed)) return false;
  base::SureDeque<memory::Copy> copies;
  {
    const std::lock_guard lock(mutex_);
    copies.swap(waiting_);
    any_waits_.store(false, std::memory_order_relaxed);
  }
  for (const memory::Copy& copy : copies) put_copy(copy);
  return !copies.empty();
}

void QueuedDriver::put_copy(const memory::Copy& copy) {
  Operation& operation = new_operation();
  operation.copy = copy;
  ++in_flight_;
  try {
    if (staged(copy)) {
      (copy.to.node == config_.node ? staged_in_ : staged_out_).put(copy, operation);
    } else {
      put_at_once(copy, operation);
    }
  } catch (...) {
    // Nobody may use either end while it may still be written or read.
    device_->drain();
    operation.error = std::current_exception();
    end(operation);
  }
}

// By a thread that stages. What the system refuses to pin is staged from now on.
bool QueuedDriver::pin_offered(const memory::Copy& copy) {
  std::byte* const in_ram = (copy.from.node == kRam ? copy.from : copy.to).address;
  const PinnedRanges::Range range = offered_.take(in_ram);
  if (range.begin == nullptr) return false;
  try {
    device_->pin(range.begin, range.bytes);
  } catch (const DeviceError&) {
    return false;
  }
  try {
    pinned_.add(range.begin, range.bytes);
  } catch (const std::bad_alloc&) {
    device_->unpin(range.begin);
    return false;
  }
  return true;
}

// Between the device and RAM that is not pinned.
bool QueuedDriver::staged(const memory::Copy& copy) const {
  if (!device_->pins()) return false;
  const memory::Endpoint& in_ram = copy.from.node == kRam ? copy.from : copy.to;
  return in_ram.node == kRam && !pinned_.contains(in_ram.address, in_ram.layout.span());
}

const QueuedDevice* QueuedDriver::peer_of(NodeId node) const {
  const auto found = std::ranges::find(config_.peers, node, &QueuedConfig::Peer::node);
  return found != config_.peers.end() ? found->device : nullptr;
}

void QueuedDriver::put_at_once(const memory::Copy& copy, Operation& operation) {
  const bool comes = copy.to.node == config_.node;
  const QueuedDevice::Queue queue = comes ? QueuedDevice::kIn : QueuedDevice::kOut;
  if (!comes) {
    device_->copy_out(queue, operation, copy.to.address, copy.to.layout, copy.from.address);
  } else if (copy.from.node == kRam) {
    device_->copy_in(queue, operation, copy.to.address, copy.from.address, copy.from.layout);
  } else {
    device_->copy_across(queue, operation, copy.to.address, *peer_of(copy.from.node),
                         copy.from.address, copy.bytes());
  }
  device_->notify(queue, operation);
}

void QueuedDriver::start_task(graph::Task& task, WorkerId worker) {
  const auto least = std::ranges::min_element(on_queue_);
  Operation& operation = new_operation();
  operation.task = &task;
  operation.queue = static_cast<std::uint32_t>(least - on_queue_.begin());
  const QueuedDevice::Queue queue = QueuedDevice::kFirstRun + operation.queue;
  ++*least;
  ++in_flight_;
  if (runs_.fetch_add(1, std::memory_order_acq_rel) == 0) busy_since_ = monotonic_now();
  try {
    device_->begin_run(queue, operation);
    if (config_.kind == ProcessorKind::emulated) {
      device_->call(queue, operation);
    } else {
      operation.error = named(run_kernel(task, {.worker = worker,
                                                .node = config_.node,
                                                .kind = config_.kind,
                                                .native = device_->native(queue),
                                                .at_end = &operation.check}));
    }
    device_->notify(queue, operation);  // also after an error: some of it may be on the queue
  } catch (...) {
    device_->drain();
    if (!operation.error) operation.error = named(std::current_exception());
    end(operation);
  }
}

// An error of the device says which.
std::exception_ptr QueuedDriver::named(std::exception_ptr error) const {
  if (!error) return error;
  try {
    std::rethrow_exception(error);
  } catch (const DeviceError& of_device) {
    return base::make_nested_error<DeviceError>(
        error, [&] { return device_->name() + ": " + of_device.what(); });
  } catch (...) {
    return error;
  }
}

// By a thread of the device's API.
void QueuedDriver::note_ended(Operation& operation) noexcept {
  operation.before = ended_.load(std::memory_order_relaxed);
  // Release: who takes the list sees what is in it.
  while (!ended_.compare_exchange_weak(operation.before, &operation, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  gate_.wake();
}

bool QueuedDriver::end_some() {
  Operation* last = ended_.exchange(nullptr, std::memory_order_acquire);
  Operation* first = nullptr;
  while (last != nullptr) {  // in the order in which they ended
    Operation* const before = std::exchange(last->before, first);
    first = std::exchange(last, before);
  }
  const bool any = first != nullptr;
  while (first != nullptr) {
    Operation& operation = *first;
    first = first->before;
    end(operation);
  }
  return any;
}

void QueuedDriver::end(Operation& operation) {
  const std::optional<Time> run_time = device_->finish(operation);
  const std::exception_ptr error = outcome_of(operation);
  graph::Task* const task = std::exchange(operation.task, nullptr);
  const memory::CopyId copy = operation.copy.id;
  const std::uint32_t queue = operation.queue;
  operation.failure = 0;
  free_.push_back(&operation);
  --in_flight_;
  if (task == nullptr) return completions_->copy_done(copy, error);
  --on_queue_[queue];
  // Before: who has waited for the task may ask.
  const Time now = monotonic_now();
  busy_.store(busy_.load(std::memory_order_relaxed) + (now - busy_since_),
              std::memory_order_relaxed);
  busy_since_ = now;
  completions_->task_done(*task, config_.worker, error, run_time);
  // Afterwards: until then nobody may think that nothing is going on.
  runs_.fetch_sub(1, std::memory_order_acq_rel);
}

// What became of it. An error of the device comes first: what it leaves undone may make a kernel's check fail.
std::exception_ptr QueuedDriver::outcome_of(Operation& operation) const {
  std::exception_ptr thrown = std::exchange(operation.error, nullptr);
  const std::function<void()> check = std::exchange(operation.check, nullptr);
  if (operation.failure != 0) return failed(operation);
  if (thrown && operation.task == nullptr)
    return copy_failed(operation.copy, text_of(thrown), thrown);
  if (thrown) return thrown;
  try {
    if (check) check();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

QueuedDriver::Operation& QueuedDriver::new_operation() {
  if (!free_.empty()) {
    Operation& operation = *free_.back();
    free_.pop_back();
    return operation;
  }
  Operation& operation = operations_.emplace_back();
  operation.driver = this;
  return operation;
}

std::string QueuedDriver::text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

std::exception_ptr QueuedDriver::failed(const Operation& operation) const {
  const std::string why = device_->failure_text(operation.failure);
  if (operation.task == nullptr) return copy_failed(operation.copy, why);
  return base::make_error<DeviceError>([&] { return device_->name() + ": " + why; });
}

std::exception_ptr QueuedDriver::copy_failed(const memory::Copy& copy, const std::string& why,
                                             const std::exception_ptr& cause) const {
  return base::make_nested_error<DeviceError>(cause, [&] {
    return fmt::format("{}: the copy of {} {} failed: {}", device_->name(), copy.handle->name,
                       copy.to.node == config_.node ? "to it" : "from it", why);
  });
}

}  // namespace vicinal::drivers
