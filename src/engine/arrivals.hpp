// Where content of other ranks goes when it has come: it stays in RAM, or a copy to the accelerator of the task that it is
// for begins at once. After Bouteiller et al. 2025, section 3.2, where the network writes into that memory; here content
// passes RAM, and the copy needs neither a task that waits nor a policy that thinks ahead.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::memory {
class Residency;
}

namespace vicinal::engine {

// The receiving task's first written operand decides:
//   advised  the accelerator that Runtime::advise named for it, else as owner; RAM if RAM is advised
//   owner    the accelerator that has its content when the received content has come, of several who wrote it last
//   random   decides nothing: any accelerator, drawn when the receive is submitted
enum class ArrivalRule : std::uint8_t { ram, advised, owner, random };
// As the option receive_placement names them. Throws UsageError for others.
ArrivalRule arrival_rule_of(std::string_view text);

// Of one receive.
struct Destination {
  ArrivalRule rule = ArrivalRule::ram;
  Handle written = {};  // by the receiving task; null: nothing that is registered here
  NodeId drawn = kRam;
};

class Arrivals {
 public:
  // Before the first receive.
  void set_up(ArrivalRule rule, const MachineDescription& machine, std::uint64_t seed);
  // Something may go on to an accelerator.
  bool any() const { return rule_ != ArrivalRule::ram && !accelerators_.empty(); }
  // Of a receive that is submitted now, for a task that writes the data. One thread at a time.
  Destination next(Handle written);
  // Where received content goes, once there; none: nowhere. Any thread.
  std::optional<NodeId> node_of(const Destination& to, const memory::Residency& residency) const;

  // Content whose copy has begun. Any thread.
  void count(Bytes bytes) { placed_.fetch_add(bytes.value, std::memory_order_relaxed); }
  Bytes placed() const { return {placed_.load(std::memory_order_relaxed)}; }

 private:
  ArrivalRule rule_ = ArrivalRule::ram;
  std::vector<NodeId> accelerators_;  // that have workers
  base::Random random_{0};
  std::atomic<std::uint64_t> placed_{0};
};

}  // namespace vicinal::engine
