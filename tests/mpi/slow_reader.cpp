// Memory of a rank that reads more slowly than another makes: `mpirun -n 2 slow_reader COUNT [LIMIT_MIB [WINDOW]]`.
// Rank 0 makes COUNT tiles of 64 KiB, rank 1 reads each. Both have LIMIT_MIB (16) of memory, the folder of the option
// disk (.), and WINDOW tasks submitted and not executed at most (128; 0: no bound). Exit status 1 if a tile is wrong,
// or if rank 1 has ever had more resident than its limit and 64 MiB.
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include "vicinal/ranks.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;

constexpr std::size_t kTileBytes = 65536;
constexpr std::uint64_t kBesideLimit = 64ULL << 20;
// A reader waits for the one before it in its row, and not for the other rows.
constexpr std::size_t kRows = 4;

std::uint64_t word_of(std::uint64_t tile, std::uint64_t place) {
  return tile * 0x9E3779B97F4A7C15ULL + place;
}

void make(std::span<std::uint64_t> tile, std::uint64_t number) {
  for (std::uint64_t place = 0; place < tile.size(); ++place) tile[place] = word_of(number, place);
}

void read(std::span<const std::uint64_t> tile, std::span<std::uint64_t> done,
          std::uint64_t number) {
  std::uint64_t wrong = 0;
  for (std::uint64_t place = 0; place < tile.size(); ++place) {
    wrong += tile[place] == word_of(number, place) ? 0U : 1U;
  }
  if (wrong > 0) {
    throw std::runtime_error("tile " + std::to_string(number) + " has " + std::to_string(wrong) +
                             " wrong words");
  }
  ++done[0];
  // What makes it slow: a sleep would let the thread of the ranks run as on a core of its own.
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// The most that this process has had resident, bytes.
std::uint64_t most_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib << 10;
  }
  throw std::runtime_error("/proc/self/status has no VmHWM");
}

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1U << 20);
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("'" + text + "' is no number");
  }
  return value;
}

// An exception would leave the runtime before the other rank has ended.
int fail(const char* what) {
  std::fprintf(stderr, "slow_reader: %s\n", what);
  return 1;
}

// Of tiles read, on all ranks.
std::uint64_t play(Runtime& runtime, std::uint64_t count) {
  std::array<Data<std::uint64_t>, kRows> done;
  for (auto& row : done) {
    row = runtime.data<std::uint64_t>(RankId{1}, 1);
    runtime.task(
        "zero", [](std::span<std::uint64_t> tiles) { tiles[0] = 0; }, out(row));
  }
  for (std::uint64_t number = 0; number < count; ++number) {
    const auto tile = runtime.data<std::uint64_t>(RankId{0}, kTileBytes / sizeof(std::uint64_t));
    runtime.task("make", make, out(tile), number);
    runtime.task("read", read, in(tile), inout(done[number % kRows]), number);
    runtime.release_later(tile);
  }
  runtime.wait();
  std::uint64_t sum = 0;
  for (const auto& row : done) sum += runtime.read(row)[0];
  return sum;
}

int run(std::uint64_t count, std::uint64_t limit, std::uint64_t window) {
  Options options = Options::from_environment();
  options.workers = 1;
  options.bind = false;
  options.memory = Bytes{limit};
  if (options.disk.empty()) options.disk = ".";
  options.window_tasks = window;
  const Ranks ranks = Ranks::launched(options);
  if (ranks.count() != 2) throw std::runtime_error("two ranks are needed: mpirun -n 2");
  Runtime runtime(options, ranks);
  const std::uint64_t before = most_resident();
  const Time begin = runtime.statistics().now;
  const std::uint64_t done = play(runtime, count);
  const std::uint64_t resident = most_resident();
  const Statistics statistics = runtime.statistics();
  const NodeStatistics& ram = statistics.nodes.front();
  // One string, so that lines of two ranks stay lines.
  std::string text(512, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(
      text.data(), text.size(),
      "rank %u: %llu tiles, resident %.1f MiB at most (%.1f before the first task), limit %.1f "
      "MiB; replicas %.1f MiB at "
      "most, %llu evictions, %llu written to disk; %.1f MiB sent, %.1f received; %.2f s\n",
      ranks.rank().value, static_cast<unsigned long long>(done), mib(resident), mib(before),
      mib(limit), mib(ram.peak.value), static_cast<unsigned long long>(ram.evictions),
      static_cast<unsigned long long>(ram.write_backs), mib(statistics.sent.value),
      mib(statistics.received.value), static_cast<double>(statistics.now.ns - begin.ns) / 1e9)));
  std::fputs(text.c_str(), stdout);
  if (done != count) return fail("not all tiles were read");
  if (ranks.rank() != RankId{1}) return 0;
  if (statistics.received.value < count * kTileBytes) {
    return fail("rank 1 has received fewer bytes than it has read");
  }
  if (resident > limit + kBesideLimit) {
    return fail("more was resident than the limit and 64 MiB");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int at, const char* usual) {
    return number_of(at < count ? arguments[at] : usual);
  };
  try {
    return run(argument(1, "2000"), argument(2, "16") << 20, argument(3, "128"));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slow_reader: %s\n", error.what());
    return 1;
  }
}
