// Question: what does a task cost a rank that it does not concern? One rank of many unrolls tasks of two reads and a
// write of other ranks' data, and drops them; nothing is sent, as no other rank is there. Prints nanoseconds of processor time per task: what
// `submit` takes with the making of the TaskSpec, `concerns` alone, and the loop without either.
//
// Lower bound: to look at three operands, of which each has a record of 16 bytes.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <time.h>
#include <utility>
#include <vector>

#include "comm/progress.hpp"
#include "comm/transport.hpp"
#include "help.hpp"
#include "runtime/ranks.hpp"
#include "vicinal/runtime.hpp"

namespace {

using namespace vicinal;  // NOLINT(google-build-using-namespace)

constexpr const char* kHelp =
    R"(What a task costs a rank that it does not concern: bench/unroll.cpp says how it is measured.
  --fake-rank N   this rank (5)
  --fake-ranks N  ranks (1024)
  --tasks N       tasks (1000000)
  --data N        data (65536)
)";

struct Arguments {
  std::uint32_t rank = 5;
  std::uint32_t ranks = 1024;
  std::uint32_t tasks = 1'000'000;
  std::uint32_t data = 65'536;
};

bool parse(int count, char** values, Arguments& into) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    std::uint32_t* const number = name == "--fake-rank"    ? &into.rank
                                  : name == "--fake-ranks" ? &into.ranks
                                  : name == "--tasks"      ? &into.tasks
                                  : name == "--data"       ? &into.data
                                                           : nullptr;
    if (number == nullptr || i + 1 == count) return false;
    const std::string_view text = values[i + 1];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return false;
  }
  return into.rank < into.ranks && into.ranks > 1 && into.tasks > 0 && into.data >= 3;
}

// Says hello and goodbye for all other ranks, and carries nothing.
class NobodyThere final : public comm::Transport {
 public:
  NobodyThere(std::uint32_t rank, std::uint32_t ranks) : rank_(rank), ranks_(ranks) {}
  RankId rank() const override { return {rank_}; }
  std::uint32_t ranks() const override { return ranks_; }
  // Each message comes back as the other rank's own: all begin alike, and end alike.
  void post_message(RankId to, std::span<const std::byte> bytes) override {
    answers_.emplace_back(to, std::vector(bytes.begin(), bytes.end()));
  }
  void post_send(RankId, comm::Channel, const std::byte*, const Layout&, comm::PayloadId) override {
  }
  void post_receive(RankId, comm::Channel, std::byte*, const Layout&, comm::PayloadId) override {}
  bool poll(comm::TransportEvents& events) override {
    const auto answers = std::exchange(answers_, {});
    for (const auto& [from, bytes] : answers) events.message_arrived(from, bytes);
    return !answers.empty();
  }
  void cancel() override {}

 private:
  const std::uint32_t rank_;
  const std::uint32_t ranks_;
  std::vector<std::pair<RankId, std::vector<std::byte>>> answers_;
};

const Codelet kNothing{.name = "nothing", .cpu = [](KernelContext&) {}};

// Of this thread: others may share its core.
double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Of the fastest of five rounds.
template <typename Each>
double nanoseconds(std::uint32_t tasks, const Each& each) {
  double best = 1e300;
  for (int round = 0; round < 5; ++round) {
    const double begin = processor_ns();
    for (std::uint32_t i = 0; i < tasks; ++i) each(i);
    best = std::min(best, (processor_ns() - begin) / tasks);
  }
  return best;
}

void measure(const Arguments& given) {
  const auto progress = std::make_shared<internals::RanksImpl>(
      [&] { return std::make_unique<NobodyThere>(given.rank, given.ranks); });
  Options options{.workers = 1, .policy = "lws"};
  options.bind = false;
  Runtime runtime(options, internals::RanksOpener::make(progress));
  std::vector<Handle> data;
  while (data.size() < given.data) {
    const auto owner = static_cast<std::uint32_t>(data.size() % (given.ranks - 1));
    const RankId other{owner < given.rank ? owner : owner + 1};
    data.push_back(runtime.register_empty(other, Bytes{8}));
    runtime.submit({.codelet = &kNothing, .operands = {W(data.back())}});
  }
  const auto at = [&](std::uint32_t i) { return data[i % given.data]; };
  std::uint64_t sum = 0;
  const double loop = nanoseconds(given.tasks, [&](std::uint32_t i) { sum += at(i) ? 1 : 0; });
  const double submit = nanoseconds(given.tasks, [&](std::uint32_t i) {
    runtime.submit({.codelet = &kNothing, .operands = {R(at(i)), R(at(i + 1)), RW(at(i + 2))}});
  });
  const double concerns = nanoseconds(given.tasks, [&](std::uint32_t i) {
    sum += runtime.concerns({R(at(i)), R(at(i + 1)), RW(at(i + 2))}) ? 1 : 0;
  });
  std::printf(
      "ns per task that does not concern the rank: submit %.1f, concerns %.1f (loop %.1f; %llu)\n",
      submit, concerns, loop, static_cast<unsigned long long>(sum));
  runtime.wait();
}

}  // namespace

int main(int count, char** values) {
  if (bench::helped(count, values, kHelp)) return 0;
  Arguments given;
  if (!parse(count, values, given)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  try {
    measure(given);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unroll: %s\n", error.what());
    return 1;
  }
}
