#include "graph/dependencies.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "graph/handle_lock.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

bool in_use(std::uint64_t word) {
  return (word & (kWriter | kReadersMask)) != 0;
}

bool grantable(std::uint64_t word, AccessMode mode) {
  if ((word & (kWaiters | kWriter | kCommuting)) != 0) {
    return commutes(mode) && (word & (kWaiters | kWriter)) == 0;
  }
  return !writes(mode) || (word & kReadersMask) == 0;
}

std::uint64_t granted(std::uint64_t word, AccessMode mode) {
  if (is_exclusive(mode)) return word | kWriter;
  return (word | (commutes(mode) ? kCommuting : 0)) + kReader;
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
    if (behind == nullptr || !is_exclusive(behind->mode)) break;
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

// Grants those behind the first that are readers, too, or commute as it does.
Access* last_of_readers(Handle& handle, std::uint64_t& word) {
  Access* last = handle.head;
  WalkAhead ahead(*last);
  --handle.waiting_readers;
  const AccessMode mode = last->mode;
  for (Access* behind = last->next(); behind != nullptr && behind->mode == mode;
       behind = last->next()) {
    ahead.at(*behind);
    word = granted(word, behind->mode);
    --handle.waiting_readers;
    last = behind;
  }
  return last;
}

// Under the lock, nobody has access: grants the writer or the readers at the head of the queue, or those that commute
// there, and returns the first of them. Readers and those that commute are linked through Access::next. A writer takes with it the
// writers behind it: each hands its access to its `next`, and the handle is not touched meanwhile, so
// that a chain of tasks that runs on one core while another one submits does not make them meet. It
// takes all before the first reader that waits, and looks at none of them; behind that reader, some.
Access* grant_waiting(Handle& handle, std::uint64_t& word) {
  Access* const first = handle.head;
  if (first == nullptr) return nullptr;
  const bool writer = is_exclusive(first->mode);
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

// Without this access, which has been granted.
std::uint64_t word_without(const Access& access, std::uint64_t word) {
  return writes(access.mode) ? word & ~kWriter : word - kReader;
}

void grant(Task& task, ReadyList& ready) {
  // A count of 1 is the caller's own: nobody else lowers it.
  if (task.blocked.load(std::memory_order_acquire) == 1 ||
      task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ready.append(task);
  }
}

[[gnu::noinline]] Access* end_access_under_lock(Access& access) {
  Handle& handle = *access.handle;
  std::uint64_t word = word_without(access, lock(handle));
  Access* const granted = in_use(word) ? nullptr : grant_waiting(handle, word);
  unlock(handle, word);
  return granted;
}

// Returns the first of those who have access now.
inline Access* end_access(Access& access) {
  if (writes(access.mode) && access.next() != nullptr) return access.next();
  Handle& handle = *access.handle;
  std::uint64_t word = handle.word.load(std::memory_order_relaxed);
  while ((word & (kLocked | kWaiters)) == 0) {  // nobody to wake: one exchange
    // Release for whoever gets access next. Acquire from the unlock of whoever inserted the task, the last that it
    // did with its slot; the slot may soon be another task's.
    if (handle.word.compare_exchange_weak(word, word_without(access, word),
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return nullptr;
    }
  }
  return end_access_under_lock(access);
}

void grant_all(Access* access, ReadyList& ready) {
  while (access != nullptr) {
    // The task may run and end as soon as its count reaches zero: its link is read before.
    Access* const behind = is_exclusive(access->mode) ? nullptr : access->next();
    grant(access->task(), ready);
    access = behind;
  }
}

// --- those that commute. A run of them has access together; turns are theirs to take.

// Under the lock.
Access* take_first_in_turn(Handle& handle) {
  Access* const first = handle.first_in_turn;
  if (first == nullptr) return nullptr;
  handle.first_in_turn = first->next();
  if (handle.first_in_turn == nullptr) handle.last_in_turn = nullptr;
  return first;
}

void wait_for_turn(Access& access) {
  Handle& handle = *access.handle;
  access.set_next(nullptr);
  if (handle.last_in_turn != nullptr) {
    handle.last_in_turn->set_next(&access);
  } else {
    handle.first_in_turn = &access;
  }
  handle.last_in_turn = &access;
}

// Whose turn is next is not said here: it may need turns with other handles, too.
void end_commuting(Access& access, ReadyList& ready) {
  Handle& handle = *access.handle;
  std::uint64_t word = lock(handle) - kReader;
  Access* next_in_turn = nullptr;
  if (handle.turn == &access.task()) {
    handle.turn = nullptr;
    next_in_turn = take_first_in_turn(handle);
  }
  Access* first = nullptr;
  if (!in_use(word)) {
    word &= ~kCommuting;
    first = grant_waiting(handle, word);
  }
  unlock(handle, word);
  if (next_in_turn != nullptr) ready.append(next_in_turn->task());
  grant_all(first, ready);
}

[[gnu::noinline]] void release_commuting(Task& task, ReadyList& ready) {
  for (Access& access : task.accesses()) {
    if (commutes(access.mode)) {
      end_commuting(access, ready);
    } else {
      grant_all(end_access(access), ready);
    }
  }
}

// Under the lock of the handle.
[[gnu::cold]] UsageError refusal(const Task& task, const Access& access) {
  const Handle& handle = *access.handle;
  // A call of the application, prefetch say, is named as it is called.
  const bool has_kernel = is_scheduled(task.kind);
  const std::string who = (has_kernel ? "task " : "") + std::string(task.name());
  if (access.named_life() + 1 == handle.life()) {
    return UsageError(who + " uses handle " + handle.name +
                      ", which is being unregistered; submit it before unregister");
  }
  if (access.named_life() != handle.life()) {
    return UsageError(who +
                      " uses a handle that is no longer registered; submit it before unregister");
  }
  if (handle.content == Content::invalidated) {
    return UsageError(
        who + " reads handle " + handle.name +
        ", invalidated since it was written; submit a task that writes it anew first");
  }
  if (handle.lacks != nullptr) {
    return UsageError(who + " reads handle " + handle.name + ", never written: " + *handle.lacks);
  }
  return UsageError(who + " reads handle " + handle.name +
                    ", never written; submit a task that writes it first, or register it from a "
                    "buffer or a file");
}

bool refused(const Access& access) {
  const Handle& handle = *access.handle;
  return access.named_life() != handle.life() ||
         (reads(access.mode) && handle.content != Content::written);
}

// The locks of all handles of a task, taken in the order of their addresses.
class LockedHandles {
 public:
  explicit LockedHandles(std::span<Access> accesses) {
    if (accesses.size() > kFew) {
      lock_many(accesses);
      return;
    }
    Handle* order[kFew];
    Handle** end = order;
    for (const Access& access : accesses) {
      Handle* const handle = access.handle;
      Handle** at = end++;
      for (; at != order && handle < at[-1]; --at) *at = at[-1];
      *at = handle;
    }
    for (Handle** at = order; at != end; ++at) lock(**at);
  }
  // Unchanged words.
  static void unlock_all(std::span<Access> accesses) {
    for (Access& access : accesses) unlock(*access.handle, word_of(access));
  }
  // Without the lock bit.
  static std::uint64_t word_of(const Access& access) {
    return access.handle->word.load(std::memory_order_relaxed) & ~kLocked;
  }

 private:
  static constexpr std::size_t kFew = 16;
  [[gnu::noinline]] static void lock_many(std::span<Access> accesses) {
    // An announced task is not refused any more, without memory either.
    base::SureVector<Handle*> order;
    order.reserve(accesses.size());
    for (const Access& access : accesses) order.push_back(access.handle);
    std::sort(order.begin(), order.end());
    for (Handle* const handle : order) lock(*handle);
  }
};

// What tasks submitted later find, if the task writes.
void note(const Access& access, Content leaves) {
  if (writes(access.mode)) access.handle->content = leaves;
}

// A task is new, or announced: then it has been looked at, and others were announced behind it.
enum class Comes : bool { announced, anew };

// Under the lock, which it gives back. `word` is without the lock bit.
template <Comes comes, Content leaves = Content::written>
[[gnu::always_inline]] inline void enter(Access& access, std::uint64_t word) {
  Handle& handle = *access.handle;
  if (comes == Comes::anew) note(access, leaves);
  if (grantable(word, access.mode)) return unlock(handle, granted(word, access.mode));
  if (handle.tail != nullptr) {
    handle.tail->set_next(&access);
  } else {
    handle.head = &access;
  }
  if (!is_exclusive(access.mode) && handle.waiting_readers++ == 0) {
    handle.last_writer = handle.tail;
  }
  handle.tail = &access;
  unlock(handle, word | kWaiters);
}

template <Comes comes, Content leaves = Content::written>
[[gnu::always_inline]] inline bool insert_one(Task& task, Access& access, std::int32_t blocked) {
  const std::uint64_t word = lock(*access.handle);
  if (comes == Comes::anew && refused(access)) {
    const Unlocks in_the_end(*access.handle, word);
    throw refusal(task, access);
  }
  access.set_next(nullptr);
  if (!grantable(word, access.mode)) ++blocked;
  task.blocked.store(blocked, std::memory_order_relaxed);
  enter<comes, leaves>(access, word);
  return blocked == 0;
}

// Of one of the accesses, whose locks it gives back also when there is no memory to say why.
[[noreturn]] [[gnu::cold]] void throw_refusal(const Task& task, const Access& access,
                                              std::span<Access> accesses) {
  struct UnlockAll {
    std::span<Access> accesses;
    ~UnlockAll() { LockedHandles::unlock_all(accesses); }
  } const in_the_end{accesses};
  throw refusal(task, access);
}

// Of a task with more than the plain ones have: it may reduce.
enum class Extended : bool { no, yes };

template <Comes comes, Extended extended>
[[gnu::noinline]] bool insert_several(Task& task, std::span<Access> accesses,
                                      std::int32_t blocked) {
  LockedHandles locked(accesses);
  for (Access& access : accesses) {
    if (comes == Comes::anew && refused(access)) throw_refusal(task, access, accesses);
    access.set_next(nullptr);
    if (!grantable(LockedHandles::word_of(access), access.mode)) ++blocked;
  }
  // A task that reduces names its private copies while it runs: it begins when its last access has been entered.
  const bool begins_later = extended == Extended::yes && task.reduces();
  task.blocked.store(blocked + (begins_later ? 1 : 0), std::memory_order_relaxed);
  for (Access& access : accesses) enter<comes>(access, LockedHandles::word_of(access));
  if (begins_later) return task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1;
  return blocked == 0;
}

// Nobody knows the task before the first unlock; its explicit predecessors are added afterwards. From
// then on it may run, unless it reduces, but not end: that needs the lock of every handle.
template <Comes comes>
[[gnu::always_inline]] inline bool insert_as(Task& task) {
  const std::span<Access> accesses = task.accesses();
  const std::int32_t blocked = task.blocked.load(std::memory_order_relaxed) - 1;
  if (accesses.size() > 1) {
    return task.extension ? insert_several<comes, Extended::yes>(task, accesses, blocked)
                          : insert_several<comes, Extended::no>(task, accesses, blocked);
  }
  if (accesses.size() == 1) return insert_one<comes>(task, accesses[0], blocked);
  task.blocked.store(blocked, std::memory_order_relaxed);
  return blocked == 0;
}

}  // namespace

bool insert_accesses(Task& task) {
  return insert_as<Comes::anew>(task);
}

void announce(Task& task, Content leaves) {
  const std::span<Access> accesses = task.accesses();
  LockedHandles locked(accesses);
  for (const Access& access : accesses) {
    if (refused(access)) throw_refusal(task, access, accesses);
  }
  for (const Access& access : accesses) note(access, leaves);
  LockedHandles::unlock_all(accesses);
}

bool insert_announced(Task& task) {
  return insert_as<Comes::announced>(task);
}

bool insert_more(Task& task, Access& access) {
  return insert_one<Comes::anew>(task, access, 0);
}

bool insert_invalidation(Task& task) {
  const std::int32_t blocked = task.blocked.load(std::memory_order_relaxed) - 1;
  return insert_one<Comes::anew, Content::invalidated>(task, task.accesses()[0], blocked);
}

bool is_last_use_of_content(const Access& access) {
  if (is_last_use(access)) return true;
  const auto invalidates = [](Access* behind) {
    return behind != nullptr && behind->task().kind == TaskKind::invalidation;
  };
  if (writes(access.mode) && access.next() != nullptr) return invalidates(access.next());
  Handle& handle = *access.handle;
  if ((handle.word.load(std::memory_order_relaxed) & kWaiters) == 0) return false;
  const std::uint64_t word = lock(handle);
  const Unlocks in_the_end(handle, word);
  const std::uint64_t users = word & ~kWaiters;
  return (users == kWriter || users == kReader) && invalidates(handle.head);
}

// The tasks that are granted access were submitted long ago and have left the cache: they are asked
// for together, before the first is needed.
void release_accesses(Task& task, ReadyList& ready) {
  if (task.commutes) [[unlikely]]
    return release_commuting(task, ready);
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

// The writers to which it would have handed its access wait at the head of the queue once more.
void downgrade(Access& access, ReadyList& ready) {
  Handle& handle = *access.handle;
  std::uint64_t word = (lock(handle) & ~kWriter) + kReader;
  access.mode = AccessMode::R;
  Access* granted = nullptr;
  if (Access* const first = access.next(); first != nullptr) {
    Access* last = first;
    while (last->next() != nullptr) last = last->next();
    last->set_next(handle.head);
    handle.head = first;
    if (handle.tail == nullptr) handle.tail = last;
    access.set_next(nullptr);
    word |= kWaiters;
  } else if (handle.head != nullptr && handle.head->mode == AccessMode::R) {
    granted = grant_waiting(handle, word);
  }
  unlock(handle, word);
  grant_all(granted, ready);
}

// Under the locks of all handles of the task: they are few, and nobody waits for a turn under one.
[[gnu::noinline]] bool take_turns(Task& task, ReadyList& others) {
  const std::span<Access> accesses = task.accesses();
  const LockedHandles locked(accesses);
  Access* taken = nullptr;
  for (Access& access : accesses) {
    if (!commutes(access.mode)) continue;
    const Task* const turn = access.handle->turn;
    if (turn != nullptr && turn != &task) taken = &access;
  }
  for (Access& access : accesses) {
    if (!commutes(access.mode)) continue;
    Handle& handle = *access.handle;
    if (taken == nullptr) {
      handle.turn = &task;
      access.set_next(nullptr);
    } else if (&access == taken) {
      wait_for_turn(access);
    } else if (handle.turn == nullptr) {
      // Perhaps this task was to take that turn: another may.
      if (Access* const first = take_first_in_turn(handle)) others.append(first->task());
    }
  }
  LockedHandles::unlock_all(accesses);
  return taken == nullptr;
}

}  // namespace vicinal::graph
