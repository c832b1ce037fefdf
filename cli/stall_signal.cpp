#include "stall_signal.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace vicinal::cli {

StallSignal::StallSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  // Without descriptors there is no report, and the run goes on.
  if (signal_fd_ >= 0 && stop_fd_ >= 0) thread_ = std::thread([this] { listen(); });
}

StallSignal::~StallSignal() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (::write(stop_fd_, &one, sizeof(one)) == sizeof(one)) thread_.join();
  }
  if (signal_fd_ >= 0) ::close(signal_fd_);
  if (stop_fd_ >= 0) ::close(stop_fd_);
}

void StallSignal::set(const Runtime* runtime) {
  const std::lock_guard lock(mutex_);
  runtime_ = runtime;
}

void StallSignal::listen() {
  std::array<pollfd, 2> ready{{{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  for (;;) {
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;  // interrupted
    if (ready[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signal_fd_, &info, sizeof(info)) == sizeof(info)) report();
  }
}

void StallSignal::report() {
  std::string text = "no run in progress";
  {
    // Held while the runtime answers, so that it does not go meanwhile, but not while the text is
    // written: a reader that is slow must not hold the run up.
    const std::lock_guard lock(mutex_);
    if (runtime_ != nullptr) text = runtime_->stall_report();
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace vicinal::cli
