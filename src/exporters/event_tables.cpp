#include "exporters/event_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/decision.hpp"
#include "trace/decision_words.hpp"
#include "trace/event_source.hpp"
#include "vicinal/access.hpp"

namespace vicinal::exporters {

namespace {

using trace::Event;
using trace::EventEntry;
using trace::Field;
using trace::FieldType;
using trace::RecordedEvent;
using trace::Tail;

std::string with_underscores(std::string_view words) {
  std::string name(words);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string_view choice(std::string_view choices, std::uint64_t number) {
  for (; number > 0; --number) {
    const std::size_t bar = choices.find('|');
    if (bar == std::string_view::npos) return {};
    choices.remove_prefix(bar + 1);
  }
  return choices.substr(0, choices.find('|'));
}

std::string accesses(std::span<const std::uint64_t> tail) {
  std::string text;
  for (const std::uint64_t word : tail) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        choice(trace::table::kModes, word & 0xFU), word >> 4);
  }
  return text;
}

std::string rule(std::uint32_t number) {
  return number < trace::reasons().size() ? std::string(trace::reasons()[number].name)
                                          : fmt::format("{}", number);
}

class EventTables {
 public:
  EventTables(const trace::EventSource& file, Tables& out) : out_(out) {
    file.each([&](const RecordedEvent& event) {
      if (event.event == Event::name_given) names_[event.first] = event.text();
    });
    tables_.resize(trace::events().size());
    file.each([&](const RecordedEvent& event) { write(event); });
    for (const std::unique_ptr<Table>& table : tables_) {
      if (table) table->close();
    }
    if (scores_) scores_->close();
  }

 private:
  Table& table_of(const EventEntry& entry);
  void write(const RecordedEvent& event);
  void write_field(Table& table, const Field& field, std::uint64_t value, bool is_first);
  void write_decision(Table& table, const RecordedEvent& event);

  Tables& out_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::vector<std::unique_ptr<Table>> tables_;  // by event
  std::unique_ptr<Table> scores_;
  std::uint64_t decisions_ = 0;
};

Table& EventTables::table_of(const EventEntry& entry) {
  std::unique_ptr<Table>& table = tables_[static_cast<std::size_t>(entry.event)];
  if (table) return *table;
  std::vector<std::string> names;  // of the fields
  for (std::size_t i = 0; i < entry.field_count(); ++i) {
    names.push_back(with_underscores(entry.fields[i].name));
  }
  std::vector<Column> columns{"time_ns", "thread"};
  for (std::size_t i = 0; i < entry.field_count(); ++i) {
    if (names[i] == "unused") continue;
    const FieldType type = entry.fields[i].type;
    const bool is_number =
        entry.event == Event::name_given || (type != FieldType::choice && type != FieldType::name);
    const bool is_rule = entry.event == Event::decision && i == 0;
    columns.push_back(is_number && !is_rule ? Column(names[i]) : text(names[i]));
  }
  if (entry.tail == Tail::text) columns.push_back(text("text"));
  if (entry.tail == Tail::accesses) columns.push_back(text("accesses"));
  if (entry.tail == Tail::scores) columns.emplace_back("decision");
  table = out_.add(Tables::Kind::events, with_underscores(entry.name), columns);
  return *table;
}

void EventTables::write(const RecordedEvent& event) {
  const EventEntry& entry = trace::entry(event.event);
  Table& table = table_of(entry);
  table.cell(event.time);
  table.cell(event.lane);
  for (std::size_t i = 0; i < entry.field_count(); ++i) {
    if (event.event == Event::decision && i == 0) {
      table.cell(rule(event.first));
    } else if (event.event == Event::name_given) {
      table.cell(event.first);
    } else if (entry.fields[i].name != "unused") {
      write_field(table, entry.fields[i], event.field(i), i == 0);
    }
  }
  if (entry.tail == Tail::text) table.cell(event.text());
  if (entry.tail == Tail::accesses) table.cell(accesses(event.tail()));
  if (entry.tail == Tail::scores) write_decision(table, event);
  table.end_row();
}

void EventTables::write_field(Table& table, const Field& field, std::uint64_t value,
                              bool is_first) {
  const bool is_none = value == trace::kNone || (is_first && value == 0xFFFFFFFFU);
  switch (field.type) {
    case FieldType::integer:  // the first field has 32 bits
      table.cell(is_first ? std::int64_t{static_cast<std::int32_t>(value)}
                          : static_cast<std::int64_t>(value));
      return;
    case FieldType::choice:
      table.cell(choice(field.choices, value));
      return;
    case FieldType::name: {
      const auto name = names_.find(value);
      table.cell(name == names_.end() ? fmt::format("{}", value) : name->second);
      return;
    }
    default:
      table.cell(is_none ? std::nullopt : std::optional(value));
  }
}

// A row for each score, those of the question without a candidate.
void EventTables::write_decision(Table& table, const RecordedEvent& event) {
  const std::uint64_t number = decisions_++;
  table.cell(number);
  const std::optional<trace::Decision> decision =
      trace::read_decision(event.first, event.time, event.rest);
  if (!decision) return;
  if (!scores_) {
    scores_ =
        out_.add(Tables::Kind::events, "decision_scores",
                 {"decision", "candidate", "id", "wins", text("measure"), text("unit"), "value"});
  }
  constexpr std::string_view units[] = {"number", "ns", "bytes"};
  const std::optional<std::uint64_t> none;
  for (const trace::Score& score : decision->scores) {
    const trace::MeasureEntry& measure = trace::entry(score.measure);
    scores_->row(number, none, none, none, measure.name,
                 units[static_cast<std::size_t>(measure.unit)], score.value);
  }
  for (std::size_t i = 0; i < decision->candidates.size(); ++i) {
    const trace::Candidate& candidate = decision->candidates[i];
    if (candidate.scores.empty()) {
      scores_->row(number, i, candidate.id, decision->winner == i, none, none, none);
    }
    for (const trace::Score& score : candidate.scores) {
      const trace::MeasureEntry& measure = trace::entry(score.measure);
      scores_->row(number, i, candidate.id, decision->winner == i, measure.name,
                   units[static_cast<std::size_t>(measure.unit)], score.value);
    }
  }
}

}  // namespace

void write_events(const trace::EventSource& file, Tables& tables) {
  const EventTables written(file, tables);
}

}  // namespace vicinal::exporters
