#include "reports/explain.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/phases.hpp"
#include "base/legible.hpp"
#include "reports/catalogue.hpp"
#include "reports/explain_context.hpp"
#include "trace/reader.hpp"
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

// What was asked, found in the run.
struct Asked {
  std::uint32_t task = kNobody;
  std::uint32_t datum = kNobody;
};

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
  if (asked.task != kNobody) parts.push_back(explaining::task_text(context, asked.task));
  if (asked.datum != kNobody) parts.push_back(explaining::handle_text(context, asked.datum));
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
  if (request.evictions) json["evictions"] = explaining::evictions_json(context);
  if (request.waits) json["waits"] = explaining::waits_json(context);
  if (request.decisions) add_decisions(context, json);
  return json;
}

// Names may not be UTF-8: replaced rather than refused.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// `reader`: where the run comes from; null: it was made in another way, and there is no log of its events.
Explanation explain(const RecordedRun& run, const trace::Reader* reader,
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
  const Context context(run);
  Explanation explanation{text_of(context, request, asked), ""};
  if (!with_json) return explanation;
  Json json = json_of(context, request, asked);
  if (request.decisions && reader != nullptr) json["log"] = explaining::log_json(run, *reader);
  explanation.json = written(json);
  return explanation;
}

}  // namespace

Explanation explain(const RecordedRun& run, const ExplainRequest& request, bool with_json) {
  return explain(run, nullptr, request, with_json);
}

Explanation explain(const std::string& file, const ExplainRequest& request, bool with_json) {
  const trace::Reader reader(file);
  const bool with_decisions =
      request.decisions || request.evictions || !request.task.empty() || !request.handle.empty();
  return explain(RecordedRun(reader, with_decisions), &reader, request, with_json);
}

}  // namespace vicinal::reports
