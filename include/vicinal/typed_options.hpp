// Options of a typed task, which may stand anywhere among its arguments: see TaskSpec for what they mean.
//
//   runtime.task("axpy", axpy, 2.0, in(x), inout(y), priority(3), expected(2ms));
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "vicinal/task.hpp"

namespace vicinal {

namespace internals {

template <typename Value, Value TaskSpec::*member>
struct Option {
  Value value;
  void set(TaskSpec& spec) const { spec.*member = value; }
};
struct Worker {
  WorkerId worker;
  void set(TaskSpec& spec) const { spec.worker = worker; }
};
struct Node {
  NodeId node;
  void set(TaskSpec& spec) const { spec.node = node; }
};
struct After {
  std::span<const TaskId> tasks;
  void set(TaskSpec& spec) const { spec.after = tasks; }
};
struct Named {
  std::string_view name;
  void set(TaskSpec& spec) const { spec.name = name; }
};
// All of a task are set together, see times_of.
struct Expected {
  Time time;
  std::optional<ProcessorKind> kind;
  void set(TaskSpec& /*spec*/) const {}
};

}  // namespace internals

// As TaskSpec::priority.
constexpr auto priority(int value) {
  return internals::Option<int, &TaskSpec::priority>{value};
}
// As TaskSpec::flops.
constexpr auto flops(double value) {
  return internals::Option<double, &TaskSpec::flops>{value};
}
// How long the task takes, for simulation and for policies: on every kind of processor, or on this kind, which comes
// first. 0: not known. Of no kind: the machine's speeds and `flops` say it, in simulation; see Codelet::estimated.
constexpr auto expected(Time time) {
  return internals::Expected{time, std::nullopt};
}
constexpr auto expected(ProcessorKind kind, Time time) {
  return internals::Expected{time, kind};
}
template <typename Number, typename Period>
constexpr auto expected(std::chrono::duration<Number, Period> time) {
  return expected(Time{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()});
}
template <typename Number, typename Period>
constexpr auto expected(ProcessorKind kind, std::chrono::duration<Number, Period> time) {
  return expected(kind, Time{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()});
}
// As TaskSpec::group.
inline auto into(Group& group) {
  return internals::Option<Group*, &TaskSpec::group>{&group};
}
// As TaskSpec::worker, and TaskSpec::node.
constexpr auto on(WorkerId worker) {
  return internals::Worker{worker};
}
constexpr auto on(NodeId node) {
  return internals::Node{node};
}
// As TaskSpec::after: the list must live until the task is submitted.
inline auto after(std::span<const TaskId> tasks) {
  return internals::After{tasks};
}
// The name of this one task in messages and reports.
constexpr auto named(std::string_view name) {
  return internals::Named{name};
}

namespace internals {

template <typename T>
concept IsOption = requires(const T& option, TaskSpec& spec) {
  option.set(spec);
};
template <typename Argument>
void set_option(const Argument& argument, TaskSpec& spec) {
  if constexpr (IsOption<Argument>) argument.set(spec);
}

// The times that its options give.
struct NoTimes {
  void set(TaskSpec& /*spec*/) const {}
};
struct Times {
  ExpectedTimes times{};
  void set(TaskSpec& spec) const { spec.expected = &times; }
  template <typename Argument>
  void note(const Argument& argument, bool of_one_kind) {
    if constexpr (std::is_same_v<Argument, Expected>) {
      if (argument.kind.has_value() != of_one_kind) return;
      if (of_one_kind) {
        times[static_cast<std::size_t>(*argument.kind)] = argument.time;
      } else {
        times.fill(argument.time);
      }
    }
  }
};
template <typename... Arguments>
auto times_of(const Arguments&... arguments) {
  if constexpr ((std::is_same_v<Arguments, Expected> || ...)) {
    Times times;
    (times.note(arguments, false), ...);
    (times.note(arguments, true), ...);
    return times;
  } else {
    return NoTimes{};
  }
}

}  // namespace internals
}  // namespace vicinal
