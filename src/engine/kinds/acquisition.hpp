// Data that the application itself accesses: a task without a kernel that has access from the time when the graph
// grants it until the application gives it back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/kinds/kind.hpp"
#include "memory/request.hpp"

namespace vicinal::internals {

// What an application's thread holds or waits to hold: an acquisition in the graph, and a
// reservation in RAM.
struct Acquisition {
  enum class State : std::uint8_t { queued, granted, abandoned };  // in the graph
  graph::Handle* handle = nullptr;
  graph::Task* task = nullptr;  // not read by others: a task that is refused is gone
  memory::Request request;
  std::atomic<State> state{State::queued};
  std::thread::id thread;
  bool held = false;  // the application has it; under the lock of Acquisitions
};

}  // namespace vicinal::internals

namespace vicinal::engine {

struct Application;
using internals::Acquisition;

class Acquisitions final : public Kind {
 public:
  explicit Acquisitions(Application& application) : application_(application) {}

  // Takes its turn among the tasks on this life of the handle; nothing is in memory yet. `what` is the call, for
  // messages. Throws UsageError: more would be acquired at once than there may be, or what settling the parts of the
  // handle throws.
  std::unique_ptr<Acquisition> queue(graph::Handle& handle, std::uint32_t life, AccessMode mode,
                                     const char* what);
  static bool is_granted(const Acquisition& acquisition) {
    return acquisition.state.load(std::memory_order_acquire) == Acquisition::State::granted;
  }
  // The wait for it has thrown. It cannot be taken back from the queue, and ends by itself when it is granted.
  void abandon(std::unique_ptr<Acquisition> acquisition);
  void note_held(Acquisition& acquisition);
  enum class Content : bool { unchanged, written };  // by the application, in RAM
  void end(Acquisition& acquisition, Content content);

  // False: another thread has something that it may release any time, or this one holds nothing.
  bool this_thread_alone_holds() const;
  std::string held_by_this_thread() const;  // the names, for messages
  bool any_of(const graph::Handle& handle) const;
  std::string describe() const;

  void ready(graph::Task& task) override;

 private:
  struct Wanted final : graph::KindData {
    explicit Wanted(Acquisition& wanted) : by(wanted) {}
    Acquisition& by;
  };
  void note(Acquisition& acquisition);
  void forget(const Acquisition& acquisition);

  Application& application_;
  mutable std::mutex mutex_;       // guards what follows
  std::vector<Acquisition*> all_;  // waited for or held
};

}  // namespace vicinal::engine
