// The ready tasks of one worker, in the order that a list scheduler gives them out.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "sched/policies/dm_records.hpp"

namespace vicinal::sched::dm {

struct Order {
  bool by_priority = false;  // highest first; else first in, first out
  // The ready rule (Gonthier et al. 2024; StarPU's dmdar and dmdas): among the tasks of the head's
  // priority or more, the one that lacks least, the first on ties.
  bool ready_first = false;
};

struct QueueKey {
  std::int64_t rank = 0;  // with by_priority: minus the priority
  Missing missing;        // with ready_first
  std::int64_t negative_priority = 0;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

struct QueueEntry {
  std::uint64_t number = 0;
  TaskRecord* record = nullptr;  // of this number, or the entry is stale
};

// Tasks that the rule does not distinguish: a heap by number. Who leaves stays in it until it comes to
// the top or there are too many of them.
struct Bucket {
  QueueKey key;
  base::SureVector<QueueEntry> heap;
  std::size_t live = 0;
};

// The rule is that of a walk through the whole queue, which would cost O(queue) per task given out: with
// a hundred thousand ready tasks, milliseconds. Here tasks hang in buckets by what the rule compares, so
// that each costs O(log) when it comes, goes, or lacks less than before. One that lacks more stays where it is until
// the order is asked for: where memory is short data come and go, and each is an operand of many tasks.
class Queue {
 public:
  explicit Queue(Order order) : order_(order) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Order order() const { return order_; }
  std::size_t size() const { return size_; }
  void insert(TaskRecord& record);
  void remove(TaskRecord& record);
  void missing_changed(TaskRecord& record);
  TaskRecord* first();  // by the rule; nullptr when empty
  // Only for the ready rule without priorities, and not when empty.
  int oldest_priority() { return oldest().task->priority; }
  // Those that will probably be first next, as far as a short look tells. How many?
  std::size_t coming(std::span<const graph::Task*> tasks);
  // Those that will probably be last, the last one first; of a long bucket as a short look tells. How many?
  std::size_t last(std::span<TaskRecord*> records);
  // The first of the wanted ones in the order of the buckets; walks. For rare use.
  template <typename Predicate>
  TaskRecord* find(Predicate&& wanted) {
    put_right();
    for (const auto& [key, bucket] : buckets_) {
      TaskRecord* found = nullptr;
      for (const QueueEntry& entry : bucket.heap) {
        const bool better = found == nullptr || entry.number < found->number;
        if (better && is_live(entry, bucket) && wanted(*entry.record)) found = entry.record;
      }
      if (found != nullptr) return found;
    }
    return nullptr;
  }

 private:
  using Buckets = base::SureMap<QueueKey, Bucket>;

  static bool is_live(const QueueEntry& entry, const Bucket& bucket) {
    return entry.record->bucket == &bucket && entry.record->number == entry.number;
  }
  static TaskRecord& top(Bucket& bucket);
  static void drop_stale(Bucket& bucket);
  QueueKey key_of(const TaskRecord& record) const;
  Bucket& bucket_of(const QueueKey& key);
  void join(TaskRecord& record);
  void leave(TaskRecord& record);
  void move(TaskRecord& record) {
    leave(record);
    join(record);
  }
  void put_right();
  TaskRecord* least_missing();
  const TaskRecord& oldest();
  bool needs_oldest() const { return order_.ready_first && !order_.by_priority; }

  const Order order_;
  std::size_t size_ = 0;
  Buckets buckets_;  // none is empty
  base::SureVector<Buckets::node_type> spare_;
  base::SureVector<QueueEntry> lacking_more_;  // and some that no longer do
  base::SureDeque<QueueEntry> arrivals_;       // if needs_oldest(): all by number, and stale ones
};

}  // namespace vicinal::sched::dm
