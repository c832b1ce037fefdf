// Dependency inference: sequential consistency of the order of submission, per handle.
//
// Locking: the lock bits of all handles of a task are held while it is inserted, taken in the order
// of their addresses, so that two threads that submit at once agree on one order for every handle.
// The end of a task takes one lock bit at a time, and none when nobody waits for the handle.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "base/asymmetric_fence.hpp"
#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "graph/task_pool.hpp"

namespace vicinal::graph {

// Ready tasks, linked through Task::next, in the order they became ready.
struct ReadyList {
  Task* head = nullptr;
  Task* tail = nullptr;
  void append(Task& task) {
    task.next = nullptr;
    (tail != nullptr ? tail->next : head) = &task;
    tail = &task;
  }
  Task* take() {
    Task* task = head;
    if (task != nullptr) {
      head = task->next;
      if (head == nullptr) tail = nullptr;
      task->next = nullptr;
    }
    return task;
  }
};

// Queues the accesses of the task. True if all are granted and it may be ready at once. Throws
// UsageError, with nothing changed, if it reads what nobody wrote or names an earlier life of a handle.
// task.blocked must hold 1 + the number of explicit dependencies; the 1 is the caller's: insert
// takes it back when it returns.
bool insert_accesses(Task& task);
inline bool insert(Task& task) {
  if (task.access_count > 0) return insert_accesses(task);
  const std::int32_t blocked = task.blocked.load(std::memory_order_relaxed) - 1;
  task.blocked.store(blocked, std::memory_order_relaxed);
  return blocked == 0;
}
// The same for a task that has write access to one handle and leaves it without content: what follows
// must write the handle before it reads it.
bool insert_invalidation(Task& task);

// For deferred tasks. The first throws what `insert` would; from then on the content of handles is what
// the task leaves there. The second cannot refuse the task, whatever was announced or unregistered since: it queues
// the accesses. Tasks are queued in the order in which they were announced, and all that use a handle are
// announced, or none.
void announce(Task& task, Content leaves = Content::written);
bool insert_announced(Task& task);
// Of a task that is in the graph and has all its accesses: it gets one more, to a handle that only the runtime knows. True
// if it has that, too; otherwise the task becomes ready once more.
bool insert_more(Task& task, Access& access);

// Whoever has access by it is the last to use the content: nobody else was submitted to, or only once the content is
// declared void. It may take the lock of the handle.
bool is_last_use_of_content(const Access& access);

// A task that waits for nothing else takes its turn with all handles that it commutes on, or with none: so none holds
// what another one waits for. False: it is not its turn yet; the end of the task whose turn it is makes it ready once more.
// `others`: who may try again now. True again if it has its turn.
bool take_turns(Task& task, ReadyList& others);

// The task is about to run: asks the memory for those that get its accesses next, or else for the
// handles. Only the address of the former is looked at: another thread may be writing them.
inline void warm_successors(const Task& task) {
  for (const Access& access : task.accesses()) {
    if (!writes(access.mode) || access.next() == nullptr) {
      base::warm(access.handle);
      continue;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(access.next());
    base::warm(access.next());
    base::warm(reinterpret_cast<const void*>(address & ~(alignof(Task) - 1)));
  }
}

// Ends the accesses of the task and appends the tasks that become ready.
void release_accesses(Task& task, ReadyList& ready);
inline void release(Task& task, ReadyList& ready) {
  if (task.access_count > 0) release_accesses(task, ready);
}

// A writer has written what it ever will: it goes on as a reader, others that read have access beside it, and the next writer
// waits for its end. Appends the tasks that become ready.
void downgrade(Access& access, ReadyList& ready);

// Some submitted task or the home gives it content.
bool has_content(Handle& handle);
Content content_of(Handle& handle);
// From now on, whatever tasks submitted before leave there.
void leave(Handle& handle, Content content);
// From now on tasks that name `life` are refused: the next life has begun, for its unregistration. False:
// it was not the handle's life.
bool refuse_tasks(Handle& handle, std::uint32_t life);
// The unregistration has failed: tasks that name the life before it are taken again.
void accept_tasks(Handle& handle, Content content);
// A life with this registration begins; nobody knows the handle yet but by an earlier one.
void begin_life(Handle& handle, std::uint32_t life, std::string name);
// What a message calls it, whatever its life.
std::string name_of(Handle& handle);
// Who has access and who waits, for reports; empty if nobody waits. At most `most` tasks are named.
std::string describe_queue(Handle& handle, std::size_t most);
// No task has or waits for access.
bool idle(const Handle& handle);
// A reader would have access at once.
bool is_readable(const Handle& handle);

// Dependencies without data.
class Precedences {
 public:
  explicit Precedences(const TaskPool& pool) : pool_(pool) {}
  // Throws UsageError if no submission has returned the id, which so is not that of the task itself.
  void check(TaskId before, const Task& task) const;
  // Makes `task` wait for the task named `before`, if that has not ended. task.blocked is raised.
  void add(TaskId before, Task& task);
  // Who waits for whom, for the stall report; empty if nobody does. At most `most` tasks of each are named.
  std::string describe(std::size_t most) const;
  // The life of the slot ends; appends to `ready` those that waited for nothing else. Lock-free
  // unless some task was declared after this one.
  //
  // As long as no task was ever declared after another one, a store is enough, and a second look: who
  // declares the first has either seen the life ended, or is seen here, perhaps with a successor that
  // the store has hidden.
  void end_life(Task& task, ReadyList& ready) {
    const std::uint32_t old = task.life.load(std::memory_order_relaxed);
    const std::uint32_t next = ((old & ~kHasSuccessors) + 1) & ~kHasSuccessors;
    if (!used_.load(std::memory_order_relaxed)) {
      task.life.store(next, std::memory_order_release);
      base::light_fence();
      if (!used_.load(std::memory_order_relaxed)) return;
    } else if ((task.life.exchange(next, std::memory_order_acq_rel) & kHasSuccessors) == 0) {
      return;
    }
    release_successors(task, ready);
  }

 private:
  static constexpr std::uint32_t kHasSuccessors = 0x80000000U;
  static constexpr std::size_t kMostDescribed = 20;

  void release_successors(Task& task, ReadyList& ready);

  const TaskPool& pool_;
  std::atomic<bool> used_{false};
  mutable std::mutex mutex_;
  base::SureUnorderedMap<Task*, base::SureVector<Task*>> successors_;
};

}  // namespace vicinal::graph
