#include "bounds/area.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace vicinal::bounds {

namespace {

constexpr std::string_view kPooled = "all tasks over the workers of one kind";
constexpr std::string_view kSorted = "linear programme of two kinds, by ratio of durations";
constexpr std::string_view kSearched = "dual of the linear programme, by search";

using PricePerKind = std::array<double, kProcessorKinds>;  // z

// Only types that have tasks and a worker; seconds are 0 for kinds without workers.
struct AreaProgramme {
  std::vector<TaskType> types;
  WorkersPerKind workers{};
  std::vector<std::size_t> kinds;  // that have workers and run something
};

struct Solution {
  PricePerKind prices{};
  std::string_view source;
};

AreaProgramme programme_of(std::span<const TaskType> types, const WorkersPerKind& workers) {
  AreaProgramme programme{.types = {}, .workers = workers, .kinds = {}};
  std::array<bool, kProcessorKinds> used{};
  for (TaskType type : types) {
    bool runs = false;
    for (std::size_t w = 0; w < kProcessorKinds; ++w) {
      if (workers[w] == 0 || type.seconds[w] <= 0) type.seconds[w] = 0;
      if (type.count == 0 || type.seconds[w] <= 0) continue;
      used[w] = runs = true;
    }
    if (runs) programme.types.push_back(type);
  }
  for (std::size_t w = 0; w < kProcessorKinds; ++w) {
    if (used[w]) programme.kinds.push_back(w);
  }
  return programme;
}

// The objective of the dual at `prices`, which need not be normalised.
double dual_seconds(const AreaProgramme& programme, const PricePerKind& prices) {
  double scale = 0;
  for (const std::size_t w : programme.kinds) scale += programme.workers[w] * prices[w];
  if (!(scale > 0)) return 0;
  double sum = 0;
  for (const TaskType& type : programme.types) {
    double cheapest = std::numeric_limits<double>::infinity();
    for (const std::size_t w : programme.kinds) {
      if (type.seconds[w] > 0) cheapest = std::min(cheapest, type.seconds[w] * prices[w]);
    }
    sum += static_cast<double>(type.count) * cheapest;
  }
  return sum / scale;
}

// --- Two kinds -----------------------------------------------------------------------------------

// A type that both kinds a and b run, n tasks of d_a or d_b seconds. At the prices z_a = ratio and
// z_b = 1 it costs the same on either, below that less on a.
struct Shared {
  double ratio = 0;  // d_b / d_a
  double on_a = 0;   // n d_a
  double on_b = 0;
};

// Between two ratios the dual is (p z + q) / (workers(a) z + workers(b)) in z = z_a / z_b, which is
// monotone: its maximum lies at a ratio, or where one kind's work alone decides.
PricePerKind prices_of_two(const AreaProgramme& programme) {
  const std::size_t a = programme.kinds[0];
  const std::size_t b = programme.kinds[1];
  double on_a = 0;
  double on_b = 0;
  std::vector<Shared> shared;
  for (const TaskType& type : programme.types) {
    const auto count = static_cast<double>(type.count);
    if (type.seconds[a] <= 0) {
      on_b += count * type.seconds[b];
    } else {
      on_a += count * type.seconds[a];
      if (type.seconds[b] <= 0) continue;
      shared.push_back(
          {type.seconds[b] / type.seconds[a], count * type.seconds[a], count * type.seconds[b]});
    }
  }
  std::sort(shared.begin(), shared.end(),
            [](const Shared& x, const Shared& y) { return x.ratio < y.ratio; });

  PricePerKind best{};
  best[b] = 1;
  double most = on_b / programme.workers[b];
  for (const Shared& type : shared) {
    const double seconds =
        (type.ratio * on_a + on_b) / (type.ratio * programme.workers[a] + programme.workers[b]);
    if (seconds > most) {
      most = seconds;
      best[a] = type.ratio;
    }
    on_a -= type.on_a;
    on_b += type.on_b;
  }
  if (on_a / programme.workers[a] > most) {
    best = {};
    best[a] = 1;
  }
  return best;
}

// --- More kinds ----------------------------------------------------------------------------------

// The dual is concave, and so is its maximum over the kinds after `k` as a function of the share of
// `k`: each is searched by thirds, within the other. A share is workers(w) z_w; all add up to 1.
double search_shares(const AreaProgramme& programme, std::size_t k, double left,
                     PricePerKind& prices) {
  constexpr int kSteps = 64;  // (2/3)^64 = 5e-12 of the range
  const std::size_t w = programme.kinds[k];
  const auto at = [&](double share) {
    prices[w] = share / programme.workers[w];
    if (k + 1 == programme.kinds.size()) return dual_seconds(programme, prices);
    return search_shares(programme, k + 1, left - share, prices);
  };
  if (k + 1 == programme.kinds.size()) return at(left);
  double low = 0;
  double high = left;
  for (int step = 0; step < kSteps; ++step) {
    const double third = (high - low) / 3;
    if (at(low + third) < at(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  return at((low + high) / 2);
}

// --- Any number ----------------------------------------------------------------------------------

Solution solve(const AreaProgramme& programme) {
  Solution solution;
  if (programme.kinds.size() == 1) {
    solution.prices[programme.kinds[0]] = 1;
    solution.source = kPooled;
  } else if (programme.kinds.size() == 2) {
    solution.prices = prices_of_two(programme);
    solution.source = kSorted;
  } else {
    search_shares(programme, 0, 1, solution.prices);
    solution.source = kSearched;
  }
  return solution;
}

}  // namespace

TimeBound area_bound(std::span<const TaskType> types, const WorkersPerKind& workers) {
  TimeBound bound{.value = {}, .name = "area", .source = kPooled};
  const AreaProgramme programme = programme_of(types, workers);
  if (programme.types.empty()) return bound;
  const Solution solution = solve(programme);
  bound.value = rounded_down(dual_seconds(programme, solution.prices));
  bound.source = solution.source;
  return bound;
}

}  // namespace vicinal::bounds
