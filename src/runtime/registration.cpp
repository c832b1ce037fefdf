// Data come and go.
#include <cstdint>
#include <limits>
#include <utility>

#include "base/legible.hpp"
#include "base/sure_memory.hpp"
#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/sizes.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// The one number that runtimes of a process have in common: a handle of one that is gone must not be taken
// for that of another.
std::uint32_t next_runtime_number() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Handle RuntimeImpl::add(const Layout& layout, graph::Home home, bool written, std::string name,
                        const graph::Handle* part_of) {
  require_size(layout, name);
  name = base::legible_name(name);  // may find no memory: before anything is registered
  graph::Handle* handle = nullptr;
  {
    const std::lock_guard lock(handles_mutex_);
    if (name.empty()) name = "data" + std::to_string(next_handle_);
    if (free_handles_.empty()) free_handles_.push_back(&handles_.emplace_back());
    if (home.kind == graph::HomeKind::buffer && !home.inside) {
      buffers_.add(home.address, layout, name);
    }
    // The offset serves as the address: see RegionIndex.
    if (home.file >= 0) {
      files_[home.file].add(reinterpret_cast<const void*>(home.offset), layout, name);
    }
    handle = free_handles_.back();
    free_handles_.pop_back();
    handle->id = HandleId{next_handle_++};
  }
  // A stale handle may still lead here: its life is over, so nothing but the lock bit and the name is used.
  handle->poisoned.store(false, std::memory_order_relaxed);
  handle->content = written ? graph::Content::written : graph::Content::none;
  handle->layout = layout;
  handle->home = home;
  handle->lacks.clear();
  handle->policy_data = nullptr;
  handle->has_family.store(false, std::memory_order_relaxed);
  handle->family.store(nullptr, std::memory_order_relaxed);
  handle->reduction = nullptr;
  handle->is_private = false;
  handle->prefer({});
  try {
    engine_->add(*handle);
  } catch (...) {
    forget(*handle);
    throw;
  }
  if (engine_->recorder().on(trace::Category::submission)) {
    record_registered(*handle, name, part_of != nullptr ? part_of->id : HandleId{});
  }
  const std::uint32_t life = handle->life() + 1;
  graph::begin_life(*handle, life, std::move(name));
  return {*handle, number_, life};
}

namespace {

void require_region(const FileRegion& region, const Layout& layout, const std::string& name) {
  if (!layout.contiguous()) {
    throw UsageError("file " + region.path +
                     ": a region of a file is contiguous; register tiles with "
                     "a leading dimension equal to their rows");
  }
  require_size(layout, name);
  constexpr std::uint64_t kLargestFile = std::numeric_limits<std::int64_t>::max();
  if (region.offset > kLargestFile - layout.bytes().value) {
    throw UsageError("file " + region.path + ": " + std::to_string(layout.bytes().value) +
                     " bytes from byte " + std::to_string(region.offset) + " on, of " + name +
                     ", go beyond what a file can have; correct the offset");
  }
  if (region.create && !region.writable) {
    throw UsageError("file " + region.path +
                     ": create makes or lengthens the file, and writable = false forbids that; "
                     "leave one of them out");
  }
}

}  // namespace

// No file is opened: it is taken to be there, with all that is registered.
Handle RuntimeImpl::add_simulated_file(const FileRegion& region, const Layout& layout,
                                       std::string name) {
  const std::optional<NodeId> disk = setup_.machine.disk();
  if (!disk) {
    throw UsageError("file " + region.path +
                     ": the simulated machine has no disk; give it one, or use register_empty or "
                     "register_buffer");
  }
  if (name.empty()) name = region.path + "+" + std::to_string(region.offset);
  require_region(region, layout, name);
  return add_simulated(layout, *disk, region.writable, std::move(name));
}

