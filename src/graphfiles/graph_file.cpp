#include "graphfiles/graph_file.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/regular_file.hpp"
#include "graphfiles/graph_format.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

// Larger than any graph that a computer can hold as one, and small enough that a wrong name does no harm.
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

std::string content_of(const std::string& path) {
  try {
    return base::RegularFile(path).text(kMostBytes);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(
        fmt::format("cannot read the graph file \"{}\": {}; {}", path, refused.why,
                    refused.remedy.empty() ? "give one of docs/graph-file.md" : refused.remedy));
  }
}

}  // namespace

graph::Graph parse_graph(std::string_view text, const std::string& origin, Notes& notes) {
  switch (format_of(text, origin)) {
    case GraphFormat::own:
      return parse_graph_json(text, origin);
    case GraphFormat::wfformat:
      return parse_wfformat(text, origin, notes);
    case GraphFormat::dot:
      return parse_dot(text, origin);
    case GraphFormat::dax:
      return parse_dax(text, origin, notes);
    case GraphFormat::stg:
      return parse_stg(text, origin);
    case GraphFormat::starpu_tasks:
      break;
  }
  return parse_starpu_tasks(text, origin, notes);
}

graph::Graph parse_graph(std::string_view text, const std::string& origin) {
  Notes unheard;
  return parse_graph(text, origin, unheard);
}

graph::Graph read_graph(const std::string& path) {
  Notes notes;
  graph::Graph graph = parse_graph(content_of(path), path, notes);
  for (const std::string& note : notes) base::process_log().warn(fmt::format("{}: {}", path, note));
  return graph;
}

}  // namespace vicinal::graphfiles
