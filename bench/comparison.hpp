// What the benchmarks share that run other executables and compare: finding and running them, medians,
// where the rows go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bench {

inline std::filesystem::path this_executable() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

// This executable and, of the peers beside it, those that were built; the others are said to be skipped.
inline std::vector<std::filesystem::path> executables_with(std::span<const char* const> peers) {
  std::vector<std::filesystem::path> executables = {this_executable()};
  for (const char* peer : peers) {
    const std::filesystem::path path = this_executable().parent_path() / peer;
    if (std::filesystem::exists(path)) {
      executables.push_back(path);
    } else {
      std::fprintf(stderr, "Skipped: %s (not built, its library was not found)\n", peer);
    }
  }
  return executables;
}

// What the command prints on standard output. Throws std::runtime_error if it fails.
inline std::string output_of(const std::string& command) {
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("cannot start " + command);
  std::string text;
  char piece[4096];
  while (const std::size_t bytes = std::fread(piece, 1, sizeof(piece), output)) {
    text.append(piece, bytes);
  }
  if (pclose(output) != 0) throw std::runtime_error(command + " failed");
  return text;
}

// Of the sorted values, between the two nearest; none if there are no values.
inline std::optional<double> quantile(std::vector<double> values, double part) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const double at = part * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}
inline std::optional<double> median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

// In the order in which their keys came.
template <typename Key, typename Row>
class RowsInOrder {
 public:
  Row& operator[](const Key& key) {
    if (!rows_.contains(key)) keys_.push_back(key);
    return rows_[key];
  }
  const Row& at(const Key& key) const { return rows_.at(key); }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, Row> rows_;
  std::vector<Key> keys_;
};

// To standard output ("-"), to a file, or nowhere ("").
inline void write_json(const nlohmann::json& json, const std::string& to) {
  const std::string text = json.dump(1) + "\n";
  if (to == "-") {
    std::fputs(text.c_str(), stdout);
  } else if (!to.empty() && !(std::ofstream(to) << text)) {
    throw std::runtime_error("cannot write " + to);
  }
}

// Of the last minute.
inline double load_of_machine() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

}  // namespace bench
