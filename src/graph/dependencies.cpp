#include "graph/dependencies.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/asymmetric_fence.hpp"
#include "base/warm.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

constexpr std::uint64_t kReadersMask = ~std::uint64_t{0xff};

void pause(int& spins) {
  if (++spins % 64 == 0) {
    std::this_thread::yield();  // the holder may have lost its core
  } else {
    __builtin_ia32_pause();
  }
}

// Returns the word without the lock bit.
std::uint64_t lock(Handle& handle) {
  int spins = 0;
  std::uint64_t word = handle.word.load(std::memory_order_relaxed);
  for (;;) {
    if ((word & kLocked) == 0) {
      if (handle.word.compare_exchange_weak(word, word | kLocked, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
        return word;
      }
    } else {
      pause(spins);
      word = handle.word.load(std::memory_order_relaxed);
    }
  }
}

// Pairs with the acquire in lock().
void unlock(Handle& handle, std::uint64_t word) {
  handle.word.store(word, std::memory_order_release);
}

bool in_use(std::uint64_t word) {
  return (word & (kWriter | kReadersMask)) != 0;
}

bool grantable(std::uint64_t word, AccessMode mode) {
  if ((word & (kWaiters | kWriter)) != 0) return false;
  return !writes(mode) || (word & kReadersMask) == 0;
}

std::uint64_t granted(std::uint64_t word, AccessMode mode) {
  return writes(mode) ? word | kWriter : word + kReader;
}

// Of those at the head of the queue. The last one before the first reader that waits is known; to walk along them
// may be a cache miss for each, under the lock.
Access* last_of_writers(Handle& handle) {
  constexpr int kMost = 8;
  if (handle.waiting_readers == 0) return handle.tail;
  if (handle.last_writer != nullptr) return std::exchange(handle.last_writer, nullptr);
  Access* last = handle.head;
  for (int count = 1; count < kMost; ++count) {
    Access* const behind = last->next();
    if (behind == nullptr || !writes(behind->mode)) break;
    last = behind;
  }
  return last;
}

// Asks for accesses that a walk along a queue will come to. Those of tasks that a loop over tiles submitted lie
// at distances that are equal, or grow by the same each time; each would come from memory after the one
// before it.
class WalkAhead {
 public:
  explicit WalkAhead(const Access& first) : last_(reinterpret_cast<std::intptr_t>(&first)) {}
  void at(const Access& access) {
    constexpr std::intptr_t kSteps = 20;  // take as long as a line from memory does
    const auto here = reinterpret_cast<std::intptr_t>(&access);
    const std::intptr_t step = here - last_;
    const std::intptr_t growth = last_step_ != 0 ? step - last_step_ : 0;
    base::warm(
        reinterpret_cast<const void*>(here + kSteps * step + kSteps * (kSteps + 1) / 2 * growth));
    last_ = here;
    last_step_ = step;
  }

 private:
  std::intptr_t last_;
  std::intptr_t last_step_ = 0;
};

// Grants those behind the first.
Access* last_of_readers(Handle& handle, std::uint64_t& word) {
  Access* last = handle.head;
  WalkAhead ahead(*last);
  --handle.waiting_readers;
  for (Access* behind = last->next(); behind != nullptr && !writes(behind->mode);
       behind = last->next()) {
    ahead.at(*behind);
    word = granted(word, behind->mode);
    --handle.waiting_readers;
    last = behind;
  }
  return last;
}

// Under the lock, nobody has access: grants the writer or the readers at the head of the queue, and
// returns the first of them. Readers are linked through Access::next. A writer takes with it the
// writers behind it: each hands its access to its `next`, and the handle is not touched meanwhile, so
// that a chain of tasks that runs on one core while another one submits does not make them meet. It
// takes all before the first reader that waits, and looks at none of them; behind that reader, some.
Access* grant_waiting(Handle& handle, std::uint64_t& word) {
  Access* const first = handle.head;
  if (first == nullptr) return nullptr;
  const bool writer = writes(first->mode);
  word = granted(word, first->mode);
  Access* const last = writer ? last_of_writers(handle) : last_of_readers(handle, word);
  handle.head = last->next();
  last->set_next(nullptr);
  if (handle.head == nullptr) {
    handle.tail = nullptr;
    word &= ~kWaiters;
  }
  return first;
}

void grant(Task& task, ReadyList& ready) {
  // A count of 1 is the caller's own: nobody else lowers it.
  if (task.blocked.load(std::memory_order_acquire) == 1 ||
      task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ready.append(task);
  }
}

// Returns the first of those who have access now.
Access* end_access(Access& access) {
  if (writes(access.mode) && access.next() != nullptr) return access.next();
  Handle& handle = *access.handle;
  std::uint64_t word = handle.word.load(std::memory_order_relaxed);
  const auto ended = [&](std::uint64_t w) {
    return writes(access.mode) ? w & ~kWriter : w - kReader;
  };
  while ((word & (kLocked | kWaiters)) == 0) {  // nobody to wake: one exchange
    if (handle.word.compare_exchange_weak(word, ended(word), std::memory_order_release,
                                          std::memory_order_relaxed)) {
      return nullptr;
    }
  }
  word = ended(lock(handle));
  Access* const granted = in_use(word) ? nullptr : grant_waiting(handle, word);
  unlock(handle, word);
  return granted;
}

void grant_all(Access* access, ReadyList& ready) {
  while (access != nullptr) {
    // The task may run and end as soon as its count reaches zero: its link is read before.
    Access* const behind = writes(access->mode) ? nullptr : access->next();
    grant(access->task(), ready);
    access = behind;
  }
}

[[noreturn, gnu::cold]] void refuse(const Task& task, const Access& access) {
  const Handle& handle = *access.handle;
  if (handle.unregistering) {
    throw UsageError("task " + std::string(task.name()) + " uses handle " + handle.name +
                     ", which is being unregistered; submit it before unregister");
  }
  throw UsageError("task " + std::string(task.name()) + " reads handle " + handle.name +
                   ", never written; submit a task that writes it first, or register it from a "
                   "buffer or a file");
}

bool refused(const Access& access) {
  const Handle& handle = *access.handle;
  return handle.unregistering || (reads(access.mode) && !handle.written);
}

// The locks of all handles of a task, taken in the order of their addresses.
class LockedHandles {
 public:
  explicit LockedHandles(std::span<Access> accesses) : accesses_(accesses) {
    const std::size_t count = accesses.size();
    Handle* few[kFew];
    std::unique_ptr<Handle*[]> many;
    Handle** order = few;
    if (count > kFew) {
      many = std::make_unique<Handle*[]>(count);
      order = many.get();
      for (std::size_t i = 0; i < count; ++i) order[i] = accesses[i].handle;
      std::sort(order, order + count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        Handle* const handle = accesses[i].handle;
        std::size_t at = i;
        for (; at > 0 && handle < order[at - 1]; --at) order[at] = order[at - 1];
        order[at] = handle;
      }
    }
    for (std::size_t i = 0; i < count; ++i) lock(*order[i]);
  }
  // Unchanged words.
  void unlock_all() {
    for (Access& access : accesses_) unlock(*access.handle, word_of(access));
  }
  // Without the lock bit.
  static std::uint64_t word_of(const Access& access) {
    return access.handle->word.load(std::memory_order_relaxed) & ~kLocked;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::span<Access> accesses_;
};

// Under the lock, which it gives back. `word` is without the lock bit.
void enter(Access& access, std::uint64_t word) {
  Handle& handle = *access.handle;
  if (writes(access.mode)) handle.written = true;
  if (grantable(word, access.mode)) return unlock(handle, granted(word, access.mode));
  if (handle.tail != nullptr) {
    handle.tail->set_next(&access);
  } else {
    handle.head = &access;
  }
  if (!writes(access.mode) && handle.waiting_readers++ == 0) handle.last_writer = handle.tail;
  handle.tail = &access;
  unlock(handle, word | kWaiters);
}

bool insert_one(Task& task, Access& access, std::int32_t blocked) {
  const std::uint64_t word = lock(*access.handle);
  if (refused(access)) {
    unlock(*access.handle, word);
    refuse(task, access);
  }
  access.set_next(nullptr);
  if (!grantable(word, access.mode)) ++blocked;
  task.blocked.store(blocked, std::memory_order_relaxed);
  enter(access, word);
  return blocked == 0;
}

bool insert_several(Task& task, std::span<Access> accesses, std::int32_t blocked) {
  LockedHandles locked(accesses);
  for (Access& access : accesses) {
    if (refused(access)) {
      locked.unlock_all();
      refuse(task, access);
    }
    access.set_next(nullptr);
    if (!grantable(LockedHandles::word_of(access), access.mode)) ++blocked;
  }
  task.blocked.store(blocked, std::memory_order_relaxed);
  for (Access& access : accesses) enter(access, LockedHandles::word_of(access));
  return blocked == 0;
}

}  // namespace

// Nobody knows the task before the first unlock; its explicit predecessors are added afterwards. From
// then on it may run, but not end: that needs the lock of every handle.
bool insert(Task& task) {
  const std::span<Access> accesses = task.accesses();
  const std::int32_t blocked = task.blocked.load(std::memory_order_relaxed) - 1;
  if (accesses.size() > 1) return insert_several(task, accesses, blocked);
  if (accesses.size() == 1) return insert_one(task, accesses[0], blocked);
  task.blocked.store(blocked, std::memory_order_relaxed);
  return blocked == 0;
}

// The tasks that are granted access were submitted long ago and have left the cache: they are asked
// for together, before the first is needed.
void release(Task& task, ReadyList& ready) {
  const std::span<Access> accesses = task.accesses();
  Access* granted[kInlineAccesses];
  if (accesses.size() > kInlineAccesses) {
    for (Access& access : accesses) grant_all(end_access(access), ready);
    return;
  }
  std::size_t count = 0;
  for (Access& access : accesses) {
    Access* const first = end_access(access);
    if (first == nullptr) continue;
    base::warm(&first->task());
    granted[count++] = first;
  }
  for (std::size_t i = 0; i < count; ++i) grant_all(granted[i], ready);
}

bool has_content(Handle& handle) {
  const std::uint64_t word = lock(handle);
  const bool written = handle.written;
  unlock(handle, word);
  return written;
}

void refuse_tasks(Handle& handle) {
  const std::uint64_t word = lock(handle);
  handle.unregistering = true;
  unlock(handle, word);
}

void forget_content(Handle& handle) {
  const std::uint64_t word = lock(handle);
  handle.written = false;
  unlock(handle, word);
}

bool idle(const Handle& handle) {
  return (handle.word.load(std::memory_order_acquire) & (kWriter | kWaiters | kReadersMask)) == 0;
}

// Tasks that wait are alive while the lock bit is held: they cannot be granted access.
std::string describe_queue(Handle& handle, std::size_t most) {
  const std::uint64_t word = lock(handle);
  std::string text;
  if (handle.head != nullptr) {
    text = "handle " + handle.name + ": " +
           ((word & kWriter) != 0
                ? "a writer has access (others right behind it are not listed)"
                : std::to_string((word & kReadersMask) / kReader) + " readers have access") +
           "; waiting:";
    std::size_t named = 0;
    for (Access* access = handle.head; access != nullptr; access = access->next()) {
      if (named++ == most) {
        text += " ...";
        break;
      }
      text += " " + std::string(access->task().name()) + "(" +
              std::string(to_string(access->mode)) + ")";
    }
  }
  unlock(handle, word);
  return text;
}

void Precedences::check(TaskId before, const Task& task) const {
  if (pool_.find(before) != nullptr) return;
  throw UsageError("task " + std::string(task.name()) +
                   " is declared after a task id that no submission returned");
}

void Precedences::add(TaskId before, Task& task) {
  Task* first = pool_.find(before);
  const std::lock_guard guard(mutex_);
  if (!used_.load(std::memory_order_relaxed)) {
    used_.store(true, std::memory_order_relaxed);
    base::heavy_fence();  // with the light one of end_life
  }
  std::uint32_t life = static_cast<std::uint32_t>(before.value >> 32);
  // Either the bit is set before the life ends, and end_life sees it, or the life has ended.
  std::uint32_t expected = life;
  if (!first->life.compare_exchange_strong(expected, life | kHasSuccessors,
                                           std::memory_order_acq_rel) &&
      expected != (life | kHasSuccessors)) {
    return;
  }
  task.blocked.fetch_add(1, std::memory_order_relaxed);
  successors_[first].push_back(&task);
}

void Precedences::release_successors(Task& task, ReadyList& ready) {
  std::vector<Task*> after;
  {
    const std::lock_guard guard(mutex_);
    const auto found = successors_.find(&task);
    if (found == successors_.end()) return;
    after = std::move(found->second);
    successors_.erase(found);
  }
  for (Task* next : after) {
    if (next->blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) ready.append(*next);
  }
}

}  // namespace vicinal::graph
