// Behind vicinal::Runtime: wiring, registration, submission, waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "base/sure_memory.hpp"
#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "engine/opener.hpp"
#include "machine/performance_model.hpp"
#include "runtime/machine_setup.hpp"
#include "runtime/rank_sequence.hpp"
#include "runtime/room_for_sends.hpp"
#include "runtime/simulated_planner.hpp"
#include "runtime/status_file.hpp"
#include "runtime/undelivered.hpp"
#include "trace/decision.hpp"
#include "vicinal/placement.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/trace.hpp"

namespace vicinal::runtime {

using engine::Acquisition;

// What a submission waits for then, for messages.
inline constexpr const char* kWindowIsFull = "submit (the submission window is full)";

// Never 0, never twice in a process.
std::uint32_t next_runtime_number();

class RuntimeImpl {
 public:
  // `listener` hears why the runtime decides as it does, and outlives it; null: nobody listens. `policy`: null
  // for the one that the options name. `ranks`: the others that run the program; null: it runs here alone.
  RuntimeImpl(const Options& options, MachineSetup setup,
              trace::DecisionListener* listener = nullptr,
              std::unique_ptr<sched::Policy> policy = nullptr,
              std::shared_ptr<comm::Progress> ranks = nullptr);
  // Closes, if close() has not, and forgets what was still acquired then.
  ~RuntimeImpl();
  // The threads that the runtime has started are not in this process.
  bool forked() const { return !setup_.simulated && getpid() != process_; }
  // Waits for all tasks and unregisters what nobody has acquired. Prints errors, and ends the program for one that no
  // call has thrown (option undelivered_errors). Inside a task the runtime is left as it is.
  void close() noexcept;
  bool is_left() const { return is_left_.load(std::memory_order_acquire); }
  bool simulated() const { return setup_.simulated != nullptr; }
  // Nothing lies where it is said to be.
  bool lacks_content(const graph::Handle& handle) const {
    return simulated() && (handle.home.kind != graph::HomeKind::buffer || handle.home.offset != 0);
  }

  // registration.cpp
  Handle add(const Layout& layout, graph::Home home, bool written, std::string name) {
    return application_->handles.add(layout, home, written, std::move(name), {});
  }
  // The application's memory on the node. `released`: called when the runtime no longer uses it.
  Handle add_memory(NodeId node, void* address, const Layout& layout, std::string name,
                    Released&& released);
  Handle add_file(const FileRegion& region, const Layout& layout, std::string name);
  Handle add_simulated(Bytes size, NodeId home, std::string name) {
    return add_simulated({size.value, 1, size.value, 1}, home, true, std::move(name));
  }
  // `call`: as the application has it, for messages.
  void unregister(Handle handle, WriteBack write_back, const char* call = "unregister");
  graph::Handle& check(Handle handle, const char* what) const {
    return application_->handles.check(handle, what);
  }
  // It goes when the tasks that use it have ended; does not wait. Any thread, also inside a task.
  void let_go(Handle handle) noexcept;
  void release_later(Handle handle);
  void announce_readers(Handle handle, std::uint32_t ranks);
  // Registers data that all ranks know, by `make` on the rank that owns them; none: the next in turn. Without other
  // ranks: calls `make`.
  template <typename Make>
  Handle add_owned(std::optional<RankId> owner, const Layout& layout, std::string name,
                   bool written, const Make& make);
  // The other ranks; null: none. Tasks submitted inside a task are this rank's own.
  RankSequence* ranks() const {
    return sequence_ && engine_->inside_task() == nullptr ? sequence_.get() : nullptr;
  }
  // The same, if all know the data. Throws UsageError if the data are gone.
  RankSequence* ranks_of(Handle handle, const char* call) const {
    RankSequence* const sequence = ranks();
    return sequence != nullptr && sequence->is_shared(handle, call) ? sequence : nullptr;
  }
  // This rank owns the data, or has what they hold now: else it has nothing that a hint could be about.
  bool uses(Handle handle, const char* call) const {
    const RankSequence* const sequence = ranks_of(handle, call);
    return sequence == nullptr || sequence->has(handle);
  }
  // Of data of other ranks, of which this one has seen nothing. Any thread.
  bool is_unused_here(Handle handle) const {
    return ranks() != nullptr && application_->declared.has(handle) &&
           application_->declared.is_unused(handle);
  }
  void pin(std::byte* data, Bytes bytes);
  void unpin(std::byte* data);
  void set_reduction(Handle handle, const Reduction& reduction);
  void declare_reduction(Handle handle, const Reduction& reduction);

