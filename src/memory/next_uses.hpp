// What tasks that are still with the policy will read on one memory node, in the order in which the
// policy named them: how many will read a replica, and which is the first of them.
//
// StarPU counts such tasks per replica (nb_tasks_prefetch) and lets no prefetch drive out what one of
// them will use. The order is kept besides, for when all that could go is awaited.
//
// Who leaves is not taken out of a queue: that would mean lines from memory for each of its uses. It is
// marked, and dropped when it would come first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/replica.hpp"

namespace vicinal::memory {

// Uses have numbers, in their order. One caller at a time; Replica::next_use and ::uses are read by
// anybody.
class NextUses {
 public:
  // A task will read the replica. Returns the number of the use.
  std::uint64_t add(Replica& replica) {
    const std::uint64_t number = ++last_number_;
    if (number / kBits - first_word_ == has_left_.size()) has_left_.push_back(0);
    if (replica.uses.fetch_add(1, std::memory_order_relaxed) == 0) {
      replica.next_use.store(number, std::memory_order_relaxed);
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
    const bool others = replica.uses.fetch_sub(1, std::memory_order_relaxed) > 1;
    if (replica.next_use.load(std::memory_order_relaxed) != number) return;
    replica.next_use.store(others ? take_next(queues_[replica.queue]) : 0,
                           std::memory_order_relaxed);
    if (!others && replica.queue != 0) give_back(std::exchange(replica.queue, 0));
  }

 private:
  // Of one replica, those behind the first; some have left.
  struct Queue {
    std::vector<std::uint64_t> uses;
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
    return queue;
  }
  void give_back(std::uint32_t number) {
    queues_[number].uses.clear();
    queues_[number].first = 0;
    free_.push_back(number);
  }

  std::vector<Queue> queues_{1};  // the one at 0 says: none
  std::vector<std::uint32_t> free_;
  // A bit for each use, by its number, from the first that has not left on. There is no number 0.
  std::deque<std::uint64_t> has_left_ = {std::uint64_t{1}};
  std::uint64_t first_word_ = 0;
  std::uint64_t last_number_ = 0;  // from 1
};

}  // namespace vicinal::memory
