// What policies that note more of a task than its links keep their notes in.
#pragma once

#include <cstddef>
#include <utility>

#include "base/pool.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"

namespace vicinal::sched {

// A doubly linked list through `previous` and `next`.
template <typename Item>
struct Chain {
  Item* head = nullptr;
  Item* tail = nullptr;
  std::size_t size = 0;

  // Before `successor`, which is in the list, or at the back if it is null.
  void insert(Item& item, Item* successor = nullptr) {
    item.next = successor;
    item.previous = successor != nullptr ? successor->previous : tail;
    (item.previous != nullptr ? item.previous->next : head) = &item;
    (successor != nullptr ? successor->previous : tail) = &item;
    ++size;
  }
  void push_front(Item& item) { insert(item, head); }
  void unlink(Item& item) {
    (item.previous != nullptr ? item.previous->next : head) = item.next;
    (item.next != nullptr ? item.next->previous : tail) = item.previous;
    item.previous = item.next = nullptr;
    --size;
  }
};

// A record of each task, or of each datum, that a policy notes something of: the `policy_data` of either leads to it.
template <typename Record>
class Records {
 public:
  // nullptr: it has none.
  template <typename Owner>
  static Record* find(const Owner& owner) {
    return static_cast<Record*>(owner.policy_data);
  }
  // Of an owner that has one.
  template <typename Owner>
  static Record& of(const Owner& owner) {
    return *find(owner);
  }
  // A record for an owner that has none: as the last owner left it, or new.
  template <typename Owner>
  Record& open(Owner& owner) {
    Record& record = pool_.take();
    owner.policy_data = &record;
    return record;
  }
  // The owner may have none.
  template <typename Owner>
  void close(Owner& owner) {
    if (owner.policy_data == nullptr) return;
    pool_.give_back(*static_cast<Record*>(std::exchange(owner.policy_data, nullptr)));
  }

 private:
  base::Pool<Record> pool_;
};

}  // namespace vicinal::sched
