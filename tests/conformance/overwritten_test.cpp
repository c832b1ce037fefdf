// What a task overwrites unread, and nobody reads before it, need not be saved when it has to leave; what the task writes must be.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

const NodeId kDisk{1};

// A worker, and room for two pages.
MachineDescription of_two_pages() {
  return around_ram({{kRam, "ram", NodeKind::ram, kPage * 2}, {kDisk, "disk", NodeKind::disk, {}}},
                    {{WorkerId{0}, ProcessorKind::cpu, kRam}});
}

enum class Then { overwritten, read };

// A page is written, files push it out, and behind them another task uses it, which has been ready all along.
Bytes written_to_disk(Then then) {
  Options options;
  options.policy = "prio";
  Runtime runtime(of_two_pages(), options);
  const Codelet step{.name = "step", .expected = {Time{1000}}};
  const Handle page = runtime.register_empty(kPage, "page");
  runtime.submit({.codelet = &step, .operands = {W(page)}, .priority = 9});
  std::vector<Handle> files;
  for (int i = 0; i < 4; ++i) {
    files.push_back(runtime.register_simulated(kPage, kDisk, "file" + std::to_string(i)));
    runtime.submit({.codelet = &step, .operands = {R(files.back())}, .priority = 5 - i});
  }
  runtime.submit({.codelet = &step,
                  .operands = {then == Then::overwritten ? W(page) : R(page)},
                  .priority = -9});
  runtime.wait();
  const Bytes written = runtime.statistics().nodes[kDisk.value].bytes_in;
  runtime.unregister(page, WriteBack::no);
  return written;
}

TEST(Overwritten, ContentIsNotSaved) {
  EXPECT_EQ(written_to_disk(Then::read), kPage);
  EXPECT_EQ(written_to_disk(Then::overwritten), Bytes{0});
}

// Two arrays of pages in room for less than one and a half: each step reads three pages of the one and overwrites a page of the
// other.
void sum_kernel(KernelContext& k) {
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < 4; ++i) sum += *k.data<std::int64_t>(i);
  for_each_element(k.operand(0), [&](std::int64_t& x) { x = sum % 1'000'003; });
}
const Codelet kSum{.name = "sum", .cpu = sum_kernel};

constexpr std::size_t kPages = 12;
constexpr std::size_t kSteps = 25;

TEST(Overwritten, WhatIsWrittenInItsPlaceIsKept) {
  std::vector<std::int64_t> expected(kPages);
  for (std::size_t i = 0; i < kPages; ++i) expected[i] = static_cast<std::int64_t>(i + 1);
  const auto around = [](std::size_t i) {
    return std::vector{(i + kPages - 1) % kPages, i, (i + 1) % kPages};
  };
  for (std::size_t step = 0; step < kSteps; ++step) {
    const std::vector<std::int64_t> before = expected;
    for (std::size_t i = 0; i < kPages; ++i) {
      expected[i] = 0;
      for (const std::size_t j : around(i)) expected[i] += before[j];
      expected[i] %= 1'000'003;
    }
  }
  for (const char* const policy : {"lws", "eager", "dmdas", "darts", "belady", "horizon"}) {
    for (const std::uint64_t room : {4U, 7U, 17U}) {
      SCOPED_TRACE(std::string(policy) + ", room for " + std::to_string(room));
      const TemporaryFolder folder("overwritten");
      Options options;
      options.workers = 3;
      options.bind = false;
      options.policy = policy;
      options.memory = kPage * room;
      options.disk = folder.path();
      Runtime runtime(options);
      const Watchdog watchdog(&runtime, "overwritten");
      std::vector<Handle> arrays[2];
      for (auto& array : arrays) {
        for (std::size_t i = 0; i < kPages; ++i) array.push_back(runtime.register_empty(kPage));
      }
      for (std::size_t i = 0; i < kPages; ++i) {
        runtime.submit(set(arrays[0][i], static_cast<std::int64_t>(i + 1)));
      }
      for (std::size_t step = 0; step < kSteps; ++step) {
        for (std::size_t i = 0; i < kPages; ++i) {
          const auto& from = arrays[step % 2];
          const auto near = around(i);
          runtime.submit({.codelet = &kSum,
                          .operands = {W(arrays[(step + 1) % 2][i]), R(from[near[0]]),
                                       R(from[near[1]]), R(from[near[2]])}});
        }
      }
      runtime.wait();
      for (std::size_t i = 0; i < kPages; ++i) {
        const Acquired page = runtime.acquire(arrays[kSteps % 2][i], AccessMode::R);
        EXPECT_EQ(*page.data<std::int64_t>(), expected[i]) << "page " << i;
      }
    }
  }
}

// Its content is poisoned either way; the next one that writes it is kept.
TEST(Overwritten, ATaskThatFailsLeavesRoomForTheNext) {
  const TemporaryFolder folder("overwritten");
  Options options;
  options.workers = 1;
  options.bind = false;
  options.policy = "eager";
  options.memory = kPage * 2;
  options.disk = folder.path();
  Runtime runtime(options);
  const Codelet fails{.name = "fails",
                      .cpu = [](KernelContext&) { throw std::runtime_error("no"); }};
  const Handle page = runtime.register_empty(kPage, "page");
  runtime.submit(set(page, 1));
  runtime.submit({.codelet = &fails, .operands = {W(page)}});
  EXPECT_THROW(runtime.wait(), std::exception);
  runtime.submit(set(page, 7));
  std::vector<Handle> others;
  for (int i = 0; i < 6; ++i) {  // they push it out
    others.push_back(runtime.register_empty(kPage));
    runtime.submit(set(others.back(), i));
  }
  runtime.wait();
  EXPECT_EQ(*runtime.acquire(page, AccessMode::R).data<std::int64_t>(), 7);
}

}  // namespace
}  // namespace vicinal
