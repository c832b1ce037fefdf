#include "engine/engine_data.hpp"

#include <optional>
#include <thread>
#include <utility>

#include "base/sure_memory.hpp"
#include "engine/lifecycle.hpp"
#include "engine/strided_copy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

void EngineData::add(graph::Handle& handle) {
  engine_.errors_.note_written(handle);
  engine_.eligibility_.add(handle);
  engine_.residency_.add(handle);
}

bool EngineData::remove(graph::Handle& handle) {
  if (handle.replicas == nullptr) return true;  // it was asked for again
  engine_.prefetch_requests_.let_pass();
  if (!remove_replicas(handle)) return false;
  // A notice about the handle may still be on its way to the policy.
  while (engine_.performing_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  engine_.gate_.forget(handle);
  engine_.producers_.forget(handle);
  engine_.residency_.forget(handle);
  engine_.grant_fresh_prefetches();
  return true;
}

bool EngineData::remove_replicas(graph::Handle& handle) {
  bool removed = false;
  engine_.perform_what(
      [&](memory::Actions& actions) { removed = engine_.residency_.remove(handle, actions); });
  return removed;
}

void EngineData::request(memory::Request& request) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.request(request, actions); });
}

void EngineData::withdraw(memory::Request& request) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.withdraw(request, actions); });
}

void EngineData::release(memory::Request& request) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.release(request, actions); });
}

void EngineData::invalidate(graph::Handle& handle) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.invalidate(handle, actions); });
}

void EngineData::read(graph::Task& task, std::byte* to, ReadDone done) {
  const graph::Handle& handle = *task.accesses()[0].handle;
  const std::optional<memory::Endpoint> from = engine_.residency_.pin_where_it_lies(task);
  if (!from) {
    return done(base::make_error<PoisonedError>(
        [&] { return "the content of " + handle.name + " is lost: it was invalidated"; }));
  }
  memory::Copy copy;
  copy.handle = task.accesses()[0].handle;
  copy.from = *from;
  copy.to.node = kRam;
  copy.to.address = to;
  copy.to.layout = handle.layout.packed();
  copy.cause = memory::CopyCause::application;
  const DirectReads::Read read{&task, from->node, std::move(done)};
  if (from->node == kRam) {
    strided_copy(to, copy.to.layout, from->address, from->layout);
    return finish_read(read, nullptr);
  }
  copy.id = reads_.begin(read);
  try {
    engine_.drivers_.of(from->node).start_copy(copy);
  } catch (const std::exception&) {  // then it has ended
    end_read(copy.id, base::say_out_of_memory(std::current_exception(), "started a copy"));
  }
}

void EngineData::end_read(memory::CopyId id, const std::exception_ptr& error) {
  const DirectReads::Read read = reads_.end(id);
  if (read.task != nullptr) finish_read(read, error);
}

void EngineData::finish_read(const DirectReads::Read& read, const std::exception_ptr& error) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.unpin(*read.task, read.from, actions); });
  read.done(error);
}

bool EngineData::pin_in_ram(graph::Task& task) {
  bool pinned = false;
  engine_.perform_what(
      [&](memory::Actions& actions) { pinned = engine_.residency_.try_pin(task, kRam, actions); });
  return pinned;
}

void EngineData::unpin_in_ram(graph::Task& task) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.unpin(task, kRam, actions); });
}

void EngineData::set_aside(Bytes bytes) {
  engine_.perform_what(
      [&](memory::Actions& actions) { engine_.residency_.set_aside(bytes, actions); });
  engine_.eligibility_.limits_changed();
}

bool EngineData::prefetch(graph::Handle& handle, NodeId node) {
  bool coming = false;
  engine_.perform_what([&](memory::Actions& actions) {
    coming = engine_.residency_.prefetch(handle, node, actions);
  });
  return coming;
}

void EngineData::wont_use(graph::Handle& handle) {
  engine_.perform_what([&](memory::Actions& actions) {
    engine_.residency_.wont_use(handle, actions);
    if (engine_.config_.rules.hint) engine_.residency_.prefetch(handle, kRam, actions);
  });
}

bool EngineData::brings_what_wont_be_used() const {
  return engine_.config_.rules.hint;
}

}  // namespace vicinal::engine