// What the file does not hold must be written before it is read: a misspelt path is not taken for zeros.
Handle RuntimeImpl::add_file(const FileRegion& region, const Layout& layout, std::string name) {
  if (setup_.simulated) return add_simulated_file(region, layout, std::move(name));
  if (!setup_.disk) {
    throw UsageError("file " + region.path +
                     ": data in files need the disk node; give a folder with the option disk");
  }
  if (name.empty()) name = region.path + "+" + std::to_string(region.offset);
  require_region(region, layout, name);
  const int file = setup_.disk->open_file(region.path, region.writable, region.create);
  const std::uint64_t end = region.offset + layout.bytes().value;
  graph::Home home;
  home.kind = graph::HomeKind::file;
  home.file = file;
  home.offset = region.offset;
  home.writable = region.writable;
  try {
    if (region.create) setup_.disk->extend_file(file, Bytes{end});
    std::string lacks = what_file_lacks(file, end, region.path);
    if (!lacks.empty() && !region.writable) {
      throw UsageError("file " + region.path + " ends before byte " + std::to_string(end) + " of " +
                       name + "; register less, or make it writable to extend it");
    }
    const Handle handle = add(layout, home, lacks.empty(), std::move(name));
    handle.impl()->lacks = std::move(lacks);
    return handle;
  } catch (...) {
    setup_.disk->close_file(file);
    throw;
  }
}

// Empty if it has all bytes before `end`.
std::string RuntimeImpl::what_file_lacks(int file, std::uint64_t end,
                                         const std::string& path) const {
  const bool exists = setup_.disk->file_exists(file);
  const Bytes size = setup_.disk->file_size(file);
  if (exists && size.value >= end) return {};
  return (exists ? "file " + path + " had " + std::to_string(size.value) +
                       " bytes when it was registered, and its region ends at byte " +
                       std::to_string(end)
                 : "there was no file " + path + " when it was registered") +
         "; correct path, offset and size, submit a task that writes it first, or register it with "
         "create = true";
}

// Places that nothing else has: no address is dereferenced and no file read.
Handle RuntimeImpl::add_simulated(const Layout& layout, NodeId node, bool writable,
                                  std::string name) {
  if (!setup_.simulated) {
    throw UsageError(
        "register_simulated: " + named(name) +
        " would have no place on a machine that is not simulated; use register_buffer");
  }
  const bool on_disk = node == setup_.machine.disk();
  if (node != kRam && !on_disk) {
    throw UsageError("register_simulated: " + named(name) + " on memory node " +
                     std::to_string(node.value) + "; its home is RAM (node 0) or the disk");
  }
  require_size(layout, name);
  const Bytes size = layout.bytes();
  graph::Home home;
  home.writable = writable;
  home.kind = on_disk ? graph::HomeKind::file : graph::HomeKind::buffer;
  {
    const std::lock_guard lock(handles_mutex_);
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;
    if (simulated_address_ > kEnd - size.value) {
      throw UsageError(
          "register_simulated: " + named(name) +
          " and what was registered before it are more than 2^63 bytes; use less data");
    }
    home.offset = simulated_address_;
    simulated_address_ += memory::Arena::padded(size).value;
  }
  if (!on_disk) home.address = reinterpret_cast<std::byte*>(home.offset);
  return add(layout, home, true, std::move(name));
}

