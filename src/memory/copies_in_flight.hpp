// The copies that were given to drivers and have not ended, by their ids. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "memory/copy.hpp"
#include "memory/request.hpp"

namespace vicinal::memory {

class CopiesInFlight {
 public:
  CopiesInFlight() = default;
  CopiesInFlight(const CopiesInFlight&) = delete;
  CopiesInFlight& operator=(const CopiesInFlight&) = delete;

  CopyId begin(Fetch& fetch) {
    const std::lock_guard lock(lock_);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    Slot& slot = slots_[number];
    slot.fetch = &fetch;
    return {number, ++slot.generation, this};
  }
  // The id names nothing from now on. Throws DeviceError, and changes nothing, if it does not name a copy in flight.
  Fetch& end(CopyId id) {
    const std::lock_guard lock(lock_);
    const bool is_known = id.table == this && id.slot < slots_.size();
    Fetch* const fetch = is_known && slots_[id.slot].generation == id.generation
                             ? std::exchange(slots_[id.slot].fetch, nullptr)
                             : nullptr;
    if (fetch == nullptr) throw_unknown(id);
    free_.push_back(id.slot);
    return *fetch;
  }

 private:
  struct Slot {
    Fetch* fetch = nullptr;        // null: the slot is free
    std::uint32_t generation = 0;  // of the last copy
  };
  // Under the lock.
  [[noreturn]] void throw_unknown(CopyId id) const;

  base::SpinLock lock_;
  base::SureVector<Slot> slots_;
  base::SureVector<std::uint32_t> free_;
};

}  // namespace vicinal::memory
