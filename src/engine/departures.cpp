#include "engine/departures.hpp"

#include <algorithm>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"

namespace vicinal::engine {

void Departures::add(Handle registered) {
  graph::Handle& handle = *registered.impl();
  {
    // What is deferred has been announced, and goes before it.
    const auto announcements = application_.submissions.lock_announcements();
    if (handle.has_family.load(std::memory_order_acquire)) return;
    if (!graph::refuse_tasks(handle, registered.life())) return;
  }
  const std::lock_guard lock(mutex_);
  leaving_.push_back(&handle);
}

// At the end of a task memory may be in the middle of what it does, and who removes a handle waits until nothing is.
bool Departures::may_sweep() const {
  const InTask* const inside = application_.engine.inside_task();
  return inside == nullptr || (inside->worker != kNoWorker && inside->cancelled == nullptr);
}

void Departures::sweep_if_many() {
  {
    const std::lock_guard lock(mutex_);
    if (leaving_.size() < most_) return;
  }
  if (!may_sweep()) return;
  if (application_.engine.inside_task() == nullptr) application_.submissions.pass_on_deferred();
  sweep();
}

bool Departures::sweep() {
  return try_all().gone > 0;
}

bool Departures::sweep_behind_copies() {
  return try_all().copied == 0;
}

Departures::Swept Departures::try_all() {
  if (!may_sweep() || application_.submissions.any_deferred()) return {};
  base::SureVector<graph::Handle*> tried;
  {
    const std::lock_guard lock(mutex_);
    tried.swap(leaving_);
  }
  Swept swept;
  std::erase_if(tried, [&](graph::Handle* handle) {
    const Attempt attempt = forget(*handle);
    if (attempt == Attempt::gone) ++swept.gone;
    if (attempt == Attempt::copied) ++swept.copied;
    return attempt == Attempt::gone;
  });
  const std::lock_guard lock(mutex_);
  leaving_.insert(leaving_.end(), tried.begin(), tried.end());
  most_ = std::max(kFew, 2 * leaving_.size());
  return swept;
}

Departures::Attempt Departures::forget(graph::Handle& handle) {
  if (!graph::idle(handle)) return Attempt::used;
  if (!application_.engine.data().remove(handle)) return Attempt::copied;
  application_.handles.forget(handle);
  return Attempt::gone;
}

}  // namespace vicinal::engine