// Its slot has the name until another takes it.
void RuntimeImpl::throw_unknown_handle(Handle handle, const char* what) const {
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

NodeId RuntimeImpl::check_node(NodeId node, const char* what) const {
  const std::size_t nodes = setup_.machine.nodes.size();
  if (node.value < nodes) return node;
  throw UsageError(std::string(what) + ": there is no memory node " + std::to_string(node.value) +
                   "; the machine has " + std::to_string(nodes) + ", from 0 on");
}

void RuntimeImpl::invalidate(Handle handle) {
  graph::Handle& data = check(handle, "invalidate");
  Partitions::Lock settled;
  if (data.has_family.load(std::memory_order_acquire)) {
    settled = partitions_.settle(data, AccessMode::W);
  }
  invalidate_settled(handle);
}

void RuntimeImpl::invalidate_settled(Handle handle) {
  graph::Handle& data = *handle.impl();
  graph::Task& task = task_for(handle, AccessMode::W, {graph::TaskKind::invalidation, "invalidate"},
                               [this, &data] { engine_->invalidate(data); });
  if (!held_back_) return engine_->submit_invalidation(task);
  held_back_->add(task, {}, kNoWorker, Held::no, graph::Content::invalidated);
}

void RuntimeImpl::set_reduction(Handle handle, const Reduction& reduction) {
  try {
    reductions_.declare(handle, reduction);
  } catch (const CapacityError&) {
    if (engine_->inside_task() != nullptr || !reductions_.any()) throw;
    const Reductions::Sparing sparing(reductions_);
    wait_for_copies("set_reduction");
    reductions_.declare(handle, reduction);
  }
}

void RuntimeImpl::combine(Handle handle) {
  graph::Handle& data = check(handle, "combine");
  // The mark of parts and of reductions.
  if (!data.has_family.load(std::memory_order_acquire) || data.reduction == nullptr) return;
  static_cast<void>(partitions_.settle(data, AccessMode::R));
}

Parts RuntimeImpl::partition(Handle whole, const Divide& divide, PartAccess access) {
  if (!divide) throw UsageError("partition: no division was given");
  return partitions_.partition(whole, divide, access);
}

void RuntimeImpl::unpartition(const Parts& parts) {
  partitions_.unpartition(parts);
}

// Tasks are refused from before the wait on, because the wait leaves later tasks out. Where there was no memory for
// some step the handle stays registered, with its content.
void RuntimeImpl::unregister(Handle registered, WriteBack write_back, const char* call) {
  not_inside_task(call);
  graph::Handle& handle = check(registered, call);
  const std::uint32_t life = registered.life();
  if (handle.home.inside || is_part(handle)) {
    throw UsageError(std::string(call) + ": handle " + handle.name +
                     " is a part of another; take the partition back (unpartition)");
  }
  // Nobody divides it behind its last division, or reduces into it behind the last combination.
  Partitions::Lock settled = partitions_.lock();
  if (handle.has_family.load(std::memory_order_acquire)) {
    if (write_back == WriteBack::yes && handle.home.kind == graph::HomeKind::file) {
      partitions_.require_all_or_nothing(handle);
    }
    partitions_.dissolve(handle);
    static_cast<void>(partitions_.settle(handle, AccessMode::RW));
  }
  {
    // A task that is held back has been announced, and goes before the unregistration.
    std::unique_lock<std::mutex> lock;
    if (held_back_) lock = std::unique_lock(held_back_->announcements());
    if (!graph::refuse_tasks(handle, life)) throw_unknown_handle(registered, call);
  }
  settled.unlock();
  const graph::Content content = graph::content_of(handle);
  // To write it back its content must not be taken for dead: RW. Otherwise it is: W.
  const bool keep = write_back == WriteBack::yes && handle.home.kind != graph::HomeKind::none &&
                    handle.home.writable && content == graph::Content::written;
  std::unique_ptr<Acquisition> access;
  try {
    access = order(handle, life + 1, keep ? AccessMode::RW : AccessMode::W, call);
  } catch (...) {
    graph::accept_tasks(handle, content);
    throw;
  }
  std::exception_ptr error;  // thrown when the handle is forgotten
  try {
    try {
      if (keep) error = write_home(handle, access->request);
    } catch (...) {
      end(*access, false);
      throw;
    }
    end(*access, false);
    const auto is_whole = [&] {
      if (!partitions_.is_whole(handle)) partitions_.reclaim(Partitions::Meanwhile::waits);
      return partitions_.is_whole(handle);
    };
    if (handle.has_family.load(std::memory_order_acquire)) wait_until(is_whole, call);
    wait_until([&] { return engine_->remove(handle); }, call);
  } catch (...) {
    graph::accept_tasks(handle, content);
    throw;
  }
  if (handle.reduction != nullptr) {
    wait_until([&] { return reductions_.forget_copies(handle); }, call);
  }
  const graph::Home home = handle.home;
  forget(handle);
  if (home.file >= 0) setup_.disk->close_file(home.file);
  if (error) throw_failure(error);
}

// Whoever calls has access to the handle. Returns why its content is lost, if it is.
std::exception_ptr RuntimeImpl::write_home(graph::Handle& handle, memory::Request& request) {
  if (handle.poisoned.load(std::memory_order_relaxed)) {
    return engine_->errors().tell_lost(
        handle,
        "handle " + handle.name + " was not written back: its writer failed or was cancelled");
  }
  try {
    flush_home(handle, request);
  } catch (const DeviceError&) {
    return std::current_exception();
  }
  return nullptr;
}

void RuntimeImpl::flush_home(graph::Handle& handle, memory::Request& request) {
  const NodeId home = handle.home.kind == graph::HomeKind::buffer ? kRam : *setup_.machine.disk();
  if (engine_->residency().valid_on(handle, home)) return;
  graph::Access operand;
  operand.handle = &handle;
  operand.mode = AccessMode::R;
  request.kind = memory::RequestKind::flush;
  request.node = home;
  request.operands = {&operand, 1};
  engine_->request(request);
  const auto ended = [&] {
    const auto state = request.state.load(std::memory_order_acquire);
    return state == memory::RequestState::ready || state == memory::RequestState::failed;
  };
  try {
    wait_until(ended, "write back");
  } catch (...) {
    engine_->withdraw(request);
    throw;
  }
  if (request.state.load() == memory::RequestState::failed) std::rethrow_exception(request.error);
  engine_->release(request);
}

void RuntimeImpl::forget(graph::Handle& handle) {
  if (engine_->recorder().on(trace::Category::submission)) {
    engine_->recorder().record<trace::Event::handle_unregistered>(0, handle.id.value);
  }
  const std::lock_guard lock(handles_mutex_);
  if (handle.home.kind == graph::HomeKind::buffer && !handle.home.inside) {
    buffers_.remove(handle.home.address, handle.layout);
  }
  if (handle.home.file >= 0) {
    files_[handle.home.file].remove(reinterpret_cast<const void*>(handle.home.offset),
                                    handle.layout);
  }
  if (handle.counts_unhomed) unhomed_ -= memory::Arena::padded(handle.bytes());
  handle.counts_unhomed = false;
  // Lives are numbered by 32 bits. A slot that has had them all is left alone, or the first would come again.
  constexpr std::uint32_t kLastLife = 0xfffffffeU;
  if (handle.life() < kLastLife) free_handles_.push_back(&handle);
}

// The invalidation gives its room back when the tasks before it have ended, also while its slot is kept.
void RuntimeImpl::release_later(Handle registered) {
  graph::Handle& handle = check(registered, "release_later");
  const bool is_divided = handle.has_family.load(std::memory_order_acquire);
  if (handle.home.inside || is_part(handle) || is_divided) {
    throw UsageError("release_later: handle " + handle.name +
                     " is a part or in parts, or tasks reduce into it; use release, or of parts "
                     "unpartition");
  }
  if (handle.home.kind != graph::HomeKind::none) {
    throw UsageError("release_later: handle " + handle.name +
                     " lies in memory or a file of the application, which is up to date only when "
                     "somebody has waited for it; use release");
  }
  invalidate(registered);
  departures_.add(registered);
  departures_.sweep_if_many();
}

void RuntimeImpl::let_go(Handle handle) noexcept {
  if (forked() || is_left() || !handle || handle.runtime() != number_) return;
  try {
    departures_.add(handle);
    departures_.sweep_if_many();
  } catch (const std::exception&) {  // it goes later, at the latest with the runtime
  }
}

void RuntimeImpl::pin(std::byte* data, Bytes bytes) {
  if (data == nullptr || bytes.value == 0) throw UsageError("pin: no memory was given");
  if (!pinned_.add(data, bytes)) {
    throw UsageError("pin: the memory overlaps what is pinned already; unpin that first");
  }
  try {
    for (const auto& driver : setup_.accelerators) driver->pin(data, bytes);
  } catch (...) {
    unpin(data);
    throw;
  }
}

void RuntimeImpl::unpin(std::byte* data) {
  if (!pinned_.remove(data)) {
    throw UsageError("unpin: no memory that was pinned begins there; give what pin was given");
  }
  for (const auto& driver : setup_.accelerators) driver->unpin(data);
}

}  // namespace vicinal::runtime
