// Figures 4.14 to 4.16 of paper 004 (parts_004.hpp): QR on occigen, of matrices three times as wide as they are high.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reproduction/parts_004.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::uint32_t kRanks = 64;
constexpr std::string_view kOnRow = "a row of 64 ranks";
constexpr std::string_view kGrids = "64 ranks";
constexpr std::string_view kBinaryWaiting = "binary: wait write";
constexpr std::string_view kBinomialWaiting = "binomial: wait write";

constexpr std::string_view kOfQr004 =
    "As in the paper, matrices are three times as wide as high, in single precision, and tasks "
    "have no priorities; a flat tree of tiles in each column, and work stealing (lws). Kernels of "
    "QR are taken to be as fast as gemm, an assumption of the machine file. Smaller than there: 64 "
    "ranks in place of 196, and smaller matrices. ";

std::vector<Series> trees_of_qr() {
  return {{.label = kWithout004, .policy = "lws", .broadcast = "off"},
          {.label = kBinary004, .policy = "lws", .broadcast = "binary"},
          {.label = kBinomial004, .policy = "lws", .broadcast = "binomial"}};
}

Panel qr_panel(std::string_view name) {
  Panel panel = panel_004(name, "qr", "occigen", kRanks);
  panel.on_ranks.grid_rows = 1;
  panel.on_ranks.width = 3;
  panel.on_ranks.without_priorities = true;
  return panel;
}

// Of the largest.
Verdict speedup_of(const Results& results, std::string_view panel, std::string_view tree,
                   double in_paper) {
  const std::vector<double> speeds = ratios(results, {panel}, tree, kWithout004, gflops);
  if (speeds.empty()) return unknown("the two have not been measured");
  const double most = std::ranges::max(speeds);
  return numbered(most > 1 + kEqual, meets(most, in_paper),
                  fmt::format("{} times (paper {:.0f})", range(speeds), in_paper));
}

Verdict binary_is_seven_times(const Results& results) {
  return speedup_of(results, kOnRow, kBinary004, 7);
}
Verdict binomial_is_five_times(const Results& results) {
  return speedup_of(results, kOnRow, kBinomial004, 5);
}
Verdict binary_is_ahead(const Results& results) {
  return is_faster(results, kOnRow, kBinary004, kBinomial004);
}
Verdict waiting_changes_nothing(const Results& results) {
  return all_of(std::array{are_equal(results, kOnRow, kBinary004, kBinaryWaiting),
                           are_equal(results, kOnRow, kBinomial004, kBinomialWaiting)});
}

Figure figure_4_14() {
  std::vector<Series> series = trees_of_qr();
  series.push_back({.label = kBinaryWaiting, .policy = "lws", .broadcast = "binary:readers=last"});
  series.push_back(
      {.label = kBinomialWaiting, .policy = "lws", .broadcast = "binomial:readers=last"});
  Panel panel = qr_panel(kOnRow);
  panel.values = {Values{4}, Values{10, 20, 30}, Values{10, 20, 30, 60, 90}};
  return {.name = "004-4.14",
          .sentence = "QR on occigen, each tile to all other ranks",
          .note = std::string(kOfQr004) + "The axis is the height of the matrix.",
          .panels = {panel},
          .series = std::move(series),
          .plots = {performance_004()},
          .statements = {
              {"Binary trees are 7 times as fast as no broadcasts", "section 4.4.3",
               "somewhere faster by more than 2 %; and the number", binary_is_seven_times},
              {"Binomial trees 5 times", "section 4.4.3",
               "somewhere faster by more than 2 %; and the number", binomial_is_five_times},
              {"Binary trees are better than binomial ones", "section 4.4.3",
               "on average by more than 2 %", binary_is_ahead},
              {"It changes nothing whether content is read at once or when it has been sent on",
               "section 4.4.3", "nowhere a difference of more than 2 %", waiting_changes_nothing}}};
}

// --- figure 4.15

Verdict binary_is_best_at_each_tile(const Results& results) {
  return is_fastest(results, {kOnRow}, kBinary004);
}

