// Behind vicinal::Runtime: wiring, registration, submission, waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/lifecycle.hpp"
#include "graph/overlap.hpp"
#include "machine/performance_model.hpp"
#include "runtime/machine_setup.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::runtime {

class TimedPolicy;

// What an application's thread holds or waits to hold: a task without a kernel in the graph, and a
// reservation in RAM.
struct Acquisition {
  enum class State : std::uint8_t { queued, granted, abandoned };  // in the graph
  graph::Task* task = nullptr;
  memory::Request request;
  std::atomic<State> state{State::queued};
  std::thread::id thread;
  bool held = false;  // the application has it; under held_mutex_
};

class RuntimeImpl {
 public:
  RuntimeImpl(const Options& options, MachineSetup setup);
  ~RuntimeImpl();

  // registration.cpp
  Handle add(const Layout& layout, graph::Home home, bool written, std::string name);
  Handle add_file(const FileRegion& region, const Layout& layout, std::string name);
  Handle add_simulated(Bytes size, NodeId home, std::string name);
  void unregister(graph::Handle& handle, WriteBack write_back);
  graph::Handle& check(Handle handle, const char* what) const {
    if (!handle || handle.impl()->owner != this) throw_unknown_handle(what);
    return *handle.impl();
  }
  [[noreturn]] static void throw_unknown_handle(const char* what);

  // submission.cpp
  TaskId submit(const TaskSpec& spec);
  void flush_planned();
  // Simulation: what the application has spent on a submission.
  void pass_submission_time() {
    if (setup_.simulated && setup_.machine.submit_overhead.ns > 0) pass_time();
  }

  // waiting.cpp
  void wait();
  void wait(Group& group);
  void wait(graph::Handle& handle);
  void notify_waiters();
  std::unique_ptr<Acquisition> acquire(graph::Handle& handle, AccessMode mode);
  void release(Acquisition& acquisition);
  // `written`: the application may have changed the content in RAM.
  void end(Acquisition& acquisition, bool written);
  // Has the graph's access to the handle, nothing in memory.
  std::unique_ptr<Acquisition> order(graph::Handle& handle, AccessMode mode);
  // Does `then` when the graph gives access; does not wait.
  void when_granted(graph::Handle& handle, AccessMode mode, std::function<void()> then);
  // Runs tasks, if this thread may, until `done` says true. Throws UsageError if that cannot come
  // because of what this thread holds.
  enum class Looks : bool { after_each_task, when_idle };
  void wait_until(const std::function<bool()>& done, const char* what,
                  Looks looks = Looks::after_each_task);
  void not_inside_task(const char* what) const;
  std::string stall_report() const;
  Statistics statistics() const;

  engine::Engine& engine() { return *engine_; }
  const engine::Engine& engine() const { return *engine_; }

 private:
  struct PlannedTask {
    graph::Task* task = nullptr;
    std::vector<TaskId> after;
    Bytes window_bytes;
  };

  graph::Task& make_task(const TaskSpec& spec, WorkerId worker);
  void fill_accesses(graph::Task& task, std::span<const Operand> operands);
  void check_task(const graph::Task& task);
  void check_sole_copies(const graph::Task& task);
  void respect_window(Bytes bytes, WorkerId worker);
  Bytes window_bytes(std::span<const Operand> operands) const;
  graph::Task& plain_task(graph::Handle& handle, AccessMode mode,
                          std::function<void(graph::Task&)> then);
  void pass_time();
  void forget(graph::Handle& handle);
  void flush_home(graph::Handle& handle, memory::Request& request);
  void wait_simulated(const std::function<bool()>& done, const char* what);
  void throw_if_held(const char* what, const std::function<bool()>& done);
  std::string held_by_this_thread_alone() const;
  void watch();
  void require_rules_apply(const engine::EngineConfig& config) const;
  void read_models(engine::EngineConfig& config);
  void write_models();
  // The worker that has no thread of its own: whoever waits drives it.
  std::optional<WorkerId> slot() const;

  const Options options_;
  MachineSetup setup_;
  machine::PerformanceModel models_;
  std::optional<std::string> models_file_;     // none: nothing is kept
  const TimedPolicy* timed_policy_ = nullptr;  // owned by the engine; none: not asked for
  std::unique_ptr<engine::Engine> engine_;

  mutable std::mutex handles_mutex_;           // guards what follows
  mutable std::deque<graph::Handle> handles_;  // reports take their lock bits
  std::vector<graph::Handle*> free_handles_;
  std::uint64_t next_handle_ = 1;
  std::uint64_t simulated_address_ = 4096;  // of the next add_simulated
  graph::RegionIndex buffers_;
  std::map<int, graph::RegionIndex> files_;
  Bytes unhomed_;  // written data whose only place is what the runtime allocates

  std::mutex planned_mutex_;
  std::vector<PlannedTask> planned_;
  std::atomic<std::uint64_t> planned_count_{0};
  std::atomic<std::uint64_t> submitted_bytes_{0};

  // Waiting threads. Whoever makes something happen reads `waiting_` after it; a waiter raises it
  // before it looks.
  mutable std::mutex wait_mutex_;
  std::condition_variable wait_changed_;
  std::uint64_t wait_epoch_ = 0;
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> slot_taken_{false};  // the worker without a thread has one now
  mutable std::mutex held_mutex_;
  std::vector<Acquisition*> acquisitions_;  // waited for or held

  std::thread watcher_;  // reports stalls, if asked to
  std::condition_variable watcher_wakes_;
  bool stopping_ = false;
};

}  // namespace vicinal::runtime
