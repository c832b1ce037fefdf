#include "base/start_thread.hpp"

#include <pthread.h>

namespace vicinal::base {

NoSignals::NoSignals() noexcept {
  sigset_t set;
  sigfillset(&set);
  for (const int left_open :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF, SIGVTALRM}) {
    sigdelset(&set, left_open);
  }
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

NoSignals::~NoSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace vicinal::base
