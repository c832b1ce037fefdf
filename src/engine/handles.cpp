#include "engine/handles.hpp"

#include <utility>

#include "base/legible.hpp"
#include "engine/arguments.hpp"
#include "engine/lifecycle.hpp"
#include "engine/program_numbers.hpp"
#include "engine/sole_copies.hpp"
#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

namespace {
// What is simulated lies where nothing else can.
bool may_overlap(const graph::Home& home) {
  return !home.inside && home.offset == 0;
}
}  // namespace

Handle Handles::add(const Layout& layout, graph::Home home, bool written, std::string name,
                    const Origin& origin) {
  require_size(layout, name);
  name = base::legible_name(name);  // may find no memory: before anything is registered
  graph::Handle* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (name.empty()) name = "data" + std::to_string(next_);
    if (free_.empty()) free_.push_back(&handles_.add());
    if (home.kind == graph::HomeKind::buffer && may_overlap(home)) {
      buffers_.add(home.address, layout, name);
    }
    if (home.kind == graph::HomeKind::device && may_overlap(home)) {
      device_buffers_[home.node].add(home.address, layout, name);
    }
    // The offset serves as the address: see RegionIndex.
    if (home.file >= 0) {
      files_[home.file].add(reinterpret_cast<const void*>(home.offset), layout, name);
    }
    handle = free_.back();
    free_.pop_back();
    handle->id = HandleId{next_++};
  }
  // A stale handle may still lead here: its life is over, so nothing but the lock bit and the name is used.
  handle->poisoned.store(false, std::memory_order_relaxed);
  handle->content = written ? graph::Content::written : graph::Content::none;
  handle->layout = layout;
  handle->home = home;
  handle->lacks.reset();
  handle->policy_data = nullptr;
  handle->has_family.store(false, std::memory_order_relaxed);
  handle->family.store(nullptr, std::memory_order_relaxed);
  handle->reduction = nullptr;
  handle->is_private = false;
  handle->prefer({});
  try {
    engine_.data().add(*handle);
  } catch (...) {
    forget(*handle);
    throw;
  }
  if (engine_.recorder().on(trace::Category::submission)) {
    record(*handle, name, origin.part_of != nullptr ? origin.part_of->id : HandleId{});
  }
  const bool is_numbered =
      origin.by == Origin::Registrar::application && engine_.inside_task() == nullptr;
  handle->number = origin.data;
  if (is_numbered && origin.data.value == 0) handle->number = numbers_.next_data();
  const std::uint32_t life = handle->life() + 1;
  graph::begin_life(*handle, life, std::move(name));
  return {*handle, number_, life};
}

// Its life has an end, also where the runtime alone has named it and nothing was to be refused: the next life is odd only
// behind an even one, and who looks for what is registered must not find a free slot.
void Handles::forget(graph::Handle& handle) {
  if (handle.takes_tasks()) graph::refuse_tasks(handle, handle.life());
  if (engine_.recorder().on(trace::Category::submission)) {
    engine_.recorder().record<trace::Event::handle_unregistered>(0, handle.id.value);
  }
  sole_copies_.give_back(handle);
  const std::lock_guard lock(mutex_);
  if (handle.home.kind == graph::HomeKind::buffer && may_overlap(handle.home)) {
    buffers_.remove(handle.home.address, handle.layout);
  }
  if (handle.home.kind == graph::HomeKind::device && may_overlap(handle.home)) {
    device_buffers_[handle.home.node].remove(handle.home.address, handle.layout);
  }
  if (handle.home.file >= 0) {
    files_[handle.home.file].remove(reinterpret_cast<const void*>(handle.home.offset),
                                    handle.layout);
  }
  // Lives are numbered by 32 bits. A slot that has had them all is left alone, or the first would come again.
  constexpr std::uint32_t kLastLife = 0xfffffffeU;
  if (handle.life() < kLastLife) free_.push_back(&handle);
}

// Its slot has the name until another takes it.
void Handles::throw_unknown(Handle handle, const char* what) const {
  if (handle.runtime() == number_) {
    graph::Handle& slot = *handle.impl();
    const std::string name = graph::name_of(slot);
    if (slot.life() == handle.life() + 1) {
      throw UsageError(std::string(what) + ": handle " + name +
                       " is being unregistered, or no longer registered; use it before unregister");
    }
  }
  throw UsageError(std::string(what) +
                   ": the handle is not registered with this runtime (or no longer); register the "
                   "data first");
}

bool Handles::confines(const graph::Handle& handle) const {
  const memory::Residency& residency = engine_.residency();
  return handle.home.ram_only ||
         (residency.limit(kRam).has_value() && residency.footprint(handle, kRam).value > 0);
}

std::uint64_t Handles::take_simulated_place(Bytes size, std::string_view name) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;
  const std::lock_guard lock(mutex_);
  if (next_place_ > kEnd - size.value) {
    throw UsageError("register_simulated: " + named(name) +
                     " and what was registered before it are more than 2^63 bytes; use less data");
  }
  const std::uint64_t place = next_place_;
  next_place_ += memory::Arena::padded(size).value;
  return place;
}

std::optional<NodeId> Handles::home_node(const graph::Handle& handle) const {
  switch (handle.home.kind) {
    case graph::HomeKind::none:
      break;
    case graph::HomeKind::buffer:
      return kRam;
    case graph::HomeKind::file:
      return engine_.machine().disk();
    case graph::HomeKind::device:
      return NodeId{handle.home.node};
  }
  return std::nullopt;
}

void Handles::record(const graph::Handle& handle, std::string_view name, HandleId part_of) const {
  constexpr std::uint32_t kNoHome = 0xffffffffU;
  const std::uint32_t home = home_node(handle).value_or(NodeId{kNoHome}).value;
  engine_.recorder().record_text<trace::Event::handle_registered>(
      name, home, handle.id.value, handle.bytes().value, part_of.value);
}

}  // namespace vicinal::engine
