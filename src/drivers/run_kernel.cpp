#include "drivers/run_kernel.hpp"

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
std::span<const std::uint8_t> view_of(const graph::Task& task) {
  return task.extension ? std::span<const std::uint8_t>(task.extension->view_of)
                        : std::span<const std::uint8_t>();
}

// Room for the views of most tasks on the stack, constructed one by one: to set all 16 first would
// cost as much as the rest of an empty task's call.
class Views {
 public:
  explicit Views(std::size_t count) {
    if (count > kInlineOperands) many_.resize(count);
  }
  OperandView* data() {
    return many_.empty() ? reinterpret_cast<OperandView*>(few_) : many_.data();
  }

 private:
  alignas(OperandView) std::byte few_[kInlineOperands * sizeof(OperandView)];
  std::vector<OperandView> many_;
};
static_assert(std::is_trivially_destructible_v<OperandView>);

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
    const std::span<const graph::Access> accesses =
        static_cast<const graph::Task&>(task).accesses();
    const std::span<const std::uint8_t> named = view_of(task);
    const std::size_t count = named.empty() ? accesses.size() : named.size();
    Views views(count);
    OperandView* const view = views.data();
    for (std::size_t i = 0; i < count; ++i) {
      const graph::Access& access = accesses[named.empty() ? i : named[i]];
      std::construct_at(view + i, memory::view(*access.handle, node));
    }
    const Parameter parameter = parameter_of(task);
    KernelContext context(view, count, parameter.data, parameter.bytes, worker);
    kernel(context);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace vicinal::drivers
