// Tasks that have been submitted and are deferred until the submission window is full, somebody waits, or a worker has
// slept through a moment in which they could have run: the application may wait in ways of its own. The tasks known by
// then are a graph: computed priorities follow from the graph, and a planning policy plans on it. Then the
// tasks enter the graph of dependencies, in the order of their submission.
//
// Every task takes its place among the submissions here, and is refused here or never: what is accepted
// reaches the graph of dependencies, whatever others unregister or invalidate meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "engine/deferred_graph.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"

namespace vicinal::engine {

class DeferredTasks {
 public:
  enum class Priorities : bool { given, computed };
  // `pause`: after so long without a submission a sleeping worker gets what is deferred, if the policy plans; 0: never.
  // `waiting`: the number of waiting threads. A thread raises the number before it looks for deferred tasks.
  DeferredTasks(Engine& engine, Priorities priorities, std::chrono::duration<double> pause,
                const std::atomic<std::uint32_t>& waiting);
  ~DeferredTasks();
  DeferredTasks(const DeferredTasks&) = delete;
  DeferredTasks& operator=(const DeferredTasks&) = delete;

  // Some are not in the graph of dependencies. Seq_cst, with the store: see RuntimeImpl::wait_until.
  bool any() const { return count() > 0; }
  std::uint64_t count() const { return count_.load(std::memory_order_seq_cst); }
  // A task of the application or inside a task, by a worker. Refused: the task is gone when this throws.
  TaskId add(graph::Task& task, std::span<const TaskId> after, WorkerId submitter,
             Deferral deferral, graph::Content leaves = graph::Content::written);
  // The same for one that is not deferred, and needs no plan if nothing is.
  TaskId add_behind(graph::Task& task, std::span<const TaskId> after, WorkerId submitter);
  // An invalidation, which nobody waits for: deferred if others are, and it passes none of them on.
  void add_invalidation(graph::Task& task);
  // Any of them, for a task that has been announced: it is not refused.
  void add_announced(const DeferredTask& entry);
  // All but the last `kept` go on, with priorities if they have none. `here`: the worker whose thread calls.
  void flush(std::size_t kept = 0, WorkerId here = kNoWorker);
  // For the stall report: how many, and the first of them; empty if there are none.
  std::string describe() const;
  // Held, no task is accepted.
  std::mutex& announcements() { return list_mutex_; }

 private:
  void put(DeferredTask entry);
  void go_on(Deferral deferral, WorkerId submitter, bool full);
  DeferredTaskList take(std::size_t kept, bool& planned);
  void watch();
  // True: the policy has planned some.
  bool prepare(std::span<const DeferredTask> known, std::size_t leaving);
  void give_priorities(DeferredGraph& known, std::span<const DeferredTask> list,
                       std::size_t leaving) const;

  Engine& engine_;
  const bool computes_priorities_;
  const std::atomic<std::uint32_t>& waiting_;
  // Who takes tasks puts them into the graph before another does, or they would overtake each other. No function
  // of the application is called under it.
  std::mutex order_mutex_;
  std::uint64_t left_ = 0;  // that have been taken, all in all; under order_mutex_
  std::size_t planned_ =
      0;  // of the first that are deferred, the policy has made its plan; likewise
  mutable std::mutex list_mutex_;        // behind it
  DeferredTaskList list_;                // in the order in which they were announced to the graph
  std::atomic<std::uint64_t> count_{0};  // in the list, or on their way from it to the graph
  std::condition_variable any_listed_;   // or stopping_
  bool stopping_ = false;
  const std::chrono::duration<double> pause_;
  std::thread watcher_;
};

}  // namespace vicinal::engine
