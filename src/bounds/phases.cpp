#include "bounds/phases.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace vicinal::bounds {

namespace {

using graph::Graph;
using Number = Graph::Number;

// Neighbours in the order of submission that may run at once, or in any order.
bool goes_with(AccessMode before, AccessMode now) {
  return before == now && !is_exclusive(now);
}

// Of a datum: who has accessed it since the order was last a must. Who comes next follows them all.
struct LastUsers {
  AccessMode mode{};
  std::vector<Number> tasks;
};

// Tasks that follow all tasks visited before them, in the order of submission or the other way round. When such a task is
// visited no other visited task is without a follower: from each of the others a way leads to a task without one.
std::vector<bool> follow_all(const Graph& graph, bool backwards) {
  const std::size_t count = graph.tasks().size();
  std::vector<bool> result(count);
  std::vector<bool> is_followed(count);
  std::vector<LastUsers> users(graph.data().size());
  std::size_t last_ones = 0;
  for (std::size_t visited = 0; visited < count; ++visited) {
    const auto task = static_cast<Number>(backwards ? count - 1 - visited : visited);
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[task])) {
      if (mode == AccessMode::scratch) continue;
      LastUsers& last = users[datum];
      if (!last.tasks.empty() && goes_with(last.mode, mode)) {
        last.tasks.push_back(task);
        continue;
      }
      for (const Number before : last.tasks) {
        if (before == task || is_followed[before]) continue;
        is_followed[before] = true;
        --last_ones;
      }
      last.mode = mode;
      last.tasks.assign(1, task);
    }
    ++last_ones;
    result[task] = last_ones == 1;
  }
  return result;
}

}  // namespace

std::vector<bool> cuts_of(const Graph& graph) {
  std::vector<bool> cuts = follow_all(graph, false);
  const std::vector<bool> leads = follow_all(graph, true);
  for (std::size_t t = 0; t < cuts.size(); ++t) cuts[t] = cuts[t] && leads[t];
  return cuts;
}

namespace {

Bytes loads_between(const Graph& graph, const std::vector<bool>& cuts,
                    std::span<const DatumUse> data, Bytes room) {
  std::vector<std::uint32_t> seen_in(data.size());  // the last phase, from 1 on
  std::uint32_t phase = 1;
  Bytes loads;
  Bytes read;
  const auto end_phase = [&] {
    const Bytes there = phase == 1 ? Bytes{} : room;
    if (read > there) loads += read - there;
    read = {};
    ++phase;
  };
  for (std::size_t t = 0; t < cuts.size(); ++t) {
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[t])) {
      if (mode == AccessMode::scratch || seen_in[datum] == phase) continue;
      const bool is_made = seen_in[datum] > 0;  // without a home: by the first access
      seen_in[datum] = phase;
      const Side home = data[datum].initially;
      const bool counts = home == Side::outside || (home == Side::either && is_made);
      if (reads(mode) && counts) read += data[datum].size;
    }
    if (cuts[t]) end_phase();
  }
  end_phase();
  return loads;
}

// Kernels of cuts, those of most first.
std::vector<Number> kernels_of(const Graph& graph, const std::vector<bool>& cuts) {
  std::vector<std::size_t> counts(graph.kernels().size());
  for (std::size_t t = 0; t < cuts.size(); ++t) counts[graph.tasks()[t].kernel] += cuts[t] ? 1 : 0;
  std::vector<Number> kernels;
  for (Number k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) kernels.push_back(k);
  }
  std::ranges::stable_sort(kernels, std::greater(), [&](Number k) { return counts[k]; });
  return kernels;
}

}  // namespace

// What is both written and read again between two cuts need not come in, and may have to if there is a cut more: so the cuts of
// one kernel may give the larger bound.
Bytes loads_between_cuts(const Graph& graph, std::span<const DatumUse> data, Bytes room) {
  constexpr std::size_t kMostKernels = 4;
  const std::vector<bool> cuts = cuts_of(graph);
  Bytes most = loads_between(graph, cuts, data, room);
  std::vector<Number> kernels = kernels_of(graph, cuts);
  if (kernels.size() > kMostKernels) kernels.resize(kMostKernels);
  for (const Number kernel : kernels) {
    std::vector<bool> own = cuts;
    for (std::size_t t = 0; t < own.size(); ++t) {
      own[t] = own[t] && graph.tasks()[t].kernel == kernel;
    }
    most = std::max(most, loads_between(graph, own, data, room));
  }
  return most;
}

}  // namespace vicinal::bounds
