// Our own format, written. By hand: a document in memory would be ten times the graph.
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphfiles/graph_file.hpp"
#include "graphfiles/json_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

std::string json_text(const std::string& text) {
  // Not UTF-8: replaced rather than refused.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The names of data or of kernels as they stand in the file, where they are keys.
template <typename Items>
std::vector<std::string> keys(const Items& items, std::string_view what) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  std::unordered_set<std::string_view> seen;
  for (const auto& item : items) {
    texts.push_back(json_text(item.name));
  }
  for (const std::string& text : texts) {
    if (!seen.insert(text).second) {
      throw UsageError(fmt::format("cannot write the graph: two {} are named {}", what, text));
    }
  }
  return texts;
}

std::string datum_text(const graph::GraphDatum& datum) {
  std::string text = fmt::format("{{\"bytes\": {}", datum.bytes.value);
  if (datum.has_home)
    text += datum.home == NodeKind::disk ? ", \"home\": \"disk\"" : ", \"home\": \"ram\"";
  return text + "}";
}

// {:} gives the shortest text that reads as the same number.
std::string kernel_text(const graph::GraphKernel& kernel) {
  std::string seconds;
  for (std::size_t kind = 0; kind < kernel.seconds.size(); ++kind) {
    if (kernel.seconds[kind] == 0) continue;
    seconds += fmt::format("{}\"{}\": {}", seconds.empty() ? "" : ", ",
                           to_string(static_cast<ProcessorKind>(kind)), kernel.seconds[kind]);
  }
  std::string text = fmt::format("{{\"seconds\": {{{}}}", seconds);
  if (kernel.flops != 0) text += fmt::format(", \"flops\": {}", kernel.flops);
  if (kernel.synchronous) text += ", \"synchronous\": true";
  return text + "}";
}

void write_tasks(const graph::TaskGraph& graph, const std::vector<std::string>& data,
                 const std::vector<std::string>& kernels, std::ostream& out) {
  std::string line;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const graph::GraphTask& task = graph.tasks[t];
    line = t == 0 ? "\n    " : ",\n    ";
    fmt::format_to(std::back_inserter(line), "{{\"kernel\": {}, \"accesses\": [",
                   kernels[task.kernel]);
    bool first = true;
    for (const graph::GraphAccess& access : graph.accesses_of(task)) {
      fmt::format_to(std::back_inserter(line), "{}[{}, \"{}\"]", first ? "" : ", ",
                     data[access.datum], to_string(access.mode));
      first = false;
    }
    line += "]";
    if (task.priority != 0)
      fmt::format_to(std::back_inserter(line), ", \"priority\": {}", task.priority);
    if (!task.name.empty()) line += ", \"name\": " + json_text(task.name);
    out << line << "}";
  }
}

}  // namespace

void write_graph_json(const graph::TaskGraph& graph, std::ostream& out) {
  const std::vector<std::string> data = keys(graph.data, "data");
  const std::vector<std::string> kernels = keys(graph.kernels, "kernels");

  out << "{\n  \"format\": \"vicinal-graph-1\",\n";
  if (!graph.name.empty()) out << "  \"name\": " << json_text(graph.name) << ",\n";
  if (!graph.precision.empty()) out << "  \"precision\": " << json_text(graph.precision) << ",\n";
  out << "  \"data\": {";
  for (std::size_t d = 0; d < data.size(); ++d) {
    out << (d == 0 ? "\n    " : ",\n    ") << data[d] << ": " << datum_text(graph.data[d]);
  }
  out << "\n  },\n  \"kernels\": {";
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    out << (k == 0 ? "\n    " : ",\n    ") << kernels[k] << ": " << kernel_text(graph.kernels[k]);
  }
  out << "\n  },\n  \"tasks\": [";
  write_tasks(graph, data, kernels, out);
  out << "\n  ]\n}\n";
}

}  // namespace vicinal::graphfiles
