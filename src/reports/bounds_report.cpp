#include "reports/bounds_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "reports/json.hpp"

namespace vicinal::reports {

namespace {

struct Line {
  std::string name;
  std::string value;
  std::string source;
  bool largest = false;
};

std::string title(const bounds::GraphBounds& bounds) {
  std::string text = fmt::format("{}: {} tasks, {} data of {}", base::legible_name(bounds.graph),
                                 bounds.tasks, bounds.data, base::format_bytes(bounds.bytes));
  if (bounds.flops > 0) text += fmt::format(", {:.4g} operations", bounds.flops);
  if (bounds.tasks_without_time > 0) {
    text += fmt::format("\n{} tasks have no time on this machine and count nothing in the times",
                        bounds.tasks_without_time);
  }
  return text + "\n";
}

std::string time_text(const bounds::GraphBounds& bounds, Time time) {
  if (time.ns == 0) return "-";
  std::string text = base::format_duration(time);
  if (bounds.flops > 0) {
    text += fmt::format(" ({:.4g} GFlop/s)", bounds.flops / time.seconds() * 1e-9);
  }
  return text;
}

std::vector<Line> time_lines(const bounds::GraphBounds& bounds) {
  std::vector<Line> lines;
  const bounds::TimeBound largest = bounds.time();
  for (const bounds::TimeBound& bound : bounds.times()) {
    lines.push_back({std::string(bound.name), time_text(bounds, bound.value),
                     std::string(bound.source), bound.name == largest.name});
  }
  return lines;
}

std::vector<Line> bytes_lines(const bounds::GraphBounds& bounds) {
  const bool formula = bounds.proved_in.value > bounds.compulsory_in.value;
  std::vector<Line> lines{{"compulsory", base::format_bytes(bounds.compulsory_in.value),
                           std::string(bounds.compulsory_in.source), !formula}};
  if (bounds.proved_in.leading.value == 0) return lines;
  lines.push_back({"by this algorithm", base::format_bytes(bounds.proved_in.value),
                   std::string(bounds.proved_in.source), formula});
  lines.push_back({"leading term", base::format_bytes(bounds.proved_in.leading),
                   "no bound at this size, papers compare with it", false});
  return lines;
}

std::string block(std::string_view heading, const std::vector<Line>& lines) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const Line& line : lines) {
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, line.value.size());
  }
  std::string text = fmt::format("\n{}\n", heading);
  for (const Line& line : lines) {
    text += fmt::format("{} {:<{}}  {:>{}}  {}\n", line.largest ? '*' : ' ', line.name, name_width,
                        line.value, value_width, line.source);
  }
  return text;
}

Json bytes_json(const bounds::BytesBound& bound) {
  Json json = {{"name", bound.name}, {"bytes", bound.value.value}, {"source", bound.source}};
  if (bound.leading.value > 0) json["leading_bytes"] = bound.leading.value;
  return json;
}

// Divided, so that the text has no more than nine digits after the point.
double seconds_of(Time time) {
  return static_cast<double>(time.ns) / 1e9;
}

}  // namespace

RunBounds run_bounds(const bounds::GraphBounds& bounds) {
  RunBounds run{.work_seconds = bounds.work.value.seconds(),
                .area_seconds = bounds.area.value.seconds(),
                .path_seconds = bounds.path.value.seconds(),
                .transfer_seconds = 0,
                .compulsory_in = bounds.compulsory_in.value,
                .proved_in = bounds.proved_in.value,
                .formula_in = bounds.proved_in.leading,
                .compulsory_out = bounds.out.value};
  for (const bounds::TimeBound& link : bounds.links) {
    run.transfer_seconds = std::max(run.transfer_seconds, link.value.seconds());
  }
  return run;
}

std::string bounds_text(const bounds::GraphBounds& bounds) {
  return title(bounds) + block("time (* no schedule is faster)", time_lines(bounds)) +
         block("loaded into limited memories (* no schedule loads less)", bytes_lines(bounds)) +
         block("written back from them", {{"compulsory", base::format_bytes(bounds.out.value),
                                           std::string(bounds.out.source), true}});
}

std::string bounds_json(const bounds::GraphBounds& bounds) {
  Json json = {{"format", "vicinal-bounds-1"},
               {"graph", bounds.graph},
               {"tasks", bounds.tasks},
               {"tasks_without_time", bounds.tasks_without_time},
               {"data", bounds.data},
               {"data_bytes", bounds.bytes.value},
               {"flops", bounds.flops},
               {"bound_seconds", seconds_of(bounds.time().value)},
               {"bound_bytes", bounds.in().value.value},
               {"bound_bytes_out", bounds.out.value.value},
               {"time", Json::array()}};
  for (const bounds::TimeBound& bound : bounds.times()) {
    json["time"].push_back(
        {{"name", bound.name}, {"seconds", seconds_of(bound.value)}, {"source", bound.source}});
  }
  json["bytes_in"] = Json::array({bytes_json(bounds.compulsory_in)});
  if (bounds.proved_in.leading.value > 0) json["bytes_in"].push_back(bytes_json(bounds.proved_in));
  json["bytes_out"] = Json::array({bytes_json(bounds.out)});
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace vicinal::reports
