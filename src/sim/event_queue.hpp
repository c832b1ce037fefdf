// Events in simulated time: earliest first; of equal times those of the first turn, then the first scheduled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

// `submissions`: when all else of the nanosecond has happened.
enum class Turn : std::uint8_t { flows, others, submissions };

struct Event {
  Time at;
  std::uint64_t token = 0;  // says to its actor which one it is
  std::uint32_t actor = 0;
};

class EventQueue {
 public:
  void schedule(const Event& event, Turn turn) {
    heap_.push_back({event, (static_cast<std::uint64_t>(turn) << 62) | next_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  // The earliest event; the queue must not be empty.
  const Event& next() const { return heap_.front().event; }
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back().event;
    heap_.pop_back();
    return event;
  }
  void forget(std::uint32_t actor) {
    std::erase_if(heap_, [actor](const Entry& entry) { return entry.event.actor == actor; });
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

 private:
  struct Entry {
    Event event;
    std::uint64_t order;  // among equal times
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.event.at != b.event.at ? a.event.at > b.event.at : a.order > b.order;
  }
  base::SureVector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace vicinal::sim
