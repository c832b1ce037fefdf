#include "trace/head.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trace/decision.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

using Json = nlohmann::ordered_json;

Json clock_json(ClockKind kind, const ClockPair& origin, double ns_per_tick) {
  return {{"kind", to_string(kind)},
          {"origin_ticks", origin.ticks},
          {"origin_ns", origin.ns},
          {"ns_per_tick", ns_per_tick}};
}

Json field_json(const Field& field) {
  Json json{{"name", field.name}, {"type", to_string(field.type)}};
  if (field.type == FieldType::choice) json["choices"] = field.choices;
  return json;
}

Json event_json(const EventEntry& event) {
  Json fields = Json::array();
  for (std::size_t i = 0; i < event.field_count(); ++i) {
    fields.push_back(field_json(event.fields[i]));
  }
  return {{"number", static_cast<std::uint16_t>(event.event)},
          {"name", event.name},
          {"category", categories()[static_cast<std::size_t>(event.category)].name},
          {"fields", std::move(fields)},
          {"tail", to_string(event.tail)}};
}

Json recorded_json(Categories recorded) {
  Json names = Json::array();
  for (const CategoryEntry& each : categories()) {
    if ((recorded & bit(each.category)) != 0) names.push_back(each.name);
  }
  return names;
}

template <typename Entries>
Json names_json(const Entries& entries) {
  Json names = Json::array();
  for (const auto& each : entries) names.push_back(each.name);
  return names;
}

Json run_json(std::string_view run) {
  Json json = Json::parse(run, nullptr, false);
  if (json.is_object()) return json;
  throw UsageError("what a recording is to say of its run is no JSON object: \"" +
                   std::string(run.substr(0, 80)) + "\"; give \"{}\" if there is nothing to say");
}

}  // namespace

std::string_view to_string(FieldType type) {
  constexpr std::string_view names[] = {"number", "integer", "name", "task",  "handle",
                                        "node",   "worker",  "copy", "bytes", "choice"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view to_string(Tail tail) {
  constexpr std::string_view names[] = {"none", "text", "accesses", "scores"};
  return names[static_cast<std::size_t>(tail)];
}

std::string make_head(ClockKind kind, const ClockPair& origin, double ns_per_tick,
                      Categories recorded, std::string_view run, std::uint32_t form) {
  Json table = Json::array();
  for (const EventEntry& each : events()) table.push_back(event_json(each));
  const Json head{{"format", "vicinal recording"},
                  {"version", form},
                  {"clock", clock_json(kind, origin, ns_per_tick)},
                  {"recorded", recorded_json(recorded)},
                  {"events", std::move(table)},
                  {"rules", names_json(reasons())},
                  {"measures", names_json(measures())},
                  {"run", run_json(run)}};
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  text.resize((text.size() + kWord - 1) / kWord * kWord, ' ');
  return text;
}

std::uint64_t checksum_of_head(std::string_view head) {
  std::vector<std::uint64_t> words(head.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), head.data(), words.size() * sizeof words[0]);
  return checksum(SegmentHead{}, words);
}

std::string make_front(std::string_view head, std::uint32_t form) {
  std::string front(kMagic);
  const auto put = [&front](auto number) {
    front.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  put(form);
  put(kByteOrder);
  put(std::uint64_t{head.size()});
  put(checksum_of_head(head));
  return front.append(head);
}

}  // namespace vicinal::trace
