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
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/kinds/kind.hpp"
#include "engine/ram_hold.hpp"
#include "graph/partition.hpp"
#include "graph/task.hpp"
#include "vicinal/recursion.hpp"

// As public headers call it.
struct vicinal::internals::RecursiveTask {};

namespace vicinal::engine {

struct Application;

class RecursiveTask final : public internals::RecursiveTask,
                            public graph::OuterTask,
                            public graph::KindData {
 public:
  RecursiveTask(Application& application, graph::Task& task);
  graph::Task& task() { return task_; }
  Application& application() { return application_; }
  // For operand numbers as in the submission.
  const graph::Access& access(std::size_t operand) const;
  graph::Partition& divide(std::size_t operand, const Divide& how);
  // Throws UsageError if a task inside may not name the operand.
  void check_inside(const graph::Handle& handle) const;
  // And if it may not be declared after these.
  void check_after(std::span<const TaskId> after) const;
  // A task that its codelet submits, and that is about to enter the graph: it is waited for, unless it works on other
  // data alone: then false. Who that waits for may come behind the outer one.
  bool add_inside(graph::Task& task);
  void inner_ended(Outcome outcome) override;

 private:
  friend class Recursions;
  bool is_part(const graph::Handle& handle) const;
  Outcome outcome() const;

  Application& application_;
  graph::Task& task_;
  RamHold hold_;
  std::atomic<bool> held_{false};  // its operands are in RAM
  std::vector<graph::Partition*> divided_;
  bool takes_room_ = false;
  std::exception_ptr error_;  // what the codelet threw
  // Of the tasks inside.
  std::atomic<bool> any_failed_{false};
  std::atomic<bool> any_cancelled_{false};
  std::atomic<bool> lost_{false};  // a part has not come back to RAM
  // Tasks inside and repartitions that have not ended, and who submits them.
  std::atomic<std::size_t> coming_{1};
};

class Recursions final : public Kind {
 public:
  explicit Recursions(Application& application) : application_(application) {}

  // What makes the task divisible is noted in it. Throws CapacityError if it must be divided and cannot be.
  void note(graph::Task& task, Recursive requested) const;
  // It was decided to divide the task.
  void ready(graph::Task& task) override;
  void held(graph::Task& task, const std::exception_ptr& error) override;
  void look() override {
    if (count_ending_.load(std::memory_order_acquire) != 0) end_what_can();
  }
  // For reports: which tasks are divided, and what they wait for.
  std::string describe() const;
  // Of this thread: the task whose codelet submits; null if there is none.
  static RecursiveTask* current();

 private:
  friend class RecursiveTask;
  void submit_inside(RecursiveTask& task);
  void close(RecursiveTask& task);
  void one_came(RecursiveTask& task);
  bool try_end(RecursiveTask& task);
  bool end_or_keep(RecursiveTask& task);
  void end_what_can();

  Application& application_;
  mutable std::mutex mutex_;
  std::vector<RecursiveTask*> divided_;  // all
  std::vector<RecursiveTask*> ending_;   // copies of their parts are in flight
  std::uint64_t looks_ = 0;              // by whoever may have ended such a copy
  std::atomic<std::size_t> count_ending_{
      0};  // those in `ending_`, and those that somebody tries to end
};

}  // namespace vicinal::engine
