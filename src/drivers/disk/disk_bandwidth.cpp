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
// On huge pages, like the memory of a run with a limit: a tile on small ones takes twice as long.
constexpr Bytes kLeastMemory = 32_MiB;

}  // namespace

// Whoever ends a copy starts the next one in its memory, as in a run: no other thread has to wake.
class DiskCopies::Meter final : public engine::Completions {
 public:
  explicit Meter(const BandwidthTest& test)
      : test_(test),
        tiles_(std::max<std::uint64_t>(test.bytes.value / test.tile.value, 1)),
        memory_(std::max(Bytes{most_in_flight() * test.tile.value}, kLeastMemory),
                "the bandwidth test") {
    base::Random random(1);  // not compressible
    for (std::uint64_t i = 0; i + 8 <= most_in_flight() * test.tile.value; i += 8) {
      const std::uint64_t value = random.next();
      std::memcpy(memory_.address() + i, &value, sizeof(value));
    }
  }

  // Before any copy: whoever starts one reads it without the lock.
  void drive(DiskDriver& driver) { driver_ = &driver; }

  Bytes bytes() const { return {tiles_ * test_.tile.value}; }

  BytesPerSecond direction(bool writing) {
    for (std::uint64_t tile = 0; tile < tiles_; ++tile) plan_.push_back({tile, writing});
    return copy_all(test_.copies);
  }
  // Each direction has half of the tiles: no tile is read while it is written.
  BytesPerSecond both() {
    for (std::uint64_t i = 0; i < tiles_; ++i) {
      const bool writing = i % 2 == 0;
      plan_.push_back({writing ? i / 2 : tiles_ - 1 - i / 2, writing});
    }
    return copy_all(most_in_flight());
  }

  // Ids of copies that nothing follows: beyond those of the others. Reads have the first slots.
  bool start_one(bool writing) {
    std::uint64_t slot = 0;
    Planned planned{.tile = 0, .writing = writing};
    {
      const std::lock_guard lock(mutex_);
      if (started_.empty()) {
        started_.resize(most_in_flight(), false);
        begins_.resize(most_in_flight());
      }
      const auto first = started_.begin() + (writing ? test_.copies : 0);
      const auto unused = std::find(first, first + test_.copies, false);
      if (unused == first + test_.copies || error_) return false;
      *unused = true;
      slot = static_cast<std::uint64_t>(unused - started_.begin());
      begins_[slot] = monotonic_now();
      ++in_flight_;
      const std::uint64_t half = std::max<std::uint64_t>(tiles_ / 2, 1);
      const std::uint64_t at = one_by_one_++ / 2 % half;
      planned.tile = writing ? at : tiles_ - 1 - at;
    }
    start_copy(most_in_flight() + slot, slot, planned);
    return true;
  }

  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return in_flight_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

  Time mean_time() {
    const std::lock_guard lock(mutex_);
    const Time mean{copies_timed_ == 0 ? 0 : time_of_copies_.ns / copies_timed_};
    copies_timed_ = 0;
    time_of_copies_ = {};
    return mean;
  }

  void copy_done(memory::CopyId copy, std::exception_ptr error) override {
    const std::uint64_t id = copy.slot;
    {
      const std::lock_guard lock(mutex_);
      if (error) error_ = error;
      if (id >= most_in_flight()) return end_one(id - most_in_flight());
    }
    start_next(id);
  }
  bool advance(WorkerId /*worker*/) override { return false; }
  void task_done(graph::Task&, WorkerId, std::exception_ptr, std::optional<Time>) override {}

 private:
  struct Planned {
    std::uint64_t tile = 0;
    bool writing = false;
  };

  std::uint64_t most_in_flight() const {
    return test_.both ? std::uint64_t{2} * test_.copies : test_.copies;
  }

