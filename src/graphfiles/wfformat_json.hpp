// What the readers of all versions of WfFormat have in common: how they walk the document, and its two shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "graph/graph.hpp"
#include "graphfiles/workflow.hpp"

namespace vicinal::graphfiles::wfformat {

using Json = nlohmann::json;
using Number = graph::Graph::Number;
using Ids = std::unordered_map<std::string, Number>;

// A place in the file, put into words only when there is something to say about it.
struct At {
  std::string_view list;
  std::size_t index = 0;
  std::string_view key = {};
  std::string text() const;
};

class Document {
 public:
  explicit Document(const std::string& origin) : origin_(origin) {}

  [[noreturn]] void refuse(const std::string& place, const std::string& message) const;
  const Json& member(const Json& object, std::string_view place, const char* key,
                     Json::value_t type) const;
  const Json& field(const Json& object, At at) const;
  const std::string& text(const Json& object, At at) const;  // not empty
  Bytes bytes(const Json& size, const std::string& place) const;
  // At least a nanosecond: 0 would mean that it is not known.
  Workflow::Seconds seconds(const Json& runtime, At at) const;

  const std::string& origin() const { return origin_; }

 private:
  const std::string& origin_;
};

// From 1.5 on: workflow.specification and workflow.execution.
graph::Graph read_specification(const Json& root, const Document& document);

// Up to 1.4: workflow.tasks, or workflow.jobs, which name their files themselves.
graph::Graph read_tasks(const Json& root, const Document& document, Notes& notes);

}  // namespace vicinal::graphfiles::wfformat
