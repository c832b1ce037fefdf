// A submitted task. Lives in a slot of TaskPool from submission to its end; slots are reused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/warm.hpp"
#include "graph/group.hpp"
#include "graph/handle.hpp"
#include "graph/reduction.hpp"
#include "graph/task_kind.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/task.hpp"

namespace vicinal::graph {

// The states of the way of a task; engine/task_state.hpp has the legal transitions.
enum class TaskState : std::uint8_t {
  free,
  submitted,
  ready,
  scheduled,
  fetching,
  runnable,
  running,
  done,
  let_go  // by one of the two that keep its slot, the engine and the policy
};

// The task of whose work another one does a part.
class OuterTask {
 public:
  // By the task inside at its end, behind its on_end, under no lock. This may be the end of the outer one.
  virtual void inner_ended(Outcome outcome) = 0;

 protected:
  ~OuterTask() = default;
};

// What the kind of a task keeps of it until its end; see engine/kinds.
struct KindData {
  virtual ~KindData() = default;
};

// What few tasks have; allocated only for them.
struct TaskExtension {
  std::string name;
  std::optional<WorkerId> worker;
  std::optional<NodeId> node;
  GroupCount* group = nullptr;
  std::function<void(Outcome)> on_end;
  OuterTask* outer = nullptr;
  std::vector<std::byte> parameters;   // when larger than the task's own room
  std::vector<Access> accesses;        // when they are many, see put_outside
  std::vector<std::uint16_t> view_of;  // operand -> access, when a handle is named twice
  SubmissionNumber number;   // 0: nobody counts, or it is no submission of the application
  double flops = 0;          // 0: the codelet's
  ExpectedTimes expected{};  // 0: the codelet's
  MemoryDemands demands{};   // 0: the codelet's
  bool synchronous = false;  // as Codelet::synchronous; false: the codelet's
  Recursive recursive = Recursive::never;  // never: it has a kernel alone
  bool only_on_node = false;               // a worker of `node` runs it, and no other
  bool is_own = false;                     // the runtime's, which the application has not submitted
  bool has_scratch = false;                // given back at its end
  std::unique_ptr<KindData> kind_data;
  std::vector<ReducedOperand> reduced;  // the accesses that are reductions
  Reduction* combines = nullptr;        // it combines private copies of its operand into that
  bool is_combinable = false;           // and the tree of the others has been submitted
  bool begins_neutral = false;          // the neutral element is put into its operand 0 first
  // Of a task of the runtime itself: the handle whose content the task hands on, from the tasks before to the tasks
  // behind. So the task runs also while the run is cancelled.
  const Handle* hands_on = nullptr;
  const Handle* neutral_for = nullptr;  // the neutral element of this handle is being put
};

inline constexpr std::size_t kInlineAccesses = 4;

struct alignas(128) Task {
  // Accesses not yet granted, explicit dependencies not yet ended, and 1 while being submitted.
  std::atomic<std::int32_t> blocked{0};
  std::uint16_t access_count : 14 = 0;
  bool commutes : 1 = false;  // some of its accesses may, see take_turns
  bool outside : 1 = false;   // the accesses lie where the first of those in the task leads
  std::uint8_t parameter_bytes : 5 = 0;  // of `parameters`
  TaskKind kind : 3 = TaskKind::compute;
  std::atomic<TaskState> state{TaskState::free};
  const Codelet* codelet = nullptr;  // of kinds that are scheduled
  Task* next = nullptr;         // link of whichever list holds the task: a policy's, the pool's
  void* policy_data = nullptr;  // the policy's own, null until it sets it
  std::unique_ptr<TaskExtension> extension;
  int priority = 0;
  // Counts the lives of the slot; bit 31: a later task was declared `after` this one.
  std::atomic<std::uint32_t> life{0};
  std::byte parameters[16] = {};
  Access inline_accesses[kInlineAccesses];

  std::span<Access> accesses() {
    Access* const first =
        outside ? reinterpret_cast<Access*>(inline_accesses[0].handle) : inline_accesses;
    return {first, access_count};
  }
  std::span<const Access> accesses() const { return const_cast<Task*>(this)->accesses(); }
  std::optional<WorkerId> only_worker() const {
    return extension ? extension->worker : std::nullopt;
  }
  // The memory node that the application names for it (TaskSpec::node).
  std::optional<NodeId> named_node() const { return extension ? extension->node : std::nullopt; }
  // The task runs on a given worker, or on the workers of a given memory node.
  bool is_bound() const { return extension && (extension->worker || extension->only_on_node); }
  bool is_own() const { return !is_scheduled(kind) || (extension && extension->is_own); }
  bool hands_on() const { return extension && extension->hands_on != nullptr; }
  bool reduces() const { return extension && !extension->reduced.empty(); }
  std::string_view name() const {
    if (extension && !extension->name.empty()) return extension->name;
    return is_scheduled(kind) ? std::string_view(codelet->name) : to_string(kind);
  }
};

static_assert(sizeof(Task) == 128);

// What the application or the machine says of it; 0: nothing.
inline Time expected_time(const Task& task, ProcessorKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  if (task.extension) {
    if (const Time own = task.extension->expected[number]; own.ns != 0) return own;
  }
  return task.codelet->expected[number];
}
// On each segment that its worker draws on; 0: none.
inline BytesPerSecond demand_of(const Task& task, ProcessorKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  if (task.extension) {
    if (const BytesPerSecond own = task.extension->demands[number]; own.value != 0) return own;
  }
  return task.codelet->demands[number];
}
inline bool is_synchronous(const Task& task) {
  return task.codelet->synchronous || (task.extension && task.extension->synchronous);
}

// See base/warm.hpp.
inline void warm(const Task& task) {
  base::warm(&task, sizeof(Task));
}
inline void warm_handles(const Task& task) {
  for (const Access& access : task.accesses()) base::warm(access.handle, kHotBytes);
}

// The address of an access inside a task leads to the task; the others lie behind its address.
inline Task& Access::task() {
  if (!outside_) {
    return *reinterpret_cast<Task*>(reinterpret_cast<std::uintptr_t>(this) & ~(alignof(Task) - 1));
  }
  return *reinterpret_cast<Task*>((this - number_ - 1)->handle);
}

// The accesses of the task lie behind the first of `room`, which leads back to the task.
inline void put_outside(Task& task, Access* room) {
  room[0].handle = reinterpret_cast<Handle*>(&task);
  task.inline_accesses[0].handle = reinterpret_cast<Handle*>(room + 1);
  task.outside = true;
}

// Room for `count` accesses that ends with the task.
inline void allocate_outside(Task& task, std::size_t count) {
  if (!task.extension) task.extension = std::make_unique<TaskExtension>();
  task.extension->accesses.resize(count + 1);
  put_outside(task, task.extension->accesses.data());
}

}  // namespace vicinal::graph
