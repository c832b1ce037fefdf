// Figures 2 and 3 of paper 002, on several nodes: see figures_002.cpp.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reproduction/figure.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

// --- figure 2: where data are placed, on nodes of Summit

constexpr std::string_view kUserDirected = "user-directed";
constexpr std::array<std::string_view, 4> kRuntimeDirected{"default", "load alone (skew 1)",
                                                           "reuse alone (skew 0)", "random"};
constexpr std::array<std::uint32_t, 3> kNodes{4, 16, 64};

std::string panel_name(std::string_view what, std::uint32_t nodes) {
  return fmt::format("{} on {} nodes", what, nodes);
}

// `quick` has the four nodes alone, and `full` the largest number, too.
Panel panel_of_nodes(std::string_view what, std::string_view application, std::uint32_t nodes,
                     const std::array<Values, 3>& tiles) {
  Panel panel{.name = panel_name(what, nodes),
              .axis = kOrder,
              .machine = "summit-cluster",
              .application = application,
              .tile = 2048,
              .precision = "double"};
  panel.on_ranks.ranks = nodes;
  panel.on_ranks.broadcast = "auto";
  panel.values = tiles;
  return panel;
}

// The paper's mapping of a product to GPUs is 1D, (m mod G); by floor(m / P) in place of m, else some GPUs would have no
// tiles where P and G share factors.
Panel gemm_on(std::uint32_t nodes, const std::array<Values, 3>& tiles) {
  Panel panel = panel_of_nodes("GEMM", "gemm3d", nodes, tiles);
  panel.on_ranks.gpu_columns = 1;
  return panel;
}

Panel potrf_on(std::uint32_t nodes, const std::array<Values, 3>& tiles) {
  return panel_of_nodes("POTRF", "cholesky", nodes, tiles);
}

// The speed of the directed placement over the best automatic one, size by size.
std::vector<double> leads_on_nodes(const Results& results, const std::string& panel) {
  std::vector<double> leads;
  for (const Row* row : results.of(panel, kUserDirected)) {
    double best = 0;
    for (const std::string_view series : kRuntimeDirected) {
      const Row* const other = results.at(panel, series, row->point.x);
      if (other != nullptr) best = std::max(best, other->measures.gflops());
    }
    if (best > 0) leads.push_back(row->measures.gflops() / best);
  }
  return leads;
}

// Of each number of nodes that was measured.
template <typename Judge>
Verdict on_each_number_of_nodes(const Results& results, std::string_view what, const Judge& judge) {
  std::vector<Verdict> verdicts;
  for (const std::uint32_t nodes : kNodes) {
    const std::string panel = panel_name(what, nodes);
    if (!results.sizes(panel).empty()) verdicts.push_back(judge(panel));
  }
  return all_of(verdicts);
}

Verdict leads_everywhere(const Results& results) {
  const auto judge = [&](const std::string& panel) {
    const std::vector<double> values = leads_on_nodes(results, panel);
    const bool leads = !values.empty() && std::ranges::min(values) >= 1 - kEqual;
    return verdict(leads && mean(values) > 1 + kEqual, fmt::format("{} {}", panel, range(values)));
  };
  return all_of(std::array{on_each_number_of_nodes(results, "GEMM", judge),
                           on_each_number_of_nodes(results, "POTRF", judge)});
}

Verdict lead_on_gemm_stays(const Results& results) {
  return on_each_number_of_nodes(results, "GEMM", [&](const std::string& panel) {
    const std::vector<double> values = leads_on_nodes(results, panel);
    return verdict(!values.empty() && values.back() > 1 + kEqual,
                   values.empty() ? panel : fmt::format("{} {:.2f}", panel, values.back()));
  });
}

Verdict lead_on_potrf_grows(const Results& results) {
  return on_each_number_of_nodes(results, "POTRF", [&](const std::string& panel) {
    const std::vector<double> values = leads_on_nodes(results, panel);
    if (values.size() < 2) return unknown("one size alone has been measured");
    return verdict(values.back() > values.front() + kEqual && values.back() > 1 + kEqual,
                   fmt::format("{} {:.2f} to {:.2f}", panel, values.front(), values.back()));
  });
}

// Into GPUs, from RAM, where content of other nodes arrives.
Verdict automatic_ones_load_more(const Results& results) {
  return on_each_number_of_nodes(results, "POTRF", [&](const std::string& panel) {
    const std::vector<double> loads = ratios(results, {panel}, kRuntimeDirected[0], kUserDirected,
                                             [](const Measures& m) { return m.from_below; });
    return verdict(!loads.empty() && loads.back() > 1 + kEqual,
                   fmt::format("{} {} times as much", panel, range(loads)));
  });
}

