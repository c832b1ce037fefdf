#include "sched/policies/dm_queue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/warm.hpp"

namespace vicinal::sched::dm {
namespace {

constexpr std::size_t kFewStale = 64;

bool later(const QueueEntry& a, const QueueEntry& b) {
  return a.number > b.number;
}

}  // namespace

void Queue::insert(TaskRecord& record) {
  record.queue = this;
  join(record);
  ++size_;
  if (needs_oldest()) arrivals_.push_back({record.number, &record});
}

void Queue::remove(TaskRecord& record) {
  leave(record);
  record.queue = nullptr;
  --size_;
}

void Queue::missing_changed(TaskRecord& record) {
  if (!order_.ready_first) return;
  const auto order = key_of(record) <=> record.bucket->key;
  if (order < 0) return move(record);
  const bool lacked_more = std::exchange(record.lacks_more, order > 0);
  if (!record.lacks_more || lacked_more) return;
  lacking_more_.push_back({record.number, &record});
  if (lacking_more_.size() > 2 * size_ + kFewStale) put_right();
}

void Queue::put_right() {
  for (const QueueEntry& entry : lacking_more_) {
    TaskRecord& record = *entry.record;
    if (record.queue == this && record.number == entry.number && record.lacks_more) move(record);
  }
  lacking_more_.clear();
}

TaskRecord* Queue::first() {
  if (size_ == 0) return nullptr;
  for (;;) {
    TaskRecord& first = needs_oldest() ? *least_missing() : top(buckets_.begin()->second);
    if (!first.lacks_more) return &first;
    move(first);
  }
}

// By the buckets: if it lacks more than its own says, another one may lack less.
TaskRecord* Queue::least_missing() {
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

QueueKey Queue::key_of(const TaskRecord& record) const {
  const std::int64_t negative = -std::int64_t{record.task->priority};
  QueueKey key;
  if (order_.by_priority) key.rank = negative;
  if (!order_.ready_first) return key;
  key.missing = record.missing;
  key.negative_priority = negative;
  return key;
}

Bucket& Queue::bucket_of(const QueueKey& key) {
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

void Queue::join(TaskRecord& record) {
  Bucket& bucket = bucket_of(key_of(record));
  bucket.heap.push_back({record.number, &record});
  std::push_heap(bucket.heap.begin(), bucket.heap.end(), later);
  ++bucket.live;
  record.bucket = &bucket;
}

void Queue::leave(TaskRecord& record) {
  Bucket& bucket = *std::exchange(record.bucket, nullptr);
  record.lacks_more = false;
  if (--bucket.live == 0) {
    bucket.heap.clear();
    spare_.push_back(buckets_.extract(bucket.key));
  } else if (bucket.heap.size() > 2 * bucket.live + kFewStale) {
    drop_stale(bucket);
  }
}

// The least four of a heap are among its first fifteen. One that is stale only makes the guess worse.
std::size_t Queue::coming(std::span<const graph::Task*> tasks) {
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

std::size_t Queue::last(std::span<TaskRecord*> records) {
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

TaskRecord& Queue::top(Bucket& bucket) {
  while (!is_live(bucket.heap.front(), bucket)) {
    std::pop_heap(bucket.heap.begin(), bucket.heap.end(), later);
    bucket.heap.pop_back();
  }
  return *bucket.heap.front().record;
}

// Who has left and come back is in the heap twice.
void Queue::drop_stale(Bucket& bucket) {
  auto& heap = bucket.heap;
  std::erase_if(heap, [&](const QueueEntry& entry) { return !is_live(entry, bucket); });
  std::ranges::sort(heap, {}, &QueueEntry::number);  // a heap, too
  const auto same = [](const QueueEntry& a, const QueueEntry& b) { return a.number == b.number; };
  heap.erase(std::unique(heap.begin(), heap.end(), same), heap.end());
}

const TaskRecord& Queue::oldest() {
  const auto stale = [](const QueueEntry& entry) {
    return entry.record->bucket == nullptr || entry.record->number != entry.number;
  };
  while (stale(arrivals_.front())) arrivals_.pop_front();
  if (arrivals_.size() > 2 * size_ + kFewStale) std::erase_if(arrivals_, stale);
  return *arrivals_.front().record;
}

}  // namespace vicinal::sched::dm
