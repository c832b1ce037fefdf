#include "reproduction/orders.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace vicinal::reproduction {

namespace {

// 1 is the smallest.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = static_cast<double>(first + 1 + end) / 2;
    for (; first < end; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double both = 0;
  double square_a = 0;
  double square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    square_a += (a[i] - mean_a) * (a[i] - mean_a);
    square_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return square_a > 0 && square_b > 0 ? both / std::sqrt(square_a * square_b) : 0;
}

}  // namespace

double rank_correlation(const OrderedRun& run, double (*number)(const OrderedTask& task)) {
  std::vector<double> places;
  std::vector<double> numbers;
  for (const OrderedTask& task : run.tasks) {
    if (task.step != 0) continue;
    places.push_back(static_cast<double>(task.place));
    numbers.push_back(number(task));
  }
  return places.empty() ? 0 : correlation(ranks_of(places), ranks_of(numbers));
}

std::vector<double> tasks_per_tile(const OrderedRun& run) {
  std::vector<double> values;
  for (std::size_t first = 0; first < run.tasks.size(); first += run.colour) {
    const std::size_t end = std::min<std::size_t>(first + run.colour, run.tasks.size());
    if (end - first < run.colour && !values.empty()) break;
    std::set<std::uint32_t> tiles;
    for (std::size_t i = first; i < end; ++i) {
      tiles.insert(run.tasks[i].tiles.begin(), run.tasks[i].tiles.end());
    }
    values.push_back(static_cast<double>(end - first) / static_cast<double>(tiles.size()));
  }
  return values;
}

std::uint64_t most_steps_at_once(const OrderedRun& run) {
  std::uint64_t most = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> writes;
  for (const OrderedTask& task : run.tasks) {
    most = std::max(most, ++writes[{task.place / run.colour, task.tiles.back()}]);
  }
  return most;
}

double share_used_by_several(const OrderedRun& run) {
  std::map<std::uint32_t, std::set<std::uint32_t>> users;
  for (const OrderedTask& task : run.tasks) {
    if (task.step != 0) continue;
    for (const std::uint32_t tile : task.tiles) users[tile].insert(task.worker);
  }
  if (users.empty()) return 0;
  const auto several =
      std::ranges::count_if(users, [](const auto& user) { return user.second.size() > 1; });
  return static_cast<double>(several) / static_cast<double>(users.size());
}

std::vector<std::uint64_t> tasks_by_worker(const OrderedRun& run) {
  std::vector<std::uint64_t> counts;
  for (const OrderedTask& task : run.tasks) {
    if (task.worker >= counts.size()) counts.resize(task.worker + 1);
    ++counts[task.worker];
  }
  return counts;
}

}  // namespace vicinal::reproduction
