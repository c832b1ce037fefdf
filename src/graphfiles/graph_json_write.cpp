// Our own format, written. By hand: a document in memory would be ten times the graph.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

std::string json_text(std::string_view text) {
  // Not UTF-8: replaced rather than refused.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The names of data or of kernels as they stand in the file, where they are keys.
template <typename Name>
std::vector<std::string> keys(std::size_t count, std::string_view what, Name name) {
  std::vector<std::string> texts;
  texts.reserve(count);
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(json_text(name(i)));
  for (const std::string& text : texts) {
    if (!seen.insert(text).second) {
      throw UsageError(fmt::format("cannot write the graph: two {} are named {}", what, text));
    }
  }
  return texts;
}

// By datum, what it is a part of; none where no datum is in parts.
std::vector<std::optional<std::uint32_t>> wholes_of(const graph::Graph& graph) {
  std::vector<std::optional<std::uint32_t>> wholes(
      graph.partitions().empty() ? 0 : graph.data().size());
  for (const auto& [whole, first, count] : graph.partitions()) {
    std::fill_n(wholes.begin() + first, count, whole);
  }
  return wholes;
}

// By datum how its reduction stands in the file; empty: it has none. None where no datum has one.
std::vector<std::string> reductions_of(const graph::Graph& graph,
                                       const std::vector<std::string>& kernels) {
  std::vector<std::string> texts(graph.reductions().empty() ? 0 : graph.data().size());
  for (const auto& [datum, neutral, combine] : graph.reductions()) {
    texts[datum] = fmt::format(", \"reduction\": {{\"neutral\": {}, \"combine\": {}}}",
                               kernels[neutral], kernels[combine]);
  }
  return texts;
}

// `whole`: the name of what it is a part of, as it stands in the file, or empty.
std::string datum_text(const graph::Graph::Datum& datum, std::string_view whole,
                       std::string_view reduction) {
  std::string text = fmt::format("{{\"bytes\": {}", datum.bytes.value);
  if (datum.home)
    text += datum.home == NodeKind::disk ? ", \"home\": \"disk\"" : ", \"home\": \"ram\"";
  if (!whole.empty()) text += fmt::format(", \"part_of\": {}", whole);
  return fmt::format("{}{}}}", text, reduction);
}

// {:} gives the shortest text that reads as the same number.
std::string kernel_text(const graph::Graph::Kernel& kernel) {
  std::string seconds;
  for (std::size_t kind = 0; kind < kernel.seconds.size(); ++kind) {
    if (kernel.seconds[kind] == 0) continue;
    seconds += fmt::format("{}\"{}\": {}", seconds.empty() ? "" : ", ",
                           to_string(static_cast<ProcessorKind>(kind)), kernel.seconds[kind]);
  }
  std::string text = fmt::format("{{\"seconds\": {{{}}}", seconds);
  if (kernel.flops != 0) text += fmt::format(", \"flops\": {}", kernel.flops);
  if (kernel.synchronous) text += ", \"synchronous\": true";
  if (kernel.cores_only) text += ", \"cores_only\": true";
  return text + "}";
}

void write_tasks(const graph::Graph& graph, const std::vector<std::string>& data,
                 const std::vector<std::string>& kernels, std::ostream& out) {
  std::string line;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const graph::Graph::Task& task = graph.tasks()[t];
    line = t == 0 ? "\n    " : ",\n    ";
    fmt::format_to(std::back_inserter(line), "{{\"kernel\": {}, \"accesses\": [",
                   kernels[task.kernel]);
    bool first = true;
    for (const graph::Graph::Access& access : graph.accesses_of(task)) {
      fmt::format_to(std::back_inserter(line), "{}[{}, \"{}\"]", first ? "" : ", ",
                     data[access.datum], to_string(access.mode));
      first = false;
    }
    line += "]";
    if (task.priority != 0)
      fmt::format_to(std::back_inserter(line), ", \"priority\": {}", task.priority);
    if (!graph.task_name(t).empty()) line += ", \"name\": " + json_text(graph.task_name(t));
    out << line << "}";
  }
}

}  // namespace

void write_graph_json(const graph::Graph& graph, std::ostream& out) {
  if (graph.has_predecessors()) {
    throw UsageError("cannot write the graph: files have no dependencies without data");
  }
  const std::vector<std::string> data =
      keys(graph.data().size(), "data", [&](std::size_t d) { return graph.data_name(d); });
  const std::vector<std::string> kernels =
      keys(graph.kernels().size(), "kernels",
           [&](std::size_t k) { return std::string_view(graph.kernels()[k].name); });

  out << "{\n  \"format\": \"vicinal-graph-1\",\n";
  const auto& [name, precision, hints_wont_use, dense] = graph.application();
  if (!name.empty()) out << "  \"name\": " << json_text(name) << ",\n";
  if (!precision.empty()) out << "  \"precision\": " << json_text(precision) << ",\n";
  out << "  \"data\": {";
  const auto wholes = wholes_of(graph);
  const auto reductions = reductions_of(graph, kernels);
  for (std::size_t d = 0; d < data.size(); ++d) {
    const bool is_part = !wholes.empty() && wholes[d];
    out << (d == 0 ? "\n    " : ",\n    ") << data[d] << ": "
        << datum_text(graph.data()[d], is_part ? std::string_view(data[*wholes[d]]) : "",
                      reductions.empty() ? "" : std::string_view(reductions[d]));
  }
  out << "\n  },\n  \"kernels\": {";
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    out << (k == 0 ? "\n    " : ",\n    ") << kernels[k] << ": " << kernel_text(graph.kernels()[k]);
  }
  out << "\n  },\n  \"tasks\": [";
  write_tasks(graph, data, kernels, out);
  out << "\n  ]\n}\n";
}

}  // namespace vicinal::graphfiles
