#include "calibration/interference/difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vicinal::interference {

namespace {

double log_ratio(double over, double under) {
  return std::log(std::max(over, 1e-12) / std::max(under, 1e-12));
}

double change_between(const std::vector<double>& once, const std::vector<double>& again) {
  return std::abs(std::expm1(log_ratio(quantile(again, 0.5), quantile(once, 0.5))));
}

}  // namespace

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double chance_of_signs(const std::vector<double>& differences) {
  std::vector<double> ordered;
  for (const double d : differences) {
    if (d != 0) ordered.push_back(d);
  }
  if (ordered.empty()) return 1;
  std::sort(ordered.begin(), ordered.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  const std::size_t count = ordered.size();
  const std::size_t all = count * (count + 1) / 2;
  std::size_t positive = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (ordered[i] > 0) positive += i + 1;
  }
  // The parts of all signs that give each sum.
  std::vector<double> parts(all + 1, 0.0);
  parts[0] = 1;
  for (std::size_t rank = 1; rank <= count; ++rank) {
    for (std::size_t sum = all + 1; sum-- > 0;) {
      parts[sum] = parts[sum] / 2 + (sum >= rank ? parts[sum - rank] / 2 : 0);
    }
  }
  const std::size_t least = std::min(positive, all - positive);
  double tail = 0;
  for (std::size_t sum = 0; sum <= least; ++sum) tail += parts[sum];
  return std::min(1.0, 2 * tail);
}

Difference difference_of(const Rounds& rounds) {
  const std::size_t count = std::min({rounds.alone.size(), rounds.beside.size(),
                                      rounds.alone_again.size(), rounds.beside_again.size()});
  if (count == 0) return {};
  const auto first = [count](const std::vector<double>& values) {
    return std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::vector<double> alone = first(rounds.alone);
  std::vector<double> beside = first(rounds.beside);
  const std::vector<double> alone_again = first(rounds.alone_again);
  const std::vector<double> beside_again = first(rounds.beside_again);
  std::vector<double> differences;
  for (std::size_t i = 0; i < count; ++i) {
    // Of the same twice the shorter: interruptions only lengthen.
    differences.push_back(
        log_ratio(std::min(beside[i], beside_again[i]), std::min(alone[i], alone_again[i])));
  }
  Difference result;
  result.noise = std::max(change_between(alone, alone_again), change_between(beside, beside_again));
  alone.insert(alone.end(), alone_again.begin(), alone_again.end());
  beside.insert(beside.end(), beside_again.begin(), beside_again.end());
  result.alone = quantile(alone, 0.5);
  result.beside = quantile(beside, 0.5);
  result.low_alone = quantile(alone, 0.25);
  result.high_alone = quantile(alone, 0.75);
  result.low_beside = quantile(beside, 0.25);
  result.high_beside = quantile(beside, 0.75);
  result.change = std::expm1(quantile(differences, 0.5));
  result.chance = chance_of_signs(differences);
  return result;
}

}  // namespace vicinal::interference
