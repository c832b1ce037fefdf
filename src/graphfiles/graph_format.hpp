// Which format a graph file has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vicinal::graphfiles {

enum class GraphFormat : std::uint8_t { own, wfformat, dot, dax, stg, starpu_tasks };

// By the first characters that are no comment, of JSON by the first key of the outermost object that only one format
// has; where these say nothing, by how the name of the file, `origin`, ends. Throws UsageError that names the formats.
GraphFormat format_of(std::string_view text, const std::string& origin);

}  // namespace vicinal::graphfiles