  // recording.cpp
  void start_trace(const std::string& file, std::string_view events);
  TraceSummary stop_trace();
  std::uint64_t next_region() { return regions_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // submission.cpp
  // The application's calls: ids that they take and give carry the number of their runtime.
  // In simulation the time passes that the application spends on a submission.
  TaskId submit_named(const TaskSpec& spec);
  TaskId submit(const TaskSpec& spec);

  // waiting.cpp
  // A moment of the runtime's clock until which is waited; none: as long as it takes.
  using Deadline = std::optional<Time>;
  Deadline in_time(Time duration);
  // Waits return false if what is waited for has not ended at the deadline.
  bool wait(Deadline deadline = std::nullopt);
  bool wait(Group& group, Deadline deadline);
  void wait(Handle handle);
  bool wait_for(Handle handle, Time duration);
  // Waits for nothing, and passes on what is deferred. Any thread, also inside a task.
  bool is_ready(Group& group);
  bool is_ready(Handle handle, const char* what);
  std::unique_ptr<Acquisition> acquire(Handle handle, AccessMode mode,
                                       const char* call = "acquire");
  void release(Acquisition& acquisition);

  std::string stall_report() const;
  Statistics statistics() const;
  // Any thread, also inside a task.
  void cancel() { sequence_ ? sequence_->cancel() : engine_->errors().cancel(); }

  engine::Engine& engine() { return *engine_; }
  engine::Application& application() { return *application_; }

 private:
  // Runs tasks, if this thread may, until `done` says true. Throws UsageError if that cannot come
  // because of what this thread holds.
  enum class Looks : std::uint8_t {
    when_idle,
    after_each_task,     // of its own; others call it when what it waits for may have come
    after_tasks_of_any,  // and others call it when one of their tasks has ended
  };
  void wait_until(const std::function<bool()>& done, const char* what,
                  Looks looks = Looks::after_each_task);
  // False: it did not until the deadline, and what this thread holds is no error. `longest_sleep`: where nobody calls
  // whoever waits when it does.
  bool wait_until(const std::function<bool()>& done, const char* what, Looks looks,
                  Deadline deadline, Time longest_sleep = kLongestDuration);
  void not_inside_task(const char* what) const;
  void notify_waiters(WorkerId by = kNoWorker);
  // The worker that has no thread of its own: whoever waits drives it.
  std::optional<WorkerId> slot() const;
  TaskId submit(const TaskSpec& spec, const engine::SubmissionExtras& extras);
  TaskId submit_named_looked_at(const TaskSpec& spec);
  TaskId submit_looked_at(const TaskSpec& spec);
  TaskId submit_among_ranks(const TaskSpec& spec);
  TaskId submit_here(const TaskSpec& spec);
  TaskId submit_once_more(const TaskSpec& spec, engine::SubmissionExtras extras);
  void wait_for_copies(const char* call);
  void count_acquired(graph::Handle& handle, std::uint32_t life);
  void respect_window(Bytes bytes, bool may_wait);
  void pass_time();
  Handle add_simulated_file(const FileRegion& region, const Layout& layout, std::string name);
  Handle add_simulated(const Layout& layout, NodeId home, bool writable, std::string name);
  std::string what_file_lacks(int file, std::uint64_t end, const std::string& path) const;
  // Has the graph's access to this life of the handle, nothing in memory. `what` is the call, for messages.
  std::unique_ptr<Acquisition> order(graph::Handle& handle, std::uint32_t life, AccessMode mode,
                                     const char* what);
  void bring_to_ram(const graph::Handle& handle, Acquisition& access, AccessMode mode,
                    const char* call);
  void unregister_declared(Handle registered, WriteBack write_back, const char* call);
  Released take_released(const graph::Handle& handle);
  // Of what nobody could unregister, when nothing uses it any more.
  void release_rest() noexcept;
  // Of an acquisition whose content the application has not changed.
  void end(Acquisition& acquisition);
  std::exception_ptr write_home(graph::Handle& handle, memory::Request& request);
  void flush_home(graph::Handle& handle, memory::Request& request);
  // In a simulation the application has submitted what it has before it waits.
  void begin_wait(const char* what);
  void catch_up();
  bool wait_simulated(const std::function<bool()>& done, const char* what, Deadline deadline);
  void pass_simulated(Time deadline);
  Time now() const;
  [[noreturn]] void throw_lost(const graph::Handle& handle);
  void throw_if_held(const char* what, const std::function<bool()>& done);
  void require_same_process(const char* what) const;
  base::SureVector<Handle> left_and_not_held() const;
  [[noreturn]] void throw_failure(const std::exception_ptr& error);
  void begin_with_ranks();
  void provide_room_for_sends(Bytes bytes, const std::string& name);
  void fail_on_all_ranks(const std::exception_ptr& error);
  void start();
  void stop();
  void leave() noexcept;
  bool is_inside_what_it_waits_for() const;
  void tell_undelivered(const std::exception_ptr& error) const noexcept;
  void watch();
  void warn_of_stall() const;
  void require_rules_apply(const engine::EngineConfig& config) const;
  void place_on_numa_nodes();
  std::string facts_of_run() const;  // JSON
  // Of simulated ranks; null: the runtime has a recording of its own.
  trace::SharedRecording* shared_recording() const {
    return progress_ ? progress_->shared_recording() : nullptr;
  }
  // Warns of what went wrong.
  void end_trace() noexcept;
  void record_known(const graph::Handle& handle) const;
  void read_models(engine::EngineConfig& config);
  void write_models();

  const Options options_;
  const bool windowed_ = options_.window_tasks > 0 || options_.window_bytes.value > 0;
  const std::uint32_t number_ = next_runtime_number();
  const pid_t process_ = getpid();
  const Undelivered undelivered_ = parse_undelivered(options_.undelivered_errors);
  const engine::ArrivalRule arrival_rule_ = engine::arrival_rule_of(options_.receive_placement);
  const int exceptions_at_start_ = std::uncaught_exceptions();
  std::atomic<bool> has_thrown_{false};  // a call has thrown why the run, or a handle, has failed
  std::atomic<bool> is_left_{false};     // nobody waits for it, or destroys it
  RuntimeImpl* left_before_ = nullptr;   // the one that was left before it
  MachineSetup setup_;
  drivers::PinnedRanges pinned_;  // by the application
  machine::PerformanceModel models_;
  std::optional<std::string> models_file_;  // none: nothing is kept
  std::string policy_name_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<SimulatedPlanner> planner_;  // in simulation
  std::unique_ptr<engine::Application> application_;
  std::shared_ptr<comm::Progress> progress_;  // null: no other ranks
  std::unique_ptr<RankSequence> sequence_;
  std::optional<RoomForSends> room_for_sends_;  // with other ranks
  std::mutex released_mutex_;
  std::map<const graph::Handle*, Released> released_;  // what is called then; under the mutex
  std::atomic<std::uint64_t> regions_{0};              // of recordings

  // Waiting threads. Whoever makes something happen reads `waiting_` after it; a waiter raises it
  // before it looks.
  mutable std::mutex wait_mutex_;
  std::condition_variable wait_changed_;
  std::uint64_t wait_epoch_ = 0;
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> slot_taken_{false};  // the worker without a thread has one now

  std::optional<StatusFile> status_;  // if asked for
  std::thread watcher_;               // reports stalls, if asked to
  std::condition_variable watcher_wakes_;
  bool stopping_ = false;
};

template <typename Make>
Handle RuntimeImpl::add_owned(std::optional<RankId> owner, const Layout& layout, std::string name,
                              bool written, const Make& make) {
  RankSequence* const sequence = ranks();
  if (sequence == nullptr) {
    if (owner && owner->value != 0) RankSequence::refuse_rank(*owner, 1, name);
    return make(std::move(name));
  }
  const RankId by = owner.value_or(sequence->next_owner());
  if (by.value >= sequence->ranks()) RankSequence::refuse_rank(by, sequence->ranks(), name);
  Handle registered;
  if (by == sequence->here()) {
    sequence->here_alone([&] {
      registered = make(name);
      provide_room_for_sends(layout.bytes(), name);
    });
  }
  return sequence->add(by, layout, std::move(name), written, registered);
}

}  // namespace vicinal::runtime

// As public headers call it.
class vicinal::internals::RuntimeImpl final : public runtime::RuntimeImpl {
 public:
  using runtime::RuntimeImpl::RuntimeImpl;
};
