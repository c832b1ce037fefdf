#include "drivers/mapped_memory.hpp"

#include <cstdint>
#include <sys/mman.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::uint64_t kHugePage = 2 << 20;
constexpr std::uint64_t kHugeFrom = 4 << 20;

std::byte* map_pages(std::uint64_t bytes) {
  // NORESERVE: a limit larger than what a run touches must not be refused for it.
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

// Maps one huge page more and gives back what lies before and behind the aligned part.
std::byte* map_aligned(std::uint64_t bytes) {
  std::byte* const address = map_pages(bytes + kHugePage);
  if (address == nullptr) return nullptr;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const std::uint64_t before = round_up(number, kHugePage) - number;
  if (before > 0) munmap(address, before);
  munmap(address + before + bytes, kHugePage - before);
  return address + before;
}

}  // namespace

std::byte* map_memory(Bytes bytes) {
  const std::uint64_t rounded = round_up(bytes.value, kPageBytes);
  if (rounded == 0 || rounded < bytes.value) return nullptr;
  if (rounded < kHugeFrom) return map_pages(rounded);
  std::byte* const address = map_aligned(rounded);
  // Refused where huge pages are switched off; small ones serve as well.
  if (address != nullptr) madvise(address, rounded, MADV_HUGEPAGE);
  return address;
}

void unmap_memory(std::byte* address, Bytes bytes) {
  munmap(address, round_up(bytes.value, kPageBytes));
}

MappedMemory::MappedMemory(Bytes bytes, const char* what) : bytes_(bytes) {
  if (bytes.value == 0) return;
  address_ = map_memory(bytes);
  if (address_ == nullptr) {
    throw CapacityError(fmt::format("{}: the system gives no {} of address space", what,
                                    base::format_bytes(bytes)));
  }
}

}  // namespace vicinal::drivers
