// The kinds of tasks. Each takes its place in the order of accesses to data; they differ in what happens
// when they have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace vicinal::graph {

enum class TaskKind : std::uint8_t {
  compute,       // a kernel, which the policy gives to a worker
  acquisition,   // the application's own access, until it gives it back
  prefetch,      // asked for by the application: a copy where it will be used
  invalidation,  // the content is void from here on
};

struct KindRules {
  bool scheduled = false;    // passes through the policy to a worker that runs its kernel
  bool counts = true;        // among the tasks submitted and ended, for which a wait waits
  bool cancellable = false;  // does not begin if the run is cancelled or what it reads is poisoned
  bool uses_data = false;    // its end may be the last use of its data; the others announce a use
};

constexpr KindRules rules_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::compute:
      return {.scheduled = true, .cancellable = true, .uses_data = true};
    case TaskKind::acquisition:  // nobody who waits for tasks waits for what the application holds
      return {.counts = false};
    case TaskKind::prefetch:
    case TaskKind::invalidation:
      break;
  }
  return {};
}

constexpr std::string_view to_string(TaskKind kind) {
  constexpr std::string_view names[] = {"task", "acquire", "prefetch", "invalidate"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace vicinal::graph
