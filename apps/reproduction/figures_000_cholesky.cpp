// Figures 6, 10, 11 and 12 of paper 000: the Cholesky factorisation on one and four GPUs.
#include <array>
#include <string>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/parts_000.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kAgain = "The same, with priorities by place";
constexpr std::string_view kSame = "the same";

// --- figure 6

constexpr std::string_view kGivenLevels = "V100";
constexpr std::string_view kGivenPlaces = "V100 by place";

Verdict others_plummet(const Results& results, std::string_view panel) {
  std::vector<Verdict> verdicts;
  for (const std::string& series : results.series(panel)) {
    const std::optional<double> loss = loss_at_largest(results, panel, series);
    if (!loss) continue;
    verdicts.push_back(verdict(series == "DARTS" ? *loss <= 0.1 : *loss > 0.1,
                               fmt::format("{} {}", series, percent(-*loss))));
  }
  return all_of(verdicts);
}

Verdict eager_is_slowest_where_all_fits(const Results& results) {
  const Scope scope{kGivenLevels, Where::fitting};
  std::vector<Verdict> verdicts;
  for (const std::string& other : others(results, scope, "EAGER")) {
    const std::vector<double> speeds = ratios(results, scope, "EAGER", other, gflops);
    if (speeds.empty()) continue;
    verdicts.push_back(
        verdict(mean(speeds) < 1 - kEqual, fmt::format("over {} {}", other, range(speeds))));
  }
  return all_of(verdicts);
}

Verdict lws_loads_most(const Results& results, std::string_view panel) {
  const std::vector<const Row*> lws = results.of(panel, "LWS");
  if (lws.empty()) return unknown("LWS has not been measured");
  std::vector<Verdict> verdicts;
  for (const std::string& other : others(results, {panel}, "LWS")) {
    const std::vector<const Row*> theirs = results.of(panel, other);
    const double times = lws.back()->measures.loaded() / theirs.back()->measures.loaded();
    verdicts.push_back(verdict(times > 1, fmt::format("over {} {:.2f}", other, times)));
  }
  return all_of(verdicts);
}

Verdict dmdas_holds_longer(const Results& results, std::string_view panel) {
  const Row* const middle = results.at(panel, "DMDAS", 60);
  if (middle == nullptr) return unknown("60 tiles have not been measured");
  std::vector<Verdict> verdicts;
  for (const std::string_view other : {"LWS", "EAGER"}) {
    const Row* const theirs = results.at(panel, other, 60);
    if (theirs == nullptr) continue;
    const double times = middle->measures.gflops() / theirs->measures.gflops();
    verdicts.push_back(
        verdict(times > 1 + kEqual, fmt::format("at 60 tiles over {} {:.2f}", other, times)));
  }
  const Measures& last = results.of(panel, "DMDAS").back()->measures;
  const double share = last.gflops() / last.most_gflops();
  verdicts.push_back(verdict(share < 0.9, fmt::format("{:.2f} of the limit at the end", share)));
  return all_of(verdicts);
}

Verdict darts_alone_is_under_the_bus(const Results& results, std::string_view panel) {
  std::vector<Verdict> verdicts;
  for (const std::string& series : results.series(panel)) {
    const double share =
        loads_at_largest(results, panel, series, [](const Measures& m) { return m.bus_bytes; });
    verdicts.push_back(verdict(series == "DARTS" ? share <= 1 : share > 1,
                               fmt::format("{} {:.2f} of it", series, share)));
  }
  return all_of(verdicts);
}

Verdict darts_loads_least(const Results& results, std::string_view panel) {
  const Scope scope{panel, Where::beyond};
  return others_load_more(results, scope, "DARTS", others(results, scope, "DARTS"), 1);
}

// Each statement with both priorities.
std::vector<Statement> statements_6() {
  return {
      {"All schedulers but DARTS lose much of their speed once memory is short", "section 7.1.3",
       "from the best size that fits to the largest, all others lose more than 10 %, DARTS no "
       "more",
       [](const Results& r) { return others_plummet(r, kGivenLevels); }},
      {kAgain, "section 7.1.3", kSame,
       [](const Results& r) { return others_plummet(r, kGivenPlaces); }},
      {"EAGER progresses badly on the critical path and is slower", "section 7.1.3",
       "where all fits, on average slower than each other by more than 2 %",
       eager_is_slowest_where_all_fits},
      {"LWS loads a great deal: hardly any datum is used again", "section 7.1.3",
       "it loads more than each other at the largest size",
       [](const Results& r) { return lws_loads_most(r, kGivenLevels); }},
      {kAgain, "section 7.1.3", kSame,
       [](const Results& r) { return lws_loads_most(r, kGivenPlaces); }},
      {"DMDAS keeps its speed at 60 GB and is far from the limit beyond", "section 7.1.3",
       "at 60 tiles faster than LWS and EAGER, at the end below 0.9 of the limit",
       [](const Results& r) { return dmdas_holds_longer(r, kGivenLevels); }},
      {kAgain, "section 7.1.3", kSame,
       [](const Results& r) { return dmdas_holds_longer(r, kGivenPlaces); }},
      {"DARTS loads the least", "section 7.1.3", "no other loads less at a size beyond the memory",
       [](const Results& r) { return darts_loads_least(r, kGivenLevels); }},
      {kAgain, "section 7.1.3", kSame,
       [](const Results& r) { return darts_loads_least(r, kGivenPlaces); }},
      {"DARTS alone stays below what the bus carries", "section 7.1.3",
       "loads at the largest size against bandwidth times the least time of the work",
       [](const Results& r) { return darts_alone_is_under_the_bus(r, kGivenLevels); }},
      {kAgain, "section 7.1.3", kSame,
       [](const Results& r) { return darts_alone_is_under_the_bus(r, kGivenPlaces); }}};
}

