// Figures 2, 3 and 5 of paper 003: "Locality-Aware Work Stealing on Multi-CPU and Multi-GPU Architectures", Gautier,
// Lima, Maillard, Raffin, 2013. Factorisations on up to eight Tesla C2050 and the cores that do not drive one.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kNote003 =
    "As in the paper, the cores factor the panels: Cholesky cuts each tile of the diagonal again "
    "into tiles of 128, and LU exchanges rows pair by pair (GETRF, GESSM, TSTRF, SSSSM). The paper "
    "gives no speed of a kernel: those of the machine file are assumptions.";

std::vector<Series> series_003() {
  return {{"H2", "xkaapi:push=h2"}, {"H1", "xkaapi:push=h1"}, {"default", "rws"}};
}

Panel panel_003(std::string_view name, std::string_view application, std::uint64_t panel) {
  return {.name = std::string(name),
          .axis = kGpus,
          .machine = "idgraf",
          .application = application,
          .tile = 1024,
          .panel_elements = panel,
          .precision = "double"};
}

Panel cholesky_003() {
  return panel_003("DPOTRF", "cholesky", 128);
}
// Columns that are eliminated at once: the generator's own choice, the paper does not say.
Panel lu_003() {
  return panel_003("DGETRF", "lu-incpiv", 0);
}

std::vector<Plot> plots() {
  return {
      {.name = "performance",
       .unit = "GFlop/s",
       .value = [](const Measures& m) { return m.gflops(); },
       .limits = {{"all workers busy", [](const Measures& m) { return m.most_gflops(); }, "k:"}}},
      {.name = "transfers",
       .unit = "GB",
       .value = [](const Measures& m) { return (m.loaded() + m.written_back) * 1e-9; },
       .limits = {}}};
}

double moved(const Measures& measures) {
  return measures.loaded() + measures.written_back;
}

// Its speed on `more` GPUs over that on `fewer`; 0: not measured.
double speed_up(const Results& results, std::string_view series, double fewer, double more) {
  const Row* const before = results.at({}, series, fewer);
  const Row* const after = results.at({}, series, more);
  return before != nullptr && after != nullptr
             ? after->measures.gflops() / before->measures.gflops()
             : 0;
}

Verdict default_scales_worse(const Results& results) {
  const double theirs = speed_up(results, "default", 4, 8);
  const double ours = speed_up(results, "H2", 4, 8);
  if (theirs == 0 || ours == 0) return unknown("a policy or a number of GPUs is missing");
  return verdict(theirs < ours - kEqual,
                 fmt::format("eight GPUs are {:.2f} times as fast as four, with H2 {:.2f} times",
                             theirs, ours));
}

Verdict moves_less(const Results& results, std::string_view a, std::string_view b) {
  const std::vector<double> bytes = ratios(results, {}, a, b, moved);
  if (bytes.empty()) return unknown("a policy is missing");
  return verdict(mean(bytes) < 1 - kEqual,
                 fmt::format("{} moves {} times the bytes of {}", a, range(bytes), b));
}

Verdict scales_up_to(const Results& results, std::string_view series, double gpus) {
  const double up = speed_up(results, series, gpus - 2, gpus);
  if (up == 0) return unknown("a policy or a number of GPUs is missing");
  return verdict(up > 1 + kEqual,
                 fmt::format("{} GPUs are {:.2f} times as fast as {}", gpus, up, gpus - 2));
}

Verdict peak_of_h2(const Results& results, double in_paper) {
  const std::vector<const Row*> rows = results.of({}, "H2");
  double peak = 0;
  for (const Row* row : rows) peak = std::max(peak, row->measures.gflops());
  if (peak == 0) return unknown("H2 has not been measured");
  return verdict(
      std::abs(peak / in_paper - 1) <= 0.1,
      fmt::format("{:.0f} GFlop/s ({} of the paper's)", peak, percent(peak / in_paper - 1)));
}

Panel by_gpus(Panel panel) {
  panel.varied = Varied::gpus;
  panel.tiles = 40;  // section 5.2: 40960 x 40960
  panel.values = {Values{2, 8}, Values{1, 2, 3, 4, 5, 6, 7, 8}, Values{1, 2, 3, 4, 5, 6, 7, 8}};
  return panel;
}

