// Behind vicinal::Runtime: wiring, registration, submission, waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
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
#include "engine/lifecycle.hpp"
#include "graph/overlap.hpp"
#include "machine/performance_model.hpp"
#include "runtime/departures.hpp"
#include "runtime/held_back.hpp"
#include "runtime/machine_setup.hpp"
#include "runtime/partitions.hpp"
#include "runtime/recursions.hpp"
#include "runtime/reductions.hpp"
#include "runtime/scratch.hpp"
#include "runtime/simulated_planner.hpp"
#include "runtime/status_file.hpp"
#include "runtime/undelivered.hpp"
#include "trace/decision.hpp"
#include "vicinal/placement.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/trace.hpp"

namespace vicinal::internals {

// What an application's thread holds or waits to hold: an acquisition in the graph, and a
// reservation in RAM.
struct Acquisition {
  enum class State : std::uint8_t { queued, granted, abandoned };  // in the graph
  graph::Handle* handle = nullptr;
  graph::Task* task = nullptr;  // not read by others: a task that is refused is gone
  memory::Request request;
  std::atomic<State> state{State::queued};
  std::thread::id thread;
  bool held = false;  // the application has it; under held_mutex_
};

// What the library does with public values that the application cannot.
struct Opener {
  static GroupCount& count(Group& group) { return *group.count_; }
  static Placement placement(const TaskSpec& spec, const MachineDescription& machine) {
    return {spec, machine};
  }
};

}  // namespace vicinal::internals

namespace vicinal::runtime {

using internals::Acquisition;
using internals::Opener;

// Never 0, never twice in a process.
std::uint32_t next_runtime_number();

class RuntimeImpl {
 public:
  // `listener` hears why the runtime decides as it does, and outlives it; null: nobody listens. `policy`: null
  // for the one that the options name.
  RuntimeImpl(const Options& options, MachineSetup setup,
              trace::DecisionListener* listener = nullptr,
              std::unique_ptr<sched::Policy> policy = nullptr);
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
  // `part_of`: null but for a part, and for a private copy.
  Handle add(const Layout& layout, graph::Home home, bool written, std::string name,
             const graph::Handle* part_of = nullptr);
  Handle add_file(const FileRegion& region, const Layout& layout, std::string name);
  Handle add_simulated_file(const FileRegion& region, const Layout& layout, std::string name);
  Handle add_simulated(Bytes size, NodeId home, std::string name) {
    return add_simulated({size.value, 1, size.value, 1}, home, true, std::move(name));
  }
  Handle add_simulated(const Layout& layout, NodeId home, bool writable, std::string name);
  // `call`: as the application has it, for messages.
  void unregister(Handle handle, WriteBack write_back, const char* call = "unregister");
  // What lies behind a handle of another runtime may be gone: it is not looked at.
  graph::Handle& check(Handle handle, const char* what) const {
    if (handle.runtime() != number_ || handle.impl()->life() != handle.life()) [[unlikely]] {
      throw_unknown_handle(handle, what);
    }
    return *handle.impl();
  }
  [[noreturn]] void throw_unknown_handle(Handle handle, const char* what) const;
  // Gives the node back; throws UsageError if the machine has none of this number.
  NodeId check_node(NodeId node, const char* what) const;
  // It goes when the tasks that use it have ended; does not wait. Any thread, also inside a task.
  void let_go(Handle handle) noexcept;
  void release_later(Handle handle);
  void invalidate(Handle handle);
  Parts partition(Handle whole, const Divide& divide, PartAccess access);
  void unpartition(const Parts& parts);
  void pin(std::byte* data, Bytes bytes);
  void unpin(std::byte* data);

  void set_reduction(Handle handle, const Reduction& reduction);
  void combine(Handle handle);

