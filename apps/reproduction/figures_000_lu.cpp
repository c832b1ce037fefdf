// Figures 14, 15 and 16 of paper 000: the LU factorisation on GPUs, and on cores with a disk.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/parts_000.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

// Section 7.2: the paper has no LU of AP to compare with.
std::vector<std::string_view> left_out() {
  return {"AP", "AP (ours)"};
}

// --- figure 14

Verdict darts_keeps_85_percent(const Results& results) {
  std::vector<double> shares;
  for (const Row* row : results.of({}, "DARTS", Where::beyond)) {
    shares.push_back(row->measures.gflops() / row->measures.most_gflops());
  }
  if (shares.empty()) return unknown("no size beyond the memory has been measured");
  const auto near = [](double share) { return meets(share, 0.85); };
  return numbered(std::ranges::min(shares) >= 0.85, std::ranges::all_of(shares, near),
                  fmt::format("{} of the limit (paper 0.85)", range(shares)));
}

Verdict darts_is_near_the_bound(const Results& results) {
  const double over = loads_at_largest(results, "4 V100", "DARTS",
                                       [](const Measures& m) { return m.formula_bytes; });
  const double of_bus =
      loads_at_largest(results, "4 V100", "DARTS", [](const Measures& m) { return m.bus_bytes; });
  if (over == 0 || of_bus == 0) return unknown("no size has been measured");
  return numbered(over > 1 && of_bus < 1, meets(over, 4.8) && meets(1 / of_bus, 2.4),
                  fmt::format("{:.2f} times the bound's leading term, {:.2f} times less than the "
                              "bus carries (paper 4.8 and 2.4)",
                              over, 1 / of_bus));
}

// Of the machine and the matrix alone.
Verdict bus_over_bound(const Results& results) {
  const std::vector<const Row*> rows = results.of("4 V100", "DARTS");
  if (rows.empty()) return unknown("no size has been measured");
  const Measures& last = rows.back()->measures;
  if (last.formula_bytes <= 0) return unknown("the bound is not known");
  const double times = last.bus_bytes / last.formula_bytes;
  return numbered(times > 1, meets(times, 4.8 * 2.4), fmt::format("{:.1f} times", times));
}

Figure figure_14() {
  Panel panel{.name = "4 V100",
              .axis = kWorkingSetGb,
              .machine = "v100",
              .application = "lu",
              .tile = 2880};
  panel.gpus = 4;
  panel.without = left_out();
  panel.values = {Values{48, 72}, Values{12, 24, 36, 48, 60, 72},
                  Values{12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72, 78, 84, 88}};
  return {
      .name = "000-14",
      .sentence = "LU on four V100: speed and loads as the matrix outgrows the memory",
      .note = std::string(kRules000) + std::string(kNote000),
      .panels = {panel},
      .series = series_000(),
      .plots = {performance_000(), transfers_000()},
      .marks = {memory_mark()},
      .statements = {
          {"Beyond the memory EAGER and LWS load at least three times what DARTS loads",
           "section 7.2", "at each size",
           [](const Results& r) {
             const std::array<std::string, 2> both{"EAGER", "LWS"};
             return others_load_more(r, {{}, Where::beyond}, "DARTS", both, 3);
           }},
          {"DMDAS loads considerably more, too", "section 7.2",
           "at least 1.5 times what DARTS loads, at each size beyond the memory",
           [](const Results& r) {
             const std::array<std::string, 1> dmdas{"DMDAS"};
             return others_load_more(r, {{}, Where::beyond}, "DARTS", dmdas, 1.5);
           }},
          {"DARTS reaches 85 % of the limit even where the memory is far too small", "section 7.2",
           "at each size beyond the memory; and the number", darts_keeps_85_percent},
          {"DARTS loads 4.8 times the lower bound and 2.4 times less than the bus carries",
           "section 7.2", "at the largest size, between the two; and both numbers",
           darts_is_near_the_bound},
          {"So the bus carries 11.5 times the lower bound (4.8 times 2.4)", "section 7.2",
           "at the largest size, more than the bound; and the number", bus_over_bound}}};
}

