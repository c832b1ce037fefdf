// Facts of a report as a JSON object.
#pragma once

#include "reports/json.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

inline Json value_json(const Value& value) {
  if (const auto* bytes = std::get_if<Bytes>(&value)) return bytes->value;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::get<std::string>(value);
}

inline Json facts_json(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [name, value] : facts) json[name] = value_json(value);
  return json;
}

}  // namespace vicinal::reports
