// Copies between a device and RAM that is not pinned: in pieces, through a little memory that is. A thread fills the
// pieces, or empties them, while the device copies others.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/sure_memory.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/queued/queued_device.hpp"
#include "memory/copy.hpp"
#include "vicinal/data.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// What a copy's end is told to.
class StagedFlight : public Flight {
 public:
  std::exception_ptr error;  // before `ended`: what was thrown
};

// One direction.
class StagedCopies {
 public:
  static constexpr Bytes kPiece{4ULL << 20};

  // `pin`: true if it has pinned the end in RAM, so that the copy needs no pieces; called by the thread.
  using Pin = std::function<bool(const memory::Copy& copy)>;
  StagedCopies(QueuedDevice& device, QueuedDevice::Queue queue, Pin pin);
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // To or from the device, as the queue is kIn or kOut. Then flight.ended. The first one takes the memory and starts the
  // thread, and throws CapacityError or DeviceError if there is none. The device's thread.
  void put(const memory::Copy& copy, StagedFlight& flight);
  // Ends what was put.
  void stop();

 private:
  static constexpr std::size_t kPieces = 3;
  struct Piece;
  struct Waiting {
    memory::Copy copy;
    StagedFlight* flight;
  };
  void start();
  void run();
  bool copy_at_once(const Waiting& next);
  int copy_all(const memory::Copy& copy);
  void put_piece(Piece& piece, const memory::Copy& copy);
  int settle(Piece& piece, const memory::Copy& copy);

  QueuedDevice& device_;
  const QueuedDevice::Queue queue_;
  const Pin pin_;
  MappedMemory memory_;
  std::unique_ptr<std::array<Piece, kPieces>> pieces_;
  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  base::SureDeque<Waiting> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vicinal::drivers
