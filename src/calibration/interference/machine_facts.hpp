// The parts of a machine that experiments on interference need, and the roles of its cores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::interference {

struct MachineFacts {
  struct Core {
    std::uint32_t processor = 0;  // the system's number of its first hardware thread
    std::uint32_t node = 0;       // of its memory, NUMA nodes numbered from 0 without gaps
    std::uint32_t socket = 0;     // likewise
  };
  enum class Frequencies : std::uint8_t {
    none,     // the system does not say
    nominal,  // /proc/cpuinfo, which may be a constant
    current   // cpufreq
  };

  std::vector<Core> cores;  // that may be used, in the order in which they are taken
  std::uint32_t nodes = 1;
  std::uint32_t sockets = 1;
  Bytes cache;  // the largest that cores share; 0: not known
  Frequencies frequencies = Frequencies::none;
  std::uint32_t ranks = 1;     // that a launcher has started
  bool ranks_are_here = true;  // on one host
  bool has_wide_vectors = false;
  bool has_streaming_stores = false;
  std::string no_counters = {};           // why hardware counters cannot be read; empty: they can
  bool has_disk = false;                  // a folder was named
  bool has_device = false;                // likewise
  std::vector<std::string> kernels = {};  // of the program's own applications

  std::uint32_t cores_of_socket() const;  // of the first
};

// `root`: where the files of the system are, "" for this system; tests have a tree of their own. The processors as
// drivers::allowed_processors gives them. Fills all that files tell.
MachineFacts read_machine(const std::string& root, std::span<const std::uint32_t> processors);

// The mean frequency in MHz that the system tells of these processors now; 0: it does not.
double megahertz_now(const std::string& root, std::span<const std::uint32_t> processors);

// Which processors compute, transfer, and are the other rank's if it is on this host.
struct Placement {
  std::vector<std::uint32_t> computing;
  std::uint32_t transferring = 0;
  std::uint32_t answering = 0;
  bool shares = false;  // the transferring thread has no core of its own
};
// Cores in their order compute; the last one of `thread_node` transfers, the last other one answers where there are three.
// Throws UsageError: there are fewer cores.
Placement place(const MachineFacts& machine, std::uint32_t computing, std::uint32_t thread_node);
// With which the transferring thread has a core of its own; 0: on a single core.
std::uint32_t most_computing(const MachineFacts& machine);

}  // namespace vicinal::interference
