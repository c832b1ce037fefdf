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

  std::uint64_t take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !free_.empty(); });
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

BytesPerSecond measure_direction(DiskDriver& driver, Slots& slots, const BandwidthTest& test,
                                 bool writing) {
  const std::uint64_t tiles = std::max<std::uint64_t>(test.bytes.value / test.tile.value, 1);
  const Layout layout{.column_bytes = test.tile.value, .stride_bytes = test.tile.value};
  const Time begin = monotonic_now();
  for (std::uint64_t i = 0; i < tiles; ++i) {
    memory::Copy copy;
    copy.id = slots.take();
    const memory::Place ram{
        .node = kRam, .address = slots.memory(copy.id, test.tile), .layout = layout};
    const memory::Place disk{.node = kDisk, .offset = i * test.tile.value, .layout = layout};
    copy.from = writing ? ram : disk;
    copy.to = writing ? disk : ram;
    driver.start_copy(copy);
  }
  slots.wait_for_all();
  const double seconds = (monotonic_now() - begin).seconds();
  return {static_cast<double>(tiles * test.tile.value) / seconds};
}

}  // namespace

DiskBandwidth measure_bandwidth(const std::string& folder, const BandwidthTest& test) {
  Slots slots(test.copies, test.tile);
  DiskDriver driver({.folder = folder, .space = test.bytes, .copies = test.copies, .node = kDisk});
  driver.start(slots);
  DiskBandwidth result;
  result.write = measure_direction(driver, slots, test, true);
  result.read = measure_direction(driver, slots, test, false);
  result.io_uring = driver.uses_io_uring();
  result.direct_io = driver.uses_direct_io();
  driver.stop();
  return result;
}

}  // namespace vicinal::drivers
