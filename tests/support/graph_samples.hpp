// The graph files of tests/graphs, written by hand after the public descriptions of their formats.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::testing {

inline std::string graph_sample_path(const std::string& name) {
  return std::string(VICINAL_SOURCE_DIR) + "/tests/graphs/" + name;
}

inline std::string graph_sample(const std::string& name) {
  std::ifstream file(graph_sample_path(name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> graph_sample_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(graph_sample_path(""))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace vicinal::testing
