// What a folder's disk gives to copies like the runtime's: for benchmarks and machine files.
#pragma once

#include <cstdint>
#include <string>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

struct DiskBandwidth {
  BytesPerSecond write;
  BytesPerSecond read;
  BytesPerSecond both;  // reads and writes at once, their sum; 0: not asked for
  bool io_uring = false;
  bool direct_io = false;  // false: the page cache's bandwidth, not the disk's
};

struct BandwidthTest {
  Bytes bytes;         // written, then read; the cache of the device should be small beside it
  Bytes tile = 4_MiB;  // per copy
  std::uint32_t copies = 4;  // in flight per direction
  bool direct_io = true;
  bool both = false;  // also both directions at once
};

// Writes a scratch file in the folder tile by tile, then reads it in the same order, through the
// disk driver. Throws what the driver throws, and UsageError if there is no room.
DiskBandwidth measure_bandwidth(const std::string& folder, const BandwidthTest& test);

}  // namespace vicinal::drivers
