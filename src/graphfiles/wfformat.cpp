// WfFormat, the JSON schema in which WfCommons publishes workflows that were run
// (https://github.com/wfcommons/WfFormat, wfcommons-schema.json). Instances have up to some hundred
// thousand tasks: read as a document. Unknown keys are part of the format.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/wfformat_json.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace wfformat {

// --- access to the document ----------------------------------------------------------------------
std::string At::text() const {
  return key.empty() ? fmt::format("{}[{}]", list, index)
                     : fmt::format("{}[{}].{}", list, index, key);
}

void Document::refuse(const std::string& place, const std::string& message) const {
  refuse_at(origin_, place, message);
}

const Json& Document::member(const Json& object, std::string_view place, const char* key,
                             Json::value_t type) const {
  const std::string path = fmt::format("{}{}", place, key);
  const auto found = object.find(key);
  if (found == object.end()) refuse(path, "is missing");
  if (found->type() != type) {
    refuse(path, type == Json::value_t::array ? "expected a list" : "expected an object");
  }
  return *found;
}

const Json& Document::field(const Json& object, At at) const {
  if (!object.is_object()) refuse(At{at.list, at.index}.text(), "expected an object");
  const auto found = object.find(at.key);
  if (found == object.end()) refuse(at.text(), "is missing");
  return *found;
}

const std::string& Document::text(const Json& object, At at) const {
  const Json& value = field(object, at);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    refuse(at.text(), "expected a string that is not empty");
  }
  return value.get_ref<const std::string&>();
}

Bytes Document::bytes(const Json& size, const std::string& place) const {
  if (size.is_number_unsigned() && size.get<std::uint64_t>() <= graph::kMostGraphBytes.value) {
    return {size.get<std::uint64_t>()};
  }
  // "4.0e3" is a whole number, too.
  const double real = size.is_number_float() ? size.get<double>() : -1;
  if (real >= 0 && real <= static_cast<double>(graph::kMostGraphBytes.value) &&
      std::trunc(real) == real) {
    return {static_cast<std::uint64_t>(real)};
  }
  refuse(place, fmt::format("expected a whole number from 0 to {}", graph::kMostGraphBytes.value));
}

// WfFormat knows no accelerators: where a machine has some, they are taken to be as fast as a core.
Workflow::Seconds Document::seconds(const Json& runtime, At at) const {
  const double value = runtime.is_number() ? runtime.get<double>() : -1;
  if (!(value >= 0 && value <= graph::kMostTaskSeconds)) {
    refuse(at.text(), fmt::format("expected a number from 0 to {}", graph::kMostTaskSeconds));
  }
  return seconds_everywhere(value);
}

namespace {

void check_version(const Json& root, const Document& document) {
  constexpr std::array kVersions{"1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"};
  if (!root.is_object()) document.refuse("the file", "expected an object");
  const auto version = root.find("schemaVersion");
  if (version == root.end()) document.refuse("schemaVersion", "is missing");
  if (std::ranges::any_of(kVersions, [&](const char* known) { return *version == known; })) return;
  document.refuse(
      "schemaVersion",
      fmt::format(
          "expected \"{}\" to \"{}\", found {}", kVersions.front(), kVersions.back(),
          version->is_string() ? in_quotes(version->get_ref<const std::string&>()) : "no string"));
}

// The shape decides, not the version: programs write a new one over what they have always written.
bool has_specification(const Json& root, const Document& document) {
  const Json& workflow = document.member(root, "", "workflow", Json::value_t::object);
  if (workflow.contains("specification")) return true;
  if (workflow.contains("tasks") || workflow.contains("jobs")) return false;
  return root["schemaVersion"].get_ref<const std::string&>() >= "1.5";
}

}  // namespace

}  // namespace wfformat

graph::Graph parse_wfformat(std::string_view text, const std::string& origin, Notes& notes) {
  wfformat::Json root;
  try {
    root = wfformat::Json::parse(text.begin(), text.end());
  } catch (const wfformat::Json::parse_error& error) {
    refuse_syntax(origin, text, error.byte, error);
  } catch (const wfformat::Json::exception& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()));  // a number out of range
  }
  const wfformat::Document document(origin);
  wfformat::check_version(root, document);
  return wfformat::has_specification(root, document) ? wfformat::read_specification(root, document)
                                                     : wfformat::read_tasks(root, document, notes);
}

graph::Graph parse_wfformat(std::string_view text, const std::string& origin) {
  Notes unheard;
  return parse_wfformat(text, origin, unheard);
}

}  // namespace vicinal::graphfiles
