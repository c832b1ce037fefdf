#include "engine/kinds/acquisition.hpp"

#include <algorithm>
#include <utility>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

std::unique_ptr<Acquisition> Acquisitions::queue(graph::Handle& handle, std::uint32_t life,
                                                 AccessMode mode, const char* what) {
  auto acquisition = std::make_unique<Acquisition>();
  acquisition->thread = std::this_thread::get_id();
  acquisition->handle = &handle;
  graph::Task& task = application_.submissions.make_plain({graph::TaskKind::acquisition, what},
                                                          {handle, life, mode, 0, false},
                                                          std::make_unique<Wanted>(*acquisition));
  acquisition->task = &task;
  MadeTask made(application_.engine, task, kNoWorker);
  note(*acquisition);
  try {
    application_.submissions.submit_plain_settled(made.take());
  } catch (...) {
    forget(*acquisition);
    throw;
  }
  return acquisition;
}

void Acquisitions::ready(graph::Task& task) {
  using State = Acquisition::State;
  Acquisition& wanted = static_cast<Wanted&>(*task.extension->kind_data).by;
  State expected = State::queued;
  if (wanted.state.compare_exchange_strong(expected, State::granted, std::memory_order_acq_rel)) {
    return application_.engine.notify_waiters();
  }
  // Whoever wanted it is gone.
  const std::unique_ptr<Acquisition> abandoned(&wanted);
  application_.engine.end_plain_task(task, Engine::Obtained::nothing);
}

void Acquisitions::abandon(std::unique_ptr<Acquisition> acquisition) {
  using State = Acquisition::State;
  forget(*acquisition);
  State expected = State::queued;
  if (acquisition->state.compare_exchange_strong(expected, State::abandoned,
                                                 std::memory_order_acq_rel)) {
    static_cast<void>(acquisition.release());
  } else {
    application_.engine.end_plain_task(*acquisition->task, Engine::Obtained::nothing);
  }
}

// Each pins its data: there are no more than pins can count.
void Acquisitions::note(Acquisition& acquisition) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= memory::kMostAcquisitions) {
    throw UsageError("acquire: handle " + acquisition.handle->name + " and " +
                     std::to_string(all_.size()) +
                     " others would be acquired at once, more than there may be; release some");
  }
  all_.push_back(&acquisition);
}

void Acquisitions::forget(const Acquisition& acquisition) {
  const std::lock_guard lock(mutex_);
  std::erase(all_, &acquisition);
}

void Acquisitions::note_held(Acquisition& acquisition) {
  const std::lock_guard lock(mutex_);
  acquisition.held = true;
}

void Acquisitions::end(Acquisition& acquisition, Content content) {
  forget(acquisition);
  application_.engine.end_plain_task(*acquisition.task, content == Content::written
                                                            ? Engine::Obtained::content
                                                            : Engine::Obtained::nothing);
}

// Whoever waits asks again and again: it takes no memory.
bool Acquisitions::this_thread_alone_holds() const {
  bool holds = false;
  const std::lock_guard lock(mutex_);
  for (const Acquisition* acquisition : all_) {
    if (acquisition->thread == std::this_thread::get_id()) {
      holds |= acquisition->held;  // or it is what it waits for now
    } else if (is_granted(*acquisition) &&
               acquisition->request.state.load(std::memory_order_acquire) !=
                   memory::RequestState::queued) {
      return false;
    }
  }
  return holds;
}

std::string Acquisitions::held_by_this_thread() const {
  std::string own;
  const std::lock_guard lock(mutex_);
  for (const Acquisition* acquisition : all_) {
    if (acquisition->thread != std::this_thread::get_id() || !acquisition->held) continue;
    own += (own.empty() ? "" : ", ") + acquisition->handle->name;
  }
  return own;
}

bool Acquisitions::any_of(const graph::Handle& handle) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      all_, [&](const Acquisition* acquisition) { return acquisition->handle == &handle; });
}

std::string Acquisitions::describe() const {
  std::string text;
  const std::lock_guard lock(mutex_);
  for (const Acquisition* held : all_) {
    graph::Handle& handle = *held->handle;
    if (!held->held) {
      text += "a thread of the application waits for: " + handle.name + "\n";
      continue;
    }
    text += "acquired by the application: " + handle.name + "\n";
    if (!graph::describe_queue(handle, 1).empty()) {
      text += "  cycle, if the acquiring thread waits: this thread -> the tasks that wait for " +
              handle.name + " -> this thread\n";
    }
  }
  return text;
}

}  // namespace vicinal::engine