Figure figure_6() {
  Panel panel{.name = std::string(kGivenLevels),
              .axis = kWorkingSetGb,
              .machine = "v100",
              .application = "cholesky",
              .tile = 2880};
  panel.gpus = 1;
  panel.values = {Values{30, 60}, Values{15, 30, 45, 60, 75, 90},
                  Values{15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90}};
  return {.name = "000-6",
          .sentence = "Cholesky on one V100: speed and loads as the matrix outgrows the memory",
          .note = std::string(kPriorities000) + std::string(kRules000) + std::string(kNote000),
          .panels = {panel, by_place(panel)},
          .series = series_000(),
          .plots = {performance_000(), transfers_000()},
          .marks = {memory_mark()},
          .statements = statements_6()};
}

// --- figures 10, 11 and 12

Panel on_v100() {
  return panel_000({"V100", "v100", 2880, 1, {23, 37, 53, 75}}, "cholesky");
}
Panel on_a100() {
  return panel_000({"A100", "a100", 2880, 1, {26, 42, 59, 84}}, "cholesky");
}

bool is_by_place(std::string_view panel) {
  return panel.ends_with(kByPlace);
}

// In all panels that are drawn.
Verdict darts_is_fastest_beyond(const Results& results, bool by_place, bool on_four) {
  std::vector<Verdict> verdicts;
  for (const std::string& panel : results.panels()) {
    if (is_by_place(panel) != by_place || panel.starts_with("4 ") != on_four) continue;
    Verdict one = is_fastest(results, {panel, Where::beyond}, "DARTS");
    one.measured = panel + " " + one.measured;
    verdicts.push_back(one);
  }
  return all_of(verdicts);
}

Verdict ap_equals_darts_on_a100(const Results& results) {
  const std::vector<double> speeds =
      ratios(results, {"A100 by place", Where::beyond}, "DARTS", "AP", gflops);
  if (speeds.empty()) return unknown("AP has not been measured");
  const double times = geometric_mean(speeds);
  return verdict(times > 0.95 && times < 1.05, fmt::format("DARTS over AP {}", range(speeds)));
}

Verdict darts_beats_ap_on_v100(const Results& results) {
  const std::vector<double> speeds =
      ratios(results, {"V100 by place", Where::beyond}, "DARTS", "AP", gflops);
  if (speeds.empty()) return unknown("AP has not been measured");
  return verdict(mean(speeds) > 1 + kEqual, fmt::format("DARTS over AP {}", range(speeds)));
}

Figure figure_10() {
  Panel p100 = panel_000({"P100", "p100", 1920, 1, {25, 40, 57, 80}}, "cholesky");
  p100.without = {"AP", "AP (ours)"};
  return {.name = "000-10",
          .sentence = "Cholesky on one P100, V100 or A100, with enough memory and with too little",
          .note = std::string(kPriorities000) + std::string(kRules000) + std::string(kSizes000),
          .panels = {p100, on_v100(), on_a100(), by_place(p100), by_place(on_v100()),
                     by_place(on_a100())},
          .series = series_000(),
          .plots = {performance_000()},
          .marks = {memory_mark()},
          .statements = {
              {"Where all fits most schedulers do equally well", "section 7.1.4",
               "more than half of them come within 5 % of the fastest at each size that fits",
               [](const Results& r) {
                 return most_are_equal(r, {{}, Where::fitting}, 0.05);
               }},
              {"Beyond the memory DARTS is the best", "section 7.1.4",
               "no other is faster by more than 2 %, and each is slower by more somewhere",
               [](const Results& r) { return darts_is_fastest_beyond(r, false, false); }},
              {kAgain, "section 7.1.4", kSame,
               [](const Results& r) { return darts_is_fastest_beyond(r, true, false); }},
              {"On the A100 AP and DARTS are almost equal, beyond the memory too", "section 7.1.4",
               "within 5 % of each other on average, with priorities by place",
               ap_equals_darts_on_a100},
              {"On the V100 DARTS is better than AP", "section 7.1.4",
               "on average faster by more than 2 % beyond the memory, with priorities by place",
               darts_beats_ap_on_v100}}};
}

std::vector<Panel> panels_of_four() {
  std::vector<Panel> panels{panel_000({"4 V100", "v100", 2880, 4, {48, 76, 107, 124}}, "cholesky"),
                            panel_000({"4 A100", "a100", 2880, 4, {53, 85, 120, 139}}, "cholesky")};
  for (const std::size_t i : {0U, 1U}) panels.push_back(by_place(panels[i]));
  return panels;
}

