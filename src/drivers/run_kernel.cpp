#include "drivers/run_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "memory/replica.hpp"
#include "vicinal/error.hpp"

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
  return {task.parameters, task.parameter_bytes};
}

// Operand -> access; empty: operand i is access i.
std::span<const std::uint16_t> view_of(const graph::Task& task) {
  return task.extension ? std::span<const std::uint16_t>(task.extension->view_of)
                        : std::span<const std::uint16_t>();
}

std::size_t operands_of(const graph::Task& task) {
  const std::span<const std::uint16_t> named = view_of(task);
  return named.empty() ? task.access_count : named.size();
}

// `views` is room for `count`, as many as the task has operands; they are constructed one by one: to set all of
// it first would cost as much as the rest of an empty task's call.
[[gnu::always_inline]] inline void look(const graph::Task& task, const KernelSite& site,
                                        OperandView* views, std::size_t count) {
  const std::span<const graph::Access> accesses = task.accesses();
  const std::span<const std::uint16_t> named = view_of(task);
  for (std::size_t i = 0; i < count; ++i) {
    const graph::Access& access = accesses[named.empty() ? i : named[i]];
    std::construct_at(views + i, memory::view(*access.handle, site.node));
  }
  if (site.shift != 0) {
    for (std::size_t i = 0; i < count; ++i) {
      if (views[i].address != nullptr) views[i].address += site.shift;
    }
  }
}

[[gnu::always_inline]] inline void call_with(const Kernel& kernel, const graph::Task& task,
                                             const KernelSite& site, OperandView* views,
                                             std::size_t count) {
  const Parameter parameter = parameter_of(task);
  KernelContext context(views, count, parameter.data, parameter.bytes, site.worker, site.kind,
                        site.native, site.at_end, &task);
  kernel(context);
}

[[gnu::always_inline]] inline void call(const Kernel& kernel, const graph::Task& task,
                                        const KernelSite& site, OperandView* views,
                                        std::size_t count) {
  look(task, site, views, count);
  call_with(kernel, task, site, views, count);
}
static_assert(std::is_trivially_destructible_v<OperandView>);

// Puts the neutral element into what the task is the first to reduce into, or to combine into.
[[gnu::noinline]] void begin_neutral(const graph::Task& task, const KernelSite& site) {
  const auto put = [&](const graph::Reduction& reduction, std::size_t number) {
    OperandView view = memory::view(*task.accesses()[number].handle, site.node);
    if (view.address != nullptr) view.address += site.shift;
    KernelContext context(&view, 1, nullptr, 0, site.worker, site.kind, site.native, nullptr);
    task.extension->neutral_for = reduction.of;  // if it throws, this is still said
    reduction.codelets.neutral->implementation(site.kind)(context);
    task.extension->neutral_for = nullptr;
  };
  for (const graph::ReducedOperand& operand : task.extension->reduced) {
    if (operand.is_fresh) put(*operand.reduction, operand.access);
  }
  if (task.extension->begins_neutral) put(*task.extension->combines, 0);
}

[[gnu::noinline]] void call_with_many(const Kernel& kernel, const graph::Task& task,
                                      const KernelSite& site) {
  std::vector<OperandView> views(operands_of(task));
  call(kernel, task, site, views.data(), views.size());
}

struct FreeRoom {
  void operator()(std::byte* room) const {
    ::operator delete (room, std::align_val_t{memory::Arena::kGranularity.value});
  }
};

// Where all data are in RAM, which has no limit, nobody gives room to scratch before its task runs.
[[gnu::noinline]] void call_with_scratch(const Kernel& kernel, const graph::Task& task,
                                         const KernelSite& site) {
  std::vector<OperandView> views(operands_of(task));
  look(task, site, views.data(), views.size());
  const std::span<const std::uint16_t> named = view_of(task);
  std::vector<std::unique_ptr<std::byte, FreeRoom>> rooms;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const graph::Access& access = task.accesses()[named.empty() ? i : named[i]];
    const std::uint64_t bytes = access.handle->bytes().value;
    if (access.mode != AccessMode::scratch || views[i].address != nullptr || bytes == 0) continue;
    rooms.emplace_back(static_cast<std::byte*>(
        ::operator new (bytes, std::align_val_t{memory::Arena::kGranularity.value})));
    views[i].address = rooms.back().get();
  }
  call_with(kernel, task, site, views.data(), views.size());
}

