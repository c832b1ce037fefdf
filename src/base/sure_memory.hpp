// Containers for what must go on when the system gives no more memory: to end a task, to take note of a copy, to
// cancel a run. They take their memory where others do; when it is refused, from a reserve that the process has
// mapped before, and the run goes on or ends with an error that is thrown where it can be.
//
// What a user's call begins with (a new task, a new handle) takes plain memory: there std::bad_alloc leads back to
// the user, and what grows with tasks and handles is bounded by it.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory_resource>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vicinal::base {

// Address space alone, until it is used. Who keeps SureAllocator's promises calls it before.
void map_reserve() noexcept;

// From the system, else from the reserve. Throws std::bad_alloc when that is used up as well.
void* sure_allocate(std::size_t bytes, std::size_t alignment);
void sure_free(void* address, std::size_t bytes, std::size_t alignment) noexcept;

template <typename T>
struct SureAllocator {
  // NOLINTNEXTLINE(readability-identifier-naming): the name is the standard's
  using value_type = T;
  SureAllocator() = default;
  template <typename Other>
  SureAllocator(const SureAllocator<Other>& /*other*/) {}  // NOLINT(google-explicit-constructor)

  // NOLINTBEGIN(bugprone-sizeof-expression): T may well be a pointer
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(sure_allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* address, std::size_t count) noexcept {
    sure_free(address, count * sizeof(T), alignof(T));
  }
  // NOLINTEND(bugprone-sizeof-expression)
  friend bool operator==(const SureAllocator&, const SureAllocator&) { return true; }
};

template <typename T>
using SureVector = std::vector<T, SureAllocator<T>>;
template <typename T>
using SureDeque = std::deque<T, SureAllocator<T>>;
template <typename Key, typename T, typename Less = std::less<Key>>
using SureMap = std::map<Key, T, Less, SureAllocator<std::pair<const Key, T>>>;
template <typename Key, typename T>
using SureUnorderedMap = std::unordered_map<Key, T, std::hash<Key>, std::equal_to<Key>,
                                            SureAllocator<std::pair<const Key, T>>>;

// For containers that take such a resource.
std::pmr::memory_resource* sure_resource() noexcept;

// `text` makes what the error says; std::bad_alloc if there is no memory for it.
template <typename Error, typename Text>
std::exception_ptr make_error(const Text& text) noexcept {
  try {
    return std::make_exception_ptr(Error(text()));
  } catch (...) {
    return std::current_exception();
  }
}

// An error that says what the runtime was doing when memory ran out; std::bad_alloc if there is not even memory to
// say so.
std::exception_ptr out_of_memory(const char* doing) noexcept;
// The same for a std::bad_alloc, `error` itself for others.
std::exception_ptr say_out_of_memory(std::exception_ptr error, const char* doing) noexcept;

}  // namespace vicinal::base
