// Random simulated machines, and codelets and options to go with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "sched/policy.hpp"
#include "support/exclusions.hpp"
#include "support/random_program.hpp"
#include "support/tested.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"

namespace vicinal::testing {

inline bool chance(base::Random& random, std::uint64_t in) {
  return random.below(in) == 0;
}
inline std::uint32_t below32(base::Random& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random.below(bound));
}
// All orders of magnitude alike.
inline double between(base::Random& random, double least, double most) {
  return least * std::pow(most / least, random.uniform());
}

inline std::string random_policy(base::Random& random) {
  if (const char* const forced = std::getenv("TEST_POLICY_VICINAL")) return forced;
  const auto table = tested_policies();
  for (;;) {
    const std::string_view name = table[random.below(table.size())].name;
    if (!(excluded().darts && name == "darts")) return std::string(name);
  }
}

class MachineMaker {
 public:
  explicit MachineMaker(base::Random& random) : random_(random) {}

  // Without limits: those follow from the program.
  MachineDescription make() {
    add_node("ram", NodeKind::ram);
    if (one_in(2)) add_node("disk", NodeKind::disk);
    for (std::uint32_t s = below(4); s > 0; --s) {
      machine_.segments.push_back({"segment", BytesPerSecond{between(random_, 1e7, 1e11)}});
    }
    if (machine_.disk()) join(kRam, *machine_.disk());
    const std::uint32_t devices = below(5);
    add_workers(kRam, ProcessorKind::cpu, devices > 0 ? below(5) : 1 + below(4));
    for (std::uint32_t d = 0; d < devices; ++d) add_device();
    if (one_in(4)) machine_.submit_overhead = time(1, 1e6);
    machine_.faults = {time(1, 1e5), Bytes{4096 + random_.below(1 << 20)}};
    if (!machine_.segments.empty() && one_in(2)) add_draws();
    return machine_;
  }

 private:
  bool one_in(std::uint64_t n) { return chance(random_, n); }
  std::uint32_t below(std::uint32_t bound) { return below32(random_, bound); }
  Time time(double least_ns, double most_ns) {
    return {static_cast<std::int64_t>(between(random_, least_ns, most_ns))};
  }
  NodeId add_node(const std::string& name, NodeKind kind) {
    const NodeId id{static_cast<std::uint32_t>(machine_.nodes.size())};
    machine_.nodes.push_back({id, name + std::to_string(id.value), kind, std::nullopt});
    return id;
  }
  void add_workers(NodeId node, ProcessorKind kind, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      WorkerDescription worker;
      worker.id = {static_cast<std::uint32_t>(machine_.workers.size())};
      worker.kind = kind;
      worker.node = node;
      if (one_in(4)) worker.wake_latency = time(100, 1e5);
      if (kind != ProcessorKind::cpu && one_in(2)) {
        if (one_in(2)) worker.task_overhead = time(100, 1e5);
        if (one_in(2)) worker.copy_overhead = time(100, 1e5);
        worker.pipeline = 1 + below(3);
      }
      machine_.workers.push_back(worker);
    }
  }
  void add_device() {
    const NodeId node = add_node("device", NodeKind::device);
    join(kRam, node);
    for (const NodeDescription& other : machine_.nodes) {
      if (other.kind != NodeKind::device || other.id == node || !one_in(3)) continue;
      if (one_in(3)) {
        link(other.id, node);  // one direction only
      } else {
        join(other.id, node);
      }
    }
    const ProcessorKind kind = one_in(2) ? ProcessorKind::gpu : ProcessorKind::emulated;
    add_workers(node, kind, 1 + below(3));
    if (!excluded().mixed_kinds && one_in(4)) {
      add_workers(node, kind == ProcessorKind::gpu ? ProcessorKind::emulated : ProcessorKind::gpu,
                  1 + below(2));
    }
  }
  // Kernels that demand something draw on segments, whose bandwidth may depend on how many do.
  void add_draws() {
    for (SegmentDescription& segment : machine_.segments) {
      const auto part = [&] {
        return BytesPerSecond{segment.bandwidth.value * (0.1 + 0.9 * random_.uniform())};
      };
      for (std::uint32_t k = below(4); k > 0; --k) segment.by_kernels.push_back(part());
      if (one_in(3)) segment.for_copies = one_in(4) ? segment.bandwidth : part();
    }
    for (WorkerDescription& worker : machine_.workers) {
      for (std::uint32_t s = 0; s < machine_.segments.size(); ++s) {
        if (one_in(2)) worker.draws_on.push_back(s);
      }
    }
  }
  void link(NodeId from, NodeId to) {
    LinkDescription link;
    link.from = from;
    link.to = to;
    link.bandwidth = BytesPerSecond{one_in(10) ? 0 : between(random_, 1e6, 1e11)};
    link.latency = one_in(2) ? Time{0} : time(100, 1e7);
    link.copies_in_flight = 1 + below(4);
    for (std::uint32_t s = 0; s < machine_.segments.size(); ++s) {
      if (one_in(3)) link.segments.push_back(s);
    }
    if (!machine_.links.empty() && one_in(6)) {
      link.serialised.push_back(below(static_cast<std::uint32_t>(machine_.links.size())));
    }
    if (one_in(8)) link.first_write = BytesPerSecond{between(random_, 1e7, 1e11)};
    if (one_in(8)) link.worker_bandwidth = BytesPerSecond{between(random_, 1e7, 1e11)};
    machine_.links.push_back(link);
  }
  void join(NodeId a, NodeId b) {
    link(a, b);
    link(b, a);
  }

  base::Random& random_;
  MachineDescription machine_;
};

