// Slots for objects of one type, reused: in steady state taking one allocates nothing. Those that a
// thread gives back gather in its own lane and pass to other lanes in batches. Each may have a note,
// which costs nothing where nobody asks for it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/warm.hpp"

namespace vicinal::graph {

struct NoNote {};

template <typename T, typename Note = NoNote>
class SlotPool {
 public:
  // `lanes`: one per thread that may call at once.
  explicit SlotPool(std::size_t lanes) : lanes_(lanes) {}

  // As it was given back, or new. `bytes` of it will be used. One thread at a time per lane.
  T& take(std::size_t lane_index, std::size_t bytes = sizeof(T)) {
    Lane& lane = lanes_[lane_index];
    if (lane.count == 0) refill(lane);
    T& slot = *lane.free[--lane.count];
    // Slots were last written by whoever gave them back, often on another core.
    if (lane.count >= kAhead) {
      base::warm(lane.free[lane.count - kAhead], bytes);
    }
    return slot;
  }
  void give_back(T& slot, std::size_t lane_index) {
    Lane& lane = lanes_[lane_index];
    if (lane.count == lane.free.size()) share(lane);
    lane.free[lane.count++] = &slot;
  }

  // A slot's number never changes.
  static std::uint64_t number(const T& slot) {
    const Slab& slab = slab_of(slot);
    return slab.index * kPerSlab + static_cast<std::uint64_t>(&slot - slab.slots);
  }
  // Any thread. Nobody resets it.
  static Note& note(const T& slot) {
    if (Note* const known = note_if_any(slot)) return *known;
    Slab& slab = slab_of(slot);
    return slab.make_notes()[&slot - slab.slots];
  }
  // nullptr: nobody has asked for the note of a slot near it.
  static Note* note_if_any(const T& slot) {
    Slab& slab = slab_of(slot);
    Note* const notes = slab.notes.load(std::memory_order_acquire);
    return notes != nullptr ? &notes[&slot - slab.slots] : nullptr;
  }
  // nullptr if there is none.
  T* find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    if (number / kPerSlab >= slabs_.size()) return nullptr;
    return &slabs_[number / kPerSlab]->slots[number % kPerSlab];
  }

 private:
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 18;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kAhead = 4;
  using Batch = std::array<T*, kBatch>;
  static constexpr std::size_t kPerSlab = (kSlabBytes / sizeof(T) - 1) / kBatch * kBatch;

  // Aligned to its size, so that a slot finds its slab by masking its address.
  struct alignas(sizeof(T)) Slab {
    std::uint64_t index = 0;
    std::atomic<Note*> notes{nullptr};
    T slots[kPerSlab];

    ~Slab() { delete[] notes.load(std::memory_order_relaxed); }
    [[gnu::noinline]] Note* make_notes() {
      auto made = std::make_unique<Note[]>(kPerSlab);
      Note* before = nullptr;
      // Release pairs with the acquire of note(); acquire: another thread's may be there.
      if (!notes.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel))
        return before;
      return made.release();
    }
  };
  static_assert(sizeof(Slab) <= kSlabBytes);
  static Slab& slab_of(const T& slot) {
    const auto address = reinterpret_cast<std::uintptr_t>(&slot);
    return *reinterpret_cast<Slab*>(address & ~(kSlabBytes - 1));
  }
  struct FreeSlab {
    void operator()(Slab* slab) const {
      slab->~Slab();
      ::operator delete (slab, std::align_val_t{kSlabBytes});
    }
  };
  struct alignas(64) Lane {
    std::size_t count = 0;
    std::array<T*, 2 * kBatch> free;  // a stack
  };

  // Full: those that have been there longest go to whoever takes.
  [[gnu::noinline]] void share(Lane& lane) {
    Batch batch;
    std::copy_n(lane.free.begin(), kBatch, batch.begin());
    std::copy(lane.free.begin() + kBatch, lane.free.end(), lane.free.begin());
    lane.count -= kBatch;
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
  }
  [[gnu::noinline]] void refill(Lane& lane) {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) add_slab();
    std::copy(batches_.back().begin(), batches_.back().end(), lane.free.begin());
    lane.count = kBatch;
    batches_.pop_back();
  }
  // Its slots are taken in the order of their addresses.
  void add_slab() {
    void* room = ::operator new (kSlabBytes, std::align_val_t{kSlabBytes});
    Slab* slab = new (room) Slab;
    slab->index = slabs_.size();
    slabs_.emplace_back(slab);
    for (std::size_t at = kPerSlab; at > 0; at -= kBatch) {
      Batch& batch = batches_.emplace_back();
      for (std::size_t i = 0; i < kBatch; ++i) batch[i] = &slab->slots[at - 1 - i];
    }
  }

  std::vector<Lane> lanes_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Slab, FreeSlab>> slabs_;
  std::vector<Batch> batches_;
};

}  // namespace vicinal::graph
