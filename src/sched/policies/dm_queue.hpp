// The ready tasks of one worker, in the order that a list scheduler gives them out.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "graph/task.hpp"
#include "sched/decisions.hpp"
#include "sched/missing.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::sched::dm {

struct Bucket;
class Queue;

struct TaskRecord {
  graph::Task* task = nullptr;
  std::uint64_t number = 0;            // of its push, from 1
  std::optional<std::uint32_t> index;  // of the record, never changes; see Ledger
  WorkerId worker;                     // whose queue holds it, or who was given it
  // Predicted on that worker: its own time, and how long the worker will have to wait for its data.
  std::int64_t duration_ns = 0;
  std::int64_t delay_ns = 0;
  Missing missing;  // on the worker's node, while queued
  Queue* queue = nullptr;
  Bucket* bucket = nullptr;  // nullptr: not queued
  bool lacks_more = false;   // than its bucket says
};

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

inline constexpr std::size_t kFewStale = 64;

inline bool later(const QueueEntry& a, const QueueEntry& b) {
  return a.number > b.number;
}

inline trace::Reason rule_of(Order order) {
  if (order.ready_first) {
    return order.by_priority ? trace::Reason::lacks_least_of_highest : trace::Reason::lacks_least;
  }
  return order.by_priority ? trace::Reason::highest_priority : trace::Reason::first_pushed;
}

// What the task lacks is known while it is queued, where the rule asks for it.
inline trace::Candidate scored(const TaskRecord& record, Order order) {
  trace::Candidate candidate{
      id_of(*record.task),
      Decisions::ranks(*record.task, static_cast<std::int64_t>(record.number))};
  if (order.ready_first) record.missing.score(candidate);
  return candidate;
}

// The rule is that of a walk through the whole queue, which would cost O(queue) per task given out: with
// a hundred thousand ready tasks, milliseconds. Here tasks hang in buckets by what the rule compares, so
// that each costs O(log) when it comes, goes, or lacks less than before. One that lacks more stays where it is until
// the order is asked for: where memory is short data come and go, and each is an operand of many tasks.
class Queue {
 public:
  explicit Queue(Order order) : order_(order) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  std::size_t size() const { return size_; }
  void insert(TaskRecord& record) {
    record.queue = this;
    join(record);
    ++size_;
    if (needs_oldest()) arrivals_.push_back({record.number, &record});
  }

  void remove(TaskRecord& record) {
    leave(record);
    record.queue = nullptr;
    --size_;
  }

  void missing_changed(TaskRecord& record) {
    if (!order_.ready_first) return;
    const auto order = key_of(record) <=> record.bucket->key;
    if (order < 0) return move(record);
    const bool lacked_more = std::exchange(record.lacks_more, order > 0);
    if (!record.lacks_more || lacked_more) return;
    lacking_more_.push_back({record.number, &record});
    if (lacking_more_.size() > 2 * size_ + kFewStale) put_right();
  }

  // by the rule; nullptr when empty
  TaskRecord* first() {
    if (size_ == 0) return nullptr;
    for (;;) {
      TaskRecord& first = needs_oldest() ? *least_missing() : top(buckets_.begin()->second);
      if (!first.lacks_more) return &first;
      move(first);
    }
  }

  // The worker is given `first`, which is told. Only if decisions are heard.
  void tell_first(const Decisions& decisions, WorkerId worker, const TaskRecord& first) {
    Telling told = decisions.asked_by(worker, rule_of(order_), trace::Among::tasks);
    if (needs_oldest()) told.scores.push_back({trace::Measure::priority, oldest().task->priority});
    told.consider(scored(first, order_), true);
    // One that has left the queue and come back is met twice.
    const TaskRecord* before = nullptr;
    find([&](const TaskRecord& record) {
      if (&record != &first && std::exchange(before, &record) != &record) {
        told.consider(scored(record, order_));
      }
      return told.full();
    });
    told.tell();
  }

  // Those that will probably be first next, as far as a short look tells. How many?
  // The least four of a heap are among its first fifteen. One that is stale only makes the guess worse.
  std::size_t coming(std::span<const graph::Task*> tasks) {
    constexpr std::size_t kAmong = 15;
    std::array<QueueEntry, 4> next;
    if (!buckets_.empty()) top(buckets_.begin()->second);
    std::size_t found = 0;
    std::size_t looks = 0;
    for (auto at = buckets_.begin(); at != buckets_.end() && looks < kAmong; ++at) {
      const auto& heap = at->second.heap;
      const auto front = std::span(heap).first(std::min(heap.size(), kAmong));
      const auto last =
          std::ranges::partial_sort_copy(front, next, {}, &QueueEntry::number, &QueueEntry::number)
              .out;
      for (auto entry = next.begin(); entry != last; ++entry, ++looks) {
        if (found == tasks.size()) {
          base::warm(entry->record, sizeof(TaskRecord));
          return found;
        }
        if (!is_live(*entry, at->second)) continue;
        const auto known = tasks.first(found);  // who has left and come back is there twice
        if (std::ranges::find(known, entry->record->task) != known.end()) continue;
        tasks[found++] = entry->record->task;
      }
    }
    return found;
  }

