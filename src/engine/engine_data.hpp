// What happens to data beside tasks: they come and go, are wanted in a memory, and are declared void. The copies that
// follow are started before a call returns. Any thread, under no lock of the engine.
#pragma once

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
  // False: the copy is not on its way, and the content not there.
  bool prefetch(graph::Handle& handle, NodeId node);
  // With the rule "hint" the content is brought to RAM, and a call in its turn among the tasks is to be preferred.
  void wont_use(graph::Handle& handle);
  bool brings_what_wont_be_used() const;

 private:
  Engine& engine_;
};

}  // namespace vicinal::engine
