// Data come and go.
#include <cstdint>
#include <limits>
#include <utility>

#include "base/legible.hpp"
#include "base/log.hpp"
#include "base/sure_memory.hpp"
#include "engine/arguments.hpp"
#include "graph/dependencies.hpp"
#include "memory/arena.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// The one number that runtimes of a process have in common: a handle of one that is gone must not be taken
// for that of another.
std::uint32_t next_runtime_number() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Handle RuntimeImpl::add_memory(NodeId node, void* address, const Layout& layout, std::string name,
                               Released&& released) {
  if (address == nullptr && layout.bytes().value > 0) {
    throw UsageError("register: the address of " + engine::named(name) +
                     " is null; use register_empty for data that "
                     "the runtime allocates");
  }
  graph::Home home;
  home.kind = graph::HomeKind::buffer;
  home.address = static_cast<std::byte*>(address);
  if (engine::checked(node, setup_.machine, "register_buffer") != kRam) {
    if (!setup_.by_node()[node.value]->takes_addresses()) {
      throw UsageError("register_buffer: " + engine::named(name) + " on memory node " +
                       std::to_string(node.value) + " (" + setup_.machine.nodes[node.value].name +
                       "), where addresses are not the application's; register memory of RAM, of "
                       "a CUDA device or of an emulated accelerator");
    }
    home.kind = graph::HomeKind::device;
    home.node = static_cast<std::uint16_t>(node.value);
  }
  std::map<const graph::Handle*, Released> made;  // before: nothing may fail afterwards
  made.try_emplace(nullptr, std::move(released));
  auto entry = made.extract(made.begin());
  const Handle handle = add(layout, home, true, std::move(name));
  if (!entry.mapped()) return handle;
  entry.key() = handle.impl();
  const std::lock_guard lock(released_mutex_);
  released_.insert(std::move(entry));
  return handle;
}

namespace {

// It is the application's, and must not end what the runtime does.
void call_released(const Released& released, const std::string& name) noexcept {
  if (!released) return;
  try {
    try {
      released();
    } catch (const std::exception& error) {
      base::process_log().warn("what is called when " + name +
                               " is released threw: " + error.what());
    } catch (...) {
      base::process_log().warn("what is called when " + name +
                               " is released threw something that is no std::exception");
    }
  } catch (const std::bad_alloc&) {  // nobody can be told
  }
}

}  // namespace

Released RuntimeImpl::take_released(const graph::Handle& handle) {
  const std::lock_guard lock(released_mutex_);
  const auto found = released_.find(&handle);
  if (found == released_.end()) return nullptr;
  return std::move(released_.extract(found).mapped());
}

void RuntimeImpl::release_rest() noexcept {
  while (!released_.empty()) {
    const auto entry = released_.extract(released_.begin());
    call_released(entry.mapped(), entry.key()->name);
  }
}

namespace {

void require_region(const FileRegion& region, const Layout& layout, const std::string& name) {
  if (!layout.contiguous()) {
    throw UsageError("file " + region.path +
                     ": a region of a file is contiguous; register tiles with "
                     "a leading dimension equal to their rows");
  }
  engine::require_size(layout, name);
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
    if (!lacks.empty()) {
      handle.impl()->lacks = std::make_unique<const std::string>(std::move(lacks));
    }
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
        "register_simulated: " + engine::named(name) +
        " would have no place on a machine that is not simulated; use register_buffer");
  }
  const std::size_t nodes = setup_.machine.nodes.size();
  if (node.value >= nodes) {
    throw UsageError("register_simulated: " + engine::named(name) + " on memory node " +
                     std::to_string(node.value) + "; the machine has " + std::to_string(nodes) +
                     ", from 0 on");
  }
  const bool on_disk = node == setup_.machine.disk();
  engine::require_size(layout, name);
  graph::Home home;
  home.writable = writable;
  home.kind = on_disk        ? graph::HomeKind::file
              : node == kRam ? graph::HomeKind::buffer
                             : graph::HomeKind::device;
  home.node = static_cast<std::uint16_t>(node.value);
  home.offset = application_->handles.take_simulated_place(layout.bytes(), name);
  if (!on_disk) home.address = reinterpret_cast<std::byte*>(home.offset);
  return add(layout, home, true, std::move(name));
}

void RuntimeImpl::set_reduction(Handle handle, const Reduction& reduction) {
  if (RankSequence* const sequence = ranks_of(handle, "set_reduction")) {
    sequence->set_reduction(handle, reduction);
    if (sequence->owner(handle) != sequence->here()) return;
  }
  declare_reduction(application_->declared.local(handle, "set_reduction"), reduction);
}

void RuntimeImpl::declare_reduction(Handle handle, const Reduction& reduction) {
  try {
    application_->reductions.declare(handle, reduction);
  } catch (const CapacityError&) {
    if (engine_->inside_task() != nullptr || !application_->reductions.any()) throw;
    const engine::Reductions::Sparing sparing(application_->reductions);
    wait_for_copies("set_reduction");
    application_->reductions.declare(handle, reduction);
  }
}

