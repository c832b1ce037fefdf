// Figures 3 and 4 of paper 001: "Locality-Aware Scheduling of Independent Tasks for Runtime Systems", Gonthier,
// Marchal, Thibault, 2021. Matrix products on one V100 whose memory is limited to 500 MB.
#include <array>
#include <string>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

// Section 4.1: Ready, flips and Belady's rule, and each of them alone. The tables compare with Ready and flips,
// without Belady's rule.
//
// The paper names the eviction rule, LRU, and not the look-ahead: StarPU's default is two tasks at the worker and two
// before it. Its products say that they will not use a tile of C any more. What StarPU does today besides is not the
// paper's: see the note of figure 3.
constexpr std::string_view kRules = "lru,hint";
constexpr std::uint32_t kAhead = 4;

std::vector<Series> series_001() {
  return {{"EAGER", "eager", kRules, kAhead},
          {"MST", "mst", kRules, kAhead},
          {"RCM", "rcm", kRules, kAhead},
          {"DMDAR", "dmdar", kRules, kAhead},
          {"HFP", "hfp:sizes=exact", "", kAhead},
          {"HFP without Belady", "hfp:sizes=exact:victims=lru", kRules, kAhead},
          {"HFP only flip", "hfp:sizes=exact:ready=no:victims=lru", kRules, kAhead},
          {"HFP only Ready", "hfp:sizes=exact:flip=no:victims=lru", kRules, kAhead},
          {"HFP only Belady", "hfp:sizes=exact:flip=no:ready=no", "", kAhead},
          {"EAGER (ours)", "eager", "", 0, true},
          {"MST (ours)", "mst", "", 0, true},
          {"RCM (ours)", "rcm", "", 0, true},
          {"DMDAR (ours)", "dmdar", "", 0, true},
          {"HFP (ours)", "hfp", "", 0, true},
          {"HFP without Belady (ours)", "hfp:victims=lru", "", 0, true}};
}

Panel panel_001(std::string_view name, std::string_view application) {
  Panel panel{.name = std::string(name),
              .axis = kWorkingSetMb,
              .machine = "v100p",
              .application = application,
              .tile = 960};
  panel.bottom_levels = false;
  panel.gpus = 1;
  return panel;
}

Plot performance() {
  return {.name = "performance",
          .unit = "GFlop/s",
          .value = [](const Measures& m) { return m.gflops(); },
          .limits = {{"GPU busy", [](const Measures& m) { return m.most_gflops(); }, "k:"}}};
}

Plot transfers() {
  return {.name = "data loaded",
          .unit = "MB",
          .value = [](const Measures& m) { return m.loaded() * 1e-6; },
          .limits = {{"what the bus carries while the GPU is busy",
                      [](const Measures& m) { return m.bus_bytes * 1e-6; }, "0.6 -"}}};
}

// HFP with Ready and flips against the others, as in the papers' tables.
Verdict improves_on(const Results& results, std::string_view panel, std::string_view other,
                    double in_paper) {
  return is_faster_on_average(results, {panel}, "HFP without Belady", other, in_paper);
}

// --- figure 3

// Slower than 0.9 of the limit at every size of which one input matrix does not fit, and at none of which both do.
Verdict turns_bad_when_one_input_does_not_fit(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view series : {"EAGER", "MST", "RCM"}) {
    std::vector<double> before;
    std::vector<double> after;
    for (const Row* row : results.of("500 MB", series)) {
      const Measures& m = row->measures;
      const double share = m.gflops() / m.most_gflops();
      if (m.working_set / 2 > m.memory) after.push_back(share);
      if (m.working_set <= m.memory) before.push_back(share);
    }
    if (before.empty() || after.empty()) continue;
    verdicts.push_back(
        verdict(mean(after) < 0.9 * mean(before),
                fmt::format("{} {:.2f} of the limit where both fit, {:.2f} where one does not",
                            series, mean(before), mean(after))));
  }
  return all_of(verdicts);
}

Verdict hfp_is_near_the_limit(const Results& results) {
  std::vector<double> shares;
  for (const Row* row : results.of("500 MB", "HFP")) {
    if (row->measures.fits()) continue;
    shares.push_back(row->measures.gflops() / row->measures.most_gflops());
  }
  if (shares.empty()) return unknown("HFP has not been measured");
  return verdict(mean(shares) >= 0.9,
                 fmt::format("{} of the limit where the inputs do not fit", range(shares)));
}

