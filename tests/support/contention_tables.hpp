// Parameters of the contention model as printed: "On the Interactions between HPC Task-based Runtime Systems and
// Communication Libraries", appendix E, in MB/s.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vicinal/contention.hpp"

namespace vicinal::testing {

struct ContentionColumn {
  std::uint32_t most_beside;
  double total_beside;
  std::uint32_t most_alone;
  double total_alone;
  double total_at_most_alone;
  double least_share;
  double loss_before;
  double loss_after;
  double core;
  double transfer;
};

inline ContentionParameters parameters_of(const ContentionColumn& column) {
  const auto rate = [](double megabytes) { return BytesPerSecond{megabytes * 1e6}; };
  return {.most_beside = column.most_beside,
          .total_beside = rate(column.total_beside),
          .most_alone = column.most_alone,
          .total_alone = rate(column.total_alone),
          .total_at_most_alone = rate(column.total_at_most_alone),
          .loss_before = rate(column.loss_before),
          .loss_after = rate(column.loss_after),
          .core = rate(column.core),
          .transfer = rate(column.transfer),
          .least_share = column.least_share};
}

struct ContentionTable {
  std::string machine;
  ContentionModel model;
};

inline ContentionTable contention_table(const std::string& machine, std::uint32_t cores,
                                        std::uint32_t nodes, const ContentionColumn& local,
                                        const ContentionColumn& remote) {
  return {machine,
          {.sockets = 2,
           .numa_nodes_per_socket = nodes,
           .cores_per_socket = cores,
           .local = parameters_of(local),
           .remote = parameters_of(remote)}};
}

// Cores are those of appendix C. Of henri-subnuma, remote, most_beside is printed as 11, above most_alone; loss_before is
// right with 2: 859.1 = (16936.1 - 15217.8) / (4 - 2).
inline std::vector<ContentionTable> contention_tables() {
  return {
      contention_table("bora", 18, 1,
                       {18, 83849.6, 18, 80107.7, 83849.6, 0.951, 0.0, 0.0, 4489.2, 9948.4},
                       {8, 32315.3, 8, 32733.3, 32315.3, 0.936, 0.0, 1.6, 4487.6, 8784.7}),
      contention_table("dahu", 16, 1,
                       {11, 72147.6, 14, 70072.9, 71509.2, 0.959, 212.8, 656.8, 6656.5, 11341.2},
                       {5, 32102.5, 5, 32677.4, 32102.5, 0.949, 0.0, -38.4, 7171.3, 10607.0}),
      contention_table("diablo", 32, 1,
                       {32, 81846.8, 32, 70092.1, 81846.8, 0.967, 0.0, 0.0, 2221.1, 12139.7},
                       {32, 87081.5, 32, 67694.6, 87081.5, 0.908, 0.0, 0.0, 2210.2, 22394.3}),
      contention_table("henri", 18, 1,
                       {17, 73423.0, 18, 72589.9, 73387.7, 0.915, 35.3, 0.0, 4455.4, 11481.1},
                       {5, 31629.7, 7, 29130.7, 31278.1, 0.761, 175.8, 119.8, 4455.2, 11459.6}),
      contention_table("henri-subnuma", 18, 2,
                       {8, 42487.7, 11, 43655.6, 39718.9, 0.853, 922.9, 191.7, 4456.4, 11450.4},
                       {2, 16936.1, 4, 14726.2, 15217.8, 0.270, 859.1, 103.3, 4455.4, 11410.0}),
      contention_table("occigen", 14, 1,
                       {14, 53948.2, 14, 47817.2, 53948.2, 1.000, 0.0, 0.0, 3417.6, 6220.0},
                       {7, 24706.4, 7, 21137.3, 24706.4, 1.000, 0.0, 39.9, 3417.8, 6219.5}),
      contention_table("pyxis", 32, 1,
                       {24, 64626.9, 26, 62462.7, 64566.2, 0.990, 30.3, 56.9, 3211.5, 4958.6},
                       {25, 36737.2, 31, 32649.8, 36696.7, 0.945, 6.8, -8.4, 3030.8, 4390.1}),
  };
}

inline ContentionModel contention_model(const std::string& machine) {
  for (const ContentionTable& table : contention_tables()) {
    if (table.machine == machine) return table.model;
  }
  return {};
}

}  // namespace vicinal::testing
