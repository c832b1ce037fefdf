// The device of a ready task, as PaRSEC selects it: owner computes, then what it reads, then load (Bouteiller et
// al. 2025, section 3.1). A pure function.
//
//   1. The operands that are written, in their order: the first that is advised to a device, or was written there
//      last, takes the task to it.
//   2. The operands that are only read: the first that is advised to a device takes the task to it.
//   3. Ends are compared: load + estimate. The device that wrote the first of the operands read counts with s times
//      its end, s = 1 / (1 + skew / 100), and wins ties: it is left only for one that ends more than `skew` per
//      cent earlier. Of the others the first wins on ties.
// The paper calls s the skew: its 1 is skew 0 here, load alone; its 0, reuse at any price, an infinite one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "trace/decision.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::sched::placement {

// An operand of the task.
struct Flow {
  bool written = false;                  // else only read
  std::optional<NodeId> preferred = {};  // by the application's advice
  std::optional<NodeId> owner = {};      // whose workers wrote it last
};

// A device that can run the task. What flows name beside those counts for nothing.
struct Device {
  NodeId node;
  std::int64_t load_ns = 0;      // what it was given and has not done
  std::int64_t estimate_ns = 0;  // the task on it
  // --- results
  std::int64_t end_ns = 0;
  std::int64_t weighed_ns = 0;  // what the skew leaves of it
  std::optional<std::uint32_t> operand =
      {};  // the first that takes the task there; written ones count first
};

struct Selection {
  std::size_t device = 0;  // in the new order
  trace::Reason reason{};  // belongs_there or least_weighed_end
};

inline constexpr double kUsualSkew = 20;  // per cent

// `devices`: one at least, in the order in which they are looked at (PaRSEC begins with the last). They get their
// results, and the one of case 3 that wins ties goes to the front. `skew`: not negative.
Selection select_device(std::span<const Flow> flows, std::span<Device> devices,
                        double skew = kUsualSkew);

}  // namespace vicinal::sched::placement
