// The policies on a simulated machine, the device for real.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

#include "in_order.hpp"
#include "nearest.hpp"
#include "serial_device.hpp"

namespace {

using namespace vicinal;

constexpr Bytes kBlock = 1_MiB;
constexpr std::size_t kBlocks = 4;
constexpr std::size_t kRounds = 8;

// One accelerator with room for two of the four blocks and for a counter.
MachineDescription machine() {
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {device, "device0", NodeKind::device, kBlock * 2 + 4_KiB}},
          .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
          .workers = {{WorkerId{0}, ProcessorKind::emulated, device}}};
}

const Codelet kRead{.name = "read", .expected = {Time{0}, Time{1'000'000}}};

enum class Tasks : bool { at_once, in_a_row };

// Submits read(0) .. read(3), eight times over, and returns the blocks copied to the accelerator. In a row: each
// counts, too, so that one is ready when the one before has ended.
std::uint64_t copies_under(const char* policy, Tasks tasks) {
  Runtime runtime(machine(), {.policy = policy, .look_ahead = 1});
  const Handle counter = runtime.register_simulated(Bytes{8}, kRam, "counter");
  std::vector<Handle> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(runtime.register_simulated(kBlock, kRam, "block" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < kRounds * kBlocks; ++i) {
    std::vector<Operand> operands{R(blocks[i % kBlocks])};
    if (tasks == Tasks::in_a_row) operands.push_back(RW(counter));
    runtime.submit({.codelet = &kRead, .operands = operands});
  }
  runtime.wait();
  return runtime.statistics().links[0].copies - (tasks == Tasks::in_a_row ? 1 : 0);
}

// 100 vectors are doubled on a device with room for three, and none on a core.
bool device_doubles_all() {
  constexpr std::size_t kVectors = 100;
  constexpr std::size_t kLength = 1000;  // 8000 bytes, two pages each on the device
  std::vector<std::vector<double>> vectors(kVectors, std::vector<double>(kLength, 21.0));
  Runtime runtime({.workers = 1, .devices = "serial", .device_memory = Bytes{3 * 8192}});
  const WorkerId device{1};
  for (std::vector<double>& values : vectors) {
    runtime.task(
        "twice",
        [](std::span<double> x) {
          for (double& each : x) each *= 2;
        },
        inout(runtime.data(std::span(values))), on(device));
  }
  for (const NodeDescription& node : runtime.machine().nodes) std::printf("%s ", node.name.c_str());
  runtime.wait();
  const auto tasks = static_cast<unsigned>(runtime.statistics().workers[1].tasks);
  std::printf("- %u tasks on the device\n", tasks);
  return tasks == kVectors;
}

}  // namespace

int main() {
  sched::register_policy(kNearest);
  sched::register_policy(kInOrder);
  drivers::register_device_kind(kSerial);
  // In order of submission every task finds its block just evicted. No order loads fewer than 4.
  const std::uint64_t eager = copies_under("eager", Tasks::at_once);
  const std::uint64_t nearest = copies_under("nearest", Tasks::at_once);
  std::printf("copies to the accelerator: eager %d, nearest %d\n", static_cast<int>(eager),
              static_cast<int>(nearest));
  // Without a plan each task finds its block just evicted, but for the last: what nobody reads any more has made
  // room for others by then. With the plan one read in three finds its block, for of the 2 blocks that fit
  // one stays until its next reader comes.
  const std::uint64_t unplanned = copies_under("belady", Tasks::in_a_row);
  const std::uint64_t planned = copies_under("in_order", Tasks::in_a_row);
  std::printf("copies to the accelerator: belady %d, in_order %d\n", static_cast<int>(unplanned),
              static_cast<int>(planned));
  const bool as_worked_out = eager == kRounds * kBlocks && nearest == kBlocks &&
                             unplanned == kRounds * kBlocks - 1 && planned == 22;
  return device_doubles_all() && as_worked_out ? 0 : 1;
}
