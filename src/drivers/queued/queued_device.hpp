// A device with queues: what CUDA and OpenCL have in common, one class per API. A backend makes calls of its API here
// and nothing else; when they are made is decided by QueuedDriver.
//
// What is put on a queue is done in the order in which it was put there; queues do not wait for one another. A
// method that throws, throws DeviceError with the words of the API; what it was to put on the queue is not there
// then, or is done as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "vicinal/data.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// A backend's record of a copy or a run on the queue, through which the backend reports the end.
class Flight {
 public:
  virtual ~Flight() = default;
  // The backend calls it once, on any thread, after notify: all is done that was on the queue then. `failure` is
  // the API's number of an error; 0: none.
  virtual void ended(int failure) noexcept = 0;
  // Of a run of an emulated accelerator, see QueuedDevice::call. Device addresses plus `shift` are the host's there.
  virtual void run_here(std::ptrdiff_t /*shift*/) noexcept {}
  void* begun = nullptr;  // the backend's, for times
  void* done = nullptr;
};

// Whose kernels it runs: its own, or, as an emulated accelerator, those of host threads.
enum class DeviceKernels : std::uint8_t { of_device, of_host };

class QueuedDevice {
 public:
  using Queue = std::uint32_t;
  static constexpr Queue kIn = 0;        // content to the device
  static constexpr Queue kOut = 1;       // content to RAM
  static constexpr Queue kFirstRun = 2;  // kernels, from here on

  virtual ~QueuedDevice() = default;

  // For messages: "OpenCL device 0 (NVIDIA H100)".
  virtual std::string name() const = 0;
  // All its memory that is used, once: device addresses, 4 KiB aligned. Throws CapacityError.
  virtual std::byte* allocate(Bytes bytes) = 0;
  // As engine::Driver's.
  virtual bool takes_addresses() const { return false; }
  // Copies are slow and hold their thread unless their content in RAM is pinned. Then they are put on queues by any
  // thread.
  virtual bool pins() const { return false; }
  // Any thread. Throws DeviceError: the system refuses.
  virtual void pin(std::byte* /*address*/, Bytes /*bytes*/) {}
  virtual void unpin(std::byte* /*address*/) noexcept {}

  // A content between RAM, where it may be strided, and the device, where it is packed. `flight` is the copy's.
  virtual void copy_in(Queue queue, Flight& flight, std::byte* to, const std::byte* from,
                       const Layout& layout) = 0;
  virtual void copy_out(Queue queue, Flight& flight, std::byte* to, const Layout& layout,
                        const std::byte* from) = 0;
  // Opens the way for copies from the other device that do not pass RAM. False: there is none.
  virtual bool connect(const QueuedDevice& /*other*/) { return false; }
  // Packed content of a device to which the way is open.
  virtual void copy_across(Queue /*queue*/, Flight& /*flight*/, std::byte* /*to*/,
                           const QueuedDevice& /*source*/, const std::byte* /*from*/,
                           Bytes /*bytes*/) {}
  // What is put on the queue until notify is one run, to be timed.
  virtual void begin_run(Queue queue, Flight& flight) = 0;
  // Calls flight.ended when its copy, or what is on the queue so far, is done. Not if it throws. A backend may leave
  // the end of a run to `ask`.
  virtual void notify(Queue queue, Flight& flight) = 0;
  // On the thread that puts runs: calls flight.ended for each run of `notify` that is done. How many are left to be asked
  // for; 0: a thread of the API tells of all that is in flight.
  virtual std::size_t ask() { return 0; }
  // After it has ended: how long the run took on the device, where that is known. Frees what was kept of it.
  virtual std::optional<Time> finish(Flight& flight) = 0;
  // What is put on the queue by a kernel's function is put there through this, see vicinal/opencl.hpp.
  virtual void* native(Queue queue) = 0;
  // Of an emulated accelerator, whose kernels are those of host threads: puts flight.run_here on the queue. Where the
  // device was opened for it.
  virtual void call(Queue queue, Flight& flight) = 0;
  // In words.
  virtual std::string failure_text(int failure) const = 0;
  // Returns when all that was put on its queues is done, or cannot be done any more.
  virtual void drain() noexcept = 0;
};

}  // namespace vicinal::drivers
