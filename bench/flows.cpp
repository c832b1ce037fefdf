// Question: what does the start or the end of a simulated flow cost? Each of N hosts has a link of its own and one flow
// in flight on it; when it ends the next begins.
//   apart     the flows do not meet
//   together  all pass one switch, too
//
// Lower bound: of flows that do not meet, one that does not depend on N but for the logarithm of a heap; of flows that
// all share a resource N, for each change changes all rates. Repetitions: 5, of which it prints median, least and most.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
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

enum class Meet : bool { apart, together };

class Hosts {
 public:
  Hosts(std::uint32_t count, Meet meet) {
    const Demand to_all{network_.add_resource(BytesPerSecond{1e12})};
    for (std::uint32_t h = 0; h < count; ++h) {
      paths_.push_back({{network_.add_resource(BytesPerSecond{12.5e9})}});
      if (meet == Meet::together) paths_.back().push_back(to_all);
      start(h, 0);
    }
  }
  void replace_next() {
    FluidNetwork::End end;
    network_.take_end(network_.next_end(), end);
    start(end.id, end.at);
  }

 private:
  void start(std::uint64_t host, double at) {
    const double bytes = 1e6 * (1 + random_.uniform());
    network_.start(host, {bytes, paths_[host]}, at);
  }
  FluidNetwork network_;
  std::vector<std::vector<Demand>> paths_;
  vicinal::base::Random random_{1};
};

// Wall time per change, in microseconds.
double measured(std::uint32_t count, Meet meet) {
  Hosts hosts(count, meet);
  const std::uint32_t rounds = meet == Meet::apart ? 200'000 : 2'000;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < rounds; ++i) hosts.replace_next();
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / (2 * rounds);
}

void print_row(std::uint32_t count, Meet meet) {
  std::vector<double> times;
  for (int r = 0; r < kRepetitions; ++r) times.push_back(measured(count, meet));
  std::ranges::sort(times);
  std::printf("%8s %6u %10.3f   %.3f..%.3f\n", meet == Meet::apart ? "apart" : "together", count,
              times[kRepetitions / 2], times.front(), times.back());
}

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  std::printf("%8s %6s %10s   %s\n", "flows", "hosts", "us/change", "least..most");
  for (const Meet meet : {Meet::apart, Meet::together}) {
    for (const std::uint32_t hosts : {1U, 10U, 100U, 1000U}) print_row(hosts, meet);
  }
  return 0;
}