Verdict lead_grows_with_gpus(const Results& results, bool by_place) {
  std::vector<Verdict> verdicts;
  for (const std::string_view kind : {"V100", "A100"}) {
    const std::string gpu = by_place ? with_place(kind) : std::string(kind);
    const std::string four = "4 " + gpu;
    for (const std::string& other : others(results, {four}, "DARTS")) {
      const std::vector<double> with_one =
          ratios(results, {gpu, Where::beyond}, "DARTS", other, gflops);
      const std::vector<double> with_four =
          ratios(results, {four, Where::beyond}, "DARTS", other, gflops);
      if (with_one.empty() || with_four.empty()) continue;
      const double one = geometric_mean(with_one);
      const double all = geometric_mean(with_four);
      verdicts.push_back(
          verdict(all > one * (1 + kEqual),
                  fmt::format("{} over {} {:.2f}, with four {:.2f}", gpu, other, one, all)));
    }
  }
  return all_of(verdicts);
}

// The margin is small: any will do.
Verdict lws_leads_where_all_fits(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {"4 V100", "4 A100"}) {
    const Scope scope{panel, Where::fitting};
    for (const std::string& other : others(results, scope, "LWS")) {
      const std::vector<double> speeds = ratios(results, scope, "LWS", other, gflops);
      if (speeds.empty()) continue;
      verdicts.push_back(
          verdict(mean(speeds) > 1, fmt::format("{} over {} {:.4f}", panel, other, mean(speeds))));
    }
  }
  return all_of(verdicts);
}

Figure figure_11() {
  std::vector<Panel> panels = panels_of_four();
  for (Panel alone : {on_v100(), on_a100(), by_place(on_v100()), by_place(on_a100())}) {
    alone.drawn = false;
    panels.push_back(alone);
  }
  return {
      .name = "000-11",
      .sentence = "Cholesky on four V100 or A100: speed",
      .note = std::string(kPriorities000) + std::string(kRules000) + std::string(kSizes000),
      .panels = panels,
      .series = series_000(),
      .plots = {performance_000()},
      .marks = {memory_mark()},
      .statements = {
          {"With four GPUs the lead of DARTS is larger than with one", "section 7.1.5",
           "mean of its speed over each other's beyond the memory, with four more than 2 % above "
           "that with one",
           [](const Results& r) { return lead_grows_with_gpus(r, false); }},
          {kAgain, "section 7.1.5", kSame,
           [](const Results& r) { return lead_grows_with_gpus(r, true); }},
          {"Where all fits LWS is the fastest by a small margin", "section 7.1.5",
           "on average faster than each other, by whatever", lws_leads_where_all_fits},
          {"Whenever memory is limited DARTS is the best", "section 7.1.5",
           "no other is faster by more than 2 % beyond the memory, and each is slower by more "
           "somewhere",
           [](const Results& r) { return darts_is_fastest_beyond(r, false, true); }},
          {kAgain, "section 7.1.5", kSame,
           [](const Results& r) { return darts_is_fastest_beyond(r, true, true); }}}};
}

double share_between_gpus(const Measures& measures) {
  return measures.loaded() > 0 ? measures.between_gpus / measures.loaded() : 0;
}

Verdict lws_uses_links_between_gpus(const Results& results) {
  const std::vector<double> shares =
      ratios(results, {{}, Where::fitting}, "LWS", "DARTS", share_between_gpus);
  if (shares.empty()) return unknown("DARTS copies nothing between GPUs at these sizes");
  return verdict(mean(shares) > 1,
                 fmt::format("the share of its loads that comes from other GPUs is {} times that "
                             "of DARTS",
                             range(shares)));
}

Figure figure_12() {
  return {
      .name = "000-12",
      .sentence = "Cholesky on four V100 or A100: what is copied into the GPUs",
      .note = std::string(kPriorities000) + std::string(kRules000) + std::string(kSizes000),
      .panels = panels_of_four(),
      .series = series_000(),
      .plots = {transfers_000()},
      .marks = {memory_mark()},
      .statements = {
          {"Beyond the memory all others load far more than DARTS", "section 7.1.5",
           "at least 1.5 times as much at each size",
           [](const Results& r) {
             const Scope scope{{}, Where::beyond};
             return others_load_more(r, scope, "DARTS", others(r, scope, "DARTS"), 1.5);
           }},
          {"Where all fits LWS loads more than DARTS", "section 7.1.5", "at each size that fits",
           [](const Results& r) {
             const std::array<std::string, 1> lws{"LWS"};
             return others_load_more(r, {{}, Where::fitting}, "DARTS", lws, 1);
           }},
          {"By stealing LWS copies much between GPUs", "section 7.1.5",
           "where all fits, a larger share of its loads comes from other GPUs than of DARTS's",
           lws_uses_links_between_gpus}}};
}

}  // namespace

std::vector<Figure> cholesky_figures_000() {
  return {figure_6(), figure_10(), figure_11(), figure_12()};
}

}  // namespace vicinal::reproduction
