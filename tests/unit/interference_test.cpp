// vicinal interference: what is told of made-up machines and of made-up measurements.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "calibration/interference/difference.hpp"
#include "calibration/interference/experiments.hpp"
#include "calibration/interference/machine_facts.hpp"
#include "calibration/interference/row.hpp"
#include "calibration/interference/sentences.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::interference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A machine's noise: a normal spread, now and then an interruption, and a drift over the whole.
double noisy(base::Random& random, double seconds, double spread, double drift) {
  const double normal = std::sqrt(-2 * std::log(1 - random.uniform())) *
                        std::cos(2 * std::numbers::pi * random.uniform());
  const double interruption = random.uniform() < 0.05 ? 1.3 : 1.0;
  return seconds * std::exp(spread * normal) * interruption * (1 + drift);
}

Rounds made_rounds(std::uint64_t seed, double slow_down, double spread, std::uint32_t count) {
  base::Random random(seed);
  Rounds rounds;
  for (std::uint32_t round = 0; round < count; ++round) {
    double now = 0.2 * round / count;  // the machine slows down by 20 % meanwhile
    for (const bool again : {false, true}) {
      for (const bool first : {true, false}) {
        const bool alone = first == (round % 2 == 0);
        auto& to = alone   ? again ? rounds.alone_again : rounds.alone
                   : again ? rounds.beside_again
                           : rounds.beside;
        to.push_back(noisy(random, alone ? 1e-3 : 1e-3 * slow_down, spread, now));
        now += 0.05 / count;
      }
    }
  }
  return rounds;
}

int seen_of(int runs, double slow_down, double spread, std::uint32_t count) {
  int seen = 0;
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run) + 1;
    if (difference_of(made_rounds(seed, slow_down, spread, count)).is_seen()) ++seen;
  }
  return seen;
}

TEST(InterferenceNoise, ASlowDownOfATenthIsSeenInNineOfTenRuns) {
  for (const double spread : {0.01, 0.03, 0.06}) {
    EXPECT_GE(seen_of(400, 1.1, spread, 21), 360) << "spread " << spread << ", seeds 1 to 400";
  }
  EXPECT_GE(seen_of(400, 1.1, 0.08, 25), 360) << "seeds 1 to 400";
}

TEST(InterferenceNoise, NothingIsSeenBetweenEqualsInNineOfTenRuns) {
  for (const double spread : {0.0001, 0.01, 0.03, 0.1, 0.3}) {
    EXPECT_LE(seen_of(400, 1.0, spread, 21), 12) << "spread " << spread << ", seeds 1 to 400";
  }
}

TEST(InterferenceNoise, ChanceIsThatOfAllSigns) {
  // All of five positive: one of 32 ways, and one with all negative.
  EXPECT_NEAR(chance_of_signs({1, 2, 3, 4, 5}), 2.0 / 32, 1e-12);
  // Only the smallest negative: the sums 0 and 1 of the negative ranks, a way each.
  EXPECT_NEAR(chance_of_signs({-1, 2, 3, 4, 5}), 4.0 / 32, 1e-12);
  EXPECT_EQ(chance_of_signs({0, 0}), 1);
  EXPECT_EQ(chance_of_signs({}), 1);
}

TEST(InterferenceNoise, NothingIsSeenOfTooFewRoundsOrWithinTheSpreadOfEquals) {
  Rounds rounds{
      .alone = {1, 1, 1}, .beside = {2, 2, 2}, .alone_again = {1, 1, 1}, .beside_again = {2, 2, 2}};
  EXPECT_FALSE(difference_of(rounds).is_seen());  // 3 rounds: chance 1/4
  EXPECT_NEAR(difference_of(rounds).change, 1, 1e-9);
  // Always slower beside, by 10 %; but the same again differs by 30 %.
  const std::vector<double> once(11, 1.0);
  const std::vector<double> beside(11, 1.1);
  const std::vector<double> again(11, 1.3);
  const std::vector<double> beside_again(11, 1.43);
  EXPECT_FALSE(difference_of({once, beside, again, beside_again}).is_seen());
  EXPECT_TRUE(difference_of({once, beside, once, beside}).is_seen());
  EXPECT_FALSE(difference_of({}).is_measured());
}

MachineFacts made_machine(std::uint32_t sockets, std::uint32_t nodes_each,
                          std::uint32_t cores_each_node) {
  MachineFacts machine;
  machine.nodes = sockets * nodes_each;
  machine.sockets = sockets;
  std::uint32_t processor = 0;
  for (std::uint32_t node = 0; node < machine.nodes; ++node) {
    for (std::uint32_t core = 0; core < cores_each_node; ++core) {
      machine.cores.push_back({processor++, node, node / nodes_each});
    }
  }
  machine.frequencies = MachineFacts::Frequencies::current;
  machine.has_wide_vectors = machine.has_streaming_stores = true;
  machine.kernels = {"gemm", "cg"};
  return machine;
}

