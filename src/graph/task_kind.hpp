// The kinds of tasks. A task of any kind takes its place in the order of accesses to data. The kind says what happens
// once all accesses are granted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vicinal::graph {

enum class TaskKind : std::uint8_t {
  compute,       // a kernel, which the policy gives to a worker
  acquisition,   // the application's own access, until it gives it back
  prefetch,      // asked for by the application: a copy where it will be used
  invalidation,  // the content is void from here on
  repartition,   // content passes from a handle to its parts, or back
  combination,   // private copies are combined into the handle that tasks reduced into, by a kernel
  send,          // the content goes to another rank
  receive,       // it comes from another rank
};

inline constexpr std::size_t kTaskKinds = 8;

// --- what differs by kind

// It passes through the policy to a worker, which runs its kernel.
constexpr bool is_scheduled(TaskKind kind) {
  return kind == TaskKind::compute || kind == TaskKind::combination;
}
// It is among the tasks submitted and ended, for which a wait waits. Nobody waits for what the application holds.
constexpr bool is_counted(TaskKind kind) {
  return kind != TaskKind::acquisition;
}
// It does not begin if the run is cancelled or what it reads is poisoned.
constexpr bool is_cancellable(TaskKind kind) {
  return is_scheduled(kind);
}
// Its end may be the last use of its data; the others announce a use.
constexpr bool uses_data(TaskKind kind) {
  return is_scheduled(kind);
}

constexpr std::string_view to_string(TaskKind kind) {
  constexpr std::string_view names[] = {"task",        "acquire", "prefetch", "invalidate",
                                        "repartition", "combine", "send",     "receive"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace vicinal::graph
