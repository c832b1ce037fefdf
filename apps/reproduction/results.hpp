// What has been measured for a figure: its points, by their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reproduction/on_ranks.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reproduction {

// The parameters of one simulation.
struct Point {
  std::string panel = {};
  std::string series = {};
  double x = 0;  // as its panel varies; in the picture it may be something else that grows with it
  std::string application = {};  // empty: a broadcast alone, see OnRanks
  std::uint64_t tiles = 0;
  std::uint64_t tile = 0;
  std::uint64_t panel_elements = 0;  // see graphs::GraphRequest::panel
  std::string precision = {};
  bool bottom_levels = true;
  bool on_disk = false;
  bool results_anew = false;
  std::string machine = {};
  std::optional<std::uint32_t> gpus = {};
  std::optional<std::uint32_t> cpus = {};
  std::optional<Bytes> gpu_memory = {};
  std::string policy = {};
  std::string memory_rules = {};
  std::uint32_t look_ahead = 0;  // 0: the engine's own
  OnRanks on_ranks = {};
  bool beside = false;  // see Series; no parameter
};

// What one simulation gave. The limits are of the graph and the machine, whatever the policy.
struct Measures {
  double seconds = 0;
  double flops = 0;
  double from_below = 0;     // bytes from RAM into GPUs, or from the disk into RAM
  double between_gpus = 0;   // bytes
  double written_back = 0;   // bytes
  double working_set = 0;    // bytes of what is there at the start
  double memory = 0;         // bytes of the limited memories together; 0: none is limited
  double least_seconds = 0;  // of the work on all workers, without dependencies
  double bus_bytes = 0;      // that the way into the limited memories carries in least_seconds
  double formula_bytes = 0;  // leading term of the bound on loads that the papers give
  double least_bytes = 0;    // that any schedule loads
  double between_ranks = 0;  // bytes of content
  double broadcasts = 0;     // versions that went to several ranks together
  double late_sends = 0;     // which missed them

  double gflops() const { return seconds > 0 ? flops / seconds * 1e-9 : 0; }
  double most_gflops() const { return least_seconds > 0 ? flops / least_seconds * 1e-9 : 0; }
  double loaded() const { return from_below + between_gpus; }
  bool fits() const { return memory <= 0 || working_set <= memory; }
};

struct Row {
  Point point;
  Measures measures;
};

// An end of a task, for the views of orders.
struct OrderedTask {
  std::uint64_t place = 0;  // among all tasks of the run, in the order of their ends
  std::uint32_t worker = 0;
  std::uint32_t step = 0;  // how often its tile was written before
  std::uint32_t row = 0;   // of the tile that it writes
  std::uint32_t column = 0;
  // Numbers of the tiles that the task uses; the written tile comes last.
  std::vector<std::uint32_t> tiles = {};
};
struct OrderedRun {
  std::string name;                // OrderRun::name
  std::uint64_t capacity = 0;      // tiles that fit in one memory
  std::uint64_t colour = 0;        // tasks of one colour
  std::vector<OrderedTask> tasks;  // in the order of their ends
};

enum class Where : std::uint8_t { everywhere, fitting, beyond };

// For statements. What is not there, for its policy or graph is missing or its run failed, is left out.
class Results {
 public:
  Results() = default;
  explicit Results(std::vector<Row> rows) : rows_(std::move(rows)) {}
  explicit Results(std::vector<OrderedRun> orders) : orders_(std::move(orders)) {}

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<OrderedRun>& orders() const { return orders_; }
  const OrderedRun* order(std::string_view name) const;

  // `panel` empty: of all. In the order in which they were measured.
  std::vector<const Row*> of(std::string_view panel, std::string_view series,
                             Where where = Where::everywhere) const;
  const Row* at(std::string_view panel, std::string_view series, double x) const;
  // Labels, in the order in which they appear, of what statements are judged by.
  std::vector<std::string> series(std::string_view panel = {}) const;
  std::vector<std::string> panels() const;
  std::vector<double> sizes(std::string_view panel) const;

 private:
  std::vector<Row> rows_;
  std::vector<OrderedRun> orders_;
};

}  // namespace vicinal::reproduction