Verdict reuse_alone_loses_on_nodes(const Results& results) {
  return on_each_number_of_nodes(results, "POTRF", [&](const std::string& panel) {
    const std::vector<double> speeds =
        ratios(results, {panel}, kRuntimeDirected[2], kRuntimeDirected[0], gflops);
    return verdict(!speeds.empty() && std::ranges::max(speeds) < 0.8,
                   fmt::format("{} {}", panel, range(speeds)));
  });
}

Plot speed_of_nodes() {
  return {.name = "performance",
          .unit = "TFlop/s",
          .value = [](const Measures& m) { return m.gflops() * 1e-3; },
          .limits = {{"no schedule is faster",
                      [](const Measures& m) { return m.most_gflops() * 1e-3; }, "k:"}}};
}

Figure on_nodes_of_summit() {
  return {
      .name = "002-2",
      .sentence = "Placement of data on 4 to 64 nodes of Summit: product and Cholesky",
      .note =
          "Scaled down: 4 and 16 nodes, with --full also 64, in place of 4, 16, 64 and 256, and "
          "matrices of up to 40 x 40 (GEMM) and 72 x 72 (POTRF) tiles of 2048. The paper's text "
          "gives neither sizes nor tiles. A rank on each node has its six GPUs. Tiles go to ranks "
          "2D block-cyclically, on the grid nearest to a square; user-directed deals those of a "
          "rank to its GPUs likewise, for GEMM by rows of tiles alone. Received content stays in "
          "RAM until a task wants it. Links and most speeds of the machine file are assumptions.",
      .panels = {gemm_on(4, {Values{8}, Values{12, 24, 36}, Values{12, 24, 36}}),
                 potrf_on(4, {Values{12}, Values{24, 40, 56}, Values{24, 40, 56, 72}}),
                 gemm_on(16, {Values{}, Values{24, 36}, Values{24, 40}}),
                 potrf_on(16, {Values{}, Values{32, 64}, Values{32, 64, 72}}),
                 gemm_on(64, {Values{}, Values{}, Values{40}}),
                 potrf_on(64, {Values{}, Values{}, Values{48, 72}})},
      .series = {{kUserDirected, "directed"},
                 {kRuntimeDirected[0], "load"},
                 {kRuntimeDirected[1], "load:skew=0"},
                 {kRuntimeDirected[2], "load:skew=1000000"},
                 {kRuntimeDirected[3], "touch"}},
      .plots = {speed_of_nodes()},
      .statements = {
          {"The directed placement is ahead of all automatic ones across the board", "section 5.3",
           "speed over that of the best automatic one: at no size more than 2 % behind, on average "
           "more than 2 % ahead, for each number of nodes",
           leads_everywhere},
          {"On GEMM the lead stays when nodes or the size grow", "section 5.3",
           "more than 2 % at the largest size, for each number of nodes", lead_on_gemm_stays},
          {"On POTRF the lead grows much when the matrix is large", "section 5.3",
           "at the largest size more than 2 %, and more than at the smallest", lead_on_potrf_grows},
          {"On POTRF the automatic placement replicates received data on all accelerators",
           "section 5.3",
           "at the largest size the default copies more from RAM into GPUs than the directed one",
           automatic_ones_load_more},
          {"On POTRF reuse alone is much slower", "section 5.3",
           "at each size less than 0.8 of the speed of the default", reuse_alone_loses_on_nodes}}};
}

// --- figure 3: where received content goes, on nodes of Frontier

constexpr std::string_view kStrong = "strong scaling";
constexpr std::string_view kWeak = "weak scaling";
constexpr std::array<std::string_view, 3> kReceived{"host", "advised", "random"};

Panel on_frontier(std::string_view name, Varied varied, std::uint64_t tiles,
                  const std::array<Values, 3>& ranks) {
  Panel panel{.name = std::string(name),
              .axis = kRanks,
              .machine = "frontier-cluster",
              .application = "cholesky",
              .tile = 2048,
              .precision = "double",
              .varied = varied};
  panel.tiles = tiles;
  panel.values = ranks;
  panel.on_ranks.broadcast = "auto";
  panel.gpus = 2;
  return panel;
}

// Of those that send content on to accelerators, in both panels.
template <typename Judge>
Verdict on_both_scalings(const Results& results, std::string_view series, const Judge& judge) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {kStrong, kWeak}) {
    const std::vector<double> speeds = ratios(results, {panel}, series, kReceived[0], gflops);
    if (!speeds.empty()) verdicts.push_back(judge(panel, speeds));
  }
  return all_of(verdicts);
}

