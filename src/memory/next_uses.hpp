// What tasks that are still with the policy will read on one memory node, in the order in which the
// policy named them: how many will read a replica, and which is the first of them.
//
// StarPU counts such tasks per replica (nb_tasks_prefetch) and lets no prefetch drive out what one of
// them will use. The order is kept besides, for when all that could go is awaited.
//
// Who leaves is marked by a bit of its number. It is dropped from the queue of its replica when somebody asks
// who is first, or when the queue has grown: both are rare where there is room, and a look at a queue is
// a line from memory for each use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

// Uses have numbers, in their order. Replica::uses is read by anybody; it falls under the residency's lock, too.
class NextUses {
 public:
  // Held around the rest.
  mutable base::SpinLock lock;

  // A task will read the replica. Returns the number of the use.
  std::uint64_t add(Replica& replica) {
    const std::uint64_t number = ++last_number_;
    if (number / kBits - first_word_ == has_left_.size()) has_left_.push_back(0);
    const std::uint32_t before = replica.uses.load(std::memory_order_relaxed);
    replica.uses.store(before + 1, std::memory_order_relaxed);
    if (before == 0) {
      replica.next_use = number;
      return number;
    }
    if (replica.queue == 0) replica.queue = empty_queue();
    Queue& queue = queues_[replica.queue];
    if (queue.uses.size() == queue.most) drop_left(queue);
    queue.uses.push_back(number);
    return number;
  }

  // The task is not with the policy any more.
  void leave(Replica& replica, std::uint64_t number) {
    if (number > last_number_ || has_left(number)) {
      throw std::logic_error("memory::NextUses: use " + std::to_string(number) + " of " +
                             std::to_string(last_number_) + " leaves twice, or was never added");
    }
    mark(number);
    const std::uint32_t left = replica.uses.load(std::memory_order_relaxed) - 1;
    replica.uses.store(left, std::memory_order_relaxed);
    if (left > 0) return;
    if (replica.queue != 0) free_.push_back(std::exchange(replica.queue, 0));
  }

  // The number of the first use; 0: there is none.
  std::uint64_t first(Replica& replica) {
    if (replica.uses.load(std::memory_order_relaxed) == 0) return 0;
    if (has_left(replica.next_use)) replica.next_use = take_next(queues_[replica.queue]);
    return replica.next_use;
  }

 private:
  // Of one replica, those behind the first; some have left.
  struct Queue {
    base::SureVector<std::uint64_t> uses;
    std::size_t first = 0;    // those before it are done with
    std::size_t most = kFew;  // then those that have left are dropped
  };
  static constexpr std::size_t kFew = 16;
  static constexpr std::uint64_t kBits = 64;

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
