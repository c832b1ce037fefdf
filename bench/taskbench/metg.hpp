// From the times of all libraries and rounds to efficiency curves and METG(50 %), the minimum effective
// task granularity: wall time times workers over tasks, where the tasks are so short that half of the
// best rate of work is reached, the best that the same library reached with as many workers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "comparison.hpp"

namespace taskbench {

// One length of tasks.
struct Point {
  std::uint64_t iterations = 0;
  double granularity = 0;  // us
  double efficiency = 0;
};
using Curve = std::vector<Point>;  // the longest tasks first

// Between the shortest tasks that are efficient and the next shorter ones, straight in the logarithm
// of the granularity. None if all are, or none is.
inline std::optional<double> metg(const Curve& curve) {
  constexpr double kEfficient = 0.5;
  const auto last = std::find_if(curve.rbegin(), curve.rend(),
                                 [](const Point& point) { return point.efficiency >= kEfficient; });
  if (last == curve.rend() || last == curve.rbegin()) return std::nullopt;
  const Point& above = *last;
  const Point& below = *(last - 1);
  const double part = (above.efficiency - kEfficient) / (above.efficiency - below.efficiency);
  return above.granularity * std::pow(below.granularity / above.granularity, part);
}

class Rows {
 public:
  // What one process printed.
  void add(const nlohmann::json& process) {
    Row& row = rows_[{process.at("pattern"), process.at("workers"), process.at("runtime")}];
    row.about = process;
    row.about.erase("curve");
    row.about.erase("best_rate");
    double& best = best_[{process.at("runtime"), process.at("workers")}];
    best = std::max<double>(best, process.at("best_rate"));
    std::vector<Sample> round;
    for (const auto& point : process.at("curve")) {
      round.push_back({point.at("iterations"), point.at("work"), *bench::median(point.at("ns"))});
    }
    row.rounds.push_back(std::move(round));
  }

  nlohmann::json json() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const Key& key : rows_.keys()) {
      const Row& row = rows_.at(key);
      const std::vector<double> metgs = metg_of_rounds(key);
      nlohmann::json to = row.about;
      to["metg_us"] = number(bench::median(metgs));
      to["metg_least"] = number(bench::quantile(metgs, 0));
      to["metg_most"] = number(bench::quantile(metgs, 1));
      to["rounds"] = row.rounds.size();
      for (const Point& point : median_curve(key)) {
        to["curve"].push_back({{"iterations", point.iterations},
                               {"granularity_us", number(point.granularity)},
                               {"efficiency", number(point.efficiency)}});
      }
      rows.push_back(std::move(to));
    }
    return rows;
  }

  void print(std::FILE* to) const {
    print_curves(to);
    std::fprintf(to, "%-20s %2s  %-26s %9s %17s\n", "pattern", "w", "runtime", "METG, us",
                 "least..most");
    for (const Key& key : rows_.keys()) {
      const auto& [pattern, workers, runtime] = key;
      const std::vector<double> metgs = metg_of_rounds(key);
      std::fprintf(to, "%-20s %2u  %-26s ", pattern.c_str(), workers, runtime.c_str());
      if (metgs.empty()) {
        std::fprintf(to, "%9s\n", "-");
      } else {
        std::fprintf(to, "%9.2f %8.2f..%-7.2f\n", *bench::median(metgs), std::ranges::min(metgs),
                     std::ranges::max(metgs));
      }
    }
  }

 private:
  using Key = std::tuple<std::string, unsigned, std::string>;  // pattern, workers, runtime
  struct Sample {
    std::uint64_t iterations;
    double work;
    double ns;
  };
  struct Row {
    nlohmann::json about;
    std::vector<std::vector<Sample>> rounds;
  };

  static nlohmann::json number(std::optional<double> value) {
    return value ? nlohmann::json(std::round(*value * 1000) / 1000) : nlohmann::json();
  }

  Point point(const Key& key, const Sample& sample) const {
    const auto& [pattern, workers, runtime] = key;
    const double tasks = rows_.at(key).about.at("tasks");
    return {sample.iterations, sample.ns * 1e-3 * workers / tasks,
            sample.work / sample.ns / best_.at({runtime, workers})};
  }
  std::vector<double> metg_of_rounds(const Key& key) const {
    std::vector<double> found;
    for (const auto& round : rows_.at(key).rounds) {
      Curve curve;
      for (const Sample& sample : round) curve.push_back(point(key, sample));
      if (const auto value = metg(curve)) found.push_back(*value);
    }
    return found;
  }
  Curve median_curve(const Key& key) const {
    std::map<std::uint64_t, std::vector<double>, std::greater<>> ns;
    std::map<std::uint64_t, double> work;
    for (const auto& round : rows_.at(key).rounds) {
      for (const Sample& sample : round) {
        ns[sample.iterations].push_back(sample.ns);
        work[sample.iterations] = sample.work;
      }
    }
    Curve curve;
    for (const auto& [iterations, values] : ns) {
      curve.push_back(point(key, {iterations, work[iterations], *bench::median(values)}));
    }
    return curve;
  }

  void print_curves(std::FILE* to) const {
    for (const Key& key : rows_.keys()) {
      const auto& [pattern, workers, runtime] = key;
      std::fprintf(to, "%s, workers %u, %s\n%12s %15s %11s\n", pattern.c_str(), workers,
                   runtime.c_str(), "iterations", "granularity, us", "efficiency");
      for (const Point& point : median_curve(key)) {
        std::fprintf(to, "%12llu %15.2f %11.3f\n",
                     static_cast<unsigned long long>(point.iterations), point.granularity,
                     point.efficiency);
      }
    }
  }

  bench::RowsInOrder<Key, Row> rows_;
  std::map<std::pair<std::string, unsigned>, double> best_;  // work per ns, by runtime and workers
};

}  // namespace taskbench
