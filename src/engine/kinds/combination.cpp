#include "engine/kinds/combination.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "engine/private_copies.hpp"
#include "engine/recording.hpp"
#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::Content;
using graph::PrivateCopy;

// --- declared, and forgotten

void Reductions::declare(Handle registered, const vicinal::Reduction& codelets) {
  graph::Handle& handle = application_.handles.check(registered, "set_reduction");
  if (codelets.neutral == nullptr || codelets.combine == nullptr) {
    throw UsageError("set_reduction: handle " + handle.name +
                     " needs a codelet that sets the neutral element and one that combines");
  }
  if (!handle.home.writable) {
    throw UsageError("set_reduction: handle " + handle.name +
                     " would be written, but its file was registered read-only");
  }
  const Partitions::Lock lock = application_.partitions.lock();
  application_.handles.check(registered,
                             "set_reduction");  // from now on nobody unregisters it meanwhile
  if (handle.reduction != nullptr) {
    throw UsageError("set_reduction: handle " + handle.name +
                     " has a reduction already; a handle has one until it is unregistered");
  }
  if (handle.family.load(std::memory_order_acquire) != nullptr) {
    throw UsageError("set_reduction: handle " + handle.name +
                     " is in parts, was so, or is a part of another: tasks cannot reduce into it; "
                     "register data of their own for that");
  }
  std::unique_ptr<graph::Reduction> made = make(handle, codelets);
  graph::Reduction* const reduction = made.get();
  try {
    if (!reduction->take_room(reduction->copies.front())) {
      throw CapacityError("set_reduction: a private copy of handle " + handle.name + " of " +
                          std::to_string(memory::Arena::padded(handle.bytes()).value) +
                          " bytes and the data written so far do not fit in the memory limit, and "
                          "there is no disk; give a folder with the option disk, or raise the "
                          "option memory");
    }
    check_fits(*reduction);
    const std::lock_guard own(mutex_);
    reductions_[handle.id.value] = std::move(made);
  } catch (...) {
    forget_copies(*reduction);
    throw;
  }
  handle.reduction = reduction;
  application_.partitions.mark(handle);
  record(*reduction);
}

void Reductions::record(const graph::Reduction& reduction) const {
  Engine& engine = application_.engine;
  if (!engine.recorder().on(trace::Category::submission)) return;
  record_reduction(engine.recorder(), reduction);
}

void Reductions::record() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, reduction] : reductions_) {
    for (const auto* const copies : {&reduction->copies, &reduction->partials}) {
      for (const PrivateCopy& copy : *copies) {
        application_.handles.record(*copy.handle, copy.handle->name, reduction->of->id);
      }
    }
    record(*reduction);
  }
}

std::unique_ptr<graph::Reduction> Reductions::make(graph::Handle& handle,
                                                   const vicinal::Reduction& codelets) {
  auto reduction = std::make_unique<graph::Reduction>();
  reduction->of = &handle;
  reduction->codelets = codelets;
  reduction->take_room = [this, of = reduction.get()](PrivateCopy& copy) {
    return take_room(copy, &copy == &of->copies.front());
  };
  reduction->give_back_room = [this, of = reduction.get()](PrivateCopy& copy) {
    give_back_room(copy, &copy == &of->copies.front());
  };
  const std::size_t count = PrivateCopies(application_.engine.machine()).most();
  reduction->copies.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const Handle copy = add_copy(handle, "private " + std::to_string(i));
      PrivateCopy& added = reduction->copies.emplace_back();
      added.handle = copy.impl();
      added.life = copy.life();
    }
  } catch (...) {
    forget_copies(*reduction);
    throw;
  }
  return reduction;
}

Handle Reductions::add_copy(graph::Handle& of, const std::string& what) {
  const Handle copy = application_.handles.add(of.layout.packed(), {}, false,
                                               std::string(of.name).append(" (").append(what) + ")",
                                               {.by = Origin::Registrar::runtime, .part_of = &of});
  copy.impl()->is_private = true;
  return copy;
}

bool Reductions::take_room(PrivateCopy& copy, bool is_first) {
  const bool is_counted = !is_first && application_.sole_copies.limited();
  if (is_counted) {
    // The copy is counted first, then `sparing_` is read; a sparing thread does both in the other order.
    more_copies_.fetch_add(1, std::memory_order_seq_cst);
    if (sparing_.load(std::memory_order_seq_cst) == 0) {
      copy.has_room = application_.sole_copies.take_room(*copy.handle);
    }
    if (!copy.has_room) more_copies_.fetch_sub(1, std::memory_order_release);
  } else {
    copy.has_room = application_.sole_copies.take_room(*copy.handle);
  }
  return copy.has_room;
}