  // recording.cpp
  void start_trace(const std::string& file, std::string_view events);
  TraceSummary stop_trace();
  std::uint64_t next_region() { return regions_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // submission.cpp
  // What the application calls; the ids that it gives and is given say whose they are.
  TaskId submit_named(const TaskSpec& spec) {
    if (!spec.after.empty()) require_own(spec);
    return {submit(spec).value, number_};
  }
  TaskId submit(const TaskSpec& spec);
  // And so all that this thread has submitted.
  void pass_on_held_back() {
    if (held_back_ && held_back_->any()) held_back_->flush();
  }
  // Simulation: what the application has spent on a submission.
  void pass_submission_time() {
    if (setup_.simulated && setup_.machine.submit_overhead.ns > 0) pass_time();
  }

  // --- for Departures
  std::unique_lock<std::mutex> hold_announcements() {
    return held_back_ ? std::unique_lock(held_back_->announcements())
                      : std::unique_lock<std::mutex>();
  }
  Departures& departures() { return departures_; }
  // --- for Partitions, which holds its lock
  Handle add_part(const graph::Handle& of, const Layout& layout, const graph::Home& home,
                  bool written, std::string name) {
    return add(layout, home, written, std::move(name), &of);
  }
  void forget(graph::Handle& handle);
  std::uint32_t number() const { return number_; }
  bool holds_any_back() const { return held_back_ && held_back_->any(); }
  // Held in RAM it takes room that others may need, or lies in such room.
  bool confines(const graph::Handle& handle) const {
    const memory::Residency& residency = engine_->residency();
    return handle.home.ram_only ||
           (residency.limit(kRam).has_value() && residency.footprint(handle, kRam).value > 0);
  }
  // A task that copies between this handle and a part of it.
  void submit_settled(const TaskSpec& spec, const graph::Handle& whole);
  void invalidate_settled(Handle handle);
  void submit_repartition(std::span<const graph::Access> accesses,
                          std::function<void(Outcome)> on_end = nullptr);
  // Of a recursive task: behind all who use the parts these are in RAM. `on_end`: not done if one is poisoned.
  void submit_return(const graph::Partition& partition, std::function<void(Outcome)> on_end);
  Partitions& partitions() { return partitions_; }
  Recursions& recursions() { return recursions_; }
  // --- for Reductions
  Reductions& reductions() { return reductions_; }
  // Where submissions are recorded. `part_of`: 0: of none.
  void record_registered(const graph::Handle& handle, std::string_view name, HandleId part_of);
  // A task of the runtime itself, for submit_inner or discard. It has an extension.
  graph::Task& make_inner(const TaskSpec& spec);
  void submit_inner(graph::Task& task) { submit_plain(task); }
  void discard_inner(graph::Task& task);
  // The window counts so much more of a task that was made.
  void count_more(Bytes bytes) {
    if (options_.window_bytes.value > 0) submitted_bytes_.fetch_add(bytes.value);
  }
  bool counts_sole_copies() const { return sole_limit_.has_value(); }
  // In the sum of what has no home, where that is limited. False: it does not fit.
  bool take_sole_room(graph::Handle& handle);
  void give_back_sole_room(graph::Handle& handle);
  // The worker that has no thread of its own: whoever waits drives it.
  std::optional<WorkerId> slot() const;

  // waiting.cpp
  // A moment of the runtime's clock until which is waited; none: as long as it takes.
  using Deadline = std::optional<Time>;
  Deadline in_time(Time duration) const;
  void wait();
  // Waits return false if what is waited for has not ended at the deadline.
  bool wait(Deadline deadline);
  bool wait(Group& group, Deadline deadline);
  void wait(Handle handle);
  bool wait_for(Handle handle, Time duration);
  // Waits for nothing, and passes on what is held back. Any thread, also inside a task.
  bool is_ready(Group& group);
  bool is_ready(Handle handle, const char* what);
  void cancel(Group& group);
  void notify_waiters();
  std::unique_ptr<Acquisition> acquire(Handle handle, AccessMode mode,
                                       const char* call = "acquire");
  void release(Acquisition& acquisition);
  // `written`: the application may have changed the content in RAM.
  void end(Acquisition& acquisition, bool written);
  // What the application asks for beside tasks: the kind of task that waits for access, and the call, for messages.
  struct Call {
    graph::TaskKind kind;
    const char* what;
  };
  // Has the graph's access to this life of the handle, nothing in memory. `what` is the call, for messages.
  std::unique_ptr<Acquisition> order(graph::Handle& handle, std::uint32_t life, AccessMode mode,
                                     const char* what);
  void note_acquisition(Acquisition& access);
  void bring_to_ram(const graph::Handle& handle, Acquisition& access, AccessMode mode,
                    const char* call);
  // Does `then` when the graph gives access; does not wait.
  void when_granted(Handle handle, AccessMode mode, Call call, std::function<void()> then);
  // Runs tasks, if this thread may, until `done` says true. Throws UsageError if that cannot come
  // because of what this thread holds.
  enum class Looks : bool { after_each_task, when_idle };
  void wait_until(const std::function<bool()>& done, const char* what,
                  Looks looks = Looks::after_each_task);
  // False: it did not until the deadline, and what this thread holds is no error. `longest_sleep`: where nobody calls
  // whoever waits when it does.
  bool wait_until(const std::function<bool()>& done, const char* what, Looks looks,
                  Deadline deadline, Time longest_sleep = kLongestDuration);
  void not_inside_task(const char* what) const;
  std::string stall_report() const;
  Statistics statistics() const;

  engine::Engine& engine() { return *engine_; }
  const engine::Engine& engine() const { return *engine_; }

 private:
  void require_own(const TaskSpec& spec) const;
  TaskId hold_back(graph::Task& task, const TaskSpec& spec, const engine::InTask* inside);
  // A task that is not scheduled, behind all that was submitted before.
  void submit_plain(graph::Task& task);
  graph::Task& make_task(const TaskSpec& spec, std::span<const Operand> operands, WorkerId worker);
  graph::Task& make_once_more(const TaskSpec& spec, std::span<const Operand> operands, Bytes bytes,
                              bool inside_task);
  void wait_for_copies(const char* call);
  void fill_accesses(graph::Task& task, std::span<const Operand> operands);
  void add_scratch(graph::Task& task, const Operand& operand, std::size_t number);
  void reserve_scratch(const graph::Task& task);
  void prepare_to_write(const graph::Task& task, graph::Handle& handle, std::uint32_t life);
  // Under a policy that heeds it; a task that says itself where it runs is not asked about. Throws UsageError.
  void ask_place(graph::Task& task, const TaskSpec& spec) const;
  bool is_plain(const graph::Task& task, const Operand& operand) const;
  std::size_t fill_access(graph::Task& task, const Operand& operand, std::size_t number,
                          std::size_t count);
  void say_more(graph::Task& task, const TaskSpec& spec) const;
  void say_where_and_how_long(graph::Task& task, const TaskSpec& spec) const;
  TaskId put_into_graph(graph::Task& task, const TaskSpec& spec, const engine::InTask* inside);
  void note_recursive(graph::Task& task, const TaskSpec& spec);
  void check_inside(const RecursiveTask& outer, const TaskSpec& spec) const;
  void check_task(const graph::Task& task);
  void check_simulated_time(const graph::Task& task);
  void set_times(graph::Task& task, const TaskSpec& spec) const;
  void check_sole_copies(const graph::Task& task);
  void count_sole_copies(std::span<const graph::Access> accesses, const char* kind,
                         std::string_view name);
  void count_acquired(graph::Handle& handle, std::uint32_t life);
  void respect_window(Bytes bytes, bool may_wait);
  void will_not_come(Bytes bytes, graph::GroupCount* group);
  Bytes window_bytes(std::span<const Operand> operands) const;
  graph::Task& plain_task(graph::Handle& handle, std::uint32_t life, AccessMode mode, Call call,
                          std::function<void(graph::Task&)> then);
  graph::Task& task_for(Handle handle, AccessMode mode, Call call, std::function<void()> then);
  void pass_time();
  static bool is_part(const graph::Handle& handle) {
    const graph::Family* const family = handle.family.load(std::memory_order_acquire);
    return family != nullptr && family->of != nullptr;
  }
  Partitions::Lock settle(graph::Task& task, WorkerId worker) {
    if (partitions_.any()) [[unlikely]]
      return settle_parts(task, worker);
    return {};
  }
  Partitions::Lock settle_parts(graph::Task& task, WorkerId worker);
  std::string what_file_lacks(int file, std::uint64_t end, const std::string& path) const;
  void add_inside(RecursiveTask& outer, graph::Task& task, WorkerId worker);
  std::exception_ptr write_home(graph::Handle& handle, memory::Request& request);
  void flush_home(graph::Handle& handle, memory::Request& request);
  bool wait_simulated(const std::function<bool()>& done, const char* what, Deadline deadline);
  void pass_simulated(Time deadline);
  Time now() const;
  [[noreturn]] void throw_lost(const graph::Handle& handle);
  void throw_if_held(const char* what, const std::function<bool()>& done);
  bool this_thread_alone_holds() const;
  std::string held_by_this_thread() const;
  void require_same_process(const char* what) const;
  base::SureVector<Handle> left_and_not_held() const;
  [[noreturn]] void throw_failure(const std::exception_ptr& error);
  void start();
  void stop();
  void leave() noexcept;
  bool is_inside_what_it_waits_for() const;
  void tell_undelivered(const std::exception_ptr& error) const noexcept;
  void watch();
  std::string how_to_get_room() const;
  void require_rules_apply(const engine::EngineConfig& config) const;
  std::string facts_of_run() const;  // JSON
  // Warns of what went wrong.
  void end_trace() noexcept;
  void record_known(const graph::Handle& handle);
  void read_models(engine::EngineConfig& config);
  void write_models();

  const Options options_;
  const bool windowed_ = options_.window_tasks > 0 || options_.window_bytes.value > 0;
  bool places_ = false;         // codelets are asked where their tasks run
  bool looks_closely_ = false;  // at each task: it is simulated, or one of these has to be asked
  const std::uint32_t number_ = next_runtime_number();
  const pid_t process_ = getpid();
  const Undelivered undelivered_ = parse_undelivered(options_.undelivered_errors);
  const int exceptions_at_start_ = std::uncaught_exceptions();
  std::atomic<bool> has_thrown_{false};  // a call has thrown why the run, or a handle, has failed
  std::atomic<bool> is_left_{false};     // nobody waits for it, or destroys it
  RuntimeImpl* left_before_ = nullptr;   // the one that was left before it
  MachineSetup setup_;
  // Of RAM without a disk: what has no home stays there.
  const std::optional<Bytes> sole_limit_ =
      setup_.machine.disk() ? std::nullopt : setup_.machine.nodes[kRam.value].limit;
  drivers::PinnedRanges pinned_;  // by the application
  machine::PerformanceModel models_;
  std::optional<std::string> models_file_;  // none: nothing is kept
  std::unique_ptr<engine::Engine> engine_;
  std::optional<SimulatedPlanner> planner_;  // in simulation
  std::optional<HeldBack> held_back_;        // if priorities are computed or the policy plans
  Partitions partitions_{*this};
  Recursions recursions_{*this};
  ScratchPool scratch_{*this};
  Departures departures_{*this};
  Reductions reductions_{*this};
  std::atomic<std::uint64_t> regions_{0};  // of recordings

  mutable std::mutex handles_mutex_;           // guards what follows
  mutable std::deque<graph::Handle> handles_;  // reports take their lock bits
  base::SureVector<graph::Handle*> free_handles_;
  std::uint64_t next_handle_ = 1;
  std::uint64_t simulated_address_ = 4096;  // of the next add_simulated
  graph::RegionIndex buffers_;
  std::map<int, graph::RegionIndex> files_;
  Bytes unhomed_;       // written data whose only place is what the runtime allocates
  Bytes most_scratch_;  // of one task that may run on a core

  std::atomic<std::uint64_t> submitted_bytes_{0};
  Time most_overhead_;  // of one task, on any worker; in simulation

  // Waiting threads. Whoever makes something happen reads `waiting_` after it; a waiter raises it
  // before it looks.
  mutable std::mutex wait_mutex_;
  std::condition_variable wait_changed_;
  std::uint64_t wait_epoch_ = 0;
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> slot_taken_{false};  // the worker without a thread has one now
  mutable std::mutex held_mutex_;
  std::vector<Acquisition*> acquisitions_;  // waited for or held

  std::optional<StatusFile> status_;  // if asked for
  std::thread watcher_;               // reports stalls, if asked to
  std::condition_variable watcher_wakes_;
  bool stopping_ = false;
};

}  // namespace vicinal::runtime

// As public headers call it.
class vicinal::internals::RuntimeImpl final : public runtime::RuntimeImpl {
 public:
  using runtime::RuntimeImpl::RuntimeImpl;
};
