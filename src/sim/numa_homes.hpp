// On which NUMA node of a simulated host data in RAM lie. RAM is one memory node of the runtime: neither policies nor limits
// know of its parts, and data stay where they first came to be.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace vicinal::sim {

struct NumaRules {
  enum class Placement : std::uint8_t {
    first,   // that of the first worker whose task uses the data
    spread,  // of each datum the next node
    node,    // all on one
  };
  enum class Receive : std::uint8_t {
    home,    // where they lie already, else as placed, by a worker of node 0
    spread,  // of each receive the next node
    node,    // all on one
    chosen,  // as choose_by says it
  };
  Placement placement = Placement::first;
  std::uint32_t node = 0;
  Receive receive = Receive::node;
  std::uint32_t receive_node = 0;
};

// As the options numa_placement and receive_numa say it. Throws UsageError that names the option. `nodes`: of the machine;
// 0: it does not know them, and any will do.
NumaRules numa_rules_of(std::string_view placement, std::string_view receive, std::uint32_t nodes);

class NumaHomes {
 public:
  explicit NumaHomes(std::uint32_t nodes) : nodes_(nodes) {}
  void follow(const NumaRules& rules) { rules_ = rules; }
  // Of each receive that is to be chosen. Otherwise it is node 0.
  void choose_by(std::function<std::uint32_t()> choice) { choice_ = std::move(choice); }

  // Where the datum of this number lies; from now on, if it lay nowhere. `toucher`: the node of who uses it.
  std::uint32_t home_of(std::uint64_t datum, std::uint32_t toucher);
  // Where content of another rank comes to.
  std::uint32_t receive(std::uint64_t datum);

 private:
  std::uint32_t place(std::uint64_t datum, std::uint32_t toucher) const;

  const std::uint32_t nodes_;
  NumaRules rules_;
  std::function<std::uint32_t()> choice_;
  std::uint64_t receives_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> homes_;
};

}  // namespace vicinal::sim
