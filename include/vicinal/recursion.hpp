// Recursive tasks: a codelet may submit tasks on parts of its operands in place of running a kernel.
//
//   void potrf_in_tiles(vicinal::Recursion& r) {
//     const vicinal::Parts a = r.parts(0, vicinal::tiles(128, 128));
//     for (...) r.submit({.codelet = &gemm, .operands = {R(a(i, k)), R(a(j, k)), RW(a(i, j))}});
//   }
//   const vicinal::Codelet potrf{.name = "potrf", .cpu = whole_tile, .recursive = potrf_in_tiles};
//
// The task ends when all inner tasks on its parts, or without data, have ended; tasks behind it wait for that. The task
// has failed if an inner task has, or the function threw; else it was cancelled if an inner task was. Whether a task is
// divided is said at its submission (TaskSpec::recursive), or decided when it is ready: by default if a worker has
// nothing to do. While a task is divided its operands are in RAM, as if a core ran it, and count there.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "vicinal/data.hpp"
#include "vicinal/partition.hpp"
#include "vicinal/task.hpp"

namespace vicinal {

namespace internals {
struct RecursiveTask;
}

// What a recursive codelet is given. It is called when the task is ready, by some thread, also in simulation: it
// submits, and does not compute.
class Recursion {
 public:
  // For the runtime alone.
  explicit Recursion(internals::RecursiveTask& task) : task_(task) {}
  // Their number.
  std::size_t operands() const;
  // What the task does with the operand. Throws UsageError if there is no such operand, as all functions here do.
  AccessMode mode(std::size_t operand) const;
  // The operand's shape.
  const Layout& layout(std::size_t operand) const;
  // The priority of the task; inner tasks have their own.
  int priority() const;
  // The value given to the task. Throws UsageError if that was of another size.
  template <typename T>
  T parameter() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, parameter_bytes(sizeof(T)), sizeof(T));
    return value;
  }

  // The operand in the parts that `divide` lists, whose handles live as long as the task. An operand that the task only
  // reads may be divided several times. Throws UsageError if an operand that the task writes is divided a second time.
  Parts parts(std::size_t operand, const Divide& divide);
  // The operand as a single part. The operand's own handle belongs to the task until its end: inner tasks must not name
  // it.
  Handle whole(std::size_t operand);
  // As Runtime::submit. Under a memory limit tasks inside a recursive task that takes room of it use its parts alone.
  TaskId submit(const TaskSpec& spec);

 private:
  const std::byte* parameter_bytes(std::size_t wanted) const;
  internals::RecursiveTask& task_;
};

}  // namespace vicinal