[[gnu::always_inline]] inline void call_kernel(const Kernel& kernel, const graph::Task& task,
                                               const KernelSite& site) {
  const std::size_t count = operands_of(task);
  if (task.extension && task.extension->has_scratch) [[unlikely]] {
    call_with_scratch(kernel, task, site);
  } else if (count <= kInlineOperands) {
    alignas(OperandView) std::byte room[kInlineOperands * sizeof(OperandView)];
    call(kernel, task, site, reinterpret_cast<OperandView*>(room), count);
  } else {
    call_with_many(kernel, task, site);
  }
}

std::uint64_t hash_of(const OperandView& view) {
  std::size_t all = 0;
  for (std::uint64_t i = 0; i < view.layout.columns && view.address != nullptr; ++i) {
    const std::string_view column(
        reinterpret_cast<const char*>(view.address + i * view.layout.stride_bytes),
        view.layout.column_bytes);
    all = all * 31 + std::hash<std::string_view>{}(column);
  }
  return all;
}

// Of what each access only reads, in their order; 0 for others.
std::vector<std::uint64_t> hashes_of_reads(const graph::Task& task, const KernelSite& site) {
  std::vector<std::uint64_t> hashes;
  for (const graph::Access& access : task.accesses()) {
    const bool only_read = access.mode == AccessMode::R;
    hashes.push_back(only_read ? hash_of(memory::view(*access.handle, site.node)) : 0);
  }
  return hashes;
}

[[gnu::noinline]] void call_and_check(const Kernel& kernel, const graph::Task& task,
                                      const KernelSite& site) {
  const std::vector<std::uint64_t> before = hashes_of_reads(task, site);
  call_kernel(kernel, task, site);
  const std::vector<std::uint64_t> after = hashes_of_reads(task, site);
  const auto changed = std::ranges::mismatch(before, after).in1;
  if (changed == before.end()) return;
  const auto number = static_cast<std::size_t>(changed - before.begin());
  throw UsageError("while it ran " + graph::name_of(*task.accesses()[number].handle) +
                   " changed, which it only reads: submit it as RW (inout), or let the kernel "
                   "leave it alone; the "
                   "application must not write it meanwhile either");
}

}  // namespace

std::exception_ptr run_kernel(graph::Task& task, const KernelSite& site) {
  try {
    const Kernel& kernel = task.codelet->implementation(site.kind);
    if (!kernel) {
      throw std::logic_error("task " + std::string(task.name()) + " was given to worker " +
                             std::to_string(site.worker.value) + ", of kind " +
                             std::string(to_string(site.kind)) +
                             ", for which its codelet has no implementation");
    }
    if (task.extension && (task.reduces() || task.extension->begins_neutral))
      begin_neutral(task, site);
    if (site.check_reads) [[unlikely]] {
      call_and_check(kernel, task, site);
    } else {
      call_kernel(kernel, task, site);
    }
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace vicinal::drivers

namespace vicinal {

void KernelContext::refuse_parameter(std::size_t wanted) const {
  throw UsageError("its kernel asks for a parameter of " + std::to_string(wanted) +
                   " bytes, and the task was given one of " + std::to_string(parameter_bytes_) +
                   "; submit it with a value of the type that the kernel asks for");
}

// Who calls a kernel has said so to the engine, so that who does not ask pays nothing.
StopToken KernelContext::stop_token() const {
  const engine::InTask* const inside = engine::this_threads_task();
  if (task_ == nullptr || inside == nullptr) return {};
  return {inside->engine, task_};
}

bool StopToken::is_requested() const {
  const auto& engine = *static_cast<const engine::Engine*>(engine_);
  return engine.errors().cancels(*static_cast<const graph::Task*>(task_));
}

void KernelContext::at_end(std::function<void()> check) const {
  if (at_end_ == nullptr) return check();
  *at_end_ = std::move(check);
}

}  // namespace vicinal
