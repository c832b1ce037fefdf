// Machine files: the shipped ones say what their sources say, and no text can do harm.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machine/machine_model.hpp"
#include "machine/quantity.hpp"
#include "machine/shipped.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr auto kGpu = ProcessorKind::gpu;
constexpr auto kCpu = ProcessorKind::cpu;

MachineModel v100p(std::uint32_t gpus) {
  return load_machine("v100p", {.gpus = gpus});
}

std::uint32_t link_number(const MachineDescription& machine, std::string_view from,
                          std::string_view to) {
  for (std::uint32_t i = 0; i < machine.links.size(); ++i) {
    const auto& link = machine.links[i];
    if (machine.nodes[link.from.value].name == from && machine.nodes[link.to.value].name == to) {
      return i;
    }
  }
  ADD_FAILURE() << "no link from " << from << " to " << to;
  return 0;
}

const LinkDescription& link(const MachineDescription& machine, std::string_view from,
                            std::string_view to) {
  return machine.links.at(link_number(machine, from, to));
}

std::vector<std::string> segments(const MachineDescription& machine, std::string_view from,
                                  std::string_view to) {
  std::vector<std::string> names;
  for (const auto number : link(machine, from, to).segments) {
    names.push_back(machine.segments.at(number).name);
  }
  return names;
}

std::string link_name(const MachineDescription& machine, std::uint32_t number) {
  const auto& found = machine.links.at(number);
  return machine.nodes[found.from.value].name + ">" + machine.nodes[found.to.value].name;
}

std::vector<std::string> serialised(const MachineDescription& machine, std::string_view from,
                                    std::string_view to) {
  std::vector<std::string> names;
  for (const auto number : link(machine, from, to).serialised) {
    names.push_back(link_name(machine, number));
  }
  std::sort(names.begin(), names.end());
  return names;
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

}  // namespace
}  // namespace vicinal::machine
