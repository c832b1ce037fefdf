#include "engine/kinds/partition.hpp"

#include <algorithm>
#include <utility>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "engine/strided_copy.hpp"
#include "graph/dependencies.hpp"
#include "memory/replica.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::Content;
using graph::Family;
using graph::Holds;
using graph::Partition;

namespace {

// Of a part inside the whole, for the kernels that copy.
struct BlockPlace {
  std::uint64_t row_bytes = 0;
  std::uint64_t column = 0;
};

struct Sides {
  std::byte* inside;
  Layout inside_layout;
  const OperandView& part;
};
Sides sides(const KernelContext& k) {
  const OperandView& whole = k.operand(0);
  const OperandView& part = k.operand(1);
  const auto place = k.parameter<BlockPlace>();
  return {whole.address + place.column * whole.layout.stride_bytes + place.row_bytes,
          {part.layout.column_bytes, part.layout.columns, whole.layout.stride_bytes,
           whole.layout.element_bytes},
          part};
}
void split_kernel(KernelContext& k) {
  const Sides s = sides(k);
  if (s.part.layout.bytes().value == 0) return;
  engine::strided_copy(s.part.address, s.part.layout, s.inside, s.inside_layout);
}
void join_kernel(KernelContext& k) {
  const Sides s = sides(k);
  if (s.part.layout.bytes().value == 0) return;
  engine::strided_copy(s.inside, s.inside_layout, s.part.address, s.part.layout);
}

// Simulation: to copy within a memory. An assumption: what one core moves, also on devices, which are faster.
constexpr BytesPerSecond kCopyRate{10e9};

Codelet copying(const char* name, Kernel kernel, Bytes largest) {
  Codelet codelet{.name = name, .cpu = kernel};
  codelet.expected.fill(
      std::max(Time{1}, Time::from_seconds(static_cast<double>(largest.value) / kCopyRate.value)));
  return codelet;
}

bool covers(const Partition& partition) {
  Bytes sum;
  for (const graph::Handle* part : partition.parts) sum += part->bytes();
  return sum == partition.whole->bytes();
}

Family* family_if_any(const graph::Handle& handle) {
  return handle.family.load(std::memory_order_acquire);
}

// All bytes of the whole are in parts that have its content, of one partition or of several.
bool is_all_in_parts(const graph::Handle& whole) {
  Bytes sum;
  for (const Partition* partition : family_if_any(whole)->divided) {
    if (partition->holds != Holds::parts) continue;
    for (const graph::Handle* part : partition->parts) sum += part->bytes();
  }
  return sum == whole.bytes();
}

bool is_written(graph::Handle& handle) {
  return graph::content_of(handle) == Content::written;
}

bool source_is_written(const Partition& partition) {
  if (partition.holds != Holds::parts) return is_written(*partition.whole);
  return std::ranges::all_of(partition.parts,
                             [](graph::Handle* part) { return is_written(*part); });
}

}  // namespace

// --- made and taken back

Family& Partitions::family_of(graph::Handle& handle) {
  if (Family* const known = family_if_any(handle)) return *known;
  std::unique_ptr<Family>& family = families_[&handle];
  if (family == nullptr) family = std::make_unique<Family>();
  begin_family(handle, *family);
  return *family;
}

void Partitions::begin_family(graph::Handle& handle, Family& family) {
  handle.family.store(&family, std::memory_order_release);
  mark(handle);
}

Partitions::Owned& Partitions::add(graph::Handle& whole, Division division) {
  Family& family = family_of(whole);
  const auto at = partitions_.emplace(partitions_.end());
  ++family.known;
  at->at = at;
  at->whole = &whole;
  at->blocks = std::move(division.blocks);
  at->grid_rows = division.grid_rows;
  return *at;
}