  // Those that will probably be last, the last one first; of a long bucket as a short look tells. How many?
  std::size_t last(std::span<TaskRecord*> records) {
    put_right();
    base::SureVector<QueueEntry> back;
    std::size_t found = 0;
    for (auto at = buckets_.rbegin(); at != buckets_.rend() && found < records.size(); ++at) {
      const auto& heap = at->second.heap;
      const std::size_t looks = std::min(heap.size(), kFewStale + records.size());
      back.assign(heap.end() - static_cast<std::ptrdiff_t>(looks), heap.end());
      std::ranges::sort(back, later);
      const TaskRecord* before = nullptr;  // who has left and come back is there twice
      for (const QueueEntry& entry : back) {
        if (found == records.size()) break;
        if (entry.record == before || !is_live(entry, at->second)) continue;
        before = records[found++] = entry.record;
      }
    }
    return found;
  }

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
  static TaskRecord& top(Bucket& bucket) {
    while (!is_live(bucket.heap.front(), bucket)) {
      std::pop_heap(bucket.heap.begin(), bucket.heap.end(), later);
      bucket.heap.pop_back();
    }
    return *bucket.heap.front().record;
  }

  // Who has left and come back is in the heap twice.
  static void drop_stale(Bucket& bucket) {
    auto& heap = bucket.heap;
    std::erase_if(heap, [&](const QueueEntry& entry) { return !is_live(entry, bucket); });
    std::ranges::sort(heap, {}, &QueueEntry::number);  // a heap, too
    const auto same = [](const QueueEntry& a, const QueueEntry& b) { return a.number == b.number; };
    heap.erase(std::unique(heap.begin(), heap.end(), same), heap.end());
  }

  QueueKey key_of(const TaskRecord& record) const {
    const std::int64_t negative = -std::int64_t{record.task->priority};
    QueueKey key;
    if (order_.by_priority) key.rank = negative;
    if (!order_.ready_first) return key;
    key.missing = record.missing;
    key.negative_priority = negative;
    return key;
  }

  Bucket& bucket_of(const QueueKey& key) {
    const auto at = buckets_.lower_bound(key);
    if (at != buckets_.end() && at->first == key) return at->second;
    auto made = buckets_.end();
    if (spare_.empty()) {
      made = buckets_.emplace_hint(at, key, Bucket{});
    } else {
      spare_.back().key() = key;
      made = buckets_.insert(at, std::move(spare_.back()));
      spare_.pop_back();
    }
    made->second.key = key;
    return made->second;
  }

  void join(TaskRecord& record) {
    Bucket& bucket = bucket_of(key_of(record));
    bucket.heap.push_back({record.number, &record});
    std::push_heap(bucket.heap.begin(), bucket.heap.end(), later);
    ++bucket.live;
    record.bucket = &bucket;
  }

  void leave(TaskRecord& record) {
    Bucket& bucket = *std::exchange(record.bucket, nullptr);
    record.lacks_more = false;
    if (--bucket.live == 0) {
      bucket.heap.clear();
      spare_.push_back(buckets_.extract(bucket.key));
    } else if (bucket.heap.size() > 2 * bucket.live + kFewStale) {
      drop_stale(bucket);
    }
  }

  void move(TaskRecord& record) {
    leave(record);
    join(record);
  }
  void put_right() {
    for (const QueueEntry& entry : lacking_more_) {
      TaskRecord& record = *entry.record;
      if (record.queue == this && record.number == entry.number && record.lacks_more) move(record);
    }
    lacking_more_.clear();
  }

  // By the buckets: if it lacks more than its own says, another one may lack less.
  TaskRecord* least_missing() {
    const std::int64_t most = -std::int64_t{oldest().task->priority};
    const Missing* least = nullptr;
    TaskRecord* best = nullptr;
    for (auto& [key, bucket] : buckets_) {
      if (key.negative_priority > most) continue;
      if (least != nullptr && key.missing != *least) break;
      TaskRecord& candidate = top(bucket);
      if (candidate.lacks_more) return &candidate;
      if (best == nullptr || candidate.number < best->number) best = &candidate;
      least = &key.missing;
    }
    return best;
  }

  const TaskRecord& oldest() {
    const auto stale = [](const QueueEntry& entry) {
      return entry.record->bucket == nullptr || entry.record->number != entry.number;
    };
    while (stale(arrivals_.front())) arrivals_.pop_front();
    if (arrivals_.size() > 2 * size_ + kFewStale) std::erase_if(arrivals_, stale);
    return *arrivals_.front().record;
  }

  bool needs_oldest() const { return order_.ready_first && !order_.by_priority; }

  const Order order_;
  std::size_t size_ = 0;
  Buckets buckets_;  // none is empty
  base::SureVector<Buckets::node_type> spare_;
  base::SureVector<QueueEntry> lacking_more_;  // and some that no longer do
  base::SureDeque<QueueEntry> arrivals_;       // if needs_oldest(): all by number, and stale ones
};

}  // namespace vicinal::sched::dm