TEST(InterferencePlan, EachMachineMeasuresAnExperimentOrSaysWhyNot) {
  for (const auto& machine : {made_machine(1, 1, 1), made_machine(1, 1, 2), made_machine(1, 2, 4),
                              made_machine(2, 1, 18), made_machine(2, 4, 16)}) {
    for (const Effort effort : {Effort::quick, Effort::usual}) {
      for (const Experiment& experiment : experiments()) {
        const auto points = points_of(experiment, machine, effort);
        const std::string why = why_not(experiment, machine);
        EXPECT_NE(points.empty(), why.empty()) << experiment.name << " of " << machine.cores.size();
        EXPECT_THAT(sentence_of(experiment, {}, machine), Not(IsEmpty()));
        for (const Point& point : points) {
          EXPECT_LE(point.cores, machine.cores.size());
          EXPECT_LT(point.transfer_node, machine.nodes);
          EXPECT_EQ(place(machine, point.cores, point.thread_node).computing.size(), point.cores);
        }
        for (std::size_t i = 0; i < points.size(); ++i) {
          for (std::size_t j = 0; j < i; ++j) EXPECT_NE(key_of(points[i]), key_of(points[j]));
        }
      }
    }
  }
}

TEST(InterferencePlan, WhatASmallMachineCannotShowIsSaid) {
  const MachineFacts two = made_machine(1, 1, 2);
  EXPECT_THAT(why_not(experiment_named("placement"), two), HasSubstr("a single NUMA node"));
  EXPECT_THAT(why_not(experiment_named("model-remote"), two), HasSubstr("a single socket"));
  EXPECT_THAT(shortcoming(experiment_named("contention"), two),
              HasSubstr("Only 1 core can compute"));
  EXPECT_THAT(why_not(experiment_named("model-local"), made_machine(1, 1, 1)),
              HasSubstr("no core is left"));
  const MachineFacts large = made_machine(2, 4, 16);
  for (const Experiment& experiment : experiments()) {
    EXPECT_EQ(why_not(experiment, large), "") << experiment.name;
    EXPECT_EQ(shortcoming(experiment, large), "") << experiment.name;
  }
  MachineFacts silent = large;
  silent.frequencies = MachineFacts::Frequencies::none;
  silent.has_wide_vectors = false;
  EXPECT_THAT(why_not(experiment_named("frequency"), silent),
              HasSubstr("does not say at which frequency"));
  EXPECT_THAT(why_not(experiment_named("wide-vectors"), silent), HasSubstr("AVX"));
  EXPECT_THROW(experiment_named("contension"), UsageError);
}

