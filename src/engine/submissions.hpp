// From what the application says to a task in the graph.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "engine/deferred_tasks.hpp"
#include "engine/simulated_submitter.hpp"
#include "graph/partition.hpp"
#include "graph/task.hpp"
#include "sim/world.hpp"
#include "vicinal/error.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/task.hpp"

namespace vicinal::engine {

struct Application;
class Engine;
class RecursiveTask;
struct InTask;

struct SubmissionsConfig {
  // The submission window; 0: no bound.
  std::uint64_t window_tasks = 0;
  Bytes window_bytes = {};
  bool computes_priorities = false;     // of tasks that have none
  double plan_pause_seconds = 0;        // see DeferredTasks; 0: however long
  sim::World* world = nullptr;          // of a simulated machine; null: a real one
  bool shares_world = false;            // with other runtimes
  std::optional<WorkerId> lent_worker;  // the one that has no thread of its own
  // How many threads wait: what is deferred goes on at once then.
  const std::atomic<std::uint32_t>& waiting;
};

// What few submissions have beside what the application says.
struct SubmissionExtras {
  Bytes window_bytes = {};              // that the window has counted of the task
  graph::SubmissionNumber number = {};  // 0: of the runtime, or submissions are not counted
  bool was_refused = false;             // for lack of room: it is not to be tried again
};
inline constexpr SubmissionExtras kNoExtras = {};

// The task lacks room that the caller may wait for: then it is to be submitted once more. The window still counts it.
class LacksRoom : public CapacityError {
 public:
  using CapacityError::CapacityError;
};

class Submissions {
 public:
  Submissions(Application& application, const SubmissionsConfig& config);

  // --- tasks of the application
  // Throws LacksRoom, outside of tasks and for the first time; otherwise UsageError or CapacityError. Nothing is left of a
  // task that is refused.
  TaskId submit(const TaskSpec& spec, const SubmissionExtras& extras);
  // Each is looked at before anything is made of it: there is a window, submissions take simulated time, tasks are numbered
  // or for other ranks, or data may be named that are only declared.
  bool looks_first() const { return looks_first_.load(std::memory_order_relaxed); }
  void look_first() { looks_first_.store(true, std::memory_order_relaxed); }
  // From now on they are numbered. Before the first.
  void number_all();
  // Of a task inside another one; does not wait for the window.
  TaskId submit_inside(const TaskSpec& spec);
  // Throws UsageError if it is declared after a task of another runtime.
  void require_own(const TaskSpec& spec) const;
  // Bytes of the different operands, if the window counts them; 0 if it does not.
  Bytes window_bytes(std::span<const Operand> operands) const;
  // In the window.
  void count(Bytes bytes) { bytes_.fetch_add(bytes.value, std::memory_order_relaxed); }
  // The window has room for a task of so many bytes; of what is known, where submissions take simulated time. `part`: in
  // one of so many parts of it.
  bool window_has_room(Bytes bytes, std::uint64_t part) const;
  // Of a task that was refused, and counted until now.
  void will_not_come(Bytes bytes, graph::GroupCount* group = nullptr);

  // --- tasks of the runtime itself; they do not wait for the window
  // For submit_inner or discard_inner. It has an extension.
  graph::Task& make_inner(const TaskSpec& spec);
  void submit_inner(graph::Task& task) { submit_plain(task); }
  void discard_inner(graph::Task& task);
  // A task that copies between this handle and a part of it.
  void submit_settled(const TaskSpec& spec, const graph::Handle& whole);
  // The window counts so much more of a task that was made.
  void count_more(Bytes bytes) {
    if (counts_bytes_) bytes_.fetch_add(bytes.value);
  }

