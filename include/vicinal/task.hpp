// What is submitted.
//
//   runtime.submit({.codelet = &gemm, .operands = {R(a), R(b), RW(c)}, .priority = 3});
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal {

class Group;

enum class Outcome : std::uint8_t { done, failed, cancelled };

// A value handed to a task by copy. Up to 16 bytes travel inside the task; more are allocated.
class Parameters {
 public:
  Parameters() = default;
  template <typename T>
  requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, Parameters>)
      Parameters(const T& value)  // NOLINT(google-explicit-constructor): .parameters = value
      : bytes_(sizeof(T)) {
    std::byte* to = inline_;
    if (sizeof(T) > sizeof(inline_)) {
      large_.resize(sizeof(T));
      to = large_.data();
    }
    std::memcpy(to, &value, sizeof(T));
  }
  std::size_t size() const { return bytes_; }
  const std::byte* data() const { return large_.empty() ? inline_ : large_.data(); }

 private:
  std::size_t bytes_ = 0;
  std::byte inline_[16] = {};
  std::vector<std::byte> large_;
};

// Operands without an allocation when they are written as a braced list.
class Operands {
 public:
  Operands() = default;
  Operands(std::initializer_list<Operand> list) : span_(list.begin(), list.size()) {}
  Operands(std::span<const Operand> list) : span_(list) {}  // NOLINT(google-explicit-constructor)
  Operands(const std::vector<Operand>& list)
      : span_(list) {}  // NOLINT(google-explicit-constructor)
  std::span<const Operand> span() const { return span_; }

 private:
  std::span<const Operand> span_;
};

struct TaskSpec {
  const Codelet* codelet = nullptr;
  Operands operands = {};
  Parameters parameters = {};
  int priority = 0;                     // larger first; 0 and computed if the runtime is asked to
  std::optional<WorkerId> worker = {};  // only this worker may run it
  Group* group = nullptr;               // must outlive the task
  std::span<const TaskId> after = {};   // dependencies without data
  std::function<void(Outcome)> on_end =
      {};                 // called by the worker that ends the task, under no lock
  std::string name = {};  // in messages and reports; the codelet's name otherwise
  double flops = 0;       // 0: the codelet's
};

}  // namespace vicinal
