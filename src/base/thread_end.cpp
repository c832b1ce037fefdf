#include "base/thread_end.hpp"

namespace vicinal::base {

namespace {

thread_local bool has_ended = false;  // without a destructor: it can be read when others are gone

struct ThreadEnd {
  ~ThreadEnd() { has_ended = true; }
  void watch() const {}
};
thread_local const ThreadEnd end_of_thread;

}  // namespace

void watch_thread_end() noexcept {
  end_of_thread.watch();
}

bool thread_has_ended() noexcept {
  return has_ended;
}

}  // namespace vicinal::base
