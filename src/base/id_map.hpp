// From ids of 64 bits to places in a list. Each of some ten million events looks up a task or a datum; std::unordered_map
// took most of the time in which a run is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vicinal::base {

class IdMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  bool empty() const { return count_ == 0; }

  // kNone: it is not there.
  std::uint32_t find(std::uint64_t id) const {
    if (slots_.empty()) return kNone;
    const Slot& slot = slots_[slot_of(id)];
    return slot.taken ? slot.place : kNone;
  }
  // A new one is kNone. Valid until the next call.
  std::uint32_t& operator[](std::uint64_t id) {
    if (slots_.empty()) slots_.resize(kFewest);
    std::size_t at = slot_of(id);
    if (!slots_[at].taken) {
      if (2 * (count_ + 1) > slots_.size()) {
        grow();
        at = slot_of(id);
      }
      ++count_;
      slots_[at] = {id, kNone, true};
    }
    return slots_[at].place;
  }
  template <typename Change>
  void for_each_place(const Change& change) {
    for (Slot& slot : slots_) {
      if (slot.taken) change(slot.place);
    }
  }

 private:
  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t place = kNone;
    bool taken = false;
  };
  static constexpr std::size_t kFewest = 64;

  // Where the id is, or is to be. Half of the slots are free at least.
  std::size_t slot_of(std::uint64_t id) const {
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t mixed = (id ^ (id >> 32)) * 0x9e3779b97f4a7c15ULL;
    mixed ^= mixed >> 32;
    std::size_t at = mixed & mask;
    while (slots_[at].taken && slots_[at].id != id) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.taken) slots_[slot_of(slot.id)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace vicinal::base
