#include "drivers/disk/disk_bandwidth.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "base/random.hpp"
#include "drivers/clock.hpp"
#include "drivers/disk/disk_driver.hpp"
#include "drivers/mapped_memory.hpp"

namespace vicinal::drivers {

namespace {

constexpr NodeId kDisk{1};

// Keeps the memory of each copy in flight, and gives it to the next copy when the copy has ended.
class Slots final : public engine::Completions {
 public:
  Slots(std::uint32_t count, Bytes tile) : memory_({count * tile.value}, "the bandwidth test") {
    base::Random random(1);  // not compressible
    for (std::uint64_t i = 0; i + 8 <= count * tile.value; i += 8) {
      const std::uint64_t value = random.next();
      std::memcpy(memory_.address() + i, &value, sizeof(value));
    }
    for (std::uint32_t i = 0; i < count; ++i) free_.push_back(i);
    count_ = count;
  }

  // Waits until fewer than `in_flight` are taken.
  std::uint64_t take(std::size_t in_flight) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ - free_.size() < in_flight; });
    const std::uint64_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_.size() == count_; });
    if (error_) std::rethrow_exception(error_);
  }
  std::byte* memory(std::uint64_t slot, Bytes tile) const {
    return memory_.address() + slot * tile.value;
  }

  void copy_done(std::uint64_t copy_id, std::exception_ptr error) override {
    // Notified under the lock: whoever waits may destroy this at once.
    const std::lock_guard lock(mutex_);
    free_.push_back(copy_id);
    if (error) error_ = error;
    changed_.notify_one();
  }
  bool advance(WorkerId /*worker*/) override { return false; }
  void task_done(graph::Task&, WorkerId, std::exception_ptr) override {}

 private:
  MappedMemory memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> free_;  // under mutex_
  std::exception_ptr error_;         // under mutex_
  std::size_t count_ = 0;
};

class Meter {
 public:
  explicit Meter(const BandwidthTest& test)
      : test_(test),
        slots_(test.both ? 2 * test.copies : test.copies, test.tile),
        tiles_(std::max<std::uint64_t>(test.bytes.value / test.tile.value, 1)) {}
  engine::Completions& completions() { return slots_; }

  BytesPerSecond direction(DiskDriver& driver, bool writing) {
    return timed([&] {
      for (std::uint64_t tile = 0; tile < tiles_; ++tile) copy(driver, tile, writing, test_.copies);
    });
  }
  // Each direction has half of the tiles: no tile is read while it is written.
  BytesPerSecond both(DiskDriver& driver) {
    return timed([&] {
      for (std::uint64_t i = 0; i < tiles_; ++i) {
        const bool writing = i % 2 == 0;
        copy(driver, writing ? i / 2 : tiles_ - 1 - i / 2, writing, 2 * test_.copies);
      }
    });
  }

 private:
  template <typename Copies>
  BytesPerSecond timed(Copies start_copies) {
    const Time begin = monotonic_now();
    start_copies();
    slots_.wait_for_all();
    const double seconds = (monotonic_now() - begin).seconds();
    return {static_cast<double>(tiles_ * test_.tile.value) / seconds};
  }
  void copy(DiskDriver& driver, std::uint64_t tile, bool writing, std::size_t in_flight) {
    const Layout layout{.column_bytes = test_.tile.value, .stride_bytes = test_.tile.value};
    memory::Copy copy;
    copy.id = slots_.take(in_flight);
    const memory::Place ram{
        .node = kRam, .address = slots_.memory(copy.id, test_.tile), .layout = layout};
    const memory::Place disk{.node = kDisk, .offset = tile * test_.tile.value, .layout = layout};
    copy.from = writing ? ram : disk;
    copy.to = writing ? disk : ram;
    driver.start_copy(copy);
  }

  const BandwidthTest test_;
  Slots slots_;
  const std::uint64_t tiles_;
};

}  // namespace

DiskBandwidth measure_bandwidth(const std::string& folder, const BandwidthTest& test) {
  Meter meter(test);
  DiskDriver driver({.folder = folder,
                     .space = std::max(test.bytes, test.tile),
                     .direct_io = test.direct_io,
                     .io_uring = test.direct_io,
                     .copies = test.copies,
                     .node = kDisk});
  driver.start(meter.completions());
  DiskBandwidth result;
  result.write = meter.direction(driver, true);
  result.read = meter.direction(driver, false);
  if (test.both) result.both = meter.both(driver);
  result.io_uring = driver.uses_io_uring();
  result.direct_io = driver.uses_direct_io();
  driver.stop();
  return result;
}

}  // namespace vicinal::drivers