Figure figure_3_of_001() {
  Panel sizes = panel_001("500 MB", "gemm2d");
  sizes.values = {Values{15, 30, 45}, Values{5, 10, 15, 20, 25, 30, 35, 40, 45},
                  Values{5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60}};
  Panel memories = panel_001("working set of 442 MB", "gemm2d");
  memories.axis = kMemoryMb;
  memories.varied = Varied::memory;
  memories.tiles = 15;  // 30 block rows and columns of 14.75 MB
  memories.values = {Values{100, 300}, Values{50, 100, 150, 200, 250, 300, 350, 400, 450, 500},
                     Values{50, 75, 100, 125, 150, 175, 200, 225, 250, 300, 350, 400, 450, 500}};
  return {
      .name = "001-3",
      .sentence = "Product of a column and a row of blocks on one V100: size and memory varied",
      .note =
          "Tiles of 960, inner size 3840: 30 blocks are 422 MiB, the paper's working set. Its "
          "text gives no other size. Figure 3a of the paper is measured on a GPU; here all is "
          "simulated, without the time that orders take to compute, which the paper leaves out "
          "too. But where Belady's rule chooses, the least recently used block is evicted, as "
          "the paper says, and tiles of C are saved when they are done, as StarPU's products ask "
          "for (memory_rules: lru,hint). Four tasks are looked ahead, StarPU's default, two at "
          "the worker and two before it. HFP shares data by exact sizes (hfp:sizes=exact). "
          "(ours): what Vicinal does by default; no verdict looks at it.",
      .panels = {sizes, memories},
      .series = series_001(),
      .plots = {performance()},
      .marks = {{"one input fits", 0.5, "tab:red"}, {"both inputs fit", 1, "tab:orange"}},
      .statements = {
          {"EAGER, MST and RCM turn bad where not even one input matrix fits", "section 4.2",
           "mean share of the limit, below 0.9 of what it is where both fit",
           turns_bad_when_one_input_does_not_fit},
          {"HFP comes very close to the limit", "section 4.2",
           "0.9 of it on average, where the inputs do not fit", hfp_is_near_the_limit},
          {"HFP is faster than EAGER (there by 51.5 %)", "section 4.2, table",
           "faster by more than 2 %, mean over all sizes of 500 MB; and the number",
           [](const Results& r) { return improves_on(r, "500 MB", "EAGER", 0.515); }},
          {"HFP is faster than MST (there by 25.6 %)", "section 4.2, table", "the same",
           [](const Results& r) { return improves_on(r, "500 MB", "MST", 0.256); }},
          {"HFP is faster than RCM (there by 26.0 %)", "section 4.2, table", "the same",
           [](const Results& r) { return improves_on(r, "500 MB", "RCM", 0.260); }},
          {"HFP is faster than DMDAR (there by 8.3 %)", "section 4.2, table", "the same",
           [](const Results& r) { return improves_on(r, "500 MB", "DMDAR", 0.083); }},
          {"HFP is about as fast as with flips alone (there +1.9 %)", "section 4.2, table",
           "as fast within 2 %, mean over all sizes of 500 MB",
           [](const Results& r) { return improves_on(r, "500 MB", "HFP only flip", 0.019); }},
          {"HFP is about as fast as with Ready alone (there -0.2 %)", "section 4.2, table",
           "the same",
           [](const Results& r) { return improves_on(r, "500 MB", "HFP only Ready", -0.002); }}}};
}

// --- figure 4

Verdict mst_loads_most(const Results& results) {
  const std::vector<const Row*> mst = results.of({}, "MST");
  if (mst.empty()) return unknown("MST has not been measured");
  const Measures& last = mst.back()->measures;
  return verdict(last.loaded() > last.bus_bytes,
                 fmt::format("{:.2f} times what the bus carries", last.loaded() / last.bus_bytes));
}

Verdict rcm_and_dmdar_load_little(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view series : {"RCM", "DMDAR"}) {
    const std::vector<const Row*> rows = results.of({}, series);
    if (rows.empty()) continue;
    const Measures& last = rows.back()->measures;
    verdicts.push_back(verdict(last.loaded() <= last.bus_bytes,
                               fmt::format("{} {:.2f} times what the bus carries", series,
                                           last.loaded() / last.bus_bytes)));
  }
  return all_of(verdicts);
}

