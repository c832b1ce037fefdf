#include "drivers/emulated/link_bandwidth.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <vector>

#include "drivers/clock.hpp"
#include "drivers/emulated/copy_engine.hpp"
#include "drivers/mapped_memory.hpp"

namespace vicinal::drivers {

namespace {

constexpr Bytes kTile = 4_MiB;
constexpr std::uint64_t kTiles = 16;  // that each engine copies from and to, in turn
constexpr double kSeconds = 0.3;      // of copies, about
constexpr int kPages = 50;            // copies of one page

class Counter final : public engine::Completions {
 public:
  void copy_done(memory::CopyId /*copy*/, std::exception_ptr /*error*/) override {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }
  bool advance(WorkerId /*worker*/) override { return false; }
  void task_done(graph::Task&, WorkerId, std::exception_ptr, std::optional<Time>) override {}
  void wait_for(std::uint64_t copies) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= copies; });
    ended_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t ended_ = 0;  // since the last wait
};

// One direction of a link, with the memory at its two ends.
class Direction {
 public:
  explicit Direction(BytesPerSecond bandwidth)
      : from_(kTile * kTiles, "the test of a link"),
        to_(kTile * kTiles, "the test of a link"),
        engine_(bandwidth, "copy test") {
    std::memset(from_.address(), 1, kTile.value * kTiles);  // else all of it is the one zero page
    std::memset(to_.address(), 1, kTile.value * kTiles);
  }
  void start(engine::Completions& completions) { engine_.start(completions); }
  void copy(std::uint64_t number, Bytes bytes) {
    const Layout layout{.column_bytes = bytes.value, .stride_bytes = bytes.value};
    const std::uint64_t offset = number % kTiles * kTile.value;
    memory::Copy copy;
    copy.id.slot = static_cast<std::uint32_t>(number);
    copy.from = {.node = kRam, .address = from_.address() + offset, .layout = layout};
    copy.to = {.node = NodeId{1}, .address = to_.address() + offset, .layout = layout};
    engine_.submit(copy);
  }

 private:
  MappedMemory from_;
  MappedMemory to_;
  CopyEngine engine_;
};

// Of the first `count` of them at once, together.
BytesPerSecond rate(std::deque<Direction>& directions, std::size_t count, Counter& counter,
                    std::uint64_t tiles) {
  const Time begin = monotonic_now();
  for (std::uint64_t i = 0; i < tiles; ++i) {
    for (std::size_t d = 0; d < count; ++d) directions[d].copy(i, kTile);
  }
  counter.wait_for(tiles * count);
  const double bytes = static_cast<double>(tiles * count * kTile.value);
  return {bytes / (monotonic_now() - begin).seconds()};
}

std::uint64_t tiles_in_time(BytesPerSecond bandwidth) {
  const double tiles = bandwidth.value * kSeconds / static_cast<double>(kTile.value);
  return static_cast<std::uint64_t>(std::clamp(tiles, 2.0, 4096.0));
}

Time page_latency(Direction& direction, Counter& counter) {
  std::vector<std::int64_t> taken;
  for (int i = 0; i < kPages; ++i) {
    const Time begin = monotonic_now();
    direction.copy(0, Bytes{kPageBytes});
    counter.wait_for(1);
    taken.push_back((monotonic_now() - begin).ns);
  }
  std::nth_element(taken.begin(), taken.begin() + kPages / 2, taken.end());
  return {taken[kPages / 2]};
}

}  // namespace

LinkBandwidth measure_links(std::uint32_t accelerators, BytesPerSecond bandwidth) {
  Counter counter;
  std::deque<Direction> directions;
  for (std::uint32_t i = 0; i < 2 * accelerators; ++i) {
    directions.emplace_back(bandwidth).start(counter);
  }
  LinkBandwidth result;
  const std::uint64_t tiles = tiles_in_time(rate(directions, 1, counter, 2));
  result.alone = rate(directions, 1, counter, tiles);
  result.together = rate(directions, directions.size(), counter,
                         std::max<std::uint64_t>(tiles / accelerators, 2));
  const Time copied = duration(Bytes{kPageBytes}, result.alone);
  result.latency = std::max(Time{0}, page_latency(directions[0], counter) - copied);
  return result;
}

}  // namespace vicinal::drivers