Verdict host_buffers_lose(const Results& results) {
  return on_both_scalings(results, kReceived[1], [](auto panel, const auto& speeds) {
    return numbered(std::ranges::min(speeds) > 1 + kEqual, meets(speeds.back(), 10),
                    fmt::format("{}: advised over host {} (paper 10)", panel, range(speeds)));
  });
}

Verdict both_are_alike(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {kStrong, kWeak}) {
    const std::vector<double> speeds = ratios(results, {panel}, kReceived[2], kReceived[1], gflops);
    if (speeds.empty()) continue;
    verdicts.push_back(verdict(std::ranges::min(speeds) > 0.9 && std::ranges::max(speeds) < 1.1,
                               fmt::format("{}: random over advised {}", panel, range(speeds))));
  }
  return all_of(verdicts);
}

// Speed at the most ranks over that at the fewest.
double growth(const Results& results, std::string_view panel, std::string_view series) {
  const std::vector<const Row*> rows = results.of(panel, series);
  if (rows.size() < 2) return 0;
  return rows.back()->measures.gflops() / rows.front()->measures.gflops();
}

Verdict host_buffers_do_not_scale(const Results& results) {
  const double grown = growth(results, kStrong, kReceived[0]);
  if (grown <= 0) return unknown("one number of ranks alone has been measured");
  return verdict(grown < 1.1, fmt::format("{:.2f} times as fast", grown));
}

Verdict both_scale_linearly(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view series : {kReceived[1], kReceived[2]}) {
    const double grown = growth(results, kWeak, series);
    if (grown <= 0) return unknown("one number of ranks alone has been measured");
    const double ranks =
        results.of(kWeak, series).back()->point.x / results.of(kWeak, series).front()->point.x;
    verdicts.push_back(verdict(
        grown >= 0.9 * ranks,
        fmt::format("{} {:.2f} times as fast on {:.0f} times the ranks", series, grown, ranks)));
  }
  return all_of(verdicts);
}

Figure on_nodes_of_frontier() {
  return {
      .name = "002-3",
      .sentence = "Where content of other ranks goes on Frontier: Cholesky on 16 to 128 ranks",
      .note =
          "Scaled down: N = 98304 in place of 131072 on 16 to 64 ranks, with --full to 128, and in "
          "weak scaling from N = 49152 on 16 ranks in place of 131072. As there, a rank has a "
          "quarter of a node: two GCDs and one NIC; ranks of one node exchange content over the "
          "NIC, too. All place data as the user directs. The tiles, of 2048, are not the paper's, "
          "which it does not give. There the network writes into the memory of the accelerator; "
          "here content always passes RAM, and advised and random send it on at once. So what can "
          "be gained here is the wait for that copy, and not the way through the host.",
      .panels = {on_frontier(kStrong, Varied::ranks, 48,
                             {Values{16}, Values{16, 32, 64}, Values{16, 32, 64, 128}}),
                 on_frontier(kWeak, Varied::ranks_and_tiles, 24,
                             {Values{16, 32}, Values{16, 32, 64}, Values{16, 64, 128}})},
      .series = {{.label = kReceived[0], .policy = "directed", .receive_placement = "ram"},
                 {.label = kReceived[1], .policy = "directed", .receive_placement = "advised"},
                 {.label = kReceived[2], .policy = "directed", .receive_placement = "random"}},
      .plots = {speed_of_nodes(),
                {.name = "copied from RAM into GPUs",
                 .unit = "GB",
                 .value = [](const Measures& m) { return m.from_below * 1e-9; },
                 .limits = {}}},
      .statements = {
          {"Reception in host memory is an order of magnitude slower", "section 5.4",
           "advised is more than 2 % faster at each number of ranks; and the number at the most",
           host_buffers_lose},
          {"With it more nodes do not help", "section 5.4",
           "in strong scaling the most ranks are less than 1.1 times as fast as the fewest",
           host_buffers_do_not_scale},
          {"Advised and random placement do alike", "section 5.4",
           "within 10 % of each other at each number of ranks", both_are_alike},
          {"Both scale linearly", "section 5.4",
           "in weak scaling the speed grows by 0.9 of what the ranks do at least",
           both_scale_linearly}}};
}

}  // namespace

std::vector<Figure> figures_002_on_ranks() {
  return {on_nodes_of_summit(), on_nodes_of_frontier()};
}

}  // namespace vicinal::reproduction