// Each with a worker of the machine that can run it. Times differ by orders of magnitude, those of one
// codelet as well; some are not known.
inline std::vector<Codelet> random_codelets(const MachineDescription& machine,
                                            base::Random& random) {
  const auto has = [&](std::size_t kind) {
    return std::ranges::any_of(machine.workers, [&](const WorkerDescription& worker) {
      return static_cast<std::size_t>(worker.kind) == kind;
    });
  };
  std::vector<Codelet> codelets;
  const std::uint64_t count = 1 + random.below(12);
  while (codelets.size() < count) {
    Codelet codelet;
    codelet.name = "codelet" + std::to_string(codelets.size());
    bool runs = false;
    if (chance(random, 8))
      codelet.cpu = [](KernelContext&) {};  // of unknown time where none follows
    const double usual = between(random, 10, 1e9);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (!chance(random, 3)) {
        codelet.expected[kind] = {1 +
                                  static_cast<std::int64_t>(usual * between(random, 0.01, 100))};
      }
      runs = runs || (has(kind) && can_run(codelet, static_cast<ProcessorKind>(kind), true));
    }
    if (chance(random, 3)) codelet.flops = between(random, 1, 1e9);
    codelet.synchronous = chance(random, 4);
    for (BytesPerSecond& demand : codelet.demands) {
      if (chance(random, 2)) demand = BytesPerSecond{between(random, 1e6, 1e9)};
    }
    if (runs) codelets.push_back(codelet);
  }
  return codelets;
}

inline std::string random_memory_rules(base::Random& random) {
  static constexpr const char* kRules[] = {"starpu", "lru",      "clean",    "prefetch", "owner",
                                           "hint",   "pipeline", "lru,hint", "unified"};
  return kRules[random.below(std::size(kRules))];
}

// What does not depend on whether the machine is there.
inline Options random_common_options(base::Random& random) {
  Options options;
  options.models = "none";
  options.policy = random_policy(random);
  if (!chance(random, 3)) options.look_ahead = 1 + below32(random, chance(random, 4) ? 64 : 8);
  if (chance(random, 3)) options.window_tasks = 1 + random.below(12);
  if (chance(random, 4)) options.window_bytes = Bytes{random.below(1 << 18)};
  options.compute_priorities = !excluded().computed_priorities && chance(random, 3);
  options.measure_scheduling = chance(random, 8);
  if (chance(random, 16)) options.stall_seconds = 1000;
  options.seed = random.next();
  return options;
}

inline Options random_simulated_options(base::Random& random) {
  Options options = random_common_options(random);
  const bool chooses_victims = sched::make_policy(options.policy)->victims() != nullptr;
  if (!chooses_victims && !excluded().memory_rules && chance(random, 8)) {
    options.memory_rules = random_memory_rules(random);
  }
  return options;
}

}  // namespace vicinal::testing
