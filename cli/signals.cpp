#include "signals.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "reports/catalogue.hpp"

namespace vicinal::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Signals::Signals() {
  // A write beyond the limit on the size of files (ulimit -f) is an error like a full disk: for output files, for the
  // standard output and what libraries write.
  std::signal(SIGXFSZ, SIG_IGN);
  const sigset_t ending = interrupts();
  sigset_t set = ending;
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  try {
    if (signal_fd_ >= 0 && stop_fd_ >= 0) thread_ = std::thread([this] { listen(); });
  } catch (const std::system_error&) {  // as without descriptors
  }
  // Then there is no report, and an interrupt ends the process as it always does.
  if (!thread_.joinable()) pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

Signals::~Signals() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (::write(stop_fd_, &one, sizeof(one)) == sizeof(one)) thread_.join();
  }
  if (signal_fd_ >= 0) ::close(signal_fd_);
  if (stop_fd_ >= 0) ::close(stop_fd_);
}

void Signals::set(const Runtime* runtime) {
  const std::lock_guard lock(mutex_);
  runtime_ = runtime;
}

Signals::AtInterrupt::AtInterrupt(Signals& signals, std::function<void()> action)
    : signals_(signals) {
  const std::lock_guard lock(signals.interrupt_mutex_);
  signals.at_interrupt_ = std::move(action);
}

Signals::AtInterrupt::~AtInterrupt() {
  const std::lock_guard lock(signals_.interrupt_mutex_);
  signals_.at_interrupt_ = nullptr;
}

void Signals::listen() {
  std::array<pollfd, 2> ready{{{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  for (;;) {
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;  // interrupted
    if (ready[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signal_fd_, &info, sizeof(info)) != sizeof(info)) continue;
    if (info.ssi_signo == SIGUSR1) {
      report();
    } else {
      interrupt(static_cast<int>(info.ssi_signo));
    }
  }
}

void Signals::report() {
  std::string text = "no run in progress";
  {
    // Held while the runtime answers, so that it does not go meanwhile, but not while the text is
    // written: a reader that is slow must not hold the run up.
    const std::lock_guard lock(mutex_);
    if (runtime_ != nullptr) text = runtime_->stall_report();
  }
  std::fprintf(stderr, "%s\n", reports::legible(text).c_str());
}

// The tasks that run are not waited for: what they work on goes with the process.
void Signals::interrupt(int signal) {
  const sigset_t again = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &again, nullptr);  // a second one ends the process at once
  const std::lock_guard lock(interrupt_mutex_);
  try {
    if (at_interrupt_) {
      at_interrupt_();
    } else {
      std::fprintf(stderr, "vicinal: interrupted\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vicinal: %s\n", reports::legible(error.what()).c_str());
  }
  std::fflush(stdout);
  ::_exit(128 + signal);
}

}  // namespace vicinal::cli
