// Question: what does the start or the end of a simulated flow cost? Each of N hosts has a link in each direction and
// so many flows in flight; when one ends the next begins.
//   apart       the flows do not meet: they pass one link
//   together    all pass one switch, too
//   neighbours  from each host to the next, in a ring
//   pairs       from each host to another one that is drawn for each flow
//   tree        the same, in a fat tree: 32 hosts on a leaf, whose link up and link down have half of what they need
//
// Lower bound: of flows that do not meet, one that does not depend on N but for the logarithm of a heap; of flows that
// all share a resource N, for each change changes all rates. Repetitions: 5, of which it prints median, least and most.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include "base/random.hpp"
#include "help.hpp"
#include "sim/fluid_network.hpp"

namespace {

using vicinal::BytesPerSecond;
using vicinal::sim::Demand;
using vicinal::sim::FluidNetwork;

constexpr const char* kHelp =
    R"(What the start or the end of a simulated flow costs: bench/flows.cpp says how it is measured.
It has no options.
)";
constexpr int kRepetitions = 5;

constexpr std::uint32_t kHostsPerLeaf = 32;

enum class Pattern : std::uint8_t { apart, together, neighbours, pairs, tree };
constexpr std::array<const char*, 5> kNames{"apart", "together", "neighbours", "pairs", "tree"};

struct Case {
  Pattern pattern;
  std::uint32_t hosts;
  std::uint32_t flows;  // of each host
};

class Hosts {
 public:
  explicit Hosts(const Case& what) : what_(what) {
    const auto links = [&](std::uint32_t count, double bandwidth) {
      std::vector<Demand> made;
      for (std::uint32_t i = 0; i < count; ++i) {
        made.push_back({network_.add_resource(BytesPerSecond{bandwidth})});
      }
      return made;
    };
    constexpr double kNic = 12.5e9;
    switch_ = links(1, 1e12);
    out_ = links(what.hosts, kNic);
    in_ = links(what.hosts, kNic);
    const std::uint32_t leaves = (what.hosts + kHostsPerLeaf - 1) / kHostsPerLeaf;
    up_ = links(leaves, kNic * kHostsPerLeaf / 2);
    down_ = links(leaves, kNic * kHostsPerLeaf / 2);
    for (std::uint32_t f = 0; f < what.hosts * what.flows; ++f) start(f, 0);
  }
  void replace_next() {
    FluidNetwork::End end;
    network_.take_end(network_.next_end(), end);
    start(end.id, end.at);
  }

 private:
  void start(std::uint64_t flow, double at) {
    const auto from = static_cast<std::uint32_t>(flow % what_.hosts);
    const double bytes = 1e6 * (1 + random_.uniform());
    find_path(from);
    network_.start(flow, {bytes, path_}, at);
  }
  void find_path(std::uint32_t from) {
    path_.assign({out_[from]});
    if (what_.pattern == Pattern::apart) return;
    if (what_.pattern == Pattern::together) {
      path_.push_back(switch_[0]);
      return;
    }
    const auto step = what_.pattern == Pattern::neighbours
                          ? 1
                          : static_cast<std::uint32_t>(1 + random_.below(what_.hosts - 1));
    const std::uint32_t to = (from + step) % what_.hosts;
    if (what_.pattern == Pattern::tree && from / kHostsPerLeaf != to / kHostsPerLeaf) {
      path_.push_back(up_[from / kHostsPerLeaf]);
      path_.push_back(down_[to / kHostsPerLeaf]);
    }
    path_.push_back(in_[to]);
  }

  Case what_;
  FluidNetwork network_;
  std::vector<Demand> switch_, out_, in_, up_, down_;
  std::vector<Demand> path_;
  vicinal::base::Random random_{1};
};

// Processor time per change, in microseconds.
double measured(const Case& what) {
  Hosts hosts(what);
  const bool apart = what.pattern == Pattern::apart || what.pattern == Pattern::neighbours;
  const std::uint32_t rounds = apart ? 200'000 : 2'000;
  const std::clock_t begin = std::clock();
  for (std::uint32_t i = 0; i < rounds; ++i) hosts.replace_next();
  return 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / (2 * rounds);
}

void print_row(const Case& what) {
  std::vector<double> times;
  for (int r = 0; r < kRepetitions; ++r) times.push_back(measured(what));
  std::ranges::sort(times);
  std::printf("%10s %6u %9u %10.3f   %.3f..%.3f\n", kNames[static_cast<std::size_t>(what.pattern)],
              what.hosts, what.flows, times[kRepetitions / 2], times.front(), times.back());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  std::printf("%10s %6s %9s %10s   %s\n", "flows", "hosts", "per host", "us/change", "least..most");
  for (const Pattern pattern : {Pattern::apart, Pattern::together}) {
    for (const std::uint32_t hosts : {1U, 10U, 100U, 1000U}) print_row({pattern, hosts, 1});
  }
  for (const Pattern pattern : {Pattern::neighbours, Pattern::pairs, Pattern::tree}) {
    for (const std::uint32_t hosts : {100U, 1000U}) {
      for (const std::uint32_t flows : {1U, 4U}) print_row({pattern, hosts, flows});
    }
  }
  return 0;
}