void Reductions::give_back_room(PrivateCopy& copy, bool is_first) {
  copy.has_room = false;
  application_.sole_copies.give_back(*copy.handle);
  if (!is_first && application_.sole_copies.limited()) {
    more_copies_.fetch_sub(1, std::memory_order_release);
  }
}

// Two copies and who combines them, on some memory; and one copy and the handle.
void Reductions::check_fits(const graph::Reduction& reduction) {
  const auto name = [&](graph::Handle& handle) {
    return Handle(handle, application_.handles.number(), handle.life());
  };
  graph::Handle& first = *reduction.copies.front().handle;
  graph::Handle& other = reduction.copies.size() > 1 ? *reduction.copies[1].handle : *reduction.of;
  graph::Task& task =
      application_.submissions.make_inner({.codelet = reduction.codelets.combine,
                                           .operands = {R(name(first)), R(name(other))},
                                           .recursive = Recursive::never});
  application_.submissions.discard_inner(task);
}

bool Reductions::forget_copies(graph::Reduction& reduction) {
  return forget(reduction.partials) && forget(reduction.copies);
}

bool Reductions::forget(std::vector<PrivateCopy>& copies) {
  while (!copies.empty()) {
    const PrivateCopy& copy = copies.back();
    if (!graph::idle(*copy.handle) || !application_.engine.data().remove(*copy.handle))
      return false;
    application_.handles.forget(*copy.handle);
    copies.pop_back();
  }
  return true;
}

bool Reductions::forget_copies(graph::Handle& handle) {
  if (!forget_copies(*handle.reduction)) return false;
  const std::lock_guard lock(mutex_);
  reductions_.erase(handle.id.value);
  handle.reduction = nullptr;
  return true;
}

// --- tasks that reduce, and the one that comes behind them

void Reductions::note(graph::TaskExtension& extension, const graph::Task& task,
                      const graph::Handle& handle, std::size_t number) const {
  if (handle.reduction == nullptr) {
    throw UsageError("task " + std::string(task.name()) + " reduces into handle " + handle.name +
                     ", of which nobody has said how; call Runtime::set_reduction first");
  }
  graph::ReducedOperand& operand = extension.reduced.emplace_back();
  operand.access = number;
  operand.reduction = handle.reduction;
}

void Reductions::settle(const graph::Access& access) {
  graph::Handle& handle = *access.handle;
  graph::Reduction& reduction = *handle.reduction;
  if (access.mode == AccessMode::reduction) {
    reduction.is_open = true;
    return;
  }
  if (reduction.is_open) combine_now(reduction);
}

void Reductions::combine(Handle registered) {
  graph::Handle& handle = *registered.impl();
  // The mark of parts and of reductions.
  if (!handle.has_family.load(std::memory_order_acquire) || handle.reduction == nullptr) return;
  static_cast<void>(application_.partitions.settle(handle, AccessMode::R));
}

void Reductions::combine_now(graph::Reduction& reduction) {
  graph::Handle& handle = *reduction.of;
  const bool accumulates = graph::has_content(handle);
  const Handle of(handle, application_.handles.number(), handle.life());
  graph::Task& task = application_.submissions.make_inner(
      {.codelet = reduction.codelets.combine,
       .operands = {Operand{of, accumulates ? AccessMode::RW : AccessMode::W}},
       .recursive = Recursive::never});
  task.kind = graph::TaskKind::combination;
  task.extension->combines = &reduction;
  task.extension->begins_neutral = !accumulates;
  task.extension->hands_on = &handle;
  reduction.is_open = false;
  application_.submissions.submit_inner(task);
}