Figure figure_2() {
  return {.name = "003-2",
          .sentence = "Cholesky of 40960 on one to eight GPUs: work stealing and two heuristics",
          .note = std::string(kNote003),
          .panels = {by_gpus(cholesky_003())},
          .series = series_003(),
          .plots = plots(),
          .statements = {
              {"The default scales badly beyond four GPUs", "section 5.2",
               "eight GPUs over four, less than with H2", default_scales_worse},
              {"H1 moves less than the default", "section 5.2", "on average by more than 2 %",
               [](const Results& r) { return moves_less(r, "H1", "default"); }},
              {"H2 moves the least", "section 5.2", "on average more than 2 % less than H1",
               [](const Results& r) { return moves_less(r, "H2", "H1"); }},
              {"H1 gains up to six GPUs", "section 5.2", "six are faster than four",
               [](const Results& r) { return scales_up_to(r, "H1", 6); }},
              {"H2 gains up to eight GPUs", "section 5.2", "eight are faster than six",
               [](const Results& r) { return scales_up_to(r, "H2", 8); }},
              {"The peak with H2 is 1.79 TFlop/s", "section 5.2", "within 10 %",
               [](const Results& r) { return peak_of_h2(r, 1790); }}}};
}

Figure figure_3_of_003() {
  return {.name = "003-3",
          .sentence = "LU of 40960 on one to eight GPUs: work stealing and two heuristics",
          .note = std::string(kNote003),
          .panels = {by_gpus(lu_003())},
          .series = series_003(),
          .plots = plots(),
          .statements = {
              {"H1 moves less than the default", "section 5.2", "on average by more than 2 %",
               [](const Results& r) { return moves_less(r, "H1", "default"); }},
              {"H2 moves less than the default", "section 5.2", "on average by more than 2 %",
               [](const Results& r) { return moves_less(r, "H2", "default"); }},
              {"Both gain up to six GPUs", "section 5.2", "six are faster than four",
               [](const Results& r) {
                 const std::array verdicts{scales_up_to(r, "H1", 6), scales_up_to(r, "H2", 6)};
                 return all_of(verdicts);
               }},
              {"The peak with H2 is 816.5 GFlop/s", "section 5.2", "within 10 %",
               [](const Results& r) { return peak_of_h2(r, 816.5); }}}};
}

// --- figure 5

Verdict h2_is_best_but_at_the_smallest(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    for (const std::string_view other : {"H1", "default"}) {
      std::vector<double> speeds = ratios(results, {panel}, "H2", other, gflops);
      if (speeds.size() < 2) continue;
      const double smallest = speeds.front();
      speeds.erase(speeds.begin());
      verdicts.push_back(
          verdict(std::ranges::min(speeds) >= 1 - kEqual,
                  fmt::format("{}: {:.2f} times the speed of {} at the smallest size, {} at others",
                              panel, smallest, other, range(speeds))));
    }
  }
  return all_of(verdicts);
}

Figure figure_5() {
  std::vector<Panel> panels{cholesky_003(), lu_003()};
  for (Panel& panel : panels) {
    panel.axis = kOrder;
    panel.gpus = 8;
    panel.values = {Values{4, 16}, Values{4, 8, 16, 24, 32, 40},
                    Values{4, 8, 12, 16, 20, 24, 28, 32, 36, 40}};
  }
  return {.name = "003-5",
          .sentence = "Cholesky and LU on eight GPUs and four cores as the matrix grows",
          .note = std::string(kNote003),
          .panels = panels,
          .series = series_003(),
          .plots = {plots().front()},
          .statements = {{"H2 is the best at all sizes but 4096, where all are equal",
                          "section 5.4", "no other is faster by more than 2 % at a larger size",
                          h2_is_best_but_at_the_smallest}}};
}

}  // namespace

std::vector<Figure> figures_003() {
  return {figure_2(), figure_3_of_003(), figure_5()};
}

}  // namespace vicinal::reproduction