// `home`: of the whole, where the parts lie inside it.
void Partitions::add_parts(Owned& owned, const graph::Home& home, const Layout& whole,
                           bool written) {
  const std::size_t count = owned.blocks.size();
  owned.families = std::make_unique<Family[]>(count);
  owned.parts.reserve(count);
  owned.lives.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Block& block = owned.blocks[i];
    Layout layout = graph::layout_of(block, whole);
    graph::Home at;
    if (owned.inside) {
      at = home;
      at.inside = true;
      if (home.address != nullptr) at.address += graph::offset_of(block, whole);
      at.offset += graph::offset_of(block, whole);
    } else {
      layout = layout.packed();
    }
    const Handle part = application_.handles.add(
        layout, at, written, graph::name_of_part(owned.whole->name, i, count, owned.grid_rows),
        {.by = Origin::Registrar::runtime, .part_of = owned.whole});
    owned.parts.push_back(part.impl());
    owned.lives.push_back(part.life());
    owned.families[i].of = &owned;
    begin_family(*part.impl(), owned.families[i]);
  }
}

Parts Partitions::names_of(const Partition& partition) const {
  std::vector<Handle> handles;
  handles.reserve(partition.parts.size());
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    handles.emplace_back(*partition.parts[i], application_.handles.number(), partition.lives[i]);
  }
  return {std::move(handles), static_cast<const Owned&>(partition).grid_rows};
}

Parts Partitions::partition(Handle registered, const Divide& divide, PartAccess access) {
  graph::Handle& whole = application_.handles.check(registered, "partition");
  Division division = divide(whole.layout);  // the application's
  graph::check_division(division, whole.layout, whole.name);
  if (application_.engine.inside_task() == nullptr) reclaim(Meanwhile::leaves_it);
  const Lock lock(mutex_);
  application_.handles.check(registered,
                             "partition");  // from now on nobody unregisters it meanwhile
  if (whole.reduction != nullptr) {
    throw UsageError("partition: tasks may reduce into handle " + whole.name +
                     ", which cannot be in parts then; divide another handle");
  }
  const bool writable = access == PartAccess::writable;
  Family& family = family_of(whole);
  for (const Partition* other : family.divided) {
    if (writable || other->writable) graph::check_apart(division, *other);
  }
  Owned& owned = add(whole, std::move(division));
  Partition& partition = owned;
  try {
    partition.writable = writable;
    partition.inside = whole.home.kind == graph::HomeKind::buffer;
    add_parts(owned, whole.home, whole.layout, false);
    Bytes largest;
    for (const graph::Handle* part : partition.parts) largest = std::max(largest, part->bytes());
    partition.split = copying("split", split_kernel, largest);
    partition.join = copying("join", join_kernel, largest);
    family.divided.push_back(&partition);
  } catch (...) {
    take_back(partition);
    throw;
  }
  return names_of(partition);
}

void Partitions::unpartition(const Parts& parts) {
  if (parts.size() == 0) throw UsageError("unpartition: no parts were given");
  const Lock lock(mutex_);
  const graph::Handle& first = application_.handles.check(parts[0], "unpartition");
  Family* const family = family_if_any(first);
  if (family == nullptr || family->of == nullptr) {
    throw UsageError("unpartition: handle " + first.name + " is no part of another");
  }
  if (family->of->held) {
    throw UsageError("unpartition: handle " + first.name +
                     " is a part that a recursive task has made, which takes it back itself");
  }
  Partition& partition = *family->of;
  for (graph::Handle* part : partition.parts) dissolve(*part);
  partition.leaves = true;
  close(partition, AccessMode::RW);
  take_back(partition);
}

namespace {

// Of those that have a handle's content, as the tasks submitted so far leave it.
struct Holders {
  bool any_written = false;
  const graph::Handle* unwritten = nullptr;
};

void look_at(graph::Handle& handle, Holders& holders) {
  bool in_parts = false;
  if (const Family* const family = family_if_any(handle)) {
    for (const Partition* partition : family->divided) {
      if (partition->holds != Holds::parts) continue;
      in_parts = true;
      for (graph::Handle* part : partition->parts) look_at(*part, holders);
    }
  }
  if (in_parts) return;
  if (is_written(handle)) {
    holders.any_written = true;
  } else {
    holders.unwritten = &handle;
  }
}

}  // namespace

