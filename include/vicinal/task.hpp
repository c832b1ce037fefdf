// What is submitted.
//
//   runtime.submit({.codelet = &gemm, .operands = {R(a), R(b), RW(c)}, .priority = 3});
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal {

class Group;

// How a task has ended.
enum class Outcome : std::uint8_t { done, failed, cancelled };

// Whether a task whose codelet is recursive is divided; automatic: the policy says so when it is ready.
enum class Recursive : std::uint8_t { never, automatic, always };

// A value handed to a task by copy. Up to 16 bytes travel inside the task; more are allocated.
class Parameters {
 public:
  Parameters() = default;
  // A copy of the value.
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
  // Bytes of the value; 0: none.
  std::size_t size() const { return bytes_; }
  // The value's bytes.
  const std::byte* data() const { return large_.empty() ? inline_ : large_.data(); }

 private:
  std::size_t bytes_ = 0;
  std::byte inline_[16] = {};
  std::vector<std::byte> large_;
};

// Owns what is given as a braced list or as a temporary vector, up to kInside without an allocation;
// refers to a vector or a span that has a name, which must live until the task is submitted.
class Operands {
  static constexpr std::size_t kInside = 4;

 public:
  Operands() = default;
  // The operands given. There is a constructor for each length, as the elements of a std::initializer_list would be
  // copied once more.
  Operands(const Operand& a)  // NOLINT(google-explicit-constructor)
      : count_(1), inside_{a} {}
  Operands(const Operand& a, const Operand& b) : count_(2), inside_{a, b} {}
  Operands(const Operand& a, const Operand& b, const Operand& c) : count_(3), inside_{a, b, c} {}
  Operands(const Operand& a, const Operand& b, const Operand& c, const Operand& d)
      : count_(kInside), inside_{a, b, c, d} {}
  template <std::same_as<Operand>... More>
  Operands(const Operand& a, const Operand& b, const Operand& c, const Operand& d, const Operand& e,
           const More&... more)
      : count_(5 + sizeof...(more)), owned_{a, b, c, d, e, more...} {}
  // Refers to the list.
  Operands(std::span<const Operand> list)  // NOLINT(google-explicit-constructor)
      : given_(list.data()), count_(list.size()) {}
  Operands(const std::vector<Operand>& list)  // NOLINT(google-explicit-constructor)
      : given_(list.data()), count_(list.size()) {}
  // Takes the list.
  Operands(std::vector<Operand>&& list)  // NOLINT(google-explicit-constructor)
      : count_(list.size()), owned_(std::move(list)) {}
  // All operands, as long as this object and the list behind it live.
  std::span<const Operand> span() const {
    if (given_ != nullptr) return {given_, count_};
    return {owned_.empty() ? inside_ : owned_.data(), count_};
  }

 private:
  const Operand* given_ = nullptr;  // nullptr: they are owned
  std::size_t count_ = 0;
  std::vector<Operand> owned_;  // empty: they are inside
  Operand inside_[kInside] = {};
};

namespace internals {
// A default that is no constant: where a member has one compilers set all bytes of a TaskSpec before they
// fill it.
template <typename T>
T unset(T value = {}) {
  return value;
}
}  // namespace internals

// What Runtime::submit is given of a task.
struct TaskSpec {
  const Codelet* codelet = internals::unset<const Codelet*>();  // must outlive the task
  Operands operands = {};                                       // at most kMostOperands
  Parameters parameters = {};                                   // of KernelContext::parameter
  int priority = internals::unset(0);  // larger first; 0 and computed if the runtime is asked to
  // Only this worker may run it.
  std::optional<WorkerId> worker = internals::unset<std::optional<WorkerId>>();
  // The memory node whose workers are to run the task, unless no worker there can. None: as the policy chooses, which
  // "directed" does as the codelet says (Codelet::place), or where its data belong.
  std::optional<NodeId> node = internals::unset<std::optional<NodeId>>();
  // The rank that is to run the task. None: the one that owns what the task writes; see ranks.hpp.
  std::optional<RankId> rank = internals::unset<std::optional<RankId>>();
  Group* group = internals::unset<Group*>();  // counts the task; null: none
  // Dependencies without data: what `submit` of this runtime returned. Must live until the submission.
  std::span<const TaskId> after = internals::unset<std::span<const TaskId>>();
  // Called by the worker that ends the task, under no lock.
  std::function<void(Outcome)> on_end = {};
  std::string name = {};                 // in messages and reports; the codelet's name otherwise
  double flops = internals::unset(0.0);  // 0: the codelet's
  // Of this task, for simulation and for policies: times that are 0 are the codelet's. Null: all are. Must live until the
  // submission.
  const ExpectedTimes* expected = internals::unset<const ExpectedTimes*>();
  // Whether a recursive codelet divides it.
  Recursive recursive = internals::unset(Recursive::automatic);
};

}  // namespace vicinal
