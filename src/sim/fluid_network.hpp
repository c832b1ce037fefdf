// Transfers that share links, as fluids: at every moment the rates are max-min fair. Each flow passes
// some resources; the rates of the flows on a resource sum up to its bandwidth at most, and no flow
// could be faster but at the expense of one that is not faster than it.
//
// This is what SimGrid computes without cross-traffic, latency weights and bandwidth factors (Velho,
// Schnorr, Casanova, Legrand 2013, section 3), which a test compares it with.
//
// Pure and re-entrant. Times are nanoseconds in double precision; only starts and ends are rounded in
// it, so that ends are the same, bit for bit, whatever the times at which one asks.
//
// Resources that no path has ever joined, not even through others, are of different groups, and rates in
// one do not depend on another. A change of the flows costs a pass over all of them and, in the group of
// the one that came or went, O(flows x resources of each), plus, for each bottleneck, a pass over the
// resources in use.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/sure_memory.hpp"
#include "vicinal/units.hpp"

namespace vicinal::sim {

class FluidNetwork {
 public:
  using Resource = std::uint32_t;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // Throws std::invalid_argument unless the bandwidth is more than 0 and finite.
  Resource add_resource(BytesPerSecond bandwidth);
  std::size_t resources() const { return capacities_.size(); }

  // `id` is given back at the end. A flow without bytes or without resources ends at once. `at` is not
  // before any earlier start or end, and not after next_end().
  void start(std::uint64_t id, Bytes bytes, std::span<const Resource> path, double at);
  // When the next flow ends, if none starts before; kNever without flows.
  double next_end() const { return next_end_; }
  // Lets the first flow end that ends not later than `to`. False: there is none, and nothing changes.
  struct End {
    std::uint64_t id = 0;
    double at = 0;
  };
  bool take_end(double to, End& end);
  std::size_t flows() const { return flows_.size(); }
  // In bytes per second, of a flow in course; 0 if there is no such flow.
  double rate(std::uint64_t id) const;

 private:
  struct Flow {
    std::uint64_t id = 0;
    double left = 0;  // bytes, at changed_
    double rate = 0;  // bytes per nanosecond
    std::uint32_t group = kNoGroup;
    base::SureVector<Resource> path;
  };
  static constexpr std::uint32_t kNoGroup = 0xffffffffU;  // of a flow without resources
  void advance(double to);
  std::uint32_t join(std::span<const Resource> path);
  void share(std::uint32_t group);
  void find_next_end();

  base::SureVector<double> capacities_;     // bytes per nanosecond
  base::SureVector<std::uint32_t> groups_;  // by resource: the number of one of its group
  base::SureVector<Flow> flows_;            // in the order of their start
  base::SureVector<Flow> spare_;            // to use the room of their paths again
  double changed_ = 0;                      // when the flows last did
  double next_end_ = kNever;
  // Of share(), members to keep their room.
  base::SureVector<double> left_;
  base::SureVector<std::uint32_t> users_;
  base::SureVector<Resource> used_;
  base::SureVector<std::uint32_t> unfixed_;
};

}  // namespace vicinal::sim
