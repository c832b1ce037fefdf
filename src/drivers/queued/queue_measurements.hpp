// What the link of a device with queues gives and what a launch costs, of any backend: for machine files.
#pragma once

#include <cstddef>
#include <optional>

#include "drivers/queued/queued_device.hpp"
#include "drivers/queued/timed_flights.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

struct LinkRates {
  BytesPerSecond in;    // to the device, nothing else being copied
  BytesPerSecond out;   // to RAM
  BytesPerSecond both;  // the sum while both go on
};

// Of copies of a page, or of runs in which there is nothing.
struct QueueTimes {
  Time alone;   // from being put on the queue to its end, with nothing else on it
  Time each;    // per one of many in a row, all on the queue
  Time thread;  // of the thread that puts them there, per one
};

struct QueueMeasurements {
  LinkRates plain;                  // of memory as it comes
  std::optional<LinkRates> pinned;  // none: the device has no use for it, see QueuedDevice::pins
  QueueTimes copy_in;
  QueueTimes copy_out;
  QueueTimes run;
};

// Takes less than two seconds, but where a megabyte takes seconds, and up to 128 MiB of RAM. `memory`: of the device,
// a page at least; up to 128 MiB of it are used. Throws DeviceError, CapacityError.
QueueMeasurements measure_queues(QueuedDevice& device, std::byte* memory, Bytes bytes,
                                 const TimedFlights::Clock& clock);

}  // namespace vicinal::drivers
