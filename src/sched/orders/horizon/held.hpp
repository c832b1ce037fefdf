// Which data a memory holds while tasks are dealt to memories.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "sched/orders/horizon/memories.hpp"
#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

// If what was not used for longest has left. For the comparison of memories alone: costs are
// counted with better evictions.
class Held {
 public:
  Held(std::size_t data, std::uint64_t bytes) : room_(bytes), places_(data) {}
  bool has(Number datum) const { return places_[datum].has_value(); }
  void use(Number datum, std::uint64_t bytes) {
    ++version_;
    forget(datum, bytes);
    recent_.push_front(datum);
    places_[datum] = recent_.begin();
    used_ += bytes;
  }
  // Rises whenever other data are there.
  std::uint64_t version() const { return version_; }
  void forget(Number datum, std::uint64_t bytes) {
    if (!places_[datum]) return;
    ++version_;
    recent_.erase(*places_[datum]);
    places_[datum].reset();
    used_ -= bytes;
  }
  void shrink(const std::vector<std::uint64_t>& bytes) {
    while (used_ > room_ && recent_.size() > 1) {
      const Number last = recent_.back();
      forget(last, bytes[last]);
    }
  }

 private:
  const std::uint64_t room_;
  std::uint64_t used_ = 0;
  std::uint64_t version_ = 1;
  std::list<Number> recent_;
  std::vector<std::optional<std::list<Number>::iterator>> places_;
};

// As it is before the first task, by memory.
inline std::vector<Held> held_at_first(const PlanGraph& graph, const Memories& memories) {
  std::vector<Held> held(memories.count, Held(graph.data(), memories.bytes));
  for (Number datum = 0; datum < graph.initially.size(); ++datum) {
    for (std::uint32_t memory = 0; memory < memories.count; ++memory) {
      if ((graph.initially[datum].held >> memory & 1) != 0) {
        held[memory].use(datum, graph.bytes[datum]);
      }
    }
  }
  return held;
}

}  // namespace vicinal::sched::orders::horizon
