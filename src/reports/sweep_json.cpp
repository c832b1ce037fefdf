// The JSON of a sweep, and that of its picture.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reports/facts_json.hpp"
#include "reports/facts_text.hpp"
#include "reports/json.hpp"
#include "reports/sweep.hpp"
#include "reports/sweep_groups.hpp"

namespace vicinal::reports {

namespace {

// The first run may have another number of tasks than the others: what is told of all is in the facts.
Json place_json(const Sweep& sweep, const std::vector<std::size_t>& at, const std::string& policy) {
  Json json = Json::object();
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    json[sweep.axes[a].name] = sweep.axes[a].values[at[a]];
  }
  json["policy"] = policy;
  return json;
}

Json quartiles_json(const Quartiles& values) {
  return {{"median", values.median}, {"low", values.low}, {"high", values.high}};
}

Json run_of_sweep(const Sweep& sweep, const SweepRun& run) {
  Json json = place_json(sweep, run.at, run.policy);
  json["seed"] = run.seed;
  json["vary_seed"] = run.vary_seed;
  if (!run.measures) return json;
  for (const SweepColumn& column : sweep_values(*run.measures)) {
    json[std::string(column.first)] = column.second;
  }
  return json;
}

Json group_json(const Sweep& sweep, const SweepGroup& group) {
  Json json = place_json(sweep, group.at, group.policy);
  json["runs"] = group.measures.size();
  if (group.measures.empty()) return json;
  json["seconds"] = quartiles_json(group.of(&SweepMeasures::seconds));
  json["bytes_in"] = quartiles_json(group.of(&SweepMeasures::bytes_in));
  json["bytes_out"] = quartiles_json(group.of(&SweepMeasures::bytes_out));
  return json;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

// --- The picture -----------------------------------------------------------------------------------

struct SweepPlot {
  const char* name;
  const char* unit;
  double SweepMeasures::*value;
  double SweepMeasures::*bound;
  double scale;
};

constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;
constexpr const char* kInk = "#1f2328 --";  // of draw_figure.py: it follows the page

double place_on_axis(const SweepAxis& axis, std::size_t place) {
  const auto value = static_cast<double>(axis.values[place]);
  return axis.is_bytes ? value / kMebibyte : value;
}

// "gpus 4, memory 512 MiB": all axes but the first.
std::string panel_name(const Sweep& sweep, const std::vector<std::size_t>& at) {
  std::string name;
  for (std::size_t a = 1; a < sweep.axes.size(); ++a) {
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", sweep.axes[a].name,
                        axis_value(sweep.axes[a], at[a]));
  }
  return name;
}

Json panel_of_sweep(const Sweep& sweep, const std::vector<const SweepGroup*>& groups,
                    const SweepPlot& plot) {
  const SweepAxis& axis = sweep.axes.front();
  Json curves = Json::object();
  Json bound_x = Json::array();
  Json bound_y = Json::array();
  for (const SweepGroup* group : groups) {
    const double x = place_on_axis(axis, group->at.front());
    const Quartiles values = group->of(plot.value);
    Json& curve = curves[group->policy];
    curve["series"] = group->policy;
    curve["x"].push_back(x);
    curve["y"].push_back(values.median / plot.scale);
    curve["low"].push_back(values.low / plot.scale);
    curve["high"].push_back(values.high / plot.scale);
    const double bound = group->of(plot.bound).median;
    if (bound <= 0 || std::ranges::find(bound_x, Json(x)) != bound_x.end()) continue;
    bound_x.push_back(x);
    bound_y.push_back(bound / plot.scale);
  }
  Json list = Json::array();
  for (const auto& [policy, curve] : curves.items()) list.push_back(curve);
  Json limits = Json::array();
  if (!bound_x.empty()) {
    limits.push_back({{"label", "bound"}, {"style", kInk}, {"x", bound_x}, {"y", bound_y}});
  }
  return {{"name", panel_name(sweep, groups.front()->at)},
          {"x_label", axis.name + (axis.is_bytes ? " (MiB)" : "")},
          {"marks", Json::array()},
          {"curves", list},
          {"limits", limits}};
}

Json plot_of_sweep(const Sweep& sweep, const std::vector<SweepGroup>& groups,
                   const SweepPlot& plot) {
  std::vector<std::string> names;
  std::vector<std::vector<const SweepGroup*>> panels;
  for (const SweepGroup& group : groups) {
    const std::string name = panel_name(sweep, group.at);
    const auto at = std::ranges::find(names, name);
    const auto place = static_cast<std::size_t>(at - names.begin());
    if (at == names.end()) {
      names.push_back(name);
      panels.emplace_back();
    }
    panels[place].push_back(&group);
  }
  Json list = Json::array();
  for (const auto& panel : panels) list.push_back(panel_of_sweep(sweep, panel, plot));
  return {{"name", plot.name}, {"unit", plot.unit}, {"panels", list}};
}

std::string curves_picture(const Sweep& sweep, const std::vector<SweepGroup>& groups) {
  Json series = Json::array();
  for (const SweepGroup& group : groups) {
    if (std::ranges::find(series, Json(group.policy)) == series.end())
      series.push_back(group.policy);
  }
  const bool loads = std::ranges::any_of(groups, [](const SweepGroup& group) {
    return group.of(&SweepMeasures::bytes_in).median > 0;
  });
  Json plots = Json::array();
  plots.push_back(plot_of_sweep(
      sweep, groups, {"time", "s", &SweepMeasures::seconds, &SweepMeasures::bound_seconds, 1}));
  if (loads) {
    plots.push_back(plot_of_sweep(
        sweep, groups,
        {"loaded", "GiB", &SweepMeasures::bytes_in, &SweepMeasures::bound_bytes, kGibibyte}));
  }
  return dumped({{"title", fmt::format("{}: {}", sweep.application, facts_text(sweep.parameters))},
                 {"series", series},
                 {"plots", plots}});
}

// That of a report, whose runs are the medians.
std::string bars_picture(const Sweep& sweep, const std::vector<SweepGroup>& groups) {
  Json runs = Json::array();
  for (const SweepGroup& group : groups) {
    runs.push_back({{"policy", group.policy},
                    {"seconds", group.of(&SweepMeasures::seconds).median},
                    {"bytes_in", group.of(&SweepMeasures::bytes_in).median},
                    {"bytes_out", group.of(&SweepMeasures::bytes_out).median},
                    {"bound_seconds", group.of(&SweepMeasures::bound_seconds).median},
                    {"bound_bytes", group.of(&SweepMeasures::bound_bytes).median},
                    {"bound_bytes_out", group.of(&SweepMeasures::bound_bytes_out).median}});
  }
  return dumped({{"application", sweep.application},
                 {"parameters", facts_json(sweep.parameters)},
                 {"runs", runs}});
}

}  // namespace

std::string sweep_json(const Sweep& sweep) {
  Json axes = Json::array();
  for (const SweepAxis& axis : sweep.axes) axes.push_back(axis.name);
  Json json = {{"format", "vicinal-sweep-1"},
               {"command", sweep.command},
               {"application", sweep.application},
               {"parameters", facts_json(sweep.parameters)},
               {"machine", facts_json(sweep.machine)},
               {"axes", axes},
               {"medians", Json::array()},
               {"runs", Json::array()}};
  for (const SweepGroup& group : sweep_groups(sweep)) {
    json["medians"].push_back(group_json(sweep, group));
  }
  for (const SweepRun& run : sweep.runs) json["runs"].push_back(run_of_sweep(sweep, run));
  return dumped(json);
}

std::string sweep_picture(const Sweep& sweep) {
  std::vector<SweepGroup> groups = sweep_groups(sweep);
  std::erase_if(groups, [](const SweepGroup& group) { return group.measures.empty(); });
  if (groups.empty()) return {};
  return sweep.axes.empty() ? bars_picture(sweep, groups) : curves_picture(sweep, groups);
}

}  // namespace vicinal::reports
