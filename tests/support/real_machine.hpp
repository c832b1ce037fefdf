// What a random program runs on for real: codelets, options, and limits of memory within which it can end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/device_queues.hpp"
#include "support/exclusions.hpp"
#include "support/random_machine.hpp"
#include "support/random_program.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

// Which calls may say that something failed.
enum class Faults : std::uint8_t { no, failures, allocations };

struct RealCodelets {
  std::vector<Codelet> all;
  std::vector<Codelet> on_cores;  // those of them that run on any machine

  const std::vector<Codelet>& of(const Options& options) const {
    return options.accelerators > 0 ? all : on_cores;
  }
};

// Codelets on cores, on accelerators, on both.
inline RealCodelets random_codelets(base::Random& random, void (*kernel)(KernelContext&)) {
  RealCodelets codelets;
  for (int i = 0; i < 6; ++i) {
    Codelet codelet;
    codelet.name = "codelet" + std::to_string(i);
    if (i % 3 != 1) codelet.cpu = kernel;
    if (i % 3 != 0) codelet.kernels[ProcessorKind::emulated] = kernel;
    if (!chance(random, 3)) {
      codelet.expected[0] = Time{static_cast<std::int64_t>(between(random, 100, 1e7))};
    }
    if (!chance(random, 3)) {
      codelet.expected[1] = Time{static_cast<std::int64_t>(between(random, 100, 1e7))};
    }
    codelets.all.push_back(codelet);
    if (codelet.cpu) codelets.on_cores.push_back(codelet);
  }
  return codelets;
}

inline Options random_real_options(base::Random& random, const ProgramShape& shape,
                                   std::uint32_t runtimes, const std::string& folder,
                                   Faults faults) {
  Options o = random_common_options(random);
  o.bind = false;
  o.workers = 1 + below32(random, 4);
  o.submitter_works = chance(random, 2);
  if (!chance(random, 3)) o.disk = folder;
  o.direct_io = !chance(random, 4);
  o.disk_copies = 1 + below32(random, 4);
  o.accelerators = chance(random, 2) ? 0 : 1 + below32(random, 4);
  if (chance(random, 6)) o.accelerator_bandwidth = BytesPerSecond{between(random, 1e8, 1e10)};
  if (faults != Faults::allocations) choose_queues(o, random);  // whose libraries do not do without
  if (chance(random, 8)) o.models = folder;
  // Two that wait for each other's windows may wait for ever.
  if (runtimes > 1 || (faults != Faults::no && excluded().window_with_failures)) {
    o.window_tasks = 0;
    o.window_bytes = Bytes{0};
  }
  const bool several = shape.threads > 1 || runtimes > 1;
  if (several && excluded().computed_priorities_of_threads) o.compute_priorities = false;
  return o;
}

inline ProgramPlace place_of(const Options& options, const RealCodelets& codelets) {
  ProgramPlace place;
  for (std::uint32_t w = 0; w < options.workers; ++w) {
    place.workers.push_back({WorkerId{w}, ProcessorKind::cpu, kRam});
  }
  if (!options.disk.empty()) place.disk = place.nodes++;
  for (std::uint32_t a = 0; a < options.accelerators; ++a) {
    place.workers.push_back(
        {WorkerId{options.workers + a}, ProcessorKind::emulated, NodeId{place.nodes++}});
  }
  place.codelets = &codelets.of(options);
  place.window = options.window_tasks > 0 || options.window_bytes.value > 0;
  return place;
}

// What the program needs at least, or no limit.
inline void set_limits(Options& options, const ProgramPlace& place, base::Random& random) {
  const std::uint32_t first = place.disk ? 2 : 1;
  options.accelerator_memory = Bytes{4096};
  for (std::uint32_t n = first; n < place.nodes; ++n) {
    options.accelerator_memory = std::max(options.accelerator_memory, place.least[n]);
  }
  if (chance(random, 4)) return;
  options.memory = place.disk ? place.least[0] : std::max(place.least[0], place.unhomed);
}

}  // namespace vicinal::testing