TEST(InterferencePlan, TheTransferHasTheLastCoreOfItsNode) {
  const MachineFacts machine = made_machine(2, 1, 4);
  const Placement far = place(machine, 6, 1);
  EXPECT_EQ(far.transferring, 7U);
  EXPECT_EQ(far.computing, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(far.shares);
  const Placement near = place(machine, 8, 0);
  EXPECT_EQ(near.transferring, 3U);
  EXPECT_TRUE(near.shares);
  EXPECT_EQ(near.computing.back(), 3U);
  MachineFacts ranks = machine;
  ranks.ranks = 2;
  EXPECT_EQ(most_computing(ranks), 6U);
  ranks.ranks_are_here = false;
  EXPECT_EQ(most_computing(ranks), 7U);
  EXPECT_THROW(place(machine, 9, 0), UsageError);
}

Difference changed(double change) {
  return {.alone = 1e-6,
          .beside = 1e-6 * (1 + change),
          .change = change,
          .noise = 0.02,
          .chance = std::abs(change) > 0.02 ? 0.002 : 0.5};
}

// Bandwidth falls to a third from the 14th core on.
TEST(InterferenceSentences, SayFromWhereOnAndHowMuch) {
  const MachineFacts machine = made_machine(2, 1, 18);
  std::vector<Row> rows;
  for (std::uint32_t cores = 1; cores <= 36; ++cores) {
    Row row{.point = {.experiment = "contention",
                      .kernel = "triad",
                      .transfer = "ranks",
                      .cores = cores,
                      .bytes = 16 << 20},
            .shares = cores == 36};
    row.transfer = changed(cores == 5 ? 0.2 : cores < 14 ? 0.0 : cores < 35 ? 1.0 : 2.0);
    row.computation = changed(0);
    rows.push_back(row);
  }
  EXPECT_EQ(sentence_of(experiment_named("contention"), rows, machine),
            "Beside triad the bandwidth of messages between two ranks from 14 cores on changes, at "
            "35 cores it falls by two "
            "thirds (67 %); nothing else changes beyond noise (up to 2.0 %).");
}

TEST(InterferenceSentences, IntensityCountsFromItsBeginning) {
  const MachineFacts machine = made_machine(1, 1, 8);
  std::vector<Row> rows;
  for (std::uint32_t repeats = 1; repeats <= 1024; repeats *= 4) {
    Row row{.point = {.experiment = "intensity",
                      .kernel = "triad",
                      .transfer = "memory",
                      .cores = 7,
                      .repeats = repeats,
                      .bytes = 4}};
    row.transfer = changed(repeats <= 64 ? 1.0 : 0.0);
    rows.push_back(row);
  }
  // 64 repeats: 2 flop each over 24 bytes, 5.3 flop/B.
  EXPECT_THAT(sentence_of(experiment_named("intensity"), rows, machine),
              AllOf(HasSubstr("the latency of copies in memory up to 5.3 flop/B"),
                    HasSubstr("at 0.083 flop/B it doubles")));
}

TEST(InterferenceSentences, SharesInWords) {
  EXPECT_EQ(share_words(0.66), "two thirds (66 %)");
  EXPECT_EQ(share_words(0.51), "half (51 %)");
  EXPECT_EQ(share_words(0.12), "12 %");
  EXPECT_EQ(share_words(0.031), "3.1 %");
}

TEST(InterferenceRows, AreReadAsTheyWereWritten) {
  Row row{.point = {.experiment = "contention",
                    .kernel = "triad",
                    .transfer = "memory",
                    .cores = 3,
                    .bytes = 4},
          .shares = true,
          .kernel_bytes = 512,
          .megahertz_alone = 2300};
  row.transfer = changed(0.5);
  const auto read = row_of(row.point, rest_of(row));
  ASSERT_TRUE(read);
  EXPECT_EQ(rest_of(*read), rest_of(row));
  EXPECT_TRUE(read->shares);
  EXPECT_NEAR(read->transfer.change, 0.5, 1e-9);
  const std::string rest = rest_of(row);
  for (std::size_t cut = 0; cut < rest.size(); ++cut) {
    EXPECT_FALSE(row_of(row.point, rest.substr(0, cut))) << cut;
  }
}

TEST(InterferenceRows, SweepsAreBytesPerSecond) {
  Row row{.point = {.experiment = "model-local",
                    .kernel = "write-streaming",
                    .transfer = "ranks",
                    .cores = 4,
                    .bytes = 1000},
          .kernel_bytes = 500};
  row.computation = changed(1.0);
  row.transfer = changed(3.0);
  // 4 * 500 bytes in 1 us and in 2 us; 1000 bytes in 1 us and in 4 us.
  EXPECT_EQ(model_csv(std::vector<Row>{row}),
            "computation_node,transfer_node,cores,computations_alone,computations_beside,"
            "transfer_alone,transfer_beside\n"
            "0,0,4,2000,1000,1000,250\n");
  EXPECT_EQ(model_csv({}), "");
}

void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text << "\n";
}

TEST(InterferenceMachine, IsReadFromTheSystemsFiles) {
  const vicinal::testing::TemporaryFolder folder;
  const std::string root = folder.path();
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string of = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    put(of + "/topology/physical_package_id", cpu < 2 ? "0" : "1");
    put(of + "/topology/core_id",
        cpu == 3 ? "0" : std::to_string(cpu));  // 2 is core 2, 3 core 0 of the other socket
    put(of + "/cpufreq/scaling_cur_freq", "1500000");
  }
  put(root + "/sys/devices/system/cpu/cpu0/cache/index3/size", "32M");
  put(root + "/sys/devices/system/cpu/cpu1/topology/core_id",
      "0");  // the second hardware thread of core 0
  put(root + "/sys/devices/system/node/node0/cpulist", "0-1");
  put(root + "/sys/devices/system/node/node2/cpulist", "2-3");
  const std::vector<std::uint32_t> processors{0, 1, 2, 3};
  const MachineFacts machine = read_machine(root, processors);
  ASSERT_EQ(machine.cores.size(), 3U);
  EXPECT_EQ(machine.cores[1].processor, 2U);
  EXPECT_EQ(machine.cores[1].node, 1U);
  EXPECT_EQ(machine.nodes, 2U);
  EXPECT_EQ(machine.sockets, 2U);
  EXPECT_EQ(machine.cache, 32_MiB);
  EXPECT_EQ(machine.frequencies, MachineFacts::Frequencies::current);
  EXPECT_EQ(megahertz_now(root, processors), 1500);
}

}  // namespace
}  // namespace vicinal::interference
