// Figure 1 of paper 002: "Comparing and Contrasting User and Runtime Directed Data Placement Strategies for
// Owner-Compute, Multi-Accelerator Distributed Task Based Scheduling", Bouteiller et al., 2025.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::array<std::string_view, 4> kAutomatic{"default", "load alone (skew 1)",
                                                     "reuse alone (skew 0)", "random"};

// The skew of the paper is 1 / (1 + skew / 100) of ours: its 1 is our 0, its 0 is one without bound.
std::vector<Series> series_002() {
  return {{"user-directed", "directed"},  {kAutomatic[0], "load"},
          {kAutomatic[1], "load:skew=0"}, {kAutomatic[2], "load:skew=1000000"},
          {kAutomatic[3], "touch"},       {"UVM", "directed", "unified"}};
}

Panel panel_002(std::string_view name, std::string_view application) {
  Panel panel{.name = std::string(name),
              .axis = kOrder,
              .machine = "guyot",
              .application = application,
              .tile = 2048,
              .precision = "double"};
  panel.gpus = 8;
  panel.values = {Values{8, 16}, Values{8, 16, 24, 32, 40, 48},
                  Values{8, 16, 24, 32, 40, 48, 56, 64}};
  return panel;
}

Verdict automatic_ones_are_alike(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    for (const std::string_view series : kAutomatic) {
      const std::vector<double> speeds = ratios(results, {panel}, series, kAutomatic[0], gflops);
      if (speeds.empty() || series == kAutomatic[0]) continue;
      verdicts.push_back(verdict(mean(speeds) > 0.9 && mean(speeds) < 1.1,
                                 fmt::format("{} {} {}", panel, series, range(speeds))));
    }
  }
  return all_of(verdicts);
}

Verdict unified_memory_is_slow(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    const std::vector<double> speeds = ratios(results, {panel}, "UVM", kAutomatic[0], gflops);
    if (speeds.empty()) continue;
    verdicts.push_back(
        verdict(std::ranges::max(speeds) < 0.5, fmt::format("{} {}", panel, range(speeds))));
  }
  return all_of(verdicts);
}

// The speed of the directed placement over the best automatic one, size by size.
std::vector<double> leads(const Results& results, std::string_view panel) {
  std::vector<double> leads;
  for (const Row* row : results.of(panel, "user-directed")) {
    double best = 0;
    for (const std::string_view series : kAutomatic) {
      const Row* const other = results.at(panel, series, row->point.x);
      if (other != nullptr) best = std::max(best, other->measures.gflops());
    }
    if (best > 0) leads.push_back(row->measures.gflops() / best);
  }
  return leads;
}

Verdict directed_leads_on_potrf(const Results& results) {
  const std::vector<double> values = leads(results, "POTRF");
  if (values.empty()) return unknown("the directed placement has not been measured");
  return verdict(mean(values) > 1 + kEqual,
                 fmt::format("{} times the speed of the best automatic one, {} on average (paper "
                             "+15 to +20 %)",
                             range(values), percent(mean(values) - 1)));
}

Verdict directed_leads_on_gemm(const Results& results) {
  const std::vector<double> values = leads(results, "GEMM");
  if (values.empty()) return unknown("the directed placement has not been measured");
  return verdict(values.front() > 1.5 && values.back() < values.front(),
                 fmt::format("{:.2f} times the speed of the best automatic one at the smallest "
                             "size, {:.2f} at the largest",
                             values.front(), values.back()));
}

Figure figure_1() {
  return {.name = "002-1",
          .sentence = "Placement of data on eight A100: product and Cholesky as the matrix grows",
          .note =
              "UVM is unified memory under the directed placement. The paper's text gives neither "
              "the sizes nor the tiles; the links and most speeds "
              "of the machine file "
              "are assumptions.",
          .panels = {panel_002("GEMM", "gemm3d"), panel_002("POTRF", "cholesky")},
          .series = series_002(),
          .plots = {{.name = "performance",
                     .unit = "TFlop/s",
                     .value = [](const Measures& m) { return m.gflops() * 1e-3; },
                     .limits = {{"all GPUs busy",
                                 [](const Measures& m) { return m.most_gflops() * 1e-3; }, "k:"}}}},
          .statements = {
              {"Unified memory is very slow and does not get better with the size", "section 5.2",
               "less than half of the speed of the default at each size", unified_memory_is_slow},
              {"The automatic strategies do all alike", "section 5.2",
               "speed over that of the default, on average within 10 % of it",
               automatic_ones_are_alike},
              {"On POTRF the directed placement is faster (there by 15 to 20 % at all sizes)",
               "section 5.2",
               "on average over the sizes more than 2 % faster than the best automatic one",
               directed_leads_on_potrf},
              {"On GEMM it is nearly twice as fast on small matrices, and less so on larger",
               "section 5.2", "1.5 times at the smallest size, and less at the largest",
               directed_leads_on_gemm}}};
}

}  // namespace

std::vector<Figure> figures_002() {
  return {figure_1()};
}

}  // namespace vicinal::reproduction
