// What policies that note more of a task than its links keep their notes in.
#pragma once

#include <cstddef>

#include "base/sure_memory.hpp"

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
  void unlink(Item& item) {
    (item.previous != nullptr ? item.previous->next : head) = item.next;
    (item.next != nullptr ? item.next->previous : tail) = item.previous;
    item.previous = item.next = nullptr;
    --size;
  }
};

// Records are used again, with the room of their vectors: in the long run nothing is allocated.
template <typename Record>
class RecordPool {
 public:
  Record& take() {
    if (spare_.empty()) return all_.emplace_back();
    Record* const record = spare_.back();
    spare_.pop_back();
    return *record;
  }
  void give_back(Record& record) { spare_.push_back(&record); }

 private:
  base::SureDeque<Record> all_;
  base::SureVector<Record*> spare_;
};

}  // namespace vicinal::sched
