#include "reproduction/parts_004.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kNotMeasured004 = "the two have not been measured";

}  // namespace

Panel panel_004(std::string_view name, std::string_view application, std::string_view machine,
                std::uint32_t ranks) {
  Panel panel{.name = std::string(name),
              .axis = kOrder,
              .machine = machine,
              .application = application,
              .tile = 320,
              .bottom_levels = false};
  panel.on_ranks.ranks = ranks;
  return panel;
}

Plot performance_004() {
  return {.name = "performance",
          .unit = "TFlop/s",
          .value = [](const Measures& m) { return m.gflops() * 1e-3; },
          .limits = {{"no schedule is faster",
                      [](const Measures& m) { return m.most_gflops() * 1e-3; }, "k:"}}};
}

std::vector<double> gains_004(const Results& results, std::string_view panel, std::string_view a,
                              std::string_view b) {
  std::vector<double> gains = ratios(results, {panel}, a, b, gflops);
  for (double& gain : gains) gain -= 1;
  return gains;
}

std::string range_of_gains(const std::vector<double>& gains) {
  const auto [least, most] = std::ranges::minmax(gains);
  return percent(least) == percent(most) ? percent(least)
                                         : fmt::format("{} to {}", percent(least), percent(most));
}

Verdict gains_up_to(const Results& results, std::string_view panel, std::string_view a,
                    std::string_view b, double in_paper) {
  const std::vector<double> gains = gains_004(results, panel, a, b);
  if (gains.empty()) return unknown(kNotMeasured004);
  const double most = std::ranges::max(gains);
  return numbered(
      most > kEqual, meets(most, in_paper) || std::abs(most - in_paper) <= kEqual,
      fmt::format("{} {} (paper up to {})", a, range_of_gains(gains), percent(in_paper)));
}

Verdict are_equal(const Results& results, std::string_view panel, std::string_view a,
                  std::string_view b) {
  const std::vector<double> gains = gains_004(results, panel, a, b);
  if (gains.empty()) return unknown(kNotMeasured004);
  const bool equal =
      std::ranges::all_of(gains, [](double gain) { return std::abs(gain) <= kEqual; });
  return verdict(equal, fmt::format("{} {}", a, range_of_gains(gains)));
}

Verdict is_faster(const Results& results, std::string_view panel, std::string_view a,
                  std::string_view b) {
  const std::vector<double> gains = gains_004(results, panel, a, b);
  if (gains.empty()) return unknown(kNotMeasured004);
  return verdict(mean(gains) > kEqual, fmt::format("{} {}, {} on average", a, range_of_gains(gains),
                                                   percent(mean(gains))));
}

}  // namespace vicinal::reproduction
