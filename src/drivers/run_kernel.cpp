#include "drivers/run_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "memory/replica.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::size_t kInlineOperands = 16;

struct Parameter {
  const std::byte* data;
  std::size_t bytes;
};

Parameter parameter_of(const graph::Task& task) {
  if (task.extension && !task.extension->parameters.empty()) {
    return {task.extension->parameters.data(), task.extension->parameters.size()};
  }
  return {task.parameters, sizeof(task.parameters)};
}

// Operand -> access; empty: operand i is access i.
std::span<const std::uint16_t> view_of(const graph::Task& task) {
  return task.extension ? std::span<const std::uint16_t>(task.extension->view_of)
                        : std::span<const std::uint16_t>();
}

// `views` is room for as many as the task has operands; they are constructed one by one: to set all of
// it first would cost as much as the rest of an empty task's call.
void call(Kernel kernel, const graph::Task& task, WorkerId worker, NodeId node,
          OperandView* views) {
  const std::span<const graph::Access> accesses = task.accesses();
  const std::span<const std::uint16_t> named = view_of(task);
  const std::size_t count = named.empty() ? accesses.size() : named.size();
  for (std::size_t i = 0; i < count; ++i) {
    const graph::Access& access = accesses[named.empty() ? i : named[i]];
    std::construct_at(views + i, memory::view(*access.handle, node));
  }
  const Parameter parameter = parameter_of(task);
  KernelContext context(views, count, parameter.data, parameter.bytes, worker);
  kernel(context);
}
static_assert(std::is_trivially_destructible_v<OperandView>);

[[gnu::noinline]] void call_with_many(Kernel kernel, const graph::Task& task, WorkerId worker,
                                      NodeId node) {
  std::vector<OperandView> views(std::max(task.accesses().size(), view_of(task).size()));
  call(kernel, task, worker, node, views.data());
}

}  // namespace

std::exception_ptr run_kernel(graph::Task& task, WorkerId worker, NodeId node, ProcessorKind kind) {
  if (task.codelet == nullptr) return nullptr;
  try {
    const Kernel kernel = task.codelet->implementation(kind);
    if (kernel == nullptr) {
      throw std::logic_error("task " + std::string(task.name()) + " was given to worker " +
                             std::to_string(worker.value) + ", of kind " +
                             std::string(to_string(kind)) +
                             ", for which its codelet has no implementation");
    }
    if (std::max(task.accesses().size(), view_of(task).size()) <= kInlineOperands) {
      alignas(OperandView) std::byte room[kInlineOperands * sizeof(OperandView)];
      call(kernel, task, worker, node, reinterpret_cast<OperandView*>(room));
    } else {
      call_with_many(kernel, task, worker, node);
    }
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace vicinal::drivers
