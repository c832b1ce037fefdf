#include "reproduction/picture.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vicinal::reproduction {

namespace {

using Json = nlohmann::ordered_json;

// A row per size, of whichever series has been measured first.
std::vector<const Row*> one_per_size(const Results& results, std::string_view panel) {
  std::vector<const Row*> rows;
  for (const double x : results.sizes(panel)) {
    for (const std::string& series : results.series(panel)) {
      const Row* const row = results.at(panel, series, x);
      if (row == nullptr) continue;
      rows.push_back(row);
      break;
    }
  }
  return rows;
}

// Only where something grows that has to fit.
Json marks_of(const Figure& figure, const Panel& panel, const std::vector<const Row*>& rows) {
  Json marks = Json::array();
  if (rows.empty() || panel.varied == Varied::gpus || panel.axis.value == kOrder.value)
    return marks;
  for (const Mark& mark : figure.marks) {
    Row at = *rows.front();
    if (panel.varied == Varied::memory) {
      at.measures.memory = at.measures.working_set * mark.share;
    } else {
      at.measures.working_set = at.measures.memory / mark.share;
    }
    marks.push_back({{"label", mark.label}, {"x", panel.axis.value(at)}, {"colour", mark.colour}});
  }
  return marks;
}

Json limits_of(const Plot& plot, const Panel& panel, const std::vector<const Row*>& rows) {
  Json limits = Json::array();
  for (const Limit& limit : plot.limits) {
    Json x = Json::array();
    Json y = Json::array();
    for (const Row* row : rows) {
      const double value = limit.value(row->measures);
      if (value <= 0) continue;
      x.push_back(panel.axis.value(*row));
      y.push_back(value);
    }
    if (x.empty()) continue;
    limits.push_back({{"label", limit.label}, {"style", limit.style}, {"x", x}, {"y", y}});
  }
  return limits;
}

Json curves_of(const Figure& figure, const Plot& plot, const Panel& panel, const Results& results) {
  Json curves = Json::array();
  for (const Series& series : figure.series) {
    Json x = Json::array();
    Json y = Json::array();
    for (const Row* row : results.of(panel.name, series.label)) {
      x.push_back(panel.axis.value(*row));
      y.push_back(plot.value(row->measures));
    }
    if (x.empty()) continue;
    curves.push_back({{"series", series.label}, {"x", x}, {"y", y}});
  }
  return curves;
}

Json plot_of(const Figure& figure, const Plot& plot, const Results& results) {
  Json panels = Json::array();
  for (const Panel& panel : figure.panels) {
    if (!panel.drawn || !plot.shows(panel)) continue;
    const std::vector<const Row*> rows = one_per_size(results, panel.name);
    panels.push_back({{"name", panel.name},
                      {"x_label", panel.axis.label},
                      {"x_scale", panel.axis.is_logarithmic ? "log" : "linear"},
                      {"marks", marks_of(figure, panel, rows)},
                      {"curves", curves_of(figure, plot, panel, results)},
                      {"limits", limits_of(plot, panel, rows)}});
  }
  return {{"name", plot.name}, {"unit", plot.unit}, {"panels", panels}};
}

// A view per run, or per worker where a run has several.
Json views_of(const OrderedRun& run, std::uint32_t steps) {
  std::uint32_t workers = 0;
  for (const OrderedTask& task : run.tasks) workers = std::max(workers, task.worker + 1);
  Json views = Json::array();
  for (std::uint32_t w = 0; w < workers; ++w) {
    Json cells = Json::array();
    for (std::uint32_t step = 0; step < steps; ++step) cells.push_back(Json::array());
    for (const OrderedTask& task : run.tasks) {
      if (task.worker != w || task.step >= steps) continue;
      cells[task.step].push_back({task.row, task.column, task.place});
    }
    const std::string name = workers == 1 ? run.name : fmt::format("{}, GPU {}", run.name, w + 1);
    views.push_back({{"name", name}, {"cells", cells}});
  }
  return views;
}

Json order_of(const OrderView& view, const Results& results) {
  Json views = Json::array();
  std::uint32_t size = 0;
  std::uint64_t capacity = 0;
  std::uint64_t colour = 1;
  for (const OrderRun& run : view.runs) {
    const OrderedRun* const ordered = results.order(run.name);
    if (!run.drawn || ordered == nullptr) continue;
    for (const OrderedTask& task : ordered->tasks) size = std::max(size, task.row + 1);
    capacity = ordered->capacity;
    colour = ordered->colour;
    for (const Json& one : views_of(*ordered, view.steps)) views.push_back(one);
  }
  return {{"size", size},
          {"capacity", capacity},
          {"colour", colour},
          {"steps", view.steps},
          {"views", views}};
}

}  // namespace

std::string picture_json(const Figure& figure, const Results& results) {
  Json picture;
  picture["title"] = fmt::format("{}: {}", figure.name, figure.sentence);
  if (figure.is_order()) {
    picture["order"] = order_of(figure.order, results);
    return picture.dump() + "\n";
  }
  Json labels = Json::array();
  for (const Series& series : figure.series) labels.push_back(series.label);
  picture["series"] = labels;
  picture["plots"] = Json::array();
  for (const Plot& plot : figure.plots) picture["plots"].push_back(plot_of(figure, plot, results));
  return picture.dump(1) + "\n";
}

}  // namespace vicinal::reproduction
