// Where tasks run as a function of the application says: a codelet may have one, which the policy "directed" follows.
//
//   const vicinal::Codelet gemm{.name = "gemm", .cpu = multiply, .place = [&](const vicinal::Placement& p) {
//     const auto [i, j] = p.parameter<TileAt>();
//     return devices[mapping.device(i, j)];
//   }};
//
// It is called when a task is submitted that names neither node nor worker itself, by the thread that submits: several
// threads may call it at once. It does not wait. Under other policies it is not called.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/task.hpp"

namespace vicinal {

namespace internals {
struct Opener;
}

// What a placing function says of a task.
class Place {
 public:
  // Where the task's data belong, as if there were no function.
  Place() = default;
  // The same.
  Place(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): return std::nullopt
  // As TaskSpec::node: by a worker of this memory node, unless none of them can run it.
  Place(NodeId node) : node_(node) {}                 // NOLINT(google-explicit-constructor)
  Place(std::optional<NodeId> node) : node_(node) {}  // NOLINT(google-explicit-constructor)
  // As TaskSpec::worker: by no other worker.
  Place(WorkerId worker) : worker_(worker) {}  // NOLINT(google-explicit-constructor)
  // The memory node, if the function says one.
  std::optional<NodeId> node() const { return node_; }
  // The worker, if the function says one.
  std::optional<WorkerId> worker() const { return worker_; }

 private:
  std::optional<NodeId> node_;
  std::optional<WorkerId> worker_;
};

// The task that a placing function is asked about. What it refers to is gone after the call. Operands are numbered as
// in the submission; a number that is none throws UsageError.
class Placement {
 public:
  // The task's name.
  std::string task() const;
  // As submitted.
  int priority() const { return spec_.priority; }
  // Their number.
  std::size_t operands() const { return spec_.operands.span().size(); }
  // The operand's data.
  Handle handle(std::size_t operand) const { return at(operand).handle; }
  // What the task does with the operand.
  AccessMode mode(std::size_t operand) const { return at(operand).mode; }
  // The name of the operand's data; of a part, the name of the whole and the part's place: "A[2,1]".
  std::string name(std::size_t operand) const;
  // The operand's shape.
  const Layout& layout(std::size_t operand) const;
  // The node that Runtime::advise gave for the operand's data.
  std::optional<NodeId> advised(std::size_t operand) const;
  // The value given to the task. Throws UsageError if that was of another size.
  template <typename T>
  T parameter() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, parameter_bytes(sizeof(T)), sizeof(T));
    return value;
  }
  // The machine of the runtime.
  const MachineDescription& machine() const { return machine_; }

 private:
  friend struct internals::Opener;
  Placement(const TaskSpec& spec, const MachineDescription& machine)
      : spec_(spec), machine_(machine) {}
  const Operand& at(std::size_t operand) const;
  const std::byte* parameter_bytes(std::size_t wanted) const;

  const TaskSpec& spec_;
  const MachineDescription& machine_;
};

}  // namespace vicinal