void Partitions::require_all_or_nothing(graph::Handle& whole) {
  const Lock lock(mutex_);
  Holders holders;
  look_at(whole, holders);
  if (!holders.any_written || holders.unwritten == nullptr) return;
  throw UsageError("unregister: handle " + whole.name +
                   " cannot be written to its file: its part " + holders.unwritten->name +
                   " was never written, or invalidated; submit a task that writes it, or "
                   "unregister with WriteBack::no");
}

void Partitions::dissolve(graph::Handle& whole) {
  const Lock lock(mutex_);
  Family* const family = family_if_any(whole);
  if (family == nullptr) return;
  while (!family->divided.empty()) {
    Partition& partition = *family->divided.back();
    for (graph::Handle* part : partition.parts) dissolve(*part);
    partition.leaves = true;
    close(partition, AccessMode::RW);
    take_back(partition);
  }
}

// The whole has the content, by the tasks submitted so far. Tasks that name a part are refused from now on.
void Partitions::take_back(Partition& partition) {
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    graph::refuse_tasks(*partition.parts[i], partition.lives[i]);
  }
  std::erase(family_of(*partition.whole).divided, &partition);
  leaving_.splice(leaving_.end(), partitions_, static_cast<Owned&>(partition).at);
}

void Partitions::leave(Partition& held) {
  const Lock lock(mutex_);
  take_back(held);
}

bool Partitions::is_whole(const graph::Handle& handle) {
  const Lock lock(mutex_);
  const Family* const family = family_if_any(handle);
  return family == nullptr || family->known == 0;
}

// A part of it may be in use when it is not: that leads to the whole over it.
bool Partitions::may_forget(graph::Handle& part) {
  return is_whole(part) && graph::idle(part) && application_.engine.data().remove(part);
}

// True: all of its parts are forgotten.
bool Partitions::forget(Owned& owned) {
  for (; owned.removed < owned.parts.size(); ++owned.removed) {
    graph::Handle& part = *owned.parts[owned.removed];
    if (!may_forget(part)) return false;
    {
      const Lock lock(mutex_);
      part.has_family.store(false, std::memory_order_relaxed);
      part.family.store(nullptr, std::memory_order_relaxed);
    }
    application_.handles.forget(part);
  }
  const Lock lock(mutex_);
  --family_of(*owned.whole).known;
  return true;
}

// What is deferred is in no queue yet. Without the lock: who forgets a handle waits until what threads do for memory is
// done, and they may want the lock for that.
bool Partitions::forget_some() {
  struct Tried {
    Partitions& self;
    List list = {};
    ~Tried() {
      const Lock lock(self.mutex_);
      self.leaving_.splice(self.leaving_.begin(), list);
    }
  } tried{*this};
  {
    const Lock lock(mutex_);
    if (leaving_.empty() || application_.submissions.any_deferred()) return false;
    tried.list.swap(leaving_);
  }
  return std::erase_if(tried.list, [&](Owned& owned) { return forget(owned); }) > 0;
}

// With the parts of a part that part may go.
void Partitions::reclaim(Meanwhile another_does) {
  bool any = false;
  {
    std::unique_lock alone(reclaims_, std::defer_lock);
    if (another_does == Meanwhile::waits) {
      alone.lock();
    } else if (!alone.try_lock()) {
      return;
    }
    while (forget_some()) any = true;
  }
  if (any) application_.engine.notify_waiters();  // who unregisters the whole may be another thread
}

// --- content passes on

Partitions::Lock Partitions::settle(std::span<const graph::Access> accesses) {
  Lock lock(mutex_);
  require_apart(accesses);
  for (const graph::Access& access : accesses) {
    if (access.handle->reduction != nullptr) application_.reductions.settle(access);
    Family* const family = family_if_any(*access.handle);
    if (family == nullptr) continue;
    open(family->of, access.mode, *access.handle);
    close_all(*access.handle, access.mode);
  }
  return lock;
}

Partitions::Lock Partitions::settle(graph::Handle& handle, AccessMode mode) {
  const graph::Access access(handle, mode);
  return settle({&access, 1});
}

