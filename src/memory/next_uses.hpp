// Who uses a datum next in one place, among uses that are known in their order: how many there are, and
// which is the first. The one rule behind every choice of the replica "whose next use comes last": of what
// tasks wait with the policy to read (Residency), a policy has planned (FutureUses), a node has pulled (DARTS).
//
// StarPU counts the former per replica (nb_tasks_prefetch) and lets no prefetch evict what one of
// them will use. The order is kept besides, for when all that could go is awaited.
//
// Uses have rising numbers; the uses by a task may share a number. A bit of its number marks a use that is over. The
// use is dropped from the queue of its datum when somebody asks for the first use, or when the queue has grown: both are
// rare where there is room, and a look at a queue is a line from memory for each use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"

namespace vicinal::memory {

// What is kept of one datum in one place. A replica has the same members, with an atomic `uses` that
// anybody may read. NextUses alone changes them.
struct Uses {
  std::uint64_t next_use = 0;  // number of the first use, unless that has left
  std::uint32_t uses = 0;      // how many there are
  std::uint32_t queue = 0;     // of the uses behind the first; 0: there is none
};

class NextUses {
 public:
  // Held around the rest by those who share it.
  mutable base::SpinLock lock;

  // Of a use, or of those of one task: from 1, greater than all before.
  std::uint64_t take_number() {
    const std::uint64_t number = ++last_number_;
    if (number / kBits - first_word_ == has_left_.size()) has_left_.push_back(0);
    return number;
  }

  // A use of the datum, behind those that it has: the number is greater than theirs, and was taken.
  template <typename Datum>
  void add(Datum& datum, std::uint64_t number) {
    const std::uint32_t before = count(datum.uses);
    set(datum.uses, before + 1);
    if (before == 0) {
      datum.next_use = number;
      return;
    }
    if (datum.queue == 0) datum.queue = empty_queue();
    Queue& queue = queues_[datum.queue];
    if (queue.uses.size() == queue.most) drop_left(queue);
    queue.uses.push_back(number);
  }
  // With a number of its own, which it returns.
  template <typename Datum>
  std::uint64_t add(Datum& datum) {
    const std::uint64_t number = take_number();
    add(datum, number);
    return number;
  }

  // The uses with this number leave. Of each datum one of them must be dropped before anybody asks for its
  // first.
  void mark_left(std::uint64_t number) {
    if (number > last_number_ || has_left(number)) {
      throw std::logic_error("memory::NextUses: use " + std::to_string(number) + " of " +
                             std::to_string(last_number_) + " leaves twice, or was never added");
    }
    mark(number);
  }
  template <typename Datum>
  void drop(Datum& datum) {
    const std::uint32_t left = count(datum.uses) - 1;
    set(datum.uses, left);
    if (left > 0) return;
    if (datum.queue != 0) free_.push_back(std::exchange(datum.queue, 0));
  }
  template <typename Datum>
  void leave(Datum& datum, std::uint64_t number) {
    mark_left(number);
    drop(datum);
  }

  // The number of the first use; 0: there is none.
  template <typename Datum>
  std::uint64_t first(Datum& datum) {
    if (count(datum.uses) == 0) return 0;
    if (has_left(datum.next_use)) datum.next_use = take_next(queues_[datum.queue]);
    return datum.next_use;
  }

 private:
  // Of one datum, those behind the first; some have left.
  struct Queue {
    base::SureVector<std::uint64_t> uses;
    std::size_t first = 0;    // those before it are done with
    std::size_t most = kFew;  // then those that have left are dropped
  };
  static constexpr std::size_t kFew = 16;
  static constexpr std::uint64_t kBits = 64;

  static std::uint32_t count(std::uint32_t uses) { return uses; }
  static std::uint32_t count(const std::atomic<std::uint32_t>& uses) {
    return uses.load(std::memory_order_relaxed);
  }
  static void set(std::uint32_t& uses, std::uint32_t to) { uses = to; }
  static void set(std::atomic<std::uint32_t>& uses, std::uint32_t to) {
    uses.store(to, std::memory_order_relaxed);  // it changes under the lock alone
  }
  bool has_left(std::uint64_t number) const {
    const std::uint64_t word = number / kBits;
    return word < first_word_ || (has_left_[word - first_word_] >> (number % kBits) & 1) != 0;
  }
  void mark(std::uint64_t number) {
    has_left_[number / kBits - first_word_] |= std::uint64_t{1} << (number % kBits);
    while (!has_left_.empty() && has_left_.front() == ~std::uint64_t{0}) {
      has_left_.pop_front();
      ++first_word_;
    }
  }
  // There is one.
  std::uint64_t take_next(Queue& queue) {
    while (has_left(queue.uses[queue.first])) ++queue.first;
    return queue.uses[queue.first++];
  }
  // Half of its room is free then: a use is looked at a few times in its life.
  void drop_left(Queue& queue) {
    queue.uses.erase(queue.uses.begin(),
                     queue.uses.begin() + static_cast<std::ptrdiff_t>(queue.first));
    queue.first = 0;
    std::erase_if(queue.uses, [this](std::uint64_t number) { return has_left(number); });
    queue.most = std::max(kFew, 2 * queue.uses.size());
  }
  std::uint32_t empty_queue() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(queues_.size()));
      queues_.emplace_back();
    }
    const std::uint32_t queue = free_.back();
    free_.pop_back();
    queues_[queue].uses.clear();  // of whose it was before
    queues_[queue].first = 0;
    return queue;
  }

  base::SureVector<Queue> queues_{1};  // the one at 0 says: none
  base::SureVector<std::uint32_t> free_;
  // A bit for each use, by its number, from the first that has not left on. There is no number 0.
  base::SureDeque<std::uint64_t> has_left_ = {std::uint64_t{1}};
  std::uint64_t first_word_ = 0;
  std::uint64_t last_number_ = 0;  // from 1
};

}  // namespace vicinal::memory
