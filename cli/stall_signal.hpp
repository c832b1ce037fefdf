// kill -USR1 <pid> prints who waits for what: Runtime::stall_report() of the run in progress.
#pragma once

#include <mutex>
#include <thread>

#include "vicinal/runtime.hpp"

namespace vicinal::cli {

class StallSignal {
 public:
  // Blocks SIGUSR1 in the calling thread and in those it starts: to be made before any other
  // thread.
  StallSignal();
  ~StallSignal();
  StallSignal(const StallSignal&) = delete;
  StallSignal& operator=(const StallSignal&) = delete;

  // The runtime that a signal asks, until the end of the scope.
  class Watch {
   public:
    Watch(StallSignal& signal, const Runtime& runtime) : signal_(signal) { signal_.set(&runtime); }
    ~Watch() { signal_.set(nullptr); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    StallSignal& signal_;
  };

 private:
  void set(const Runtime* runtime);
  void listen();
  void report();

  std::mutex mutex_;
  const Runtime* runtime_ = nullptr;  // under mutex_
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace vicinal::cli