// --- figure 15

constexpr std::array<std::string_view, 5> kPanels15{"P100", "V100", "A100", "4 V100", "4 A100"};

Verdict darts_is_comparable_where_all_fits(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : kPanels15) {
    const Scope scope{panel, Where::fitting};
    for (const std::string& other : others(results, scope, "DARTS")) {
      const std::vector<double> speeds = ratios(results, scope, "DARTS", other, gflops);
      if (speeds.empty()) continue;
      verdicts.push_back(
          verdict(mean(speeds) > 0.95, fmt::format("{} over {} {}", panel, other, range(speeds))));
    }
  }
  return all_of(verdicts);
}

// By how much DARTS is ahead of the fastest other at the largest size; 0: not measured.
double lead_at_largest(const Results& results, std::string_view panel) {
  double best = 0;
  for (const std::string& other : others(results, {panel}, "DARTS")) {
    best = std::max(best, results.of(panel, other).back()->measures.gflops());
  }
  const std::vector<const Row*> darts = results.of(panel, "DARTS");
  return best > 0 && !darts.empty() ? darts.back()->measures.gflops() / best : 0;
}

Verdict darts_leads_by_far(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : kPanels15) {
    const double lead = lead_at_largest(results, panel);
    if (lead > 0) verdicts.push_back(verdict(lead >= 1.1, fmt::format("{} {:.2f}", panel, lead)));
  }
  return all_of(verdicts);
}

Verdict lead_is_larger_than_of_cholesky(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {"V100", "4 V100"}) {
    const double lu = lead_at_largest(results, panel);
    const double cholesky = lead_at_largest(results, fmt::format("{} Cholesky", panel));
    if (lu == 0 || cholesky == 0) continue;
    verdicts.push_back(verdict(lu > cholesky * (1 + kEqual),
                               fmt::format("{} LU {:.2f}, Cholesky {:.2f}", panel, lu, cholesky)));
  }
  return all_of(verdicts);
}

Figure figure_15() {
  const std::array lu{Node000{"P100", "p100", 1920, 1, {18, 28, 40, 57}},
                      Node000{"V100", "v100", 2880, 1, {17, 27, 38, 54}},
                      Node000{"A100", "a100", 2880, 1, {19, 30, 43, 60}},
                      Node000{"4 V100", "v100", 2880, 4, {34, 54, 76, 88}},
                      Node000{"4 A100", "a100", 2880, 4, {38, 60, 85, 98}}};
  const std::array cholesky{Node000{"V100 Cholesky", "v100", 2880, 1, {23, 37, 53, 75}},
                            Node000{"4 V100 Cholesky", "v100", 2880, 4, {48, 76, 107, 124}}};
  std::vector<Panel> panels;
  for (const Node000& node : lu) panels.push_back(panel_000(node, "lu"));
  for (const Node000& node : cholesky) {
    panels.push_back(panel_000(node, "cholesky"));
    panels.back().drawn = false;
  }
  for (Panel& panel : panels) panel.without = left_out();
  return {.name = "000-15",
          .sentence = "LU on one P100, V100 or A100 and on four, with enough memory and too little",
          .note = std::string(kRules000) + std::string(kSizes000),
          .panels = panels,
          .series = series_000(),
          .plots = {performance_000()},
          .marks = {memory_mark()},
          .statements = {
              {"Where all fits DARTS is comparable with the others", "section 7.2",
               "on average no more than 5 % slower than any", darts_is_comparable_where_all_fits},
              {"Where the data are far larger than the memory DARTS is faster by far",
               "section 7.2", "at the largest size, at least 1.1 times the speed of the best other",
               darts_leads_by_far},
              {"The lead is larger than on Cholesky", "section 7.2",
               "its speed over that of the best other at the largest size, more than 2 % higher",
               lead_is_larger_than_of_cholesky}}};
}

