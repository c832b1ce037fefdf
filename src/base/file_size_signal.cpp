#include "base/file_size_signal.hpp"

#include <cerrno>
#include <ctime>
#include <pthread.h>

namespace vicinal::base {

namespace {

sigset_t the_signal() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() noexcept {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

void block_file_size_signal() noexcept {
  const sigset_t set = the_signal();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

NoFileSizeSignal::NoFileSizeSignal() noexcept : was_pending_(is_pending()) {
  const sigset_t set = the_signal();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

NoFileSizeSignal::~NoFileSizeSignal() {
  const int error = errno;
  const sigset_t set = the_signal();
  const timespec at_once{};
  while (!was_pending_ && is_pending()) {
    if (sigtimedwait(&set, nullptr, &at_once) < 0 && errno != EINTR) break;
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace vicinal::base
