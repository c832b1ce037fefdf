// The memory of a simulated host whose cores and transfers share it by the contention model (vicinal/contention.hpp):
// what kernels and transfers draw on, as resources of a world.
//
//   HostMemory memory(world, *machine.contention, {});
//   demands.clear();
//   memory.add_transfer(HostMemory::kReceives, 0, demands);          // of a message that comes to NUMA node 0
//   world.start(place, 7, {.amount = bytes, .demands = demands});
//
// On each NUMA node b, with n_l cores of its own socket and n_r of others that draw on it (what their kernels demand at full
// speed, over what one core draws alone), and transfers that take X of it:
//   - A transfer of a lane (a NIC's direction, a link) has, of what the lane gives alone, the part that the model gives it
//     beside n cores (6.4, 6.5, 6.7): those that draw on b, and those of socket 0, where NICs are, that draw on others. The
//     remote model counts as far as these cores draw on b from afar, and the local one else: between the cases of the
//     thesis, where all of them are alike, on the line between both.
//   - All transfers on b together leave the cores at least half of the total T(n), unless the model gives one more.
//   - Local kernels have T(n) - X by the local model with n = n_l + n_r, and not more than they have alone (6.3, 6.6, 6.8).
//   - Remote kernels have as much less as the remote model says for n_r, and not more than the local ones, if there are some:
//     the thesis does not mix them on one node.
// Several sockets, lanes and nodes at once are beyond the thesis; with one of each the rates are its formula's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sure_memory.hpp"
#include "sim/numa_homes.hpp"
#include "sim/world.hpp"
#include "vicinal/contention.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

class HostMemory {
 public:
  // What transfers have when they are alone: a direction of the NIC, or a link.
  using Lane = std::uint32_t;
  static constexpr Lane kReceives = 0;
  static constexpr Lane kSends = 1;
  static constexpr Lane kFirstLink = 2;

  // `links`: bandwidth of each that reads or writes this memory. The world outlives this; resources stay in it.
  HostMemory(World& world, const ContentionModel& model, std::span<const BytesPerSecond> links);

  std::uint32_t nodes() const { return nodes_; }
  // Workers are on the cores in order, socket by socket; those beyond are on the last.
  std::uint32_t socket_of_core(std::uint32_t core) const;
  std::uint32_t node_of_core(std::uint32_t core) const;

  // Adds what a transfer to or from the node takes, per byte.
  void add_transfer(Lane lane, std::uint32_t node, base::SureVector<Demand>& demands) const;
  // Adds what a kernel takes per nanosecond of its time at full speed. `demand`: of it alone, with its data local;
  // `bytes`: of its operands, by node; all 0: it draws on its core's. Returns the rate that it may have: 1, or less where a
  // core alone has less from afar.
  double add_kernel(std::uint32_t core, BytesPerSecond demand, std::span<const double> bytes,
                    base::SureVector<Demand>& demands) const;

  NumaHomes& homes() { return homes_; }

 private:
  BytesPerSecond remote_demand(BytesPerSecond demand) const;

  const ContentionModel model_;
  const std::uint32_t nodes_;
  Resource first_ = 0;
  NumaHomes homes_;
};

}  // namespace vicinal::sim