// --- figure 16

// Rules of StarPU for a full memory are known for accelerators alone (memory/rules.hpp).
std::vector<Series> series_16() {
  return {{"DARTS", "darts:cost=exact"},
          {"DMDAS", "dmdas"},
          {"LWS", "lws"},
          {"EAGER", "eager"},
          {"DARTS (ours)", "darts", "", 0, true}};
}

Verdict darts_is_alone_near_the_limit(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string& series : results.series()) {
    const std::vector<const Row*> rows = results.of({}, series, Where::beyond);
    if (rows.empty()) continue;
    const Measures& last = rows.back()->measures;
    const double share = last.gflops() / last.most_gflops();
    verdicts.push_back(verdict(series == "DARTS" ? share >= 0.8 : share < 0.8,
                               fmt::format("{} {:.2f} of it", series, share)));
  }
  return all_of(verdicts);
}

Verdict darts_stays_near_the_disk(const Results& results) {
  const double share = loads_at_largest(results, "Xeon and disk", "DARTS",
                                        [](const Measures& m) { return m.bus_bytes; });
  if (share == 0) return unknown("DARTS has not been measured");
  return numbered(share <= 1.1, meets(share, 1),
                  fmt::format("{:.2f} of what the disk carries", share));
}

Figure figure_16() {
  Panel panel{.name = "Xeon and disk",
              .axis = kWorkingSetGb,
              .machine = "cpu-disk",
              .application = "lu",
              .tile = 2880};
  panel.on_disk = true;
  panel.values = {Values{24, 38}, Values{16, 24, 30, 34, 38, 44},
                  Values{12, 16, 20, 24, 28, 30, 32, 34, 36, 38, 41, 44, 48}};
  Plot transfers = transfers_000();
  transfers.limits[0].label = "what the disk carries while all cores are busy";
  Plot performance = performance_000();
  performance.unit = "GFlop/s";
  performance.value = [](const Measures& m) { return m.gflops(); };
  performance.limits[0].value = [](const Measures& m) { return m.most_gflops(); };
  return {.name = "000-16",
          .sentence = "LU on twelve cores with 32 GB of RAM and a disk of 94 MB/s",
          .note =
              "The paper's text does not give the sizes. The simulated disk carries 94 MB/s in "
              "both directions together, and a tile reaches it after 8 ms. StarPU's rules for a "
              "full memory are known for those of accelerators alone: here all evict by "
              "Vicinal's. DARTS compares costs exactly, as in the paper.",
          .panels = {panel},
          .series = series_16(),
          .plots = {performance, transfers},
          .marks = {memory_mark()},
          .statements = {
              {"Where all fits DARTS is comparable with DMDAS and LWS", "section 7.3",
               "on average no more than 5 % slower than either",
               [](const Results& r) {
                 std::vector<Verdict> verdicts;
                 for (const std::string_view other : {"DMDAS", "LWS"}) {
                   const std::vector<double> speeds =
                       ratios(r, {{}, Where::fitting}, "DARTS", other, gflops);
                   if (speeds.empty()) continue;
                   verdicts.push_back(verdict(mean(speeds) > 0.95,
                                              fmt::format("over {} {}", other, range(speeds))));
                 }
                 return all_of(verdicts);
               }},
              {"Beyond the memory DARTS alone comes close to the best possible", "section 7.3",
               "at the largest size DARTS at least 0.8 of the limit, all others less",
               darts_is_alone_near_the_limit},
              {"DARTS loads about what the disk carries meanwhile", "section 7.3",
               "at most 1.1 times that, at the largest size; and about as much",
               darts_stays_near_the_disk}}};
}

}  // namespace

std::vector<Figure> lu_figures_000() {
  return {figure_14(), figure_15(), figure_16()};
}

}  // namespace vicinal::reproduction
