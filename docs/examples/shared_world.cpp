// Two runtimes in one simulated world: each has a core, a disk server behind a link, and all links pass one network.
// Kernels do not run; the times below are worked out by hand.

#include <optional>
#include <stdexcept>
#include <string>
#include <vicinal/runtime.hpp>

namespace {

using namespace vicinal;

constexpr NodeId kServer{1};

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

// Links of 2 GB/s that pass the network.
MachineDescription host(const SegmentDescription& network) {
  const BytesPerSecond bandwidth{2e9};
  LinkDescription in{kServer, kRam, bandwidth, Time{0}};
  LinkDescription out{kRam, kServer, bandwidth, Time{0}};
  in.segments = out.segments = {0};
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {kServer, "server", NodeKind::disk, std::nullopt}},
          .links = {in, out},
          .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}},
          .segments = {network}};
}

// 5 ms on a core.
const Codelet reduce{.name = "reduce", .expected = {Time{5'000'000}}};

void submit(Runtime& runtime, Bytes bytes) {
  const Handle data = runtime.register_simulated(bytes, kServer, "data");
  runtime.submit({.codelet = &reduce, .operands = {R(data)}});
}

}  // namespace

int main() {
  SimulatedWorld world;
  const SegmentDescription network = world.add_segment("network", BytesPerSecond{2e9});
  Runtime first(host(network), {}, world);
  Runtime second(host(network), {}, world);
  submit(first, Bytes{10'000'000});
  submit(second, Bytes{30'000'000});
  // 1 GB/s for each copy until the first has ended, at 10 ms; its task takes 5 ms.
  first.wait();
  require(world.now() == Time{15'000'000}, "the first runtime's time");
  // The second's other 20 MB at 2 GB/s, until 20 ms, and its task.
  second.wait();
  require(world.now() == Time{25'000'000}, "the second runtime's time");
  require(first.statistics().now == world.now(), "one clock");
  return 0;
}
