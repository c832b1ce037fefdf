// What the application does with its data beside tasks: it registers and acquires them, says where and whether it
// will use them, and declares them void.
#include <memory>
#include <mutex>
#include <thread>

#include "engine/lifecycle.hpp"
#include "engine/task_state.hpp"

namespace vicinal::engine {

using graph::Task;
using graph::TaskState;

// --- tasks that are not scheduled

Task& Engine::new_plain_task(graph::TaskKind kind, const char* what, std::size_t accesses) {
  auto extension = std::make_unique<graph::TaskExtension>();
  extension->name = what;
  const std::size_t lane = lanes_.index(kNoWorker);
  std::unique_lock lock(lanes_.shared_lock(), std::defer_lock);
  if (lanes_.shared(lane)) lock.lock();
  Task& task = take_slot(lane, accesses, graph::is_counted(kind));
  task.kind = kind;
  task.priority = 0;
  task.access_count = accesses & 0x3fffU;
  task.commutes = false;
  if (task.extension) {  // it has room for many accesses
    task.extension->name.swap(extension->name);
  } else {
    task.extension = std::move(extension);
  }
  return task;
}

void Engine::end_plain_task(Task& task, Obtained obtained) {
  if (obtained == Obtained::nothing) {
    graph::Access& access = task.accesses()[0];
    if (access.mode == AccessMode::W) access.mode = AccessMode::RW;
  }
  if (obtained == Obtained::content && !trivial_) {
    perform_what([&](memory::Actions& actions) {
      residency_.written(task, kRam, actions);
      residency_.unpin(task, kRam, actions);
    });
  }
  graph::ReadyList ready;
  record_end(task, kNoWorker, Outcome::done);
  end(task, kNoWorker, Outcome::done, ready);
  make_ready(ready, kNoWorker);
  config_.notify_waiters();
}

// --- handles and their content

void Engine::add(graph::Handle& handle) {
  errors_.note_written(handle);
  eligibility_.add(handle);
  residency_.add(handle);
}

bool Engine::remove(graph::Handle& handle) {
  if (handle.replicas == nullptr) return true;  // it was asked for again
  wishes_.let_pass();
  if (!remove_replicas(handle)) return false;
  // A notice about the handle may still be on its way to the policy.
  while (performing_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  gate_.forget(handle);
  producers_.forget(handle);
  residency_.forget(handle);
  grant_fresh_wishes();
  return true;
}

bool Engine::remove_replicas(graph::Handle& handle) {
  bool removed = false;
  perform_what([&](memory::Actions& actions) { removed = residency_.remove(handle, actions); });
  return removed;
}

void Engine::request(memory::Request& request) {
  perform_what([&](memory::Actions& actions) { residency_.request(request, actions); });
}

void Engine::withdraw(memory::Request& request) {
  perform_what([&](memory::Actions& actions) { residency_.withdraw(request, actions); });
}

void Engine::release(memory::Request& request) {
  perform_what([&](memory::Actions& actions) { residency_.release(request, actions); });
}

void Engine::invalidate(graph::Handle& handle) {
  perform_what([&](memory::Actions& actions) { residency_.invalidate(handle, actions); });
}

bool Engine::prefetch(graph::Handle& handle, NodeId node) {
  bool coming = false;
  perform_what(
      [&](memory::Actions& actions) { coming = residency_.prefetch(handle, node, actions); });
  return coming;
}

// What nobody submitted uses any more may go first from now on.
[[gnu::noinline]] void Engine::note_unused(const Task& task) {
  memory::Actions actions;
  residency_.note_unused(task, actions);
  perform(actions);
}

void Engine::wont_use(graph::Handle& handle) {
  perform_what([&](memory::Actions& actions) {
    residency_.wont_use(handle, actions);
    if (config_.rules.hint) residency_.prefetch(handle, kRam, actions);
  });
}

}  // namespace vicinal::engine
