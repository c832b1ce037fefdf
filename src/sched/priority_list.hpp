// Items in decreasing priority, first in first out among equals; intrusive, so that an item is in
// one list at a time and inserting it allocates nothing.
//
// Those of the highest priority present hang in a list of their own: while all priorities are equal,
// the common case, push_back and pop_front touch nothing else. The others hang in the buckets of a
// map, in O(log p) for p different priorities; its nodes are used again.
#pragma once

#include <functional>
#include <utility>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "graph/task.hpp"

namespace vicinal::sched {

// `Links` says where an item keeps its priority and its two links: static functions priority(item),
// next(item), previous(item), set_next(item, other) and set_previous(item, other).
template <typename Item, typename Links>
class PriorityList {
 public:
  bool empty() const { return top_.head == nullptr; }
  // Of the first item; not defined when empty.
  int top_priority() const { return top_priority_; }

  void push_back(Item& item) {
    const int priority = Links::priority(item);
    if (empty()) top_priority_ = priority;
    if (priority == top_priority_) {
      top_.push_back(item);
    } else {
      push_other(item, priority, &Bucket::push_back);
    }
  }

  // Before its equals.
  void push_front(Item& item) {
    const int priority = Links::priority(item);
    if (!empty() && priority != top_priority_) {
      push_other(item, priority, &Bucket::push_front);
    } else {
      top_priority_ = priority;
      top_.push_front(item);
    }
  }

  // nullptr when empty.
  Item* pop_front() {
    Item* const first = top_.head;
    if (first != nullptr) remove_from_top(*first);
    // Of many items each is a cache miss: the one after the next comes while the first is worked on.
    if (top_.head != nullptr) base::warm(Links::next(*top_.head));
    return first;
  }

  // The item must be in this list.
  void remove(Item& item) {
    const int priority = Links::priority(item);
    if (priority == top_priority_) {
      remove_from_top(item);
      return;
    }
    const auto bucket = below_.find(priority);
    bucket->second.unlink(item);
    if (bucket->second.head == nullptr) spare_.push_back(below_.extract(bucket));
  }

  // The first item, in the order of the list, that is wanted; nullptr if none is.
  template <typename Predicate>
  Item* find_first(Predicate&& wanted) const {
    return find([&](const Bucket& bucket) { return bucket.find_first(wanted); });
  }

  // The last wanted item of the highest priority that has one; nullptr if none is.
  template <typename Predicate>
  Item* find_last_of_highest(Predicate&& wanted) const {
    return find([&](const Bucket& bucket) { return bucket.find_last(wanted); });
  }

 private:
  struct Bucket {
    Item* head = nullptr;
    Item* tail = nullptr;

    void push_back(Item& item) {
      join(tail, &item);
      join(&item, nullptr);
    }
    void push_front(Item& item) {
      join(&item, head);
      join(nullptr, &item);
    }
    void unlink(Item& item) {
      join(Links::previous(item), Links::next(item));
      Links::set_next(item, nullptr);
      Links::set_previous(item, nullptr);
    }
    // One behind the other. nullptr stands for what is before the head and for what is behind the tail.
    void join(Item* before, Item* behind) {
      if (before != nullptr) {
        Links::set_next(*before, behind);
      } else {
        head = behind;
      }
      if (behind != nullptr) {
        Links::set_previous(*behind, before);
      } else {
        tail = before;
      }
    }
    template <typename Predicate>
    Item* find_first(Predicate& wanted) const {
      Item* item = head;
      while (item != nullptr && !wanted(*item)) item = Links::next(*item);
      return item;
    }
    template <typename Predicate>
    Item* find_last(Predicate& wanted) const {
      Item* item = tail;
      while (item != nullptr && !wanted(*item)) item = Links::previous(*item);
      return item;
    }
  };
  using Buckets = base::SureMap<int, Bucket, std::greater<>>;

  // What the search finds in the bucket of the highest priority where it finds anything.
  template <typename Search>
  Item* find(const Search& search) const {
    if (Item* found = search(top_)) return found;
    for (const auto& [priority, bucket] : below_) {
      if (Item* found = search(bucket)) return found;
    }
    return nullptr;
  }

  // Not empty, and the priority is not that of the top. Seldom, and apart from the rest, which many tasks pass.
  [[gnu::noinline]] void push_other(Item& item, int priority, void (Bucket::*push)(Item&)) {
    if (priority > top_priority_) {
      bucket_of(top_priority_) = std::exchange(top_, Bucket{});
      top_priority_ = priority;
      top_.push_back(item);
    } else {
      (bucket_of(priority).*push)(item);
    }
  }

  Bucket& bucket_of(int priority) {
    const auto at = below_.lower_bound(priority);
    if (at != below_.end() && at->first == priority) return at->second;
    if (spare_.empty()) return below_.emplace_hint(at, priority, Bucket{})->second;
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = priority;
    node.mapped() = Bucket{};
    return below_.insert(at, std::move(node))->second;
  }

  void remove_from_top(Item& item) {
    top_.unlink(item);
    if (top_.head != nullptr || below_.empty()) return;
    top_priority_ = below_.begin()->first;
    top_ = below_.begin()->second;
    spare_.push_back(below_.extract(below_.begin()));
  }

  // Holds: if the top is empty, so are the buckets; every bucket has an item of lower priority.
  Bucket top_;
  int top_priority_ = 0;
  Buckets below_;
  base::SureVector<typename Buckets::node_type> spare_;
};

// Links of records of tasks, which are members.
template <typename Record>
struct MemberLinks {
  static int priority(const Record& record) { return record.task->priority; }
  static Record* next(const Record& record) { return record.next; }
  static void set_next(Record& record, Record* next) { record.next = next; }
  static Record* previous(const Record& record) { return record.previous; }
  static void set_previous(Record& record, Record* previous) { record.previous = previous; }
};

// Links of tasks: `next`, and policy_data for the way back.
struct TaskLinks {
  static int priority(const graph::Task& task) { return task.priority; }
  static graph::Task* next(const graph::Task& task) { return task.next; }
  static void set_next(graph::Task& task, graph::Task* next) { task.next = next; }
  static graph::Task* previous(const graph::Task& task) {
    return static_cast<graph::Task*>(task.policy_data);
  }
  static void set_previous(graph::Task& task, graph::Task* previous) {
    task.policy_data = previous;
  }
};
using TaskList = PriorityList<graph::Task, TaskLinks>;

// As if all tasks were of one priority: a list with two ends.
struct UnrankedLinks : TaskLinks {
  static int priority(const graph::Task& /*task*/) { return 0; }
};
using TaskDeque = PriorityList<graph::Task, UnrankedLinks>;

}  // namespace vicinal::sched
