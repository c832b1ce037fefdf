#include "support/refusal.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

// Allocations until one is refused; below 0: none will be.
std::atomic<long> until_refused{-1};
std::atomic<std::size_t> refused_from{SIZE_MAX};  // bytes

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (until_refused.load(std::memory_order_relaxed) >= 0 && until_refused.fetch_sub(1) == 0) {
    return nullptr;
  }
  if (bytes >= refused_from.load(std::memory_order_relaxed)) return nullptr;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* const address = allocate_or_null(bytes, alignment);
  if (address == nullptr) throw std::bad_alloc();
  return address;
}

constexpr std::size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

namespace vicinal::testing {

Refusal::Refusal(long nth) {
  until_refused.store(nth);
}
Refusal::~Refusal() {
  until_refused.store(-1);
}
bool Refusal::happened() {
  return until_refused.load() < 0;
}

RefusalOfLarge::RefusalOfLarge(std::size_t from_bytes) {
  refused_from.store(from_bytes);
}
RefusalOfLarge::~RefusalOfLarge() {
  refused_from.store(SIZE_MAX);
}

}  // namespace vicinal::testing

// Not inlined: the compiler would warn that what new gives is freed otherwise.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return allocate(bytes, kAlignment);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
// Sanitizers bring forms of their own for every one that is not here, and refuse to mix them.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(bytes, kAlignment);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment,
                                     const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* address) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, const std::nothrow_t& /*tag*/) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, std::align_val_t /*alignment*/,
                                       const std::nothrow_t& /*tag*/) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, std::size_t /*bytes*/) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, std::align_val_t /*alignment*/) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, std::size_t /*bytes*/,
                                       std::align_val_t /*alignment*/) noexcept {
  std::free(address);
}