// Tasks are refused from before the wait on, because the wait leaves later tasks out. Where there was no memory for
// some step the handle stays registered, with its content.
void RuntimeImpl::unregister(Handle registered, WriteBack write_back, const char* call) {
  begin_wait(call);
  if (application_->declared.has(registered)) {
    if (ranks_of(registered, call) != nullptr) sequence_->begin_unregister(registered, call);
    return unregister_declared(registered, write_back, call);
  }
  graph::Handle& handle = check(registered, call);
  const std::string name = handle.name;  // may find no memory: before anything is changed
  const std::uint32_t life = registered.life();
  if (handle.home.inside || graph::is_part(handle)) {
    throw UsageError(std::string(call) + ": handle " + handle.name +
                     " is a part of another; take the partition back (unpartition)");
  }
  // Nobody divides it behind its last division, or reduces into it behind the last combination.
  engine::Partitions::Lock settled = application_->partitions.lock();
  if (handle.has_family.load(std::memory_order_acquire)) {
    if (write_back == WriteBack::yes && handle.home.kind == graph::HomeKind::file) {
      application_->partitions.require_all_or_nothing(handle);
    }
    application_->partitions.dissolve(handle);
    static_cast<void>(application_->partitions.settle(handle, AccessMode::RW));
  }
  {
    // A deferred task has been announced, and goes before the unregistration.
    const auto announcements = application_->submissions.lock_announcements();
    if (!graph::refuse_tasks(handle, life)) application_->handles.throw_unknown(registered, call);
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
      end(*access);
      throw;
    }
    end(*access);
    const auto is_whole = [&] {
      if (!application_->partitions.is_whole(handle))
        application_->partitions.reclaim(engine::Partitions::Meanwhile::waits);
      return application_->partitions.is_whole(handle);
    };
    if (handle.has_family.load(std::memory_order_acquire)) wait_until(is_whole, call);
    wait_until([&] { return engine_->data().remove(handle); }, call);
  } catch (...) {
    graph::accept_tasks(handle, content);
    throw;
  }
  if (handle.reduction != nullptr) {
    wait_until([&] { return application_->reductions.forget_copies(handle); }, call);
  }
  const graph::Home home = handle.home;
  const Released released = take_released(handle);
  application_->handles.forget(handle);
  call_released(released, name);
  if (home.file >= 0) setup_.disk->close_file(home.file);
  if (error) throw_failure(error);
}

void RuntimeImpl::unregister_declared(Handle registered, WriteBack write_back, const char* call) {
  const Handle used = application_->declared.used(registered);
  if (used) unregister(used, write_back, call);
  if (!application_->declared.forget(registered))
    application_->handles.throw_unknown(registered, call);
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
  const NodeId home = *application_->handles.home_node(handle);
  if (engine_->residency().valid_on(handle, home)) return;
  graph::Access operand;
  operand.handle = &handle;
  operand.mode = AccessMode::R;
  request.kind = memory::RequestKind::flush;
  request.node = home;
  request.operands = {&operand, 1};
  engine_->data().request(request);
  const auto ended = [&] {
    const auto state = request.state.load(std::memory_order_acquire);
    return state == memory::RequestState::ready || state == memory::RequestState::failed;
  };
  try {
    wait_until(ended, "write back");
  } catch (...) {
    engine_->data().withdraw(request);
    throw;
  }
  if (request.state.load() == memory::RequestState::failed) std::rethrow_exception(request.error);
  engine_->data().release(request);
}

void RuntimeImpl::announce_readers(Handle handle, std::uint32_t ranks) {
  RankSequence* const sequence = ranks_of(handle, "announce_readers");
  if (sequence != nullptr) return sequence->announce_readers(handle, ranks);
  check(application_->declared.local(handle, "announce_readers"), "announce_readers");
}

// The invalidation gives its room back when the tasks before it have ended, also while its slot is kept.
void RuntimeImpl::release_later(Handle registered) {
  if (RankSequence* const sequence = ranks_of(registered, "release_later")) {
    return sequence->release_later(registered);
  }
  registered = application_->declared.local(registered, "release_later");
  graph::Handle& handle = check(registered, "release_later");
  const bool is_divided = handle.has_family.load(std::memory_order_acquire);
  if (handle.home.inside || graph::is_part(handle) || is_divided) {
    throw UsageError("release_later: handle " + handle.name +
                     " is a part or in parts, or tasks reduce into it; use release, or of parts "
                     "unpartition");
  }
  if (handle.home.kind != graph::HomeKind::none) {
    throw UsageError("release_later: handle " + handle.name +
                     " lies in memory or a file of the application, which is up to date only when "
                     "somebody has waited for it; use release");
  }
  application_->invalidations.submit(registered);
  application_->departures.add(registered);
  application_->departures.sweep_if_many();
}

void RuntimeImpl::let_go(Handle handle) noexcept {
  if (forked() || is_left() || !handle || handle.runtime() != number_) return;
  try {
    if (application_->declared.has(handle)) {
      const Handle used = application_->declared.used(handle);
      application_->declared.forget(handle);
      if (!used) return;
      handle = used;
    }
    application_->departures.add(handle);
    application_->departures.sweep_if_many();
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
