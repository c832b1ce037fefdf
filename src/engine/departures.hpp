// Handles that go when the tasks that use them have ended, while nobody waits for that: those of results that nobody
// can ask for any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

struct Application;

class Departures {
 public:
  explicit Departures(Application& application) : application_(application) {}

  // Tasks that name the handle are refused from now on. Any thread, also inside a task. A handle in parts, or with a
  // reduction, stays; so does a handle that is unregistered already.
  void add(Handle handle);
  // Those that nobody uses any more are forgotten, if they are many: each is looked at a constant number of times in
  // the mean.
  void sweep_if_many();
  // True: some were.
  bool sweep();
  // The same; true: none is left that copies in flight alone keep.
  bool sweep_behind_copies();

 private:
  static constexpr std::size_t kFew = 256;
  bool may_sweep() const;
  enum class Attempt : std::uint8_t { gone, used, copied };
  Attempt forget(graph::Handle& handle);
  // Of those that leave, how many are now gone, and how many only copies keep.
  struct Swept {
    std::size_t gone = 0;
    std::size_t copied = 0;
  };
  Swept try_all();

  Application& application_;
  std::mutex mutex_;  // guards what follows
  base::SureVector<graph::Handle*> leaving_;
  std::size_t most_ = kFew;  // then they are swept
};

}  // namespace vicinal::engine
