// What happens to data beside tasks: they come and go, are wanted in a memory, and are declared void. The copies that
// follow are started before a call returns. Any thread, under no lock of the engine.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include "engine/direct_reads.hpp"
#include "graph/handle.hpp"
#include "memory/request.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

class Engine;

class EngineData {
 public:
  explicit EngineData(Engine& engine) : engine_(engine) {}

  void add(graph::Handle& handle);
  bool remove(graph::Handle& handle);  // false: a copy is in flight
  // Its first step: nothing of the handle is anywhere but at home, and nothing in flight. For who may not wait for
  // others; `remove` is still to come.
  bool remove_replicas(graph::Handle& handle);
  // Wants the operands of the request on its node; it ends `ready`, until it is released, or `failed`.
  void request(memory::Request& request);
  void withdraw(memory::Request& request);
  void release(memory::Request& request);
  void invalidate(graph::Handle& handle);
  // The content of the task's one operand in `to`, packed, read where it lies: no room is waited for. `done` is called
  // once, by any thread, perhaps before this returns; the error is a DeviceError, or says that the content is void.
  using ReadDone = std::function<void(const std::exception_ptr&)>;
  void read(graph::Task& task, std::byte* to, ReadDone done);
  // It is in RAM, and pinned there until `unpin_in_ram`. False: it is not.
  bool pin_in_ram(graph::Task& task);
  void unpin_in_ram(graph::Task& task);
  // So much of RAM's limit is no replica's from now on. Replicas take less than the rest.
  void set_aside(Bytes bytes);
  // False: the copy is not on its way, and the content not there.
  bool prefetch(graph::Handle& handle, NodeId node);
  // With the rule "hint" the content is brought to RAM, and a call in its turn among the tasks is to be preferred.
  void wont_use(graph::Handle& handle);
  bool brings_what_wont_be_used() const;

  // For the engine: the end of what `read` has started.
  bool has_read(memory::CopyId id) const { return reads_.has(id); }
  void end_read(memory::CopyId id, const std::exception_ptr& error);

 private:
  void finish_read(const DirectReads::Read& read, const std::exception_ptr& error);
  Engine& engine_;
  DirectReads reads_;
};

}  // namespace vicinal::engine
