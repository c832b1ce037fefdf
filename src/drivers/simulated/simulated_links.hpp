// The copies of a simulated machine: those of links that exclude each other run in the order of their
// start, those that run at once share bandwidth (sim/fluid_network.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "base/sure_memory.hpp"
#include "memory/copy.hpp"
#include "sim/event_queue.hpp"
#include "sim/fluid_network.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::drivers {

class SimulatedLinks {
 public:
  explicit SimulatedLinks(const MachineDescription& machine);

  // What the links need to know of a copy. Throws std::logic_error if no link leads there.
  struct Copy {
    std::uint64_t id = 0;
    std::uint32_t link = 0;
    Bytes bytes;
  };
  Copy describe(const memory::Copy& copy) const;
  void start(const Copy& copy, Time now);
  // When something happens next; sim::kNoTime if nothing is in course.
  Time next() const;
  static constexpr Time kNoTime{INT64_MAX};
  // Goes on to `now`, which is next(). True if a copy has ended: which.
  bool advance(Time now, Copy& ended);

 private:
  struct Transfer {
    Copy copy;
    std::uint32_t waits_for = 0;                 // transfers that exclude it and began before
    base::SureVector<std::uint32_t> holds_back;  // those that wait for this one
  };
  void begin(std::uint32_t transfer, Time now);
  void end(std::uint32_t transfer, Time now);

  const MachineDescription& machine_;
  std::vector<std::uint32_t> link_of_;                           // [from * nodes + to]
  std::vector<std::vector<sim::FluidNetwork::Resource>> paths_;  // by link
  std::vector<std::uint8_t> excludes_;                           // [link * links + link], 0 or 1
  sim::FluidNetwork network_;
  sim::EventQueue<std::uint32_t> latencies_;  // transfers whose content begins to flow then
  base::SureVector<Transfer> transfers_;
  base::SureVector<std::uint32_t> unused_;
  base::SureVector<std::uint32_t> unended_;  // in the order of their start
};

}  // namespace vicinal::drivers