Verdict tiles_of_640_are_best(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kWithout004, kBinary004, kBinomial004}) {
    const std::vector<const Row*> rows = results.of(kOnRow, tree);
    if (rows.size() < 2) continue;
    const Row* const best =
        *std::ranges::max_element(rows, {}, [](const Row* row) { return row->measures.gflops(); });
    verdicts.push_back(
        verdict(best->point.tile == 640, fmt::format("{} {}", tree, best->point.tile)));
  }
  return all_of(verdicts);
}

Figure figure_4_15() {
  Panel panel = qr_panel(kOnRow);
  panel.axis = kTile;
  panel.varied = Varied::tile;
  panel.tiles = 30;
  panel.values = {Values{960}, Values{320, 480, 640, 960}, Values{240, 320, 480, 640, 960}};
  return {
      .name = "004-4.15",
      .sentence = "QR on occigen by the size of tiles",
      .note = std::string(kOfQr004) +
              "The matrix is of 9600 x 28800, the paper's larger by an unknown factor; without "
              "broadcasts its run with tiles of 960 ended in a deadlock.",
      .panels = {panel},
      .series = trees_of_qr(),
      .plots = {performance_004()},
      .statements = {
          {"The curves keep their order: binary trees, binomial ones, none", "section 4.4.3",
           "binary trees are nowhere slower than another by more than 2 %, and faster somewhere",
           binary_is_best_at_each_tile},
          {"Tiles of 640 are the best", "section 4.4.3", "of those measured, for each curve",
           tiles_of_640_are_best}}};
}

// --- figure 4.16

Verdict flat_grids_are_best(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kBinary004, kBinomial004}) {
    const std::vector<const Row*> rows = results.of(kGrids, tree);
    if (rows.size() < 2) continue;
    const Row* const best =
        *std::ranges::max_element(rows, {}, [](const Row* row) { return row->measures.gflops(); });
    verdicts.push_back(
        verdict(best->point.x <= 2, fmt::format("{}: {:.0f} rows", tree, best->point.x)));
  }
  return all_of(verdicts);
}

Verdict trees_never_lose(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kBinary004, kBinomial004}) {
    const std::vector<double> speeds = ratios(results, {kGrids}, tree, kWithout004, gflops);
    if (speeds.empty()) continue;
    verdicts.push_back(verdict(std::ranges::min(speeds) >= 1 - kEqual,
                               fmt::format("{} {} times as fast", tree, range(speeds))));
  }
  return all_of(verdicts);
}

Verdict binary_is_six_times_on_a_row(const Results& results) {
  const Row* const with = results.at(kGrids, kBinary004, 1);
  const Row* const without = results.at(kGrids, kWithout004, 1);
  if (with == nullptr || without == nullptr) return unknown("one has not been measured");
  const double times = with->measures.gflops() / without->measures.gflops();
  return numbered(
      times > 1 + kEqual, times > 30.7 / 5 * (1 - kTolerance),
      fmt::format("{:.2f} times as fast, {:.1f} TFlop/s", times, with->measures.gflops() * 1e-3));
}

Figure figure_4_16() {
  Panel panel = qr_panel(kGrids);
  panel.axis = kGridRows;
  panel.varied = Varied::grid_rows;
  panel.tiles = 30;
  panel.values = {Values{1}, Values{1, 2, 4, 8}, Values{1, 2, 4, 8, 16, 32}};
  return {
      .name = "004-4.16",
      .sentence = "QR on occigen by the grid of ranks over which tiles are dealt",
      .note = std::string(kOfQr004) +
              "The matrix is a third of the paper's in both directions, 9600 x 28800: as many "
              "columns of tiles for each rank of a row as there (1.4).",
      .panels = {panel},
      .series = trees_of_qr(),
      .plots = {performance_004()},
      .statements = {
          {"With broadcasts the best grids are a row, or nearly one", "section 4.4.3",
           "the fastest grid has one row or two", flat_grids_are_best},
          {"On a row binary trees reach 30.7 TFlop/s, no broadcasts less than 5", "section 4.4.3",
           "faster by more than 2 %; and 6.1 times as fast at least, within 25 %",
           binary_is_six_times_on_a_row},
          {"Broadcasts are never worse than none", "section 4.4.3",
           "nowhere slower by more than 2 %", trees_never_lose}}};
}

}  // namespace

std::vector<Figure> qr_figures_004() {
  return {figure_4_14(), figure_4_15(), figure_4_16()};
}

}  // namespace vicinal::reproduction
