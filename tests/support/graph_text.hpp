// What the tests of graphs and of their files have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/sound.hpp"
#include "graphfiles/graph_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::testing {

using graph::Graph;
using namespace graphfiles;

using Parse = Graph (*)(std::string_view, const std::string&);

inline std::string refusal(Parse parse, std::string_view text) {
  try {
    parse(text, "g.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

inline std::string written(const Graph& graph) {
  std::ostringstream out;
  write_graph_json(graph, out);
  return out.str();
}

inline std::vector<std::string> data_names(const Graph& graph) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < graph.data().size(); ++d) names.emplace_back(graph.data_name(d));
  return names;
}

inline std::vector<std::string> task_names(const Graph& graph) {
  std::vector<std::string> names;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) names.emplace_back(graph.task_name(t));
  return names;
}

// "A R, B RW"
inline std::string accesses(const Graph& graph, std::size_t task) {
  std::string text;
  for (const Graph::Access& access : graph.accesses_of(graph.tasks()[task])) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", graph.data_name(access.datum),
                        to_string(access.mode));
  }
  return text;
}

// Every number within the lists it points into, every datum readable when it is read.
inline void expect_valid(const Graph& graph) {
  for (const Graph::Task& task : graph.tasks()) {
    ASSERT_LT(task.kernel, graph.kernels().size());
    ASSERT_LE(task.access_count, graph::kMostAccesses);
    ASSERT_LE(task.first_access + task.access_count, graph.accesses().size());
  }
  for (const Graph::Access& access : graph.accesses()) ASSERT_LT(access.datum, graph.data().size());
  for (const Graph::Reduction& reduction : graph.reductions()) {
    ASSERT_LT(reduction.datum, graph.data().size());
    ASSERT_LT(std::max(reduction.neutral, reduction.combine), graph.kernels().size());
  }
  for (const Graph::Datum& datum : graph.data()) ASSERT_LE(datum.bytes, graph::kMostGraphBytes);
  for (const Graph::Kernel& kernel : graph.kernels()) {
    for (const double seconds : kernel.seconds) ASSERT_TRUE(seconds >= 0 && std::isfinite(seconds));
    ASSERT_TRUE(kernel.flops >= 0 && std::isfinite(kernel.flops));
  }
  ASSERT_NO_THROW(graph::require_sound(graph, "valid"));
}

struct Refused {
  std::string text;
  std::string message;  // part of it
};

// Four tasks, not in their order: split writes two chunks, each is searched, cat joins what was found;
// audit follows cat without a file.
inline constexpr std::string_view kWorkflow = R"({
  "name": "blast-small", "schemaVersion": "1.5", "author": {"name": "x", "email": "y"},
  "workflow": {
    "specification": {
      "tasks": [
        {"name": "audit", "id": "audit_ID0000005", "parents": ["cat_ID0000004"], "children": []},
        {"name": "cat", "id": "cat_ID0000004", "parents": ["search_ID0000002", "search_ID0000003"],
         "children": ["audit_ID0000005"], "inputFiles": ["found1", "found2"], "outputFiles": ["all"]},
        {"name": "search_ID0000002", "id": "search_ID0000002", "parents": ["split_ID0000001"],
         "children": ["cat_ID0000004"], "inputFiles": ["chunk1", "database"], "outputFiles": ["found1"]},
        {"name": "search_ID0000003", "id": "search_ID0000003", "parents": ["split_ID0000001"],
         "children": ["cat_ID0000004"], "inputFiles": ["chunk2", "database"], "outputFiles": ["found2"]},
        {"name": "split", "id": "split_ID0000001", "parents": [],
         "children": ["search_ID0000002", "search_ID0000003"],
         "inputFiles": ["fasta"], "outputFiles": ["chunk1", "chunk2"]}
      ],
      "files": [
        {"id": "fasta", "sizeInBytes": 1000}, {"id": "chunk1", "sizeInBytes": 500},
        {"id": "chunk2", "sizeInBytes": 500}, {"id": "database", "sizeInBytes": 4000},
        {"id": "found1", "sizeInBytes": 10}, {"id": "found2", "sizeInBytes": 20},
        {"id": "all", "sizeInBytes": 30}, {"id": "unused", "sizeInBytes": 1}
      ]
    },
    "execution": {
      "makespanInSeconds": 10, "executedAt": "2024-01-01T00:00:00Z",
      "tasks": [
        {"id": "split_ID0000001", "runtimeInSeconds": 1.5, "coreCount": 1},
        {"id": "search_ID0000002", "runtimeInSeconds": 3.25},
        {"id": "search_ID0000003", "runtimeInSeconds": 4},
        {"id": "cat_ID0000004", "runtimeInSeconds": 0.5},
        {"id": "audit_ID0000005", "runtimeInSeconds": 0}
      ]
    }
  }
})";

}  // namespace vicinal::testing