  BytesPerSecond copy_all(std::uint64_t in_flight) {
    in_flight_ = in_flight;
    const Time begin = monotonic_now();
    for (std::uint64_t slot = 0; slot < in_flight; ++slot) start_next(slot);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return in_flight_ == 0; });
    const double seconds = (monotonic_now() - begin).seconds();
    plan_.clear();
    next_ = 0;
    if (error_) std::rethrow_exception(error_);
    return {static_cast<double>(bytes().value) / seconds};
  }

  void start_next(std::uint64_t slot) {
    Planned planned;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == plan_.size() || error_) {
        // Notified under the lock: whoever waits may destroy this at once.
        if (--in_flight_ == 0) ended_.notify_one();
        return;
      }
      planned = plan_[next_++];
    }
    start_copy(slot, slot, planned);
  }

  // Under mutex_.
  void end_one(std::uint64_t slot) {
    started_[slot] = false;
    ++copies_timed_;
    time_of_copies_ += monotonic_now() - begins_[slot];
    if (--in_flight_ == 0) ended_.notify_one();
  }

  void start_copy(std::uint64_t id, std::uint64_t slot, const Planned& planned) {
    const Layout layout{.column_bytes = test_.tile.value, .stride_bytes = test_.tile.value};
    const memory::Endpoint ram{
        .node = kRam, .address = memory_.address() + slot * test_.tile.value, .layout = layout};
    const memory::Endpoint disk{
        .node = kDisk, .offset = planned.tile * test_.tile.value, .layout = layout};
    memory::Copy copy;
    copy.id.slot = static_cast<std::uint32_t>(id);
    copy.from = planned.writing ? ram : disk;
    copy.to = planned.writing ? disk : ram;
    driver_->start_copy(copy);
  }

  const BandwidthTest test_;
  const std::uint64_t tiles_;
  MappedMemory memory_;
  DiskDriver* driver_ = nullptr;
  std::mutex mutex_;
  std::condition_variable ended_;
  // Under mutex_:
  std::vector<Planned> plan_;
  std::size_t next_ = 0;
  std::uint64_t in_flight_ = 0;
  std::exception_ptr error_;
  std::vector<bool> started_;  // by slot: a copy that nothing follows is in flight
  std::vector<Time> begins_;   // by slot
  std::uint64_t one_by_one_ = 0;
  std::int64_t copies_timed_ = 0;
  Time time_of_copies_;
};

DiskCopies::DiskCopies(const std::string& folder, const BandwidthTest& test)
    : meter_(std::make_unique<Meter>(test)),
      driver_(std::make_unique<DiskDriver>(DiskConfig{.folder = folder,
                                                      .space = std::max(test.bytes, test.tile),
                                                      .direct_io = test.direct_io,
                                                      .io_uring = test.direct_io,
                                                      .copies = test.copies,
                                                      .node = kDisk})) {
  meter_->drive(*driver_);
  driver_->start(*meter_);
}

DiskCopies::~DiskCopies() {
  driver_->stop();
}

BytesPerSecond DiskCopies::write() {
  return meter_->direction(true);
}

BytesPerSecond DiskCopies::read() {
  return meter_->direction(false);
}

BytesPerSecond DiskCopies::both() {
  return meter_->both();
}

bool DiskCopies::start(bool writing) {
  return meter_->start_one(writing);
}

void DiskCopies::wait() {
  meter_->wait();
}

Time DiskCopies::mean_time() {
  return meter_->mean_time();
}

bool DiskCopies::io_uring() const {
  return driver_->uses_io_uring();
}

bool DiskCopies::direct_io() const {
  return driver_->uses_direct_io();
}

DiskBandwidth measure_bandwidth(const std::string& folder, const BandwidthTest& test) {
  DiskCopies copies(folder, test);
  DiskBandwidth result;
  copies.write();  // the file system finds room
  result.write = copies.write();
  result.read = copies.read();
  if (test.both) result.both = copies.both();
  result.io_uring = copies.io_uring();
  result.direct_io = copies.direct_io();
  return result;
}

}  // namespace vicinal::drivers
