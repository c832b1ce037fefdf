// Tasks that are divided: others work on parts of their operands in place of a kernel.
//
// The way of such a task: it is ready; its operands are held in RAM (engine/ram_hold.hpp); its codelet submits tasks
// on parts that lie inside what is held; behind these a repartition per division brings the parts back to RAM; the
// parts go; the task ends.
//
// Why it cannot hang: who holds room of RAM waits for nobody who needs some. If what is held takes room of a limited
// RAM, the tasks inside use its parts alone, which have their room, and run on cores (Home::ram_only); they overtake
// who waits for room (memory/requests.cpp). If it takes none, it keeps nobody from anything.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/ram_hold.hpp"
#include "graph/partition.hpp"
#include "vicinal/recursion.hpp"

// As public headers call it.
struct vicinal::internals::RecursiveTask {};

namespace vicinal::runtime {

class RuntimeImpl;

class RecursiveTask : public internals::RecursiveTask {
 public:
  RecursiveTask(RuntimeImpl& runtime, graph::Task& task);
  graph::Task& task() { return task_; }
  RuntimeImpl& runtime() { return runtime_; }
  // For operand numbers as in the submission.
  const graph::Access& access(std::size_t operand) const;
  graph::Partition& divide(std::size_t operand, const Divide& how);
  // Throws UsageError if a task inside may not name the operand.
  void check_inside(const graph::Handle& handle) const;
  // And if it may not be declared after these.
  void check_after(std::span<const TaskId> after) const;

 private:
  friend class Recursions;
  RuntimeImpl& runtime_;
  graph::Task& task_;
  engine::RamHold hold_;
  std::atomic<bool> held_{false};  // its operands are in RAM
  std::vector<graph::Partition*> divided_;
  bool takes_room_ = false;
  std::exception_ptr error_;            // what the codelet threw
  std::atomic<bool> lost_{false};       // a task inside has failed or was cancelled
  std::atomic<std::size_t> coming_{1};  // repartitions that have not ended, and who submits them
};

class Recursions {
 public:
  explicit Recursions(RuntimeImpl& runtime) : runtime_(runtime) {}

  // What makes the task divisible is noted in it. Throws CapacityError if it must be divided and cannot be.
  void note(graph::Task& task, Recursive wish) const;
  // The task is ready, and it was decided to divide it.
  void begin(graph::Task& task);
  // A copy has ended, or something else that whoever wants to end may wait for.
  void look() {
    if (any_ending_.load(std::memory_order_acquire)) end_what_can();
  }
  // For reports: which tasks are divided, and what they wait for.
  std::string describe() const;
  // Of this thread: the task whose codelet submits; null if there is none.
  static const RecursiveTask* current();

 private:
  void submit_inside(RecursiveTask& task);
  void close(RecursiveTask& task);
  void one_came(RecursiveTask& task);
  bool try_end(RecursiveTask& task);
  void end_what_can();

  RuntimeImpl& runtime_;
  mutable std::mutex mutex_;
  std::vector<RecursiveTask*> divided_;                 // all
  std::vector<std::unique_ptr<RecursiveTask>> ending_;  // copies of their parts are in course
  std::atomic<bool> any_ending_{false};
};

}  // namespace vicinal::runtime