Reductions::Sparing::Sparing(Reductions& reductions) : reductions_(reductions) {
  reductions_.sparing_.fetch_add(1, std::memory_order_seq_cst);
  try {
    const Partitions::Lock lock = reductions_.application_.partitions.lock();
    const std::lock_guard own(reductions_.mutex_);
    for (const auto& [number, reduction] : reductions_.reductions_) {
      if (reduction->is_open) reductions_.combine_now(*reduction);
    }
  } catch (...) {
    reductions_.sparing_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

// --- the tree

// Evicted: where its content is.
NodeId Reductions::place_of(const PrivateCopy& copy) const {
  const memory::Residency& residency = application_.engine.residency();
  const std::uint64_t valid = residency.valid_mask(*copy.handle);
  if (residency.trivial() || valid == 0 || (valid & memory::bit(copy.node)) != 0) return copy.node;
  return {static_cast<std::uint32_t>(std::countr_zero(valid))};
}

std::vector<Reductions::Located> Reductions::used_copies(graph::Reduction& reduction) const {
  std::vector<Located> used;
  const std::lock_guard lock(reduction.mutex);
  for (PrivateCopy& copy : reduction.copies) {
    if (!copy.is_fresh) used.push_back({&copy, place_of(copy)});
  }
  return used;
}

// Any thread, under no lock of the engine; nobody else uses the copies.
void Reductions::ready(graph::Task& combination) {
  const SimulatedSubmitter::Within within(application_.submissions.submitter());
  Engine& engine = application_.engine;
  graph::Reduction& reduction = *combination.extension->combines;
  const bool accumulates = !combination.extension->begins_neutral;
  if (engine.errors().cancels(combination) ||
      reduction.of->poisoned.load(std::memory_order_relaxed)) {
    return engine.end_unstarted(combination, Outcome::cancelled);
  }
  try {
    std::vector<Located> used = used_copies(reduction);
    if (used.empty()) {  // the tasks were refused after all
      return engine.end_unstarted(combination, accumulates ? Outcome::done : Outcome::cancelled);
    }
    for (const Located& place : used) graph::leave(*place.copy->handle, Content::written);
    const Located root = submit_tree(reduction, std::move(used));
    const NodeId at = accumulates ? place_of_result(combination, root.node) : root.node;
    combination.extension->worker = worker_at(combination, at);
    combination.extension->is_combinable = true;
    application_.submissions.count_more(root.copy->handle->bytes());
    engine.read_too(combination, *root.copy->handle);
  } catch (...) {  // no memory
    engine.errors().cancel(std::current_exception());
    engine.end_unstarted(combination, Outcome::cancelled);
  }
}

// Where the handle has its content, if the root is there or somebody can work there; else where the root is.
NodeId Reductions::place_of_result(const graph::Task& combination, NodeId root) {
  const memory::Residency& residency = application_.engine.residency();
  std::uint64_t valid = residency.valid_mask(*combination.extension->combines->of);
  if (residency.trivial() || (valid & memory::bit(root)) != 0) return root;
  for (; valid != 0; valid &= valid - 1) {
    const NodeId node{static_cast<std::uint32_t>(std::countr_zero(valid))};
    if (worker_at(combination, node)) return node;
  }
  return root;
}

Reductions::Located Reductions::submit_tree(graph::Reduction& reduction,
                                            std::vector<Located> copies) {
  const std::uint64_t result = application_.engine.residency().valid_mask(*reduction.of);
  const auto is_there = [&](const Located& place) {
    return (result & memory::bit(place.node)) != 0;
  };
  std::ranges::stable_sort(copies, {}, [](const Located& place) { return place.node.value; });
  std::vector<Located> heads;
  for (const Located& place : copies) {
    if (!heads.empty() && heads.back().node == place.node) {
      combine(reduction, heads.back(), place);
    } else {
      heads.push_back(place);
    }
  }
  std::stable_partition(heads.begin(), heads.end(), is_there);  // Clang 14 has none of ranges
  for (std::size_t step = 1; step < heads.size(); step *= 2) {
    for (std::size_t i = 0; i + step < heads.size(); i += 2 * step) {
      combine(reduction, heads[i], heads[i + step]);
    }
  }
  return heads.front();
}

void Reductions::combine(const graph::Reduction& reduction, const Located& into,
                         const Located& from) {
  const Handle target(*into.copy->handle, application_.handles.number(), into.copy->life);
  const Handle source(*from.copy->handle, application_.handles.number(), from.copy->life);
  graph::Task& task = application_.submissions.make_inner({.codelet = reduction.codelets.combine,
                                                           .operands = {RW(target), R(source)},
                                                           .recursive = Recursive::never});
  task.extension->worker = worker_at(task, into.node);
  task.extension->hands_on = reduction.of;
  application_.submissions.submit_inner(task);
}

// None: all workers are on one node, or none there can run it. Not the one without a thread if there are others.
std::optional<WorkerId> Reductions::worker_at(const graph::Task& task, NodeId node) {
  Engine& engine = application_.engine;
  const std::vector<WorkerDescription>& workers = engine.machine().workers;
  const auto is_alone = [&](const WorkerDescription& worker) {
    return worker.node == workers.front().node;
  };
  if (std::ranges::all_of(workers, is_alone)) return std::nullopt;
  std::optional<WorkerId> found;
  const std::size_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerDescription& worker = workers[(turn + i) % workers.size()];
    if (worker.node != node || !engine.eligibility().can_run(task, worker.id)) continue;
    if (worker.id != application_.lent_worker) return worker.id;
    found = worker.id;
  }
  return found;
}

}  // namespace vicinal::engine
