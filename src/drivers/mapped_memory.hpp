// Anonymous memory from the kernel, for arenas and large replicas: zero, and resident only as touched.
#pragma once

#include <cstddef>
#include <utility>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

inline constexpr std::size_t kPageBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t multiple) {
  return value / multiple * multiple;
}

// `bytes` rounded up to pages; from 4 MiB on aligned to, and advised to use, huge pages of 2 MiB.
// nullptr if the kernel refuses.
std::byte* map_memory(Bytes bytes);
// What map_memory gave, with the same `bytes`.
void unmap_memory(std::byte* address, Bytes bytes);

// Owns one mapping.
class MappedMemory {
 public:
  MappedMemory() = default;
  // Throws CapacityError, which names `what` and the bytes.
  MappedMemory(Bytes bytes, const char* what);
  MappedMemory(MappedMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedMemory() {
    if (address_ != nullptr) unmap_memory(address_, bytes_);
  }
  std::byte* address() const { return address_; }

 private:
  std::byte* address_ = nullptr;
  Bytes bytes_;
};

}  // namespace vicinal::drivers