namespace {
bool parts_are_readable(const graph::Handle& whole) {
  const Family* const family = family_if_any(whole);
  if (family == nullptr) return true;
  return std::ranges::all_of(family->divided, [](const Partition* partition) {
    return partition->holds != Holds::parts ||
           std::ranges::all_of(partition->parts, [](const graph::Handle* part) {
             return graph::is_readable(*part) && parts_are_readable(*part);
           });
  });
}
}  // namespace

bool Partitions::is_readable(const graph::Handle& handle) {
  const Lock lock(mutex_);
  if (!parts_are_readable(handle)) return false;
  const Family* family = family_if_any(handle);
  while (family != nullptr && family->of != nullptr && !family->of->held &&
         family->of->holds == Holds::whole) {
    if (!graph::is_readable(*family->of->whole)) return false;
    family = family_if_any(*family->of->whole);
  }
  return true;
}

void Partitions::require_apart(std::span<const graph::Access> accesses) const {
  for (const graph::Access& access : accesses) {
    const Family* family = family_if_any(*access.handle);
    for (; family != nullptr && family->of != nullptr; family = family_if_any(*family->of->whole)) {
      const auto whole = std::ranges::find(accesses, family->of->whole, &graph::Access::handle);
      if (whole == accesses.end() || (!writes(whole->mode) && !writes(access.mode))) continue;
      throw UsageError("a task uses handle " + whole->handle->name + " and its part " +
                       access.handle->name + " at once, and writes; name one of them");
    }
  }
}

// A part of it is to be accessed.
void Partitions::open(Partition* partition, AccessMode mode, const graph::Handle& part) {
  if (partition == nullptr) return;
  if (writes(mode) && !partition->writable) {
    throw UsageError("handle " + part.name +
                     " would be written, but it is a part that may only be read; partition the "
                     "whole with PartAccess::writable" +
                     (partition->held ? ", which needs that the recursive task writes it" : ""));
  }
  if (partition->held) return;
  // All above it must be the content's place, too. What the part is overwritten with leaves the rest as it is.
  const AccessMode above = writes(mode) ? AccessMode::RW : AccessMode::R;
  if (const Family* family = family_if_any(*partition->whole)) {
    open(family->of, above, *partition->whole);
  }
  if (partition->holds == Holds::whole) {
    move(*partition, writes(mode) ? Holds::parts : Holds::both, true);
  } else if (partition->holds == Holds::both && writes(mode)) {
    move(*partition, Holds::parts, true);
  }
}

void Partitions::close_all(graph::Handle& whole, AccessMode mode) {
  const Family* const family = family_if_any(whole);
  if (family == nullptr) return;
  for (Partition* partition : family->divided) close(*partition, mode);
}

// The whole is to be accessed.
void Partitions::close(Partition& partition, AccessMode mode) {
  if (partition.holds == Holds::whole) return;
  if (partition.holds == Holds::both && !writes(mode)) return;
  for (graph::Handle* part : partition.parts) close_all(*part, mode);
  if (reads(mode) && partition.holds == Holds::parts && !partition.leaves) {
    for (graph::Handle* part : partition.parts) {
      if (is_written(*part)) continue;
      throw UsageError("handle " + partition.whole->name + " is read, whose part " + part->name +
                       " was never written, or invalidated; submit a task that writes it first");
    }
  }
  move(partition, writes(mode) ? Holds::whole : Holds::both, reads(mode));
}

void Partitions::move(Partition& partition, Holds to, bool keeps) {
  if (partition.inside) {
    pass_inside(partition, to, keeps);
  } else if (partition.holds == Holds::whole) {
    split(partition, to);
  } else {
    join(partition, to, keeps);
  }
  partition.holds = to;
}

