// The same program on a machine that is not there: one core, one accelerator behind a link of 1 GB/s.
// Kernels do not run; the times below are worked out by hand.

#include <stdexcept>
#include <string>
#include <vicinal/runtime.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

MachineDescription machine() {
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  const Time latency{10'000};  // 10 us
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {device, "device0", NodeKind::device, Bytes{3'000'000}}},
          .links = {{kRam, device, bandwidth, latency, 1}, {device, kRam, bandwidth, latency, 1}},
          .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                      {WorkerId{1}, ProcessorKind::emulated, device}}};
}

// 20 ms on the core, 2 ms on the accelerator. No kernel is needed.
const Codelet smooth{.name = "smooth", .expected = {Time{20'000'000}, Time{2'000'000}}};

Time run() {
  Options options;
  options.policy = "eager";
  Runtime runtime(machine(), options);
  static double field[125'000];  // 1 MB; only its size matters
  Handle x = runtime.register_buffer(field, Bytes{1'000'000}, "x");
  const WorkerId accelerator{1};
  for (int step = 0; step < 10; ++step) {
    runtime.submit({.codelet = &smooth, .operands = {RW(x)}, .worker = accelerator});
  }
  runtime.unregister(x);
  return runtime.statistics().now;
}

}  // namespace

int main() {
  // In: 10 us + 1 ms. Ten tasks of 2 ms, one after the other. Back: 10 us + 1 ms.
  require(run() == Time{1'010'000 + 10 * 2'000'000 + 1'010'000}, "simulated time");
  require(run() == run(), "the same input gives the same times");
  return 0;
}
