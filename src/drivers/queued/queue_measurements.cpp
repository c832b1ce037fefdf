#include "drivers/queued/queue_measurements.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/mapped_memory.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::uint64_t kSlots = 16;  // that copies of one direction are from and to, in turn
constexpr Bytes kLargestCopy = 4_MiB;
constexpr double kRateSeconds = 0.08;  // of copies per measured rate, about
constexpr double kCopySeconds = 0.02;  // of one copy, at most
constexpr int kAlone = 25;
constexpr std::int64_t kInARow = 64;
constexpr int kRounds = 5;             // of copies and runs in a row
constexpr Time kMostTime{50'000'000};  // no more of them are begun after that

Layout packed(std::uint64_t bytes) {
  return {.column_bytes = bytes, .stride_bytes = bytes};
}

Time median(std::vector<Time> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

enum class Way : std::uint8_t { in, out };

// Places in RAM and on the device, of each direction its own where the device has more than a page.
class Places {
 public:
  Places(std::byte* device, Bytes bytes)
      : device_(device),
        part_(std::clamp<std::uint64_t>(round_down(bytes.value / 2, kPageBytes), kPageBytes,
                                        kLargestCopy.value * kSlots)),
        out_at_(2 * part_ <= bytes.value ? part_ : 0),
        ram_(Bytes{2 * part_}, "the test of a device's link") {
    std::memset(ram_.address(), 1, 2 * part_);  // else all of it is the one zero page
  }
  std::byte* ram() const { return ram_.address(); }
  Bytes ram_bytes() const { return {2 * part_}; }
  std::uint64_t largest_copy() const { return std::min(part_, kLargestCopy.value); }

  void copy(TimedFlights& flights, Way way, std::uint64_t number, std::uint64_t bytes) const {
    const std::uint64_t offset = number % std::min(part_ / bytes, kSlots) * bytes;
    if (way == Way::in) {
      flights.copy_in(device_ + offset, ram() + offset, packed(bytes));
    } else {
      flights.copy_out(ram() + part_ + offset, device_ + out_at_ + offset, packed(bytes));
    }
  }

 private:
  std::byte* const device_;
  const std::uint64_t part_;    // bytes of one direction
  const std::uint64_t out_at_;  // on the device
  MappedMemory ram_;
};

// --- Rates ----------------------------------------------------------------------------------------

struct MeasuredDirection {
  std::uint64_t bytes = 0;   // of a copy
  std::uint64_t copies = 0;  // in kRateSeconds
  BytesPerSecond rate;
};

// So many copies of each direction, those of the two in turn.
BytesPerSecond rate(const Places& places, TimedFlights& flights, const MeasuredDirection& in,
                    const MeasuredDirection& out) {
  const Time begin = flights.now();
  std::uint64_t gone_out = 0;
  const auto put_out = [&](std::uint64_t until) {
    for (; gone_out < until; ++gone_out) places.copy(flights, Way::out, gone_out, out.bytes);
  };
  for (std::uint64_t i = 0; i < in.copies; ++i) {
    places.copy(flights, Way::in, i, in.bytes);
    put_out(out.copies * (i + 1) / in.copies);
  }
  put_out(out.copies);
  const double bytes = static_cast<double>(in.copies * in.bytes + out.copies * out.bytes);
  return {bytes / std::max((flights.wait() - begin).seconds(), 1e-9)};
}

BytesPerSecond rate_alone(const Places& places, TimedFlights& flights, Way way,
                          const MeasuredDirection& of) {
  const MeasuredDirection none;
  return way == Way::in ? rate(places, flights, of, none) : rate(places, flights, none, of);
}

// A copy of a page, then larger ones, tell how large they may be and how many fill the time.
MeasuredDirection measure(const Places& places, TimedFlights& flights, Way way) {
  const std::uint64_t largest = places.largest_copy();
  MeasuredDirection of{.bytes = kPageBytes, .copies = 1, .rate = {}};
  of.rate = rate_alone(places, flights, way, of);
  while (of.bytes < largest && static_cast<double>(of.bytes) / of.rate.value < kCopySeconds / 2) {
    of.bytes = std::min(of.bytes * 8, largest);
    of.rate = rate_alone(places, flights, way, of);
  }
  const double copies = of.rate.value * kRateSeconds / static_cast<double>(of.bytes);
  of.copies = std::min(static_cast<std::uint64_t>(std::clamp(copies, 2.0, 1024.0)), kSlots);
  rate_alone(places, flights, way, of);  // whoever meets a page of memory first pays for it
  of.copies = static_cast<std::uint64_t>(std::clamp(copies, 2.0, 1024.0));
  of.rate = rate_alone(places, flights, way, of);
  return of;
}

LinkRates measure_rates(const Places& places, TimedFlights& flights) {
  const MeasuredDirection in = measure(places, flights, Way::in);
  const MeasuredDirection out = measure(places, flights, Way::out);
  return {in.rate, out.rate, rate(places, flights, in, out)};
}

class Pinned {
 public:
  Pinned(QueuedDevice& device, std::byte* address, Bytes bytes)
      : device_(device), address_(address) {
    device.pin(address, bytes);
  }
  ~Pinned() { device_.unpin(address_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  QueuedDevice& device_;
  std::byte* const address_;
};

// --- Times ----------------------------------------------------------------------------------------

using Put = base::FunctionRef<void()>;

QueueTimes measure_times(TimedFlights& flights, Put put) {
  put();  // what the device makes at the first time
  flights.wait();
  std::vector<Time> alone;
  const Time all_begin = flights.now();
  const auto goes_on = [&] { return flights.now() - all_begin < kMostTime; };
  for (int i = 0; i < kAlone && (i == 0 || goes_on()); ++i) {
    const Time begin = flights.now();
    put();
    alone.push_back(flights.wait() - begin);
  }
  std::vector<Time> each;
  std::vector<Time> thread;
  const std::int64_t in_a_row = goes_on() ? kInARow : 4;
  for (int round = 0; round < kRounds && (round == 0 || goes_on()); ++round) {
    const Time begin = flights.now();
    for (std::int64_t i = 0; i < in_a_row; ++i) put();
    thread.push_back(Time{(flights.now() - begin).ns / in_a_row});
    each.push_back(Time{(flights.wait() - begin).ns / in_a_row});
  }
  return {median(std::move(alone)), median(std::move(each)), median(std::move(thread))};
}

}  // namespace

QueueMeasurements measure_queues(QueuedDevice& device, std::byte* memory, Bytes bytes,
                                 const TimedFlights::Clock& clock) {
  const Places places(memory, bytes);
  QueueMeasurements result;
  {
    TimedFlights flights(device, clock);
    result.plain = measure_rates(places, flights);
  }
  std::optional<Pinned> pinned;
  if (device.pins()) pinned.emplace(device, places.ram(), places.ram_bytes());
  TimedFlights flights(device, clock);  // all have ended before the memory is unpinned
  if (pinned) result.pinned = measure_rates(places, flights);
  const auto page = [&](Way way) {
    return measure_times(flights, [&, way] { places.copy(flights, way, 0, kPageBytes); });
  };
  result.copy_in = page(Way::in);
  result.copy_out = page(Way::out);
  result.run =
      measure_times(flights, [&] { flights.run(QueuedDevice::kFirstRun, [](const auto&) {}); });
  return result;
}

}  // namespace vicinal::drivers