// One task, which uses the whole and all its parts. Whoever loses the content is written, too, so that no other
// replica of it is left that could be brought to the same bytes later. `keeps`: the content is wanted. Of bytes that are
// in no part the whole has kept what a task left there, which may have failed: to get the others back writes it in part.
void Partitions::pass_inside(Partition& partition, Holds to, bool keeps) {
  const Holds from = partition.holds;
  base::SureVector<graph::Access> accesses;
  const auto use = [&](graph::Handle& handle, Holds own) {
    const bool had = from == own || from == Holds::both;
    const bool has = to == own || to == Holds::both;
    AccessMode mode = AccessMode::W;
    if (had && keeps && is_written(handle)) mode = has ? AccessMode::R : AccessMode::RW;
    accesses.emplace_back(handle, mode);
  };
  const bool written = keeps && source_is_written(partition);
  const Content before = graph::content_of(*partition.whole);
  use(*partition.whole, Holds::whole);
  const bool in_part = from == Holds::parts && keeps && is_written(*partition.whole) &&
                       !is_all_in_parts(*partition.whole);
  if (in_part) accesses.front().mode = AccessMode::RW;
  for (graph::Handle* part : partition.parts) use(*part, Holds::parts);
  application_.submissions.submit_repartition(accesses);
  if (written) return;
  // What was not written before is not now.
  const Content left = keeps && from != Holds::parts ? before : Content::invalidated;
  graph::leave(*partition.whole, left);
  for (graph::Handle* part : partition.parts) graph::leave(*part, left);
}

void Partitions::split(Partition& partition, Holds to) {
  graph::Handle& whole = *partition.whole;
  if (!is_written(whole)) return;
  const Handle from(whole, application_.handles.number(), whole.life());
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    const Handle part(*partition.parts[i], application_.handles.number(), partition.lives[i]);
    const Block& block = partition.blocks[i];
    const BlockPlace place{block.row * whole.layout.element_bytes, block.column};
    application_.submissions.submit_settled(
        {.codelet = &partition.split, .operands = {R(from), W(part)}, .parameters = place}, whole);
  }
  if (to == Holds::parts && covers(partition)) application_.invalidations.submit_settled(from);
}

void Partitions::join(Partition& partition, Holds to, bool keeps) {
  graph::Handle& whole = *partition.whole;
  const Handle into(whole, application_.handles.number(), whole.life());
  if (to == Holds::parts) {  // the whole goes
    if (covers(partition) && is_written(whole)) application_.invalidations.submit_settled(into);
    return;
  }
  const bool all_written = source_is_written(partition);
  bool fresh = covers(partition);
  for (std::size_t i = 0; keeps && partition.holds == Holds::parts && i < partition.parts.size();
       ++i) {
    if (!is_written(*partition.parts[i])) continue;
    const Handle part(*partition.parts[i], application_.handles.number(), partition.lives[i]);
    const Block& block = partition.blocks[i];
    const BlockPlace place{block.row * whole.layout.element_bytes, block.column};
    const AccessMode mode = fresh || !is_written(whole) ? AccessMode::W : AccessMode::RW;
    application_.submissions.submit_settled({.codelet = &partition.join,
                                             .operands = {Operand{into, mode}, R(part)},
                                             .parameters = place},
                                            whole);
    fresh = false;
  }
  if (keeps && !all_written && partition.holds == Holds::parts) {
    graph::leave(whole, Content::none);
  }
  if (to != Holds::whole) return;
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    if (!is_written(*partition.parts[i])) continue;
    application_.invalidations.submit_settled(
        Handle(*partition.parts[i], application_.handles.number(), partition.lives[i]));
  }
}

// --- of a recursive task

Partition& Partitions::divide_held(const Held& held, const Divide& divide) {
  graph::Handle& whole = held.whole;
  Division division = divide(whole.layout);
  graph::check_division(division, whole.layout, whole.name);
  const OperandView view = memory::view(whole, kRam);
  const Lock lock(mutex_);
  Owned& owned = add(whole, std::move(division));
  Partition& partition = owned;
  partition.inside = true;
  partition.held = true;
  partition.writable = writes(held.mode);
  partition.holds = Holds::parts;
  graph::Home home;
  home.kind = graph::HomeKind::buffer;
  home.address = view.address;
  home.ram_only = held.ram_only;
  try {
    add_parts(owned, home, view.layout, reads(held.mode));
  } catch (...) {
    take_back(partition);
    throw;
  }
  return partition;
}

}  // namespace vicinal::engine
