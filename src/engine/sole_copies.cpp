#include "engine/sole_copies.hpp"

#include <algorithm>

#include "engine/lifecycle.hpp"
#include "memory/arena.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

namespace {
std::optional<Bytes> limit_of(const MachineDescription& machine) {
  return machine.disk() ? std::nullopt : machine.nodes[kRam.value].limit;
}
}  // namespace

SoleCopies::SoleCopies(const Engine& engine, bool simulated)
    : engine_(engine), simulated_(simulated), limit_(limit_of(engine.machine())) {}

const char* SoleCopies::remedy() const {
  return simulated_ ? "give the machine a disk, or more RAM"
                    : "give a folder with the option disk, or raise the option memory";
}

bool SoleCopies::take_room(graph::Handle& handle) {
  if (!limited()) return true;
  const Bytes bytes = memory::Arena::padded(handle.bytes());
  const std::lock_guard lock(mutex_);
  if (written_ + bytes + most_scratch_ > *limit_) return false;
  written_ += bytes;
  handle.counts_unhomed.store(true, std::memory_order_relaxed);
  return true;
}

void SoleCopies::give_back(graph::Handle& handle) {
  if (!handle.counts_unhomed.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (!handle.counts_unhomed.exchange(false, std::memory_order_relaxed)) return;
  written_ -= memory::Arena::padded(handle.bytes());
}

[[gnu::noinline]] void SoleCopies::count(const graph::Task& task) {
  if (task.extension && task.extension->has_scratch) reserve_scratch(task);
  count(task.accesses(), "task ", task.name());
}

void SoleCopies::count(std::span<const graph::Access> accesses, const char* kind,
                       std::string_view name) {
  const auto counts = [](const graph::Access& access) {
    return (leaves_content(access.mode) || access.mode == AccessMode::reduction) &&
           access.named_life() == access.handle->life() &&
           (access.handle->home.kind == graph::HomeKind::none ||
            access.handle->home.kind == graph::HomeKind::device) &&
           !access.handle->counts_unhomed.load(std::memory_order_relaxed);
  };
  if (std::ranges::none_of(accesses, counts)) return;
  const std::lock_guard lock(mutex_);
  Bytes added;
  for (const graph::Access& access : accesses) {
    const graph::Handle& handle = *access.handle;
    if (!counts(access)) continue;
    const Bytes bytes = memory::Arena::padded(handle.bytes());
    added += bytes;
    const Bytes all = written_ + added + most_scratch_;
    if (all > *limit_) {
      throw CapacityError(std::string(kind).append(name) + " writes " + handle.name +
                          ": the data written so far and this" +
                          (most_scratch_.value > 0 ? ", with the scratch of a task," : "") +
                          " need " + std::to_string(all.value) + " bytes, the memory limit is " +
                          std::to_string(limit_->value) + " bytes and there is no disk; " +
                          remedy());
    }
  }
  written_ += added;
  for (const graph::Access& access : accesses) {
    if (counts(access)) access.handle->counts_unhomed.store(true, std::memory_order_relaxed);
  }
}

[[gnu::noinline]] void SoleCopies::reserve_scratch(const graph::Task& task) {
  const bool on_core =
      std::ranges::any_of(engine_.machine().workers, [&](const WorkerDescription& worker) {
        return worker.node == kRam && engine_.eligibility().can_run(task, worker.id);
      });
  if (!on_core) return;
  Bytes scratch;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode == AccessMode::scratch)
      scratch += memory::Arena::padded(access.handle->bytes());
  }
  const std::lock_guard lock(mutex_);
  if (written_ + scratch > *limit_) {
    throw CapacityError(
        "task " + std::string(task.name()) + " has scratch of " + std::to_string(scratch.value) +
        " bytes: with the data written so far it needs " +
        std::to_string((written_ + scratch).value) + " bytes, the memory limit is " +
        std::to_string(limit_->value) + " bytes and there is no disk; " + remedy());
  }
  most_scratch_ = std::max(most_scratch_, scratch);
}

}  // namespace vicinal::engine
