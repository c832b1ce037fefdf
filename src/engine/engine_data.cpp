#include "engine/engine_data.hpp"

#include <thread>

#include "engine/lifecycle.hpp"

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
