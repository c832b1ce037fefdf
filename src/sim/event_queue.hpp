// Events in simulated time: earliest first, and first scheduled first among equals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

template <typename Event>
class EventQueue {
 public:
  void schedule(Time at, Event event) {
    heap_.push_back({at, next_++, std::move(event)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  // Of the earliest event; the queue must not be empty.
  Time next() const { return heap_.front().at; }
  // The earliest event and its time; the queue must not be empty.
  std::pair<Time, Event> take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    return {entry.at, std::move(entry.event)};
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t sequence;
    Event event;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
  base::SureVector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace vicinal::sim
