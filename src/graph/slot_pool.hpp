// Slots for objects of one type, reused: in steady state taking one allocates nothing. Those that a
// thread gives back gather in its own cache and pass to other caches in batches. Each may have a note, which
// lies on the same page of memory: who finds the slot has the address of the note, and no page to look up.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "base/warm.hpp"

namespace vicinal::graph {

struct NoNote {};

template <typename T, typename Note = NoNote>
class SlotPool {
 public:
  // `threads`: so many may call at once, by number.
  explicit SlotPool(std::size_t threads) : caches_(threads) {}

  // As it was given back, or new. `bytes` of it will be used. One caller at a time per thread.
  T& take(std::size_t thread, std::size_t bytes = sizeof(T)) {
    Cache& cache = caches_[thread];
    if (cache.count == 0) refill(cache);
    T& slot = *cache.free[--cache.count];
    // Slots were last written by whoever gave them back, often on another core.
    if (cache.count >= kAhead) {
      const auto* const ahead =
          reinterpret_cast<const std::byte*>(cache.free[cache.count - kAhead]);
      if constexpr (sizeof(T) <= 2 * base::kLine) {
        base::warm(ahead);
        if (bytes > base::kLine) base::warm(ahead + base::kLine);
      } else {
        base::warm(ahead, bytes);
      }
    }
    return slot;
  }
  void give_back(T& slot, std::size_t thread) {
    Cache& cache = caches_[thread];
    if (cache.count == cache.free.size()) share(cache);
    cache.free[cache.count++] = &slot;
  }

  // A slot's number never changes.
  static std::uint64_t number(const T& slot) {
    const auto address = reinterpret_cast<std::uintptr_t>(&slot);
    const auto* const slab = reinterpret_cast<const Slab*>(address & ~(kSlabBytes - 1));
    return slab->index * kPerSlab + (address & (kSlabBytes - 1)) / sizeof(T);
  }
  // Nobody resets it.
  static Note& note(const T& slot) {
    const auto address = reinterpret_cast<std::uintptr_t>(&slot);
    auto* const notes = reinterpret_cast<Note*>(address & ~(kPageBytes - 1));
    return notes[(address & (kPageBytes - 1)) / sizeof(T)];
  }
  // nullptr if there is none.
  T* find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t at = number % kPerSlab;
    if (number / kPerSlab >= slabs_.size() || !is_slot(at)) return nullptr;
    Slab& slab = *slabs_[number / kPerSlab];
    return at < slab.made ? slot_at(slab, at) : nullptr;
  }

 private:
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 18;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kAhead = 4;
  using Batch = std::array<T*, kBatch>;
  // A slab is an array of places for slots, page by page. The first kTaken places of each page hold the page's
  // notes, an array by place, too; what belongs to the slab lies at its beginning, where nothing else does.
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kPerPage = kPageBytes / sizeof(T);
  static constexpr std::size_t kPerSlab = kSlabBytes / sizeof(T);
  static constexpr std::size_t kNoteBytes = std::is_empty_v<Note> ? 0 : kPerPage * sizeof(Note);
  static constexpr std::size_t kTaken = (kNoteBytes + sizeof(T) - 1) / sizeof(T);
  static_assert(kPageBytes % sizeof(T) == 0);
  static constexpr std::size_t kPages = kSlabBytes / kPageBytes;
  static constexpr std::size_t kSlots = kPages * (kPerPage - kTaken) - (kTaken == 0 ? 1 : 0);

  // At an address that is a multiple of kSlabBytes, so that a slot finds it by masking its own.
  struct Slab {
    std::uint64_t index = 0;
    std::size_t made = 0;       // places before this one: what is behind has not been touched
    std::size_t left = kSlots;  // slots that are behind
  };
  static_assert(sizeof(Slab) <= (kTaken == 0 ? sizeof(T) : kTaken * sizeof(Note)));
  static constexpr bool is_slot(std::size_t at) { return at > 0 && at % kPerPage >= kTaken; }
  static T* slot_at(Slab& slab, std::size_t at) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(&slab) + at * sizeof(T));
  }
  struct FreeSlab {
    void operator()(Slab* slab) const {
      for (std::size_t at = 0; at < slab->made; ++at) {
        if (!is_slot(at)) continue;
        if constexpr (kNoteBytes > 0) note(*slot_at(*slab, at)).~Note();
        slot_at(*slab, at)->~T();
      }
      ::operator delete (slab, std::align_val_t{kSlabBytes});
    }
  };
  struct alignas(64) Cache {
    std::size_t count = 0;
    std::array<T*, 2 * kBatch> free;  // a stack
  };

  // Full: those that have been there longest go to whoever takes.
  [[gnu::noinline]] void share(Cache& cache) {
    Batch batch;
    std::copy_n(cache.free.begin(), kBatch, batch.begin());
    std::copy(cache.free.begin() + kBatch, cache.free.end(), cache.free.begin());
    cache.count -= kBatch;
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);  // there is room: see add_slab
  }
  [[gnu::noinline]] void refill(Cache& cache) {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) {
      make_batch(cache);
    } else {
      std::copy(batches_.back().begin(), batches_.back().end(), cache.free.begin());
      batches_.pop_back();
    }
    cache.count = kBatch;
  }
  // The next slots of the last slab, in the order of their addresses. Memory is touched only then: of many runtimes each
  // may have few tasks.
  void make_batch(Cache& cache) {
    if (slabs_.empty() || slabs_.back()->left < kBatch) add_slab();
    Slab& slab = *slabs_.back();
    for (std::size_t made = 0; made < kBatch; ++slab.made) {
      if (!is_slot(slab.made)) continue;
      T* const slot = new (slot_at(slab, slab.made)) T;
      if constexpr (kNoteBytes > 0) new (&note(*slot)) Note;
      cache.free[kBatch - ++made] = slot;
    }
    slab.left -= kBatch;
  }
  // All that is allocated is so before anything changes, and for all slots that are then: to give one back needs no
  // memory.
  void add_slab() {
    reserve_for(slabs_, slabs_.size() + 1);
    reserve_for(batches_, (slabs_.size() + 1) * (kPerSlab / kBatch));
    void* room = ::operator new (kSlabBytes, std::align_val_t{kSlabBytes});
    slabs_.emplace_back(new (room) Slab{.index = slabs_.size()});
  }

  template <typename Vector>
  static void reserve_for(Vector& vector, std::size_t count) {
    if (vector.capacity() < count) vector.reserve(std::max(count, 2 * vector.capacity()));
  }

  std::vector<Cache> caches_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Slab, FreeSlab>> slabs_;
  std::vector<Batch> batches_;
};

}  // namespace vicinal::graph
