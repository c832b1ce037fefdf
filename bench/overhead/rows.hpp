// From the samples of all libraries and rounds to rows: medians and spread, as JSON and as a table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "comparison.hpp"

namespace overhead {

class Rows {
 public:
  // One line that overhead/samples.hpp printed.
  void add(const nlohmann::json& line) {
    Row& row = rows_[{line.at("shape"), line.at("workers"), line.at("runtime")}];
    row.tasks = line.at("tasks");
    row.inferred = line.at("inferred");
    if (line.contains("runs_at_creation")) row.runs_at_creation = line["runs_at_creation"];
    for (const char* what : {"both", "cpu", "submit", "execute", "bytes_per_task", "gflops"}) {
      if (!line.contains(what)) continue;
      std::vector<double>& values = row.values[what];
      if (std::string_view(what) == "gflops") {
        for (const double gflops : line[what]) values.push_back(gflops);
        continue;
      }
      if (line[what].is_array()) {
        // Of times, per task.
        for (const double ns : line[what]) values.push_back(ns / static_cast<double>(row.tasks));
      } else {
        values.push_back(line[what]);
      }
    }
  }

  nlohmann::json json() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& key : sorted()) {
      const auto& [shape, workers, runtime] = key;
      const Row& row = rows_.at(key);
      nlohmann::json to = {{"shape", shape},
                           {"runtime", runtime},
                           {"workers", workers},
                           {"tasks", row.tasks},
                           {"inferred", row.inferred}};
      if (row.runs_at_creation) to["runs_at_creation"] = *row.runs_at_creation;
      if (row.values.contains("bytes_per_task")) {
        to["bytes_per_task"] = number(row.median("bytes_per_task"));
      } else if (row.values.contains("gflops")) {
        to["gflops"] = number(row.median("gflops"));
        to["gflops_least"] = number(row.quantile("gflops", 0));
        to["gflops_most"] = number(row.quantile("gflops", 1));
        to["repetitions"] = row.values.at("gflops").size();
      } else {
        to["ns_per_task"] = number(row.median("both"));
        to["ns_least"] = number(row.quantile("both", 0));
        to["ns_most"] = number(row.quantile("both", 1));
        to["ns_submit"] = number(row.median("submit"));
        to["ns_execute"] = number(row.median("execute"));
        to["cpu_ns_per_task"] = number(row.median("cpu"));
        to["repetitions"] = row.values.at("both").size();
      }
      rows.push_back(std::move(to));
    }
    return rows;
  }

  void print(std::FILE* to) const {
    std::fprintf(to, "%-12s %2s  %-31s %8s %17s %8s %8s %8s\n", "shape", "w", "runtime", "ns/task",
                 "least..most", "submit", "execute", "cpu");
    for (const auto& key : sorted()) {
      const auto& [shape, workers, runtime] = key;
      const Row& row = rows_.at(key);
      std::fprintf(to, "%-12s %2u  %-31s ", shape.c_str(), workers, runtime.c_str());
      if (row.values.contains("bytes_per_task")) {
        std::fprintf(to, "%.0f bytes per pending task\n", *row.median("bytes_per_task"));
        continue;
      }
      if (row.values.contains("gflops")) {
        std::fprintf(to, "%8.1f %8.1f..%-7.1f GFlop/s\n", *row.median("gflops"),
                     *row.quantile("gflops", 0), *row.quantile("gflops", 1));
        continue;
      }
      std::fprintf(to, "%8.1f %8.1f..%-7.1f %8s %8s %8.1f%s\n", *row.median("both"),
                   *row.quantile("both", 0), *row.quantile("both", 1),
                   text(row.median("submit")).c_str(), text(row.median("execute")).c_str(),
                   *row.median("cpu"), row.runs_at_creation.value_or(false) ? "  at creation" : "");
    }
  }

 private:
  using Key = std::tuple<std::string, unsigned, std::string>;
  struct Row {
    std::uint64_t tasks = 0;
    bool inferred = false;
    std::optional<bool> runs_at_creation;
    std::map<std::string, std::vector<double>> values;

    // None if there are no values.
    std::optional<double> quantile(const char* what, double part) const {
      const auto found = values.find(what);
      return found == values.end() ? std::nullopt : bench::quantile(found->second, part);
    }
    std::optional<double> median(const char* what) const { return quantile(what, 0.5); }
  };

  static nlohmann::json number(std::optional<double> value) {
    return value ? nlohmann::json(static_cast<double>(static_cast<std::int64_t>(*value * 10)) / 10)
                 : nlohmann::json();
  }
  static std::string text(std::optional<double> value) {
    if (!value) return "-";
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.1f", *value);
    return digits;
  }

  // By shape and workers; the libraries as they were measured.
  std::vector<Key> sorted() const {
    const auto place = [](const Key& key) {
      constexpr const char* shapes[] = {"independent", "chain", "cholesky", "pending"};
      const auto* at = std::ranges::find(shapes, std::get<0>(key));
      return std::pair(at - std::begin(shapes), std::get<1>(key));
    };
    std::vector<Key> keys = rows_.keys();
    std::ranges::stable_sort(keys, std::less<>{}, place);
    return keys;
  }

  bench::RowsInOrder<Key, Row> rows_;
};

}  // namespace overhead
