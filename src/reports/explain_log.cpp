// All that a recording holds, event by event in its order: what scores can be recomputed from.
#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "reports/explain_context.hpp"
#include "trace/decision_words.hpp"
#include "trace/event_source.hpp"

namespace vicinal::reports::explaining {

using analysis::RecordedRun;
using trace::Category;
using trace::Event;
using trace::FieldType;

namespace {

// What the number stands for: one of "done|failed|cancelled".
std::string_view choice(std::string_view choices, std::uint64_t number) {
  for (; number > 0 && !choices.empty(); --number) {
    choices.remove_prefix(std::min(choices.find('|'), choices.size() - 1) + 1);
  }
  return choices.substr(0, choices.find('|'));
}

// Numbers as everywhere else: of tasks and data in the order in which they came.
Json field_json(const RecordedRun& run, const trace::Field& field, std::uint64_t value) {
  const auto number = [](std::uint32_t n) { return n == kNobody ? Json(nullptr) : Json(n); };
  switch (field.type) {
    case FieldType::task:
      return number(run.task_of({value}));
    case FieldType::handle:
      return number(run.datum_of({value}));
    case FieldType::node:
    case FieldType::worker:
      return number(static_cast<std::uint32_t>(value));
    case FieldType::integer:  // the first field of a submission
      return static_cast<std::int32_t>(value);
    case FieldType::choice:
      return choice(field.choices, value);
    default:
      return value;
  }
}

bool is_told(Event event) {
  switch (trace::entry(event).category) {
    case Category::tasks:
    case Category::transfers:
    case Category::memory:
    case Category::scheduler:
    case Category::decisions:
      return true;
    default:
      return event == Event::task_submitted || event == Event::handle_unregistered;
  }
}

}  // namespace

Json log_json(const RecordedRun& run, const trace::EventSource& source) {
  Json log = Json::array();
  std::uint32_t decision = 0;
  source.each([&](const trace::RecordedEvent& event) {
    if (!is_told(event.event)) return;
    const bool decides = event.event == Event::decision;
    if (decides && !trace::read_decision(event.first, event.time, event.rest))
      return;  // as the run does
    const trace::EventEntry& entry = trace::entry(event.event);
    Json json = {{"time_ns", event.time}, {"what", entry.name}};
    if (decides) {
      json["decision"] = decision++;
    } else {
      for (std::size_t f = 0; f < entry.field_count(); ++f) {
        const trace::Field& field = entry.fields[f];
        if (field.name == "unused" || field.type == FieldType::name) continue;
        json[std::string(field.name)] = field_json(run, field, event.field(f));
      }
    }
    log.push_back(std::move(json));
  });
  return log;
}

}  // namespace vicinal::reports::explaining
