#include "reports/explain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/phases.hpp"
#include "analysis/steps.hpp"
#include "base/legible.hpp"
#include "reports/catalogue.hpp"
#include "reports/explain_context.hpp"
#include "trace/open_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

namespace {

using analysis::kNobody;
using analysis::RecordedRun;
using explaining::Context;

// Throws UsageError that offers the nearest.
template <typename Name>
[[noreturn]] void refuse(std::string_view option, const char* what, std::string_view text,
                         std::size_t count, const Name& name) {
  std::vector<std::string> names;
  names.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(name(i));
  const std::string nearest = suggestion(text, names);
  throw UsageError(fmt::format(
      "{}: the recording has no {} \"{}\"{}", option, what, base::legible_name(text),
      !nearest.empty() ? nearest
      : count == 0     ? "; it has none: record the category submission, too"
                       : fmt::format("; give its name or a number from 0 to {}", count - 1)));
}

std::uint32_t find_task(const RecordedRun& run, const std::string& text) {
  const std::uint32_t task = run.find_task(text);
  if (task != kNobody) return task;
  refuse("--task", "task", text, run.tasks.size(), [&](std::uint32_t t) { return run.name_of(t); });
}

std::uint32_t find_datum(const RecordedRun& run, const std::string& text) {
  const std::uint32_t datum = run.find_datum(text);
  if (datum != kNobody) return datum;
  refuse("--handle", "handle", text, run.data.size(),
         [&](std::uint32_t d) { return run.name_of_datum(d); });
}

std::string find_codelet(const RecordedRun& run, const std::string& text) {
  std::vector<std::string> names;
  for (const analysis::TaskOfRun& task : run.tasks) {
    if (task.name >= run.names.size()) continue;
    if (run.names[task.name] == text) return text;
    if (std::ranges::find(names, run.names[task.name]) == names.end()) {
      names.push_back(run.names[task.name]);
    }
  }
  refuse("--codelet", "codelet", text, names.size(), [&](std::uint32_t n) { return names[n]; });
}

std::uint32_t find_worker(const RecordedRun& run, const std::string& text) {
  const std::uint32_t count = analysis::worker_count(run);
  for (std::uint32_t w = 0; w < count; ++w) {
    if (run.name_of_worker(w) == text || fmt::format("{}", w) == text) return w;
  }
  refuse("--worker", "worker", text, count, [&](std::uint32_t w) { return run.name_of_worker(w); });
}

// "12.5 ms", "12.5ms", "3 s".
std::int64_t find_moment(const RecordedRun& run, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  double value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (error != std::errc{} || known == kUnits.end() || !(value >= 0)) {
    throw UsageError(
        fmt::format("--at: \"{}\" is no moment; write it with its unit: \"12.5 ms\", \"3 s\"",
                    base::legible_name(text)));
  }
  const double ns = value * known->second;
  if (ns > static_cast<double>(run.end)) {
    throw UsageError(fmt::format("--at: the recording ends at {}; name a moment before that",
                                 explaining::duration(run.end)));
  }
  return static_cast<std::int64_t>(ns);
}

// What was asked, found in the run.
struct Asked {
  std::uint32_t task = kNobody;
  std::uint32_t datum = kNobody;
  std::string codelet = {};
  std::uint32_t worker = kNobody;
  std::optional<std::int64_t> moment = {};
};

// Several tasks may have the asked name: the text says which of these is told of.
std::string which_text(const RecordedRun& run, const std::string& asked) {
  std::uint64_t count = 0;
  for (const analysis::TaskOfRun& each : run.tasks) {
    const bool own = each.own_name < run.names.size() && run.names[each.own_name] == asked;
    count += own || (each.name < run.names.size() && run.names[each.name] == asked) ? 1 : 0;
  }
  if (count < 2) return "";
  return fmt::format("{}: the first of {} (--codelet tells of all, --task NUMBER of one)\n", asked,
                     count);
}

std::string decisions_text(const Context& context) {
  std::string text;
  for (std::uint32_t d = 0; d < context.run.decisions.size(); ++d) {
    text += (text.empty() ? "" : "\n") + explaining::decision_text(context, d);
  }
  return text.empty() ? "The recording has no choices: record the category decisions, too.\n"
                      : text;
}

// All tasks, and what is left when each of them and each eviction has its decisions.
void add_decisions(const Context& context, Json& json) {
  json["tasks"] = Json::array();
  for (std::uint32_t t = 0; t < context.run.tasks.size(); ++t) {
    json["tasks"].push_back(explaining::explained_task_json(context, t));
  }
  json["evictions"] = explaining::evictions_json(context);
  json["handles"] = Json::array();
  for (std::uint32_t d = 0; d < context.run.data.size(); ++d) {
    json["handles"].push_back(explaining::explained_handle_json(context, d));
  }
  json["other_decisions"] = Json::array();
  for (const std::uint32_t d : context.links.others) {
    json["other_decisions"].push_back(explaining::decision_json(context, d));
  }
}

std::string text_of(const Context& context, const ExplainRequest& request, const Asked& asked) {
  if (!request.asks()) return explaining::summary_text(context);
  std::vector<std::string> parts;
  if (asked.task != kNobody) {
    parts.push_back(which_text(context.run, request.task) +
                    explaining::task_text(context, asked.task));
  }
  if (asked.datum != kNobody) parts.push_back(explaining::handle_text(context, asked.datum));
  if (!asked.codelet.empty()) parts.push_back(explaining::codelet_text(context, asked.codelet));
  if (asked.worker != kNobody) parts.push_back(explaining::worker_text(context, asked.worker));
  if (asked.moment) parts.push_back(explaining::moment_text(context, *asked.moment));
  if (request.evictions) parts.push_back(explaining::evictions_text(context));
  if (request.waits) parts.push_back(explaining::waits_text(context));
  if (request.decisions) parts.push_back(decisions_text(context));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

Json json_of(const Context& context, const ExplainRequest& request, const Asked& asked) {
  Json json = {{"format", "vicinal-explain-1"}, {"run", explaining::run_json(context)}};
  if (!request.asks()) json["summary"] = explaining::summary_json(context);
  if (asked.task != kNobody) json["task"] = explaining::explained_task_json(context, asked.task);
  if (asked.datum != kNobody)
    json["handle"] = explaining::explained_handle_json(context, asked.datum);
  if (!asked.codelet.empty()) json["codelet"] = explaining::codelet_json(context, asked.codelet);
  if (asked.worker != kNobody) {
    json["worker"] = explaining::worker_explained_json(context, asked.worker);
  }
  if (asked.moment) json["at"] = explaining::moment_json(context, *asked.moment);
  if (request.evictions) json["evictions"] = explaining::evictions_json(context);
  if (request.waits) json["waits"] = explaining::waits_json(context);
  if (request.decisions) add_decisions(context, json);
  return json;
}

// Names may not be UTF-8: replaced rather than refused.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// `source`: where the run comes from; null: it was made in another way, and there is no log of its events.
Explanation explain(const RecordedRun& run, const trace::EventSource* source,
                    const ExplainRequest& request, bool with_json) {
  if (!request.asks()) {
    const RecordedRun proper = analysis::run_proper(run);
    const Context context(proper);
    Explanation explanation{text_of(context, request, {}), ""};
    if (with_json) explanation.json = written(json_of(context, request, {}));
    return explanation;
  }
  Asked asked;
  if (!request.task.empty()) asked.task = find_task(run, request.task);
  if (!request.handle.empty()) asked.datum = find_datum(run, request.handle);
  if (!request.codelet.empty()) asked.codelet = find_codelet(run, request.codelet);
  if (!request.worker.empty()) asked.worker = find_worker(run, request.worker);
  if (!request.at.empty()) asked.moment = find_moment(run, request.at);
  const Context context(run);
  Explanation explanation{text_of(context, request, asked), ""};
  if (!with_json) return explanation;
  Json json = json_of(context, request, asked);
  if (request.decisions && source != nullptr) json["log"] = explaining::log_json(run, *source);
  explanation.json = written(json);
  return explanation;
}

}  // namespace

Explanation explain(const RecordedRun& run, const ExplainRequest& request, bool with_json) {
  return explain(run, nullptr, request, with_json);
}

Explanation explain_difference(const NamedRun& first, const NamedRun& second, bool with_json) {
  const RecordedRun proper_first = analysis::run_proper(first.run);
  const RecordedRun proper_second = analysis::run_proper(second.run);
  const Context of_first(proper_first);
  const Context of_second(proper_second);
  const explaining::NamedContext a{of_first, first.name};
  const explaining::NamedContext b{of_second, second.name};
  Explanation explanation{explaining::comparison_text(a, b), ""};
  if (!with_json) return explanation;
  Json json = {{"format", "vicinal-explain-1"},
               {"comparison", explaining::comparison_json(a, b)},
               {"runs", Json::array()}};
  for (const explaining::NamedContext* const each : {&a, &b}) {
    json["runs"].push_back({{"name", each->name},
                            {"run", explaining::run_json(each->context)},
                            {"summary", explaining::summary_json(each->context)}});
  }
  explanation.json = written(json);
  return explanation;
}

Explanation explain(std::span<const std::string> files, const ExplainRequest& request,
                    bool with_json) {
  const auto runs = trace::open_runs(files, 2);
  if (runs.size() == 2) {
    if (request.asks()) {
      throw UsageError("explain: a question is about one recording; two are compared without one");
    }
    const RecordedRun first(*runs[0], false);
    const RecordedRun second(*runs[1], false);
    const std::string a = trace::name_of(*runs[0]);
    const std::string b = trace::name_of(*runs[1]);
    if (a == b) return explain_difference({first, "A"}, {second, "B"}, with_json);
    return explain_difference({first, a}, {second, b}, with_json);
  }
  const trace::EventSource& source = *runs.at(0);
  const bool with_decisions =
      request.decisions || request.evictions || !request.task.empty() || !request.handle.empty();
  return explain(RecordedRun(source, with_decisions), &source, request, with_json);
}

}  // namespace vicinal::reports
