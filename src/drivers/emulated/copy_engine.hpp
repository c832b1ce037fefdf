// One direction of an emulated accelerator's link: a thread that copies one after the other, no
// faster than a given bandwidth.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/sure_memory.hpp"
#include "engine/driver.hpp"
#include "memory/copy.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

class CopyEngine {
 public:
  // 0: as fast as memory.
  CopyEngine(BytesPerSecond bandwidth, std::string name)
      : bandwidth_(bandwidth), name_(std::move(name)) {}
  ~CopyEngine() { stop(); }
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  void start(engine::Completions& completions);
  // Any thread. copy_done is called by the engine's thread under no lock.
  void submit(const memory::Copy& copy);
  // Returns when all that was submitted has ended.
  void stop();

 private:
  struct Waiting {
    memory::Copy copy;
    Time since;
  };
  void run(engine::Completions& completions);

  const BytesPerSecond bandwidth_;
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  base::SureDeque<Waiting> waiting_;  // under mutex_
  bool stopping_ = false;             // under mutex_
  std::thread thread_;
};

}  // namespace vicinal::drivers
