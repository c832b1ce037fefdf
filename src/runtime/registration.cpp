// Data come and go.
#include <utility>

#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

Handle RuntimeImpl::add(const Layout& layout, graph::Home home, bool written, std::string name) {
  graph::Handle* handle = nullptr;
  {
    const std::lock_guard lock(handles_mutex_);
    if (name.empty()) name = "data" + std::to_string(next_handle_);
    if (home.kind == graph::HomeKind::buffer) buffers_.add(home.address, layout, name);
    if (free_handles_.empty()) free_handles_.push_back(&handles_.emplace_back());
    handle = free_handles_.back();
    free_handles_.pop_back();
    handle->id = HandleId{next_handle_++};
  }
  handle->word.store(0, std::memory_order_relaxed);
  handle->head = handle->tail = handle->last_writer = nullptr;
  handle->waiting_readers = 0;
  handle->written = written;
  handle->poisoned.store(false, std::memory_order_relaxed);
  handle->unregistering = false;
  handle->layout = layout;
  handle->home = home;
  handle->policy_data = nullptr;
  handle->name = std::move(name);
  engine_->add(*handle);
  const std::lock_guard lock(handles_mutex_);  // a report may look from any thread
  handle->owner = this;
  return Handle(handle);
}

Handle RuntimeImpl::add_file(const FileRegion& region, const Layout& layout, std::string name) {
  if (setup_.simulated) {
    throw UsageError("file " + region.path +
                     ": a simulated machine reads no files; use register_empty or register_buffer");
  }
  if (!setup_.disk) {
    throw UsageError("file " + region.path +
                     ": data in files need the disk node; give a folder with the option disk");
  }
  if (!layout.contiguous()) {
    throw UsageError("file " + region.path +
                     ": a region of a file is contiguous; register tiles with "
                     "a leading dimension equal to their rows");
  }
  if (name.empty()) name = region.path + "+" + std::to_string(region.offset);
  const int file = setup_.disk->open_file(region.path, region.writable);
  const std::uint64_t end = region.offset + layout.bytes().value;
  const bool whole = end <= setup_.disk->file_size(file).value;
  if (!whole && !region.writable) {
    setup_.disk->close_file(file);
    throw UsageError("file " + region.path + " ends before byte " + std::to_string(end) + " of " +
                     name + "; register less, or make it writable to extend it");
  }
  if (!whole) setup_.disk->extend_file(file, Bytes{end});
  try {
    const std::lock_guard lock(handles_mutex_);
    // The offset serves as the address: see RegionIndex.
    files_[file].add(reinterpret_cast<const void*>(region.offset), layout, name);
  } catch (...) {
    setup_.disk->close_file(file);
    throw;
  }
  graph::Home home;
  home.kind = graph::HomeKind::file;
  home.file = file;
  home.offset = region.offset;
  home.writable = region.writable;
  return add(layout, home, true, std::move(name));
}

// Places that nothing else has: no address is dereferenced and no file read.
Handle RuntimeImpl::add_simulated(Bytes size, NodeId node, std::string name) {
  if (!setup_.simulated) {
    throw UsageError(
        "register_simulated: data " + name +
        " would have no place on a machine that is not simulated; use register_buffer");
  }
  const bool on_disk = node == setup_.machine.disk();
  if (node != kRam && !on_disk) {
    throw UsageError("register_simulated: data " + name + " on memory node " +
                     std::to_string(node.value) + "; its home is RAM (node 0) or the disk");
  }
  graph::Home home;
  home.kind = on_disk ? graph::HomeKind::file : graph::HomeKind::buffer;
  {
    const std::lock_guard lock(handles_mutex_);
    home.offset = simulated_address_;
    simulated_address_ += memory::Arena::padded(size).value;
  }
  if (!on_disk) home.address = reinterpret_cast<std::byte*>(home.offset);
  return add({size.value, 1, size.value, 1}, home, true, std::move(name));
}

void RuntimeImpl::throw_unknown_handle(const char* what) {
  throw UsageError(std::string(what) +
                   ": the handle is not registered with this runtime (or no longer); register the "
                   "data first");
}

void RuntimeImpl::unregister(graph::Handle& handle, WriteBack write_back) {
  not_inside_task("unregister");
  // To write it back its content must not be taken for dead: RW. Otherwise it is: W.
  const bool keep = write_back == WriteBack::yes && handle.home.kind != graph::HomeKind::none &&
                    handle.home.writable && graph::has_content(handle);
  const auto access = order(handle, keep ? AccessMode::RW : AccessMode::W);
  graph::refuse_tasks(handle);
  const bool poisoned = keep && handle.poisoned.load(std::memory_order_relaxed);
  std::exception_ptr error;
  if (keep && !poisoned) {
    try {
      flush_home(handle, access->request);
    } catch (...) {
      error = std::current_exception();
    }
  }
  end(*access, false);
  const std::string name = handle.name;
  wait_until([&] { return engine_->remove(handle); }, "unregister");
  forget(handle);
  if (error) std::rethrow_exception(error);
  if (poisoned) {
    throw PoisonedError("handle " + name +
                        " was not written back: its writer failed or was cancelled");
  }
}

// Whoever calls has access to the handle.
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
  const std::lock_guard lock(handles_mutex_);
  if (handle.home.kind == graph::HomeKind::buffer)
    buffers_.remove(handle.home.address, handle.layout);
  if (handle.home.kind == graph::HomeKind::file && !setup_.simulated) {
    files_[handle.home.file].remove(reinterpret_cast<const void*>(handle.home.offset),
                                    handle.layout);
    setup_.disk->close_file(handle.home.file);
  }
  if (handle.counts_unhomed) unhomed_ -= memory::Arena::padded(handle.bytes());
  handle.counts_unhomed = false;
  handle.owner = nullptr;
  handle.name.clear();
  free_handles_.push_back(&handle);
}

}  // namespace vicinal::runtime
