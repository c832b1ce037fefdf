// Question: what does the start or the end of a simulated flow cost? Each of N hosts has a link in each direction and
// so many flows in flight; when one ends the next begins.
//   apart       the flows do not meet: they pass one link
//   together    all pass one switch, too
//   neighbours  from each host to the next, in a ring
//   pairs       from each host to another one that is drawn for each flow
//   tree        the same, in a fat tree: 32 hosts on a leaf, whose link up and link down have half of what they need
//   memory      pairs between hosts on each of which 18 kernels and the messages share memory by the contention model
//               (sim/host_memory.hpp): the figures are those of two 18-core sockets of the thesis, table E.6
//
// Lower bound: of flows that do not meet, one that does not depend on N but for the logarithm of a heap; of flows that
// all share a resource N, for each change changes all rates. Repetitions: 5, of which it prints median, least and most.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "help.hpp"
#include "sim/fluid_network.hpp"
#include "sim/host_memory.hpp"

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

enum class Pattern : std::uint8_t { apart, together, neighbours, pairs, tree, memory };
constexpr std::array<const char*, 6> kNames{"apart", "together", "neighbours",
                                            "pairs", "tree",     "memory"};

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

vicinal::ContentionParameters parameters(std::uint32_t beside, std::uint32_t alone,
                                         std::array<double, 7> megabytes, double least_share) {
  const auto rate = [&](std::size_t i) { return BytesPerSecond{megabytes[i] * 1e6}; };
  return {beside,  rate(0), alone,   rate(1), rate(2),
          rate(3), rate(4), rate(5), rate(6), least_share};
}

// Kernels and messages that begin anew when they end.
class MemoryHosts : private vicinal::sim::Actor {
 public:
  static constexpr std::uint32_t kKernels = 18;
  explicit MemoryHosts(const Case& what) : what_(what), place_(world_.enter(*this)) {
    const vicinal::ContentionModel model{
        .sockets = 2,
        .numa_nodes_per_socket = 1,
        .cores_per_socket = kKernels,
        .local = parameters(17, 18, {73423, 72589.9, 73387.7, 35.3, 0, 4455.4, 11481.1}, 0.915),
        .remote =
            parameters(5, 7, {31629.7, 29130.7, 31278.1, 175.8, 119.8, 4455.2, 11459.6}, 0.761)};
    for (std::uint32_t h = 0; h < what.hosts; ++h) {
      memories_.push_back(std::make_unique<vicinal::sim::HostMemory>(
          world_, model, std::span<const BytesPerSecond>{}));
      out_.push_back({world_.add_resource(BytesPerSecond{12.5e9})});
      in_.push_back({world_.add_resource(BytesPerSecond{12.5e9})});
    }
    for (std::uint64_t f = 0; f < what.hosts * (kKernels + std::uint64_t{what.flows}); ++f) {
      flow_ended(f);
    }
    changes_ = 0;
  }
  void replace_next() {
    const std::uint64_t before = changes_;
    while (changes_ == before) world_.step();
  }

 private:
  void happened(std::uint64_t /*token*/) override {}
  void flow_ended(std::uint64_t flow) override {
    using vicinal::sim::HostMemory;
    ++changes_;
    demands_.clear();
    const std::uint64_t host = flow % what_.hosts;
    const std::uint64_t number = flow / what_.hosts;
    const double length = 1 + random_.uniform();
    if (number < kKernels) {
      const std::array<double, 2> bytes{1, 0};
      const double most = memories_[host]->add_kernel(static_cast<std::uint32_t>(number),
                                                      BytesPerSecond{4.4554e9}, bytes, demands_);
      world_.start(place_, flow, {1e6 * length, demands_, most, vicinal::sim::Drawer::kernel});
      return;
    }
    const std::uint64_t to = (host + 1 + random_.below(what_.hosts - 1)) % what_.hosts;
    demands_.assign({out_[host], in_[to]});
    memories_[host]->add_transfer(HostMemory::kSends, 0, demands_);
    memories_[to]->add_transfer(HostMemory::kReceives, 0, demands_);
    world_.start(place_, flow, {1e6 * length, demands_});
  }

  Case what_;
  vicinal::sim::World world_;
  const vicinal::sim::World::Place place_;
  std::vector<std::unique_ptr<vicinal::sim::HostMemory>> memories_;
  std::vector<Demand> out_, in_;
  vicinal::base::SureVector<Demand> demands_;
  std::uint64_t changes_ = 0;
  vicinal::base::Random random_{1};
};

// Processor time per change, in microseconds.
template <typename Hosts>
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
  const auto measure = what.pattern == Pattern::memory ? measured<MemoryHosts> : measured<Hosts>;
  for (int r = 0; r < kRepetitions; ++r) times.push_back(measure(what));
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
  for (const Pattern pattern :
       {Pattern::neighbours, Pattern::pairs, Pattern::tree, Pattern::memory}) {
    for (const std::uint32_t hosts : {100U, 1000U}) {
      for (const std::uint32_t flows : {1U, 4U}) print_row({pattern, hosts, flows});
    }
  }
  return 0;
}
