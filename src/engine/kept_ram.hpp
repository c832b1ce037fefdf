// Pinned RAM of evicted replicas, kept for new replicas. A replica in RAM goes and comes back with each write on a
// device, and mapping and pinning RAM anew costs more than the copy into it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#include "vicinal/units.hpp"

namespace vicinal::engine {

// Any thread.
class KeptRam {
 public:
  // A block of exactly so many bytes that was kept; null: none was. Either way they are in use from now on.
  std::byte* take(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    const auto found = blocks_.find(bytes.value);
    if (found == blocks_.end()) return nullptr;
    std::byte* const address = found->second;
    blocks_.erase(found);
    kept_ -= bytes;
    return address;
  }
  // The block is not in use any more. False: it is to be given back, as more would be kept than is in use.
  bool keep(std::byte* address, Bytes bytes) noexcept {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    if (kept_ + bytes > std::max(in_use_, kLeast)) return false;
    try {
      blocks_.emplace(bytes.value, address);
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_ += bytes;
    return true;
  }
  // Not allocated after all.
  void failed(Bytes bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
  }
  struct Block {
    std::byte* address = nullptr;  // null: there is none
    Bytes bytes;
  };
  // Any that is kept.
  Block take_any() noexcept {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty()) return {};
    const auto first = blocks_.begin();
    const Block block{first->second, Bytes{first->first}};
    blocks_.erase(first);
    kept_ -= block.bytes;
    return block;
  }

 private:
  static constexpr Bytes kLeast{64ULL << 20};
  std::mutex mutex_;
  std::multimap<std::uint64_t, std::byte*> blocks_;  // by bytes
  Bytes kept_;
  Bytes in_use_;
};

}  // namespace vicinal::engine
