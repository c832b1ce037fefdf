// Figure 1 of paper 002 (figures_002_ranks.cpp has the others): "Comparing and Contrasting User and Runtime Directed Data Placement Strategies for
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

constexpr std::array<std::string_view, 2> kOnGuyot{"GEMM", "POTRF"};
constexpr std::string_view kSummit = "POTRF on Summit";

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

// Section 5.3 has four nodes and more; here it is one.
Panel on_summit() {
  Panel panel = panel_002(kSummit, "cholesky");
  panel.machine = "summit";
  panel.gpus = 6;
  panel.values = {Values{8}, Values{8, 16, 24}, Values{8, 16, 24, 32}};
  panel.without = {"user-directed", kAutomatic[1], kAutomatic[3], "UVM"};
  return panel;
}

Verdict automatic_ones_are_alike(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : kOnGuyot) {
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
  for (const std::string_view panel : kOnGuyot) {
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
  const double gain = mean(values) - 1;
  return numbered(gain > kEqual, meets(gain, std::clamp(gain, 0.15, 0.2)),
                  fmt::format("{} times the speed of the best automatic one, {} on average "
                              "(paper +15 to +20 %)",
                              range(values), percent(gain)));
}

Verdict directed_leads_on_gemm(const Results& results) {
  const std::vector<double> values = leads(results, "GEMM");
  if (values.empty()) return unknown("the directed placement has not been measured");
  return numbered(values.front() > 1 + kEqual && values.back() < values.front(),
                  meets(values.front(), 2),
                  fmt::format("{:.2f} times the speed of the best automatic one at the smallest "
                              "size, {:.2f} at the largest (paper 2 and less)",
                              values.front(), values.back()));
}

// Section 5.3 measures on nodes of Summit, and names the cause: most data on one accelerator.
Verdict reuse_alone_loses(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {kOnGuyot[1], kSummit}) {
    const std::vector<double> speeds =
        ratios(results, {panel}, kAutomatic[2], kAutomatic[0], gflops);
    if (speeds.empty()) continue;
    verdicts.push_back(
        verdict(std::ranges::max(speeds) < 0.8, fmt::format("{} {}", panel, range(speeds))));
  }
  return all_of(verdicts);
}

Figure figure_1() {
  return {
      .name = "002-1",
      .sentence = "Placement of data on eight A100: product and Cholesky as the matrix grows",
      .note =
          "UVM is unified memory under the directed placement. The paper's text gives neither "
          "the sizes nor the tiles; the links and most speeds of the machine file are "
          "assumptions. The data of Guyot fit: no rule for a full memory matters there.",
      .panels = {panel_002("GEMM", "gemm3d"), panel_002("POTRF", "cholesky"), on_summit()},
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
           "on average over the sizes more than 2 % faster than the best automatic one; and the "
           "number",
           directed_leads_on_potrf},
          {"On GEMM it is nearly twice as fast on small matrices, and less so on larger",
           "section 5.2", "faster at the smallest size, and less so at the largest; and the number",
           directed_leads_on_gemm},
          {"On POTRF reuse alone is much slower", "section 5.3",
           "at each size less than 0.8 of the speed of the default", reuse_alone_loses}}};
}

}  // namespace

std::vector<Figure> figures_002() {
  return {figure_1()};
}

}  // namespace vicinal::reproduction
