// What a folder's disk gives to copies like the runtime's: for benchmarks and machine files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

class DiskDriver;

struct DiskBandwidth {
  BytesPerSecond write;  // over what was written
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

// Copies tiles between memory and a scratch file in the folder, through the disk driver. Throws what the driver
// throws, and UsageError if there is no room.
class DiskCopies {
 public:
  DiskCopies(const std::string& folder, const BandwidthTest& test);
  ~DiskCopies();
  DiskCopies(const DiskCopies&) = delete;
  DiskCopies& operator=(const DiskCopies&) = delete;
  // Each copies whole tiles, one at least.
  BytesPerSecond write();  // tile by tile; the first time the file system has to find room
  BytesPerSecond read();   // in the same order, what was written
  BytesPerSecond both();  // half of the tiles is written, the other half is read; test.both is true
  // One copy, of the next tile; any thread, several at once. False: as many as the test says are in flight in that
  // direction. test.both is true, and nothing of the above is under way.
  bool start(bool writing);
  void wait();  // until all that were started have ended; throws if one has failed
  // What the copies that were started one by one since the last call took from start to end, on average.
  Time mean_time();
  bool io_uring() const;
  bool direct_io() const;

 private:
  class Meter;
  std::unique_ptr<Meter> meter_;
  std::unique_ptr<DiskDriver> driver_;
};

// Written twice, read, and both if the test asks for it.
DiskBandwidth measure_bandwidth(const std::string& folder, const BandwidthTest& test);

}  // namespace vicinal::drivers