  // --- tasks without a kernel
  struct Call {
    graph::TaskKind kind;
    const char* what;  // for messages
  };
  graph::Task& make_plain(Call call, const graph::Access& access,
                          std::unique_ptr<graph::KindData> data);
  // Behind all that was submitted before, deferred or not. If it is refused it is gone.
  void submit_plain(graph::Task& task);
  // The parts of its handle are brought together first, if it has any.
  void submit_plain_settled(graph::Task& task);
  void submit_invalidation(graph::Task& task);
  void submit_repartition(std::span<const graph::Access> accesses,
                          std::function<void(Outcome)> on_end = nullptr);
  // Of a recursive task: behind all who use the parts these are in RAM. `on_end`: not done if one is poisoned.
  void submit_return(const graph::Partition& partition, std::function<void(Outcome)> on_end);

  // A submission becomes known in simulated time.
  void takes_place(const graph::Task& task);

  // --- deferred tasks
  bool any_deferred() const {
    return (deferred_ && deferred_->any()) || (submitter_ && submitter_->any());
  }
  void pass_on_deferred() {
    if (deferred_ && deferred_->any()) deferred_->flush();
  }
  // While the lock is held no task takes its place among the submissions, if any are deferred.
  std::unique_lock<std::mutex> lock_announcements() {
    return deferred_ ? std::unique_lock(deferred_->announcements())
                     : std::unique_lock<std::mutex>();
  }
  std::uint64_t count_deferred() const { return deferred_ ? deferred_->count() : 0; }
  std::string describe() const;
  // Null: submissions take no simulated time, or all time of the world.
  SimulatedSubmitter* submitter() { return submitter_ ? &*submitter_ : nullptr; }

 private:
  graph::Task& make(const TaskSpec& spec, std::span<const Operand> operands, WorkerId worker);
  void fill_accesses(graph::Task& task, std::span<const Operand> operands);
  bool is_plain(const Operand& operand) const;
  std::size_t fill_access(graph::Task& task, const Operand& operand, std::size_t number,
                          std::size_t count);
  void say_more(graph::Task& task, const TaskSpec& spec) const;
  void say_where_and_how_long(graph::Task& task, const TaskSpec& spec) const;
  TaskId put_into_graph(graph::Task& task, const TaskSpec& spec, const InTask* inside);
  void note_recursive(graph::Task& task, const TaskSpec& spec);
  void add_scratch(graph::Task& task, const Operand& operand, std::size_t number);
  void prepare_to_write(const graph::Task& task, graph::Handle& handle, std::uint32_t life);
  // placing.cpp. Asks the codelet's placing function, under a policy that follows placement, for a task without a
  // place of its own. Throws UsageError.
  void ask_place(graph::Task& task, const TaskSpec& spec) const;
  void check(const graph::Task& task);
  void check_simulated_time(const graph::Task& task);
  void check_inside(const RecursiveTask& outer, const TaskSpec& spec) const;
  void set_times(graph::Task& task, const TaskSpec& spec) const;
  void add_inside(RecursiveTask& outer, graph::Task& task);
  std::unique_lock<std::recursive_mutex> settle(graph::Task& task);
  std::unique_lock<std::recursive_mutex> settle_parts(graph::Task& task);
  TaskId submit_in_order(graph::Task& task, const TaskSpec& spec, const InTask* inside);
  TaskId submit_in_turn(graph::Task& task, const TaskSpec& spec);
  // What is submitted now is no submission of the application.
  bool is_within() const;

  Application& application_;
  Engine& engine_;
  const std::uint64_t most_tasks_;  // in the window; 0: no bound
  const Bytes most_bytes_;
  const bool counts_bytes_;
  const bool places_;  // codelets are asked where their tasks run
  sim::World* const world_;
  const bool looks_closely_;  // at each task: it is simulated, or one of these has to be asked
  const std::uint32_t runtime_;
  const Time most_overhead_;       // of one task, on any worker; in simulation
  const double seconds_per_byte_;  // at most, of all segments on which simulated kernels draw
  std::optional<DeferredTasks> deferred_;        // if priorities are computed or the policy plans
  std::optional<SimulatedSubmitter> submitter_;  // in a world that others may share
  bool is_ordered_ = false;                      // one of these, or submissions are noted
  std::atomic<bool> looks_first_{false};
  std::atomic<std::uint64_t> bytes_{0};  // of the operands of all that was submitted
};

}  // namespace vicinal::engine
