// A figure of a paper: its simulations, its curves, and the paper's statements beside them. figures.hpp has the table of
// figures; a new figure takes an entry in the file of its paper.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reproduction/results.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reproduction {

enum class Effort : std::uint8_t { quick, usual, full };
std::string_view to_string(Effort effort);

// A curve, and the same in every panel.
struct Series {
  std::string_view label;   // "DARTS"
  std::string_view policy;  // with its settings
  // The options of these names: of the runtime that the paper measured.
  std::string_view memory_rules = {};
  std::uint32_t look_ahead = 0;
  bool beside = false;  // what Vicinal does by itself: no statement is judged by it
  // On clusters, see OnRanks.
  std::string_view broadcast = {};  // behind what the panel says
  bool is_bare = false;
  std::string_view receive_placement = {};
};

// What grows from point to point. `tile`: the matrix stays as large as it is with Panel::tiles of Panel::tile.
enum class Varied : std::uint8_t {
  tiles,
  memory,
  gpus,
  ranks,            // of one size
  ranks_and_tiles,  // the matrix grows with them, so that each has as much of it
  recipients,       // of a broadcast
  bytes,            // of it
  rank,             // whose time it is
  tile,
  grid_rows
};
using Values = std::vector<std::uint64_t>;

// Where a row stands on the axis of its panel.
struct Axis {
  std::string_view label;
  double (*value)(const Row& row);
  bool is_logarithmic = false;
};
// Gigabytes, and megabytes, of 10^9 and 10^6 bytes.
extern const Axis kWorkingSetGb;
extern const Axis kWorkingSetMb;
extern const Axis kMemoryMb;  // of one GPU
extern const Axis kOrder;     // of the matrix, in elements
extern const Axis kGpus;
extern const Axis kRanks;
extern const Axis kRecipients;
extern const Axis kMessageKb;
extern const Axis kRank;
extern const Axis kTile;
extern const Axis kGridRows;

// A machine and an application, of which a single size varies. Sizes are those of graphs::GraphRequest.
struct Panel {
  std::string name;
  Axis axis;
  std::string_view machine;
  std::string_view application;
  std::uint64_t tile = 0;
  std::uint64_t panel_elements = 0;
  std::string_view precision = "float";
  bool bottom_levels = true;  // priorities; else those that the generator gives
  bool on_disk = false;       // where the data lie at the start; else in RAM
  bool results_anew = false;  // the first task that writes a datum does not read it

  Varied varied = Varied::tiles;
  // By Effort: what varies; memory in MiB of each GPU. With Varied::ranks_and_tiles `tiles` are those of the first number of ranks.
  std::array<Values, 3> values = {};
  // What does not vary.
  std::uint64_t tiles = 0;
  std::optional<std::uint32_t> gpus = {};
  std::optional<std::uint32_t> cpus = {};
  std::optional<Bytes> gpu_memory = {};
  OnRanks on_ranks = {};

  std::vector<std::string_view> without = {};  // labels of series
  bool drawn = true;                           // else it is measured for a statement alone
};

// A curve that no policy makes, of the panel and the size alone.
struct Limit {
  std::string_view label;
  double (*value)(const Measures& measures);  // in the unit of its plot; 0: none
  std::string_view style;                     // of matplotlib
};

// A row of pictures, one per panel.
struct Plot {
  std::string_view name;  // "Performance"
  std::string_view unit;  // "TFlop/s"
  double (*value)(const Measures& measures);
  std::vector<Limit> limits = {};
  std::string_view panel = {};  // of this one alone; empty: of all

  bool shows(const Panel& one) const { return panel.empty() || panel == one.name; }
};

// An upright line where so large a share of the working set just fits in the memory.
struct Mark {
  std::string_view label;
  double share = 1;
  std::string_view colour;
};

// The order in which a run ends its tasks, drawn on the matrix.
struct OrderRun {
  std::string_view name;
  std::string_view policy;
  std::uint32_t gpus = 1;
  bool drawn = true;
  bool bottom_levels = true;  // priorities; else those that the generator gives
  std::string_view memory_rules = {};
};
struct OrderView {
  std::string_view machine;
  std::uint64_t tile = 0;
  std::array<std::uint64_t, 3> tiles = {};   // by Effort
  std::array<Bytes, 3> gpu_memory = {};      // of each
  std::array<std::uint64_t, 3> colour = {};  // tasks of one colour
  std::vector<OrderRun> runs = {};
  std::uint32_t steps = 1;  // outer iterations of the factorisation that are drawn
};

struct Verdict {
  // sign: what the paper says is so, but its number is not met, see kTolerance.
  enum class Kind : std::uint8_t { holds, sign, fails, unknown };
  Kind kind = Kind::unknown;
  std::string measured;
};

struct Statement {
  std::string_view sentence;  // what the paper says, in our words
  std::string_view where;     // "section 7.1.3"
  std::string_view rule;      // when it is taken to hold
  Verdict (*check)(const Results& results);
};

struct Figure {
  std::string_view name;      // "000-10"
  std::string_view sentence;  // what it shows
  std::string note;  // what differs from the paper's experiment, or what the paper does not say
  std::vector<Panel> panels = {};
  std::vector<Series> series = {};
  std::vector<Plot> plots = {};
  std::vector<Mark> marks = {};
  OrderView order = {};  // with runs: then there are no panels
  std::vector<Statement> statements;
  // Of statements that do not hold, or in sign only: what was tried to find the cause, and what came out. Markdown.
  std::vector<std::string_view> causes = {};

  bool is_order() const { return !order.runs.empty(); }
};

// The simulations of a figure, panel by panel, size by size.
std::vector<Point> points_of(const Figure& figure, Effort effort);

}  // namespace vicinal::reproduction
