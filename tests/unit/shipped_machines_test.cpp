// The shipped machines say what their sources say, also where a part of them is chosen.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine_model.hpp"
#include "machine/shipped.hpp"
#include "support/contention_tables.hpp"
#include "support/machine_checks.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::IsEmpty;

MachineModel v100p(std::uint32_t gpus) {
  return load_machine("v100p", {.gpus = gpus});
}

// --- The machine of the reference instances -------------------------------------------------------

TEST(MachineV100p, HasRamAndFourGpusOf500MiBAndNoCpuWorker) {
  const MachineModel model = load_machine("v100p", {});
  const MachineDescription& machine = model.description;
  ASSERT_EQ(machine.nodes.size(), 5U);
  EXPECT_EQ(machine.nodes[0].name, "ram");
  EXPECT_EQ(machine.nodes[0].limit, std::nullopt);
  EXPECT_EQ(machine.disk(), std::nullopt);
  ASSERT_EQ(machine.workers.size(), 4U);
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(machine.nodes[gpu + 1].name, "gpu" + std::to_string(gpu));
    EXPECT_EQ(machine.nodes[gpu + 1].limit, 500_MiB);
    const auto& worker = machine.workers[gpu];
    EXPECT_EQ(worker.kind, kGpu);
    EXPECT_EQ(worker.node, (NodeId{gpu + 1}));
    EXPECT_EQ(worker.task_overhead, (Time{10'000}));
    EXPECT_EQ(worker.copy_overhead, (Time{10'000}));
    EXPECT_EQ(worker.pipeline, 2U);
  }
  EXPECT_EQ(machine.submit_overhead, (Time{1'000}));
}

TEST(MachineV100p, EveryLinkHas6GBPerSecondAnd10usAndPassesTheOneHostSegmentOf12) {
  const MachineDescription machine = v100p(4).description;
  EXPECT_EQ(machine.links.size(), 20U);  // 5 nodes, each to each other
  ASSERT_EQ(machine.segments.size(), 1U);
  EXPECT_EQ(machine.segments[0].bandwidth.value, 12e9);
  for (const auto& each : machine.links) {
    EXPECT_EQ(each.bandwidth.value, 6e9);
    EXPECT_EQ(each.latency, (Time{10'000}));
    EXPECT_THAT(each.segments, ElementsAre(0U));
    EXPECT_EQ(each.copies_in_flight, 2U);
  }
}

TEST(MachineV100p, CopiesOfALinkAreInOrderAndThoseBetweenGpusYieldToArrivalsFromRam) {
  const MachineDescription machine = v100p(3).description;
  EXPECT_THAT(serialised(machine, "gpu0", "ram"), ElementsAre("gpu0>ram"));
  EXPECT_THAT(serialised(machine, "gpu0", "gpu2"),
              ElementsAre("gpu0>gpu2", "gpu2>gpu0", "ram>gpu0", "ram>gpu2"));
  EXPECT_THAT(serialised(machine, "ram", "gpu0"),
              ElementsAre("gpu0>gpu1", "gpu0>gpu2", "gpu1>gpu0", "gpu2>gpu0", "ram>gpu0"));
}

TEST(MachineV100p, KernelsTakeTheTimesOfTheReferenceInstances) {
  const MachineModel model = v100p(1);
  const double n = 960;
  const auto us = [&](std::string_view kernel, double flops) {
    return model.seconds(kernel, "float", flops, kGpu).value_or(-1) * 1e6;
  };
  EXPECT_NEAR(us("gemm", 2 * n * n * n), 140.9152, 5e-5);
  EXPECT_NEAR(us("trsm", n * n * n), 117.4293, 5e-5);
  EXPECT_NEAR(us("syrk", n * n * n), 70.45759, 5e-6);
  EXPECT_NEAR(us("potrf", n * n * n / 3), 589.824, 5e-4);
  EXPECT_NEAR(us("gemm2d", 2 * n * n * 3840), 563.6607, 5e-5);
  EXPECT_TRUE(model.is_synchronous("potrf"));
  EXPECT_FALSE(model.is_synchronous("gemm"));
  EXPECT_EQ(model.seconds("gemm", "float", 1, kCpu), std::nullopt);
}

// --- Choices --------------------------------------------------------------------------------------

TEST(MachineChoice, KeepsTheFirstGpusAndSetsTheLimitsOfMemory) {
  const MachineDescription machine =
      load_machine("v100p", {.gpus = 2, .gpu_memory = 250_MiB, .ram = 8_GiB}).description;
  ASSERT_EQ(machine.nodes.size(), 3U);
  EXPECT_EQ(machine.nodes[0].limit, 8_GiB);
  EXPECT_EQ(machine.nodes[1].limit, 250_MiB);
  EXPECT_EQ(machine.nodes[2].limit, 250_MiB);
  EXPECT_EQ(machine.links.size(), 6U);
}

TEST(MachineChoice, CpuWorkersComeFirstAndEachGpuMayTakeACoreAway) {
  // 12 cores; 8 GPUs leave 4, 2 GPUs leave 10.
  EXPECT_EQ(load_machine("idgraf", {}).description.workers.size(), 4U + 8U);
  const auto workers = load_machine("idgraf", {.gpus = 2}).description.workers;
  ASSERT_EQ(workers.size(), 10U + 2U);
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(workers[i].id, (WorkerId{i}));
    EXPECT_EQ(workers[i].kind, i < 10 ? kCpu : kGpu);
    EXPECT_EQ(workers[i].node, (NodeId{i < 10 ? 0 : i - 9}));
  }
  EXPECT_EQ(load_machine("idgraf", {.gpus = 0, .cpu_workers = 3}).description.workers.size(), 3U);
  // Cores that work only when asked for.
  EXPECT_EQ(load_machine("summit", {}).description.workers.size(), 6U);
  EXPECT_EQ(load_machine("summit", {.cpu_workers = 5}).description.workers.size(), 11U);
}

std::string refusal_of(const std::string& name, const MachineChoice& choice) {
  try {
    load_machine(name, choice);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MachineChoice, ARefusalNamesTheMachineAndWhatItHas) {
  EXPECT_THAT(refusal_of("v100p", {.gpus = 5}), HasSubstr("v100p has at most 4 GPUs"));
  EXPECT_THAT(refusal_of("v100p", {.gpus = 0}), HasSubstr("no workers"));
  EXPECT_THAT(refusal_of("v100p", {.cpu_workers = 1}), HasSubstr("at most 0 CPU workers"));
  EXPECT_THAT(refusal_of("cpu-disk", {.gpus = 1}), HasSubstr("at most 0 GPUs"));
  EXPECT_THAT(refusal_of("v10p", {}), AllOf(HasSubstr("\"v10p\""), HasSubstr("did you mean")));
  EXPECT_THAT(refusal_of("xyzzyx", {}), AllOf(HasSubstr("frontier"), HasSubstr("v100p")));
  EXPECT_THAT(refusal_of("./nowhere.toml", {}),
              AllOf(HasSubstr("./nowhere.toml"), HasSubstr("No such file")));
  EXPECT_THAT(refusal_of("/", {}), HasSubstr("cannot be read"));
}

// --- All of them

std::uint32_t gpus(const MachineDescription& machine) {
  return static_cast<std::uint32_t>(
      std::count_if(machine.workers.begin(), machine.workers.end(),
                    [](const WorkerDescription& worker) { return worker.kind == kGpu; }));
}

TEST(ShippedMachines, AreThoseOfThePapersInTheOrderOfTheirNames) {
  std::vector<std::string> names;
  for (const auto& machine : shipped_machines()) {
    names.push_back(machine.name);
    EXPECT_FALSE(machine.sentence.empty());
    const auto cluster = load_cluster(machine.name, {});
    EXPECT_EQ(cluster ? cluster->name : load_machine(machine.name, {}).name, machine.name);
  }
  EXPECT_THAT(names, ElementsAre("a100", "bora", "cpu-disk", "dahu", "diablo", "frontier",
                                 "frontier-cluster", "guyot", "henri", "henri-subnuma", "idgraf",
                                 "inti", "marenostrum4", "occigen", "p100", "pyxis", "summit",
                                 "summit-cluster", "v100", "v100p"));
}

TEST(ShippedMachines, AreSoundWithAnyNumberOfGpus) {
  for (const auto& machine : shipped_machines()) {
    SCOPED_TRACE(machine.name);
    const std::uint32_t most = gpus(load_machine(machine.name, {.ranks = 1}).description);
    for (std::uint32_t count = 1; count <= most; ++count) {
      const MachineDescription chosen =
          load_machine(machine.name, {.gpus = count, .ranks = 1}).description;
      EXPECT_EQ(gpus(chosen), count);
      expect_sound(chosen);
    }
    expect_sound(load_machine(machine.name, {.ranks = 1}).description);
  }
}

TEST(ShippedMachines, KnowTheSpeedOfEveryKernelOnEveryKindOfWorker) {
  for (const auto& machine : shipped_machines()) {
    const MachineModel model = load_machine(machine.name, {.ranks = 1});
    for (const auto& worker : model.description.workers) {
      for (const auto* kernel : {"gemm", "gemm2d", "gemm3d", "syrk", "trsm", "potrf", "getrf",
                                 "stencil", "random", "what nobody knows"}) {
        for (const auto* precision : {"float", "double"}) {
          EXPECT_GT(model.seconds(kernel, precision, 1e9, worker.kind).value_or(0), 0)
              << machine.name << ' ' << kernel << ' ' << precision;
        }
      }
    }
  }
}

TEST(ShippedMachines, V100SharesTwoBusesAndHasSingleAndDualNvlinks) {
  const MachineDescription machine = load_machine("v100", {}).description;
  EXPECT_THAT(segments(machine, "ram", "gpu0"), ElementsAre("bus 0 from RAM"));
  EXPECT_THAT(segments(machine, "ram", "gpu1"), ElementsAre("bus 0 from RAM"));
  EXPECT_THAT(segments(machine, "gpu3", "ram"), ElementsAre("bus 1 to RAM"));
  EXPECT_EQ(machine.segments.size(), 4U);
  EXPECT_EQ(link(machine, "gpu0", "gpu1").bandwidth.value, 24e9);
  EXPECT_EQ(link(machine, "gpu2", "gpu1").bandwidth.value, 48e9);
  EXPECT_THAT(segments(machine, "gpu0", "gpu1"), IsEmpty());
}

TEST(ShippedMachines, IdgrafPutsFourGpusOnFourSwitchesAndTheNextFourBesideThem) {
  const MachineDescription machine = load_machine("idgraf", {}).description;
  EXPECT_THAT(segments(machine, "ram", "gpu1"), ElementsAre("switch 1 from RAM"));
  EXPECT_THAT(segments(machine, "ram", "gpu5"), ElementsAre("switch 1 from RAM"));
  // Within a switch a copy does not come to what leads out of it.
  EXPECT_THAT(segments(machine, "gpu1", "gpu5"), IsEmpty());
  EXPECT_THAT(segments(machine, "gpu1", "gpu2"),
              ElementsAre("switch 1 to RAM", "switch 2 from RAM"));
}

TEST(ShippedMachines, HaveTheContentionOfTheThesisTables) {
  for (const auto& table : testing::contention_tables()) {
    SCOPED_TRACE(table.machine);
    const auto shipped = load_machine(table.machine, {.ranks = 1}).description;
    ASSERT_TRUE(shipped.contention);
    EXPECT_EQ(shipped.workers.size(),
              std::size_t{2} * shipped.contention->cores_per_socket);  // all of two sockets
    EXPECT_EQ(shipped.contention->numa_nodes_per_socket, table.model.numa_nodes_per_socket);
    const std::uint32_t nodes = 2 * table.model.numa_nodes_per_socket;
    for (std::uint32_t placement = 0; placement < nodes * nodes; ++placement) {
      for (std::uint32_t cores = 0; cores <= table.model.cores_per_socket; ++cores) {
        const auto predict = [&](const ContentionModel& model) {
          return predict_contention(model, cores, placement % nodes, placement / nodes);
        };
        const ContentionShares printed = predict(table.model);
        const ContentionShares read = predict(*shipped.contention);
        EXPECT_EQ(read.computations, printed.computations) << placement << ' ' << cores;
        EXPECT_EQ(read.transfer, printed.transfer) << placement << ' ' << cores;
        EXPECT_EQ(read.alone, printed.alone) << placement << ' ' << cores;
      }
    }
  }
}

TEST(ShippedMachines, TheDiskOfCpuDiskSharesItsBandwidthBetweenReadsAndWrites) {
  const MachineDescription machine = load_machine("cpu-disk", {}).description;
  EXPECT_EQ(machine.disk(), (NodeId{1}));
  EXPECT_THAT(segments(machine, "ram", "disk"), ElementsAre("ram - disk"));
  EXPECT_THAT(segments(machine, "disk", "ram"), ElementsAre("ram - disk"));
  EXPECT_EQ(machine.segments[0].bandwidth.value, 94e6);
  EXPECT_EQ(link(machine, "disk", "ram").latency, (Time{8'000'000}));
}

}  // namespace
}  // namespace vicinal::machine
