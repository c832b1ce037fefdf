#include "support/failing_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

constexpr std::int64_t kNever = INT64_MAX / 2;
std::atomic<std::int64_t> left{kNever};  // allocations that succeed before the next that does not
std::atomic<std::int64_t> period{0};
std::atomic<bool> any_failed{false};

bool fails() {
  // One load where nothing is to fail.
  if (left.load(std::memory_order_relaxed) >= kNever) return false;
  if (left.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  const std::int64_t again = period.load(std::memory_order_relaxed);
  left.store(again > 0 ? again - 1 : kNever, std::memory_order_relaxed);
  any_failed.store(true, std::memory_order_relaxed);
  return true;
}
void* allocated(std::size_t bytes) noexcept {
  return fails() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void* allocated(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  return fails() ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
}

}  // namespace

namespace vicinal::testing {

FailingAllocations::FailingAllocations(std::uint64_t nth, std::uint64_t again) {
  any_failed.store(false);
  period.store(static_cast<std::int64_t>(again));
  left.store(static_cast<std::int64_t>(nth) - 1);
}
FailingAllocations::~FailingAllocations() {
  left.store(kNever);
}
bool FailingAllocations::failed() {
  return any_failed.load();
}

}  // namespace vicinal::testing

// All the forms together, since memory from one is given back to another.
void* operator new(std::size_t bytes) {
  if (void* const memory = allocated(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocated(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocated(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = allocated(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return allocated(bytes, alignment);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/,
                     const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
