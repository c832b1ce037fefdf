#include "reproduction/parts_000.hpp"

#include <algorithm>

#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

std::vector<Series> series_000() {
  return {{"DARTS", "darts:cost=exact"},      {"AP", "ap", "saved"},
          {"DMDAS", "dmdas", "starpu"},       {"LWS", "lws", "starpu"},
          {"EAGER", "eager", "starpu"},       {"DARTS (ours)", "darts", "", 0, true},
          {"AP (ours)", "ap", "", 0, true},   {"DMDAS (ours)", "dmdas", "", 0, true},
          {"LWS (ours)", "lws", "", 0, true}, {"EAGER (ours)", "eager", "", 0, true}};
}

Plot performance_000() {
  return {.name = "performance",
          .unit = "TFlop/s",
          .value = [](const Measures& m) { return m.gflops() * 1e-3; },
          .limits = {{"all workers busy", [](const Measures& m) { return m.most_gflops() * 1e-3; },
                      "k:"}}};
}

Plot transfers_000() {
  return {.name = "data loaded",
          .unit = "GB",
          .value = [](const Measures& m) { return m.loaded() * 1e-9; },
          .limits = {{"what the bus carries while all workers are busy",
                      [](const Measures& m) { return m.bus_bytes * 1e-9; }, "0.6 -"},
                     {"lower bound (leading term)",
                      [](const Measures& m) { return m.formula_bytes * 1e-9; }, "k -"}}};
}

Mark memory_mark() {
  return {.label = "memory", .share = 1, .colour = "tab:green"};
}

Panel panel_000(const Node000& node, std::string_view application) {
  Panel panel{.name = std::string(node.name),
              .axis = kWorkingSetGb,
              .machine = node.machine,
              .application = application,
              .tile = node.tile};
  panel.gpus = node.gpus;
  Values full = node.usual;
  for (std::size_t i = 0; i + 1 < node.usual.size(); ++i) {
    full.push_back((node.usual[i] + node.usual[i + 1]) / 2);
  }
  std::ranges::sort(full);
  panel.values = {Values{node.usual[1], node.usual[2]}, node.usual, full};
  return panel;
}

std::string with_place(std::string_view panel) {
  return std::string(panel) + std::string(kByPlace);
}

Panel by_place(Panel panel) {
  panel.name = with_place(panel.name);
  panel.bottom_levels = false;
  return panel;
}

double loads_at_largest(const Results& results, std::string_view panel, std::string_view series,
                        double (*per)(const Measures&)) {
  const std::vector<const Row*> rows = results.of(panel, series);
  if (rows.empty() || per(rows.back()->measures) <= 0) return 0;
  return rows.back()->measures.loaded() / per(rows.back()->measures);
}

}  // namespace vicinal::reproduction
