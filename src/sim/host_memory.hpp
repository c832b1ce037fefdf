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
//   - A transfer of a lane (a NIC's direction, a link) has, of what the lane gives alone, the part that the model leaves it
//     beside the cores that draw on b, and beside those of socket 0, where the NIC is, if some draw on other nodes (6.4, 6.5,
//     6.7); the less of both.
//   - All transfers on b together leave the cores at least half of the total T(n), unless the model leaves them less.
//   - Local kernels have by the local model what n = n_l + n_r cores have, alone, beside its transfer (6.3, 6.6, 6.8), or
//     on the line between both, by X.
//   - Remote kernels have what the remote model says for n_r in the same way, and are not faster than the local ones, if there
//     are some: the thesis does not mix them on one node.
// Several sockets that compute, several lanes, and data of one kernel on several nodes are beyond the thesis; with one of
// each the rates are those of the model.
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

// Of what one core draws alone: all kernels that draw on a NUMA node together have more, so that the time of each is bounded.
inline constexpr double kLeastOfCore = 0.01;

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

  // Kernels that demand something run here, or will: transfers that begin from now on are to be added. Where none does they
  // cost what they cost without a model.
  bool is_used() const { return is_used_; }
  void use() { is_used_ = true; }

 private:
  BytesPerSecond remote_demand(BytesPerSecond demand) const;

  const ContentionModel model_;
  const std::uint32_t nodes_;
  Resource first_ = 0;
  NumaHomes homes_;
  bool is_used_ = false;
};

}  // namespace vicinal::sim