Verdict belady_saves_loads(const Results& results) {
  const std::vector<double> loads =
      ratios(results, {{}, Where::beyond}, "HFP", "HFP without Belady", loaded);
  if (loads.empty()) return unknown("HFP has not been measured");
  return verdict(mean(loads) < 1 - kEqual,
                 fmt::format("HFP loads {} times what it loads without", range(loads)));
}

Verdict hfp_is_faster_with_more_loads(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view other : {"RCM", "DMDAR"}) {
    const Scope scope{{}, Where::beyond};
    const auto speeds = ratios(results, scope, "HFP without Belady", other, gflops);
    const auto loads = ratios(results, scope, "HFP without Belady", other, loaded);
    if (speeds.empty()) continue;
    verdicts.push_back(
        verdict(mean(speeds) > 1 && mean(loads) > 1,
                fmt::format("{:.2f} times the speed of {} with {:.2f} times its loads",
                            mean(speeds), other, mean(loads))));
  }
  return all_of(verdicts);
}

Figure figure_4() {
  Panel sizes = panel_001("500 MB", "gemm3d");
  sizes.results_anew = true;  // section 4.1: the first task on a tile of C does not read it
  sizes.values = {Values{6, 10, 14}, Values{3, 5, 7, 9, 11, 13, 15, 16, 17},
                  Values{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}};
  return {.name = "001-4",
          .sentence = "Product by tiles in three dimensions on one V100: speed and loads",
          .note =
              "Tiles of 960; the paper's text gives the largest working set alone, 3014 MB, and "
              "not the shape of the matrices, which are square here. Its tasks follow each other "
              "on a tile of C. Rules as in 001-3.",
          .panels = {sizes},
          .series = series_001(),
          .plots = {performance(), transfers()},
          .marks = {{"one matrix fits", 1.0 / 3, "tab:red"},
                    {"two fit", 2.0 / 3, "tab:orange"},
                    {"all fit", 1, "tab:green"}},
          .statements = {
              {"HFP is faster than EAGER (there by 79.4 %)", "section 4.3, table",
               "faster by more than 2 %, mean over all sizes; and the number",
               [](const Results& r) { return improves_on(r, {}, "EAGER", 0.794); }},
              {"HFP is faster than MST (there by 48.1 %)", "section 4.3, table", "the same",
               [](const Results& r) { return improves_on(r, {}, "MST", 0.481); }},
              {"HFP is faster than RCM (there by 16.2 %)", "section 4.3, table", "the same",
               [](const Results& r) { return improves_on(r, {}, "RCM", 0.162); }},
              {"HFP is faster than DMDAR (there by 11.0 %)", "section 4.3, table", "the same",
               [](const Results& r) { return improves_on(r, {}, "DMDAR", 0.110); }},
              {"HFP is about as fast as with flips alone (there +2.0 %)", "section 4.3, table",
               "as fast within 2 %, mean over all sizes",
               [](const Results& r) { return improves_on(r, {}, "HFP only flip", 0.020); }},
              {"HFP is about as fast as with Ready alone (there +1.9 %)", "section 4.3, table",
               "the same",
               [](const Results& r) { return improves_on(r, {}, "HFP only Ready", 0.019); }},
              {"HFP is faster than with Belady's rule alone (there by 2.7 %)", "section 4.3, table",
               "faster by more than 2 %, mean over all sizes; and the number",
               [](const Results& r) { return improves_on(r, {}, "HFP only Belady", 0.027); }},
              {"MST loads far too much where one matrix does not fit", "section 4.3",
               "more than the bus carries, at the largest size", mst_loads_most},
              {"RCM and DMDAR load little even where the data are many", "section 4.3",
               "no more than the bus carries, at the largest size", rcm_and_dmdar_load_little},
              {"Belady's rule saves loads", "section 4.3",
               "on average more than 2 %, where not all fits", belady_saves_loads},
              {"Without Belady's rule HFP is faster than RCM and DMDAR though it loads more",
               "section 4.3", "on average, where not all fits", hfp_is_faster_with_more_loads}}};
}

}  // namespace

std::vector<Figure> figures_001() {
  return {figure_3_of_001(), figure_4()};
}

}  // namespace vicinal::reproduction
