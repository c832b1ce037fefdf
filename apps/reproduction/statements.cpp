#include "reproduction/statements.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kNothing = "nothing to compare has been measured";

}  // namespace

std::vector<double> ratios(const Results& results, Scope scope, std::string_view a,
                           std::string_view b, Measure measure) {
  std::vector<double> values;
  for (const Row* row : results.of(scope.panel, a, scope.where)) {
    const Row* const other = results.at(row->point.panel, b, row->point.x);
    if (other == nullptr || measure(other->measures) <= 0) continue;
    values.push_back(measure(row->measures) / measure(other->measures));
  }
  return values;
}

std::vector<std::string> others(const Results& results, Scope scope, std::string_view series) {
  std::vector<std::string> labels = results.series(scope.panel);
  std::erase(labels, series);
  return labels;
}

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::string range(std::span<const double> values) {
  if (values.empty()) return "nothing";
  const auto [least, most] = std::ranges::minmax(values);
  const std::string low = fmt::format("{:.2f}", least);
  const std::string high = fmt::format("{:.2f}", most);
  return low == high ? low : fmt::format("{} to {}", low, high);
}

std::string percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

Verdict unknown(std::string_view why) {
  return {Verdict::Kind::unknown, std::string(why)};
}

Verdict verdict(bool holds, std::string measured) {
  return {holds ? Verdict::Kind::holds : Verdict::Kind::fails, std::move(measured)};
}

bool meets(double number, double in_paper) {
  return std::abs(number - in_paper) <= kTolerance * std::abs(in_paper);
}

bool meets_speed(double gflops, double in_paper) {
  return std::abs(gflops - in_paper) <= kSpeedTolerance * in_paper;
}

Verdict numbered(bool is_so, bool number_is_met, std::string measured) {
  if (!is_so) return {Verdict::Kind::fails, std::move(measured)};
  return {number_is_met ? Verdict::Kind::holds : Verdict::Kind::sign, std::move(measured)};
}

Verdict all_of(std::span<const Verdict> verdicts) {
  Verdict all{Verdict::Kind::holds, {}};
  for (const Verdict& one : verdicts) {
    if (one.kind == Verdict::Kind::unknown) return one;
    all.kind = std::max(all.kind, one.kind);
    all.measured += (all.measured.empty() ? "" : "; ") + one.measured;
  }
  return verdicts.empty() ? unknown(kNothing) : all;
}

Verdict is_fastest(const Results& results, Scope scope, std::string_view series) {
  std::vector<Verdict> verdicts;
  for (const std::string& other : others(results, scope, series)) {
    const std::vector<double> speeds = ratios(results, scope, series, other, gflops);
    if (speeds.empty()) continue;
    const auto [least, most] = std::ranges::minmax(speeds);
    verdicts.push_back(verdict(least >= 1 - kEqual && most > 1 + kEqual,
                               fmt::format("over {} {}", other, range(speeds))));
  }
  return all_of(verdicts);
}

Verdict others_load_more(const Results& results, Scope scope, std::string_view series,
                         std::span<const std::string> compared, double times) {
  std::vector<Verdict> verdicts;
  for (const std::string& other : compared) {
    const std::vector<double> loads = ratios(results, scope, other, series, loaded);
    if (loads.empty()) continue;
    verdicts.push_back(verdict(std::ranges::min(loads) >= times,
                               fmt::format("{} {} times as much", other, range(loads))));
  }
  return all_of(verdicts);
}

Verdict most_are_equal(const Results& results, Scope scope, double share) {
  std::size_t points = 0;
  std::size_t with_most = 0;
  double slowest = 1;
  for (const std::string& panel : results.panels()) {
    if (!scope.panel.empty() && panel != scope.panel) continue;
    for (const double x : results.sizes(panel)) {
      std::vector<double> speeds;
      for (const std::string& series : results.series(panel)) {
        const std::vector<const Row*> rows = results.of(panel, series, scope.where);
        const auto row = std::ranges::find_if(rows, [&](const Row* r) { return r->point.x == x; });
        if (row != rows.end()) speeds.push_back((*row)->measures.gflops());
      }
      if (speeds.size() < 2) continue;
      const double best = std::ranges::max(speeds);
      const auto near =
          std::ranges::count_if(speeds, [&](double s) { return s >= best * (1 - share); });
      ++points;
      if (2 * static_cast<std::size_t>(near) > speeds.size()) ++with_most;
      slowest = std::min(slowest, std::ranges::min(speeds) / best);
    }
  }
  if (points == 0) return unknown(kNothing);
  return verdict(with_most == points, fmt::format("at {} of {} points; the slowest has {:.2f} of "
                                                  "the speed of the fastest",
                                                  with_most, points, slowest));
}

Verdict is_faster_on_average(const Results& results, Scope scope, std::string_view a,
                             std::string_view b, double in_paper) {
  const std::vector<double> speeds = ratios(results, scope, a, b, gflops);
  if (speeds.empty()) return unknown(kNothing);
  const double gain = mean(speeds) - 1;
  // An improvement that the paper measures as nothing must be nothing here, too.
  const bool none = std::abs(in_paper) <= kEqual;
  const bool is_met = meets(gain, in_paper) || std::abs(gain - in_paper) <= kEqual;
  return numbered(
      none ? std::abs(gain) <= kEqual : gain > kEqual, none || is_met,
      fmt::format("{} over {} points (paper {})", percent(gain), speeds.size(), percent(in_paper)));
}

std::optional<double> loss_at_largest(const Results& results, std::string_view panel,
                                      std::string_view series) {
  double best = 0;
  for (const Row* row : results.of(panel, series, Where::fitting)) {
    best = std::max(best, row->measures.gflops());
  }
  const std::vector<const Row*> beyond = results.of(panel, series, Where::beyond);
  if (best <= 0 || beyond.empty()) return std::nullopt;
  return 1 - beyond.back()->measures.gflops() / best;
}

}  // namespace vicinal::reproduction
