// Figures 2 to 5 of paper 003: "Locality-Aware Work Stealing on Multi-CPU and Multi-GPU Architectures", Gautier,
// Lima, Maillard, Raffin, 2013. Factorisations on up to eight Tesla C2050 and the cores that do not drive one.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kNote003 =
    "As in the paper, the cores factor the panels: Cholesky cuts each tile of the diagonal again "
    "into tiles of 128, and LU exchanges rows pair by pair (GETRF, GESSM, TSTRF, SSSSM). The "
    "paper gives no speed of a kernel: those of the machine file are assumptions. All evict by "
    "XKaapi's rules (memory_rules: xkaapi); (ours): what Vicinal does by default; no verdict "
    "looks at it. ";

std::vector<Series> series_003() {
  return {{"H2", "xkaapi:push=h2", "xkaapi"},
          {"H1", "xkaapi:push=h1", "xkaapi"},
          {"default", "rws", "xkaapi"},
          {"H2 (ours)", "xkaapi:push=h2", "", 0, true},
          {"default (ours)", "rws", "", 0, true}};
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

constexpr std::string_view kDpotrf = "DPOTRF";
constexpr std::string_view kDgetrf = "DGETRF";
constexpr std::string_view kSpotrf = "SPOTRF";
constexpr std::string_view kSgetrf = "SGETRF";

Panel cholesky_003() {
  return panel_003(kDpotrf, "cholesky", 128);
}
// Columns that are eliminated at once: the generator's own choice, the paper does not say.
Panel lu_003() {
  return panel_003(kDgetrf, "lu-incpiv", 0);
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
double speed_up(const Results& results, std::string_view panel, std::string_view series,
                double fewer, double more) {
  const Row* const before = results.at(panel, series, fewer);
  const Row* const after = results.at(panel, series, more);
  return before != nullptr && after != nullptr
             ? after->measures.gflops() / before->measures.gflops()
             : 0;
}

Verdict default_scales_worse(const Results& results) {
  const double theirs = speed_up(results, kDpotrf, "default", 4, 8);
  const double ours = speed_up(results, kDpotrf, "H2", 4, 8);
  if (theirs == 0 || ours == 0) return unknown("a policy or a number of GPUs is missing");
  return verdict(theirs < ours - kEqual,
                 fmt::format("eight GPUs are {:.2f} times as fast as four, with H2 {:.2f} times",
                             theirs, ours));
}

Verdict moves_less(const Results& results, std::string_view panel, std::string_view a,
                   std::string_view b) {
  const std::vector<double> bytes = ratios(results, {panel}, a, b, moved);
  if (bytes.empty()) return unknown("a policy is missing");
  return verdict(mean(bytes) < 1 - kEqual,
                 fmt::format("{} moves {} times the bytes of {}", a, range(bytes), b));
}

Verdict scales_up_to(const Results& results, std::string_view panel, std::string_view series,
                     double gpus) {
  const double up = speed_up(results, panel, series, gpus - 2, gpus);
  if (up == 0) return unknown("a policy or a number of GPUs is missing");
  return verdict(up > 1 + kEqual,
                 fmt::format("{} GPUs are {:.2f} times as fast as {}", gpus, up, gpus - 2));
}

constexpr std::string_view kPeak = "higher than that of the others; and the number";

std::string beside_paper(double speed, double in_paper) {
  return fmt::format("{:.0f} GFlop/s ({} of the paper's)", speed, percent(speed / in_paper - 1));
}

double peak_of(const Results& results, std::string_view panel, std::string_view series) {
  double peak = 0;
  for (const Row* row : results.of(panel, series)) peak = std::max(peak, row->measures.gflops());
  return peak;
}

Verdict peak_of_h2(const Results& results, std::string_view panel, double in_paper) {
  const double peak = peak_of(results, panel, "H2");
  if (peak == 0) return unknown("H2 has not been measured");
  bool is_highest = true;
  for (const std::string& other : others(results, {panel}, "H2")) {
    is_highest = is_highest && peak_of(results, panel, other) < peak;
  }
  return numbered(is_highest, meets_speed(peak, in_paper), beside_paper(peak, in_paper));
}

Panel in_single_precision(Panel panel, std::string_view name) {
  panel.name = std::string(name);
  panel.precision = "float";
  panel.without = {"H2 (ours)", "default (ours)"};
  return panel;
}

// Of the panel, whose number of GPUs varies, and of the same in single precision, which is called `single`.
Figure by_gpus(std::string_view name, std::string_view sentence, Panel panel,
               std::string_view single, std::vector<Statement> statements) {
  panel.varied = Varied::gpus;
  panel.tiles = 40;  // section 5.2: 40960 x 40960
  panel.values = {Values{2, 8}, Values{1, 2, 3, 4, 5, 6, 7, 8}, Values{1, 2, 3, 4, 5, 6, 7, 8}};
  return {.name = name,
          .sentence = sentence,
          .note = std::string(kNote003),
          .panels = {panel, in_single_precision(panel, single)},
          .series = series_003(),
          .plots = plots(),
          .statements = std::move(statements)};
}

Figure figure_2() {
  return by_gpus("003-2",
                 "Cholesky of 40960 on one to eight GPUs: work stealing and two heuristics",
                 cholesky_003(), kSpotrf,
                 {{"The default scales badly beyond four GPUs", "section 5.2",
                   "eight GPUs over four, less than with H2", default_scales_worse},
                  {"H1 moves less than the default", "section 5.2", "on average by more than 2 %",
                   [](const Results& r) { return moves_less(r, kDpotrf, "H1", "default"); }},
                  {"H2 moves the least", "section 5.2", "on average more than 2 % less than H1",
                   [](const Results& r) { return moves_less(r, kDpotrf, "H2", "H1"); }},
                  {"H1 gains up to six GPUs", "section 5.2", "six are faster than four",
                   [](const Results& r) { return scales_up_to(r, kDpotrf, "H1", 6); }},
                  {"H2 gains up to eight GPUs", "section 5.2", "eight are faster than six",
                   [](const Results& r) { return scales_up_to(r, kDpotrf, "H2", 8); }},
                  {"The peak with H2 is 1.79 TFlop/s", "section 5.2", kPeak,
                   [](const Results& r) { return peak_of_h2(r, kDpotrf, 1790); }},
                  {"In single precision it is 3.92 TFlop/s", "section 5.2", kPeak,
                   [](const Results& r) { return peak_of_h2(r, kSpotrf, 3920); }}});
}

Figure figure_3_of_003() {
  return by_gpus("003-3", "LU of 40960 on one to eight GPUs: work stealing and two heuristics",
                 lu_003(), kSgetrf,
                 {{"H1 moves less than the default", "section 5.2", "on average by more than 2 %",
                   [](const Results& r) { return moves_less(r, kDgetrf, "H1", "default"); }},
                  {"H2 moves less than the default", "section 5.2", "on average by more than 2 %",
                   [](const Results& r) { return moves_less(r, kDgetrf, "H2", "default"); }},
                  {"Both gain up to six GPUs", "section 5.2", "six are faster than four",
                   [](const Results& r) {
                     const std::array verdicts{scales_up_to(r, kDgetrf, "H1", 6),
                                               scales_up_to(r, kDgetrf, "H2", 6)};
                     return all_of(verdicts);
                   }},
                  {"The peak with H2 is 816.5 GFlop/s", "section 5.2", kPeak,
                   [](const Results& r) { return peak_of_h2(r, kDgetrf, 816.5); }},
                  {"In single precision it is 1.24 TFlop/s", "section 5.2", kPeak,
                   [](const Results& r) { return peak_of_h2(r, kSgetrf, 1240); }}});
}

// --- figure 4

constexpr std::string_view kH2Alone = "H2 without overlap";
constexpr std::string_view kDefaultAlone = "default without overlap";

constexpr std::string_view kGain = "for the largest matrix more than 2 % faster; and the number";

// At the largest size; 0: not measured.
double speed_at_largest(const Results& results, std::string_view series) {
  const std::vector<const Row*> rows = results.of({}, series);
  return rows.empty() ? 0 : rows.back()->measures.gflops();
}

Verdict gains(const Results& results, std::string_view with, std::string_view without,
              double in_paper) {
  const double more = speed_at_largest(results, with);
  const double less = speed_at_largest(results, without);
  if (more == 0 || less == 0) return unknown("a policy is missing");
  return numbered(more > less * (1 + kEqual), meets(more - less, in_paper),
                  fmt::format("{:.0f} GFlop/s, from {:.0f} to {:.0f} (paper {:.0f})", more - less,
                              less, more, in_paper));
}

Verdict makes(const Results& results, std::string_view series, std::string_view slower_than,
              double in_paper) {
  const double speed = speed_at_largest(results, series);
  const double other = speed_at_largest(results, slower_than);
  if (speed == 0 || other == 0) return unknown("a policy is missing");
  return numbered(speed < other, meets_speed(speed, in_paper), beside_paper(speed, in_paper));
}

Figure figure_4_of_003() {
  Panel panel = cholesky_003();
  panel.axis = kOrder;
  panel.gpus = 8;
  panel.values = {Values{8, 16}, Values{8, 16, 24, 32, 40},
                  Values{8, 12, 16, 20, 24, 28, 32, 36, 40}};
  return {.name = "003-4",
          .sentence =
              "Cholesky on eight GPUs and four cores: what overlapping copies with kernels gains",
          .note = std::string(kNote003) +
                  "Without overlap a GPU has one task in flight (window=1). The sentence on "
                  "431.45 GFlop/s is cut short in the paper; it is read as the lead of H2 over "
                  "the default without overlap, so that the four speeds follow from the peak of "
                  "figure 2: 1790, 1790 - 550 = 1240, 1240 - 431 = 808 and 808 + 160 = 969.",
          .panels = {panel},
          .series = {{"H2", "xkaapi:push=h2", "xkaapi"},
                     {kH2Alone, "xkaapi:push=h2:window=1", "xkaapi"},
                     {"default", "rws", "xkaapi"},
                     {kDefaultAlone, "xkaapi:push=local:window=1", "xkaapi"}},
          .plots = {plots().front()},
          .statements = {
              {"Overlap gains 160.28 GFlop/s with the default", "section 5.3", kGain,
               [](const Results& r) { return gains(r, "default", kDefaultAlone, 160.28); }},
              {"It gains 550.48 GFlop/s with H2", "section 5.3", kGain,
               [](const Results& r) { return gains(r, "H2", kH2Alone, 550.48); }},
              {"Without overlap H2 is 431.45 GFlop/s above the default", "section 5.3", kGain,
               [](const Results& r) { return gains(r, kH2Alone, kDefaultAlone, 431.45); }},
              {"So H2 makes 1240 GFlop/s without overlap", "sections 5.2 and 5.3",
               "less than with it; and the number",
               [](const Results& r) { return makes(r, kH2Alone, "H2", 1240); }},
              {"So the default makes 808 GFlop/s without overlap", "sections 5.2 and 5.3",
               "less than with it; and the number",
               [](const Results& r) { return makes(r, kDefaultAlone, "default", 808); }},
              {"So the default makes 969 GFlop/s", "sections 5.2 and 5.3",
               "less than H2; and the number",
               [](const Results& r) { return makes(r, "default", "H2", 969); }}}};
}

// --- figure 5

Verdict h2_is_best_but_at_the_smallest(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    for (const std::string_view other : {"H1", "default"}) {
      std::vector<double> speeds = ratios(results, {panel}, "H2", other, gflops);
      if (speeds.size() < 2) continue;
      speeds.erase(speeds.begin());
      verdicts.push_back(
          verdict(std::ranges::min(speeds) >= 1 - kEqual,
                  fmt::format("{}: {} times the speed of {}", panel, range(speeds), other)));
    }
  }
  return all_of(verdicts);
}

Verdict equal_at_the_smallest(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    for (const std::string_view other : {"H1", "default"}) {
      const std::vector<double> speeds = ratios(results, {panel}, "H2", other, gflops);
      if (speeds.empty()) continue;
      verdicts.push_back(
          verdict(std::abs(speeds.front() - 1) <= 0.05,
                  fmt::format("{}: {:.2f} times the speed of {}", panel, speeds.front(), other)));
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
          .statements = {{"H2 is the best at all sizes but 4096", "section 5.4",
                          "no other is faster by more than 2 % at a larger size",
                          h2_is_best_but_at_the_smallest},
                         {"At 4096 all are almost equal", "section 5.4",
                          "H2 within 5 % of each other", equal_at_the_smallest}}};
}

}  // namespace

std::vector<Figure> figures_003() {
  return {figure_2(), figure_3_of_003(), figure_4_of_003(), figure_5()};
}

}  // namespace vicinal::reproduction
