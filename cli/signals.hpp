// Signals of the executable, by a thread of their own:
//   kill -USR1 <pid>   prints who waits for what: Runtime::stall_report() of the run in progress
//   Ctrl-C, SIGTERM    prints and writes what has ended, then ends the process with 128 + the signal
//   SIGXFSZ            is ignored
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "vicinal/runtime.hpp"

namespace vicinal::cli {

class Signals {
 public:
  // Blocks them in the calling thread and in those it starts: to be made before any other thread.
  // One that is ignored (as in a background job) stays so.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // The runtime that SIGUSR1 asks, until the end of the scope.
  class Watch {
   public:
    Watch(Signals& signals, const Runtime& runtime) : signals_(signals) { signals_.set(&runtime); }
    ~Watch() { signals_.set(nullptr); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Signals& signals_;
  };

  // What is done before an interrupted process ends, until the end of the scope: by the thread of the
  // signals, while all others go on.
  class AtInterrupt {
   public:
    AtInterrupt(Signals& signals, std::function<void()> action);
    ~AtInterrupt();
    AtInterrupt(const AtInterrupt&) = delete;
    AtInterrupt& operator=(const AtInterrupt&) = delete;

   private:
    Signals& signals_;
  };

 private:
  void set(const Runtime* runtime);
  void listen();
  void report();
  [[noreturn]] void interrupt(int signal);

  std::mutex mutex_;
  const Runtime* runtime_ = nullptr;  // under mutex_
  std::mutex interrupt_mutex_;
  std::function<void()> at_interrupt_;  // under interrupt_mutex_
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace vicinal::cli
