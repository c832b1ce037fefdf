// Handles that go when the tasks that use them have ended, while nobody waits for that: those of results that nobody
// can ask for any more.
#pragma once

#include <cstddef>
#include <mutex>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "vicinal/data.hpp"

namespace vicinal::runtime {

class RuntimeImpl;

class Departures {
 public:
  explicit Departures(RuntimeImpl& runtime) : runtime_(runtime) {}

  // Tasks that name the handle are refused from now on. Any thread, also inside a task. A handle in parts, or with a
  // reduction, stays; so does a handle that is unregistered already.
  void add(Handle handle);
  // Those that nobody uses any more are forgotten, if they are many: each is looked at a constant number of times in
  // the mean.
  void sweep_if_many();
  // True: some were.
  bool sweep();

 private:
  static constexpr std::size_t kFew = 256;
  bool may_sweep() const;
  bool forget(graph::Handle& handle);

  RuntimeImpl& runtime_;
  std::mutex mutex_;  // guards what follows
  base::SureVector<graph::Handle*> leaving_;
  std::size_t most_ = kFew;  // then they are swept
};

}  // namespace vicinal::runtime
