// Standard Task Graphs (https://www.kasahara.cs.waseda.ac.jp/schedule/): the number of tasks without the first and the
// last, which take no time, then a line for each task: its number, its time, how many predecessors it has, and these, each
// with the cost of what it sends where costs are given. Lines of # are for people.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/workflow.hpp"

namespace vicinal::graphfiles {

namespace stg {

namespace {

using Number = Workflow::Number;

// The units have no names in the files: a millisecond, and what a link of 1 GB/s moves in one.
constexpr double kSecondsPerUnit = 1e-3;
constexpr double kBytesPerUnit = 1e6;

constexpr std::size_t kMostStgTasks = 20'000'000;

class StgReader {
 public:
  StgReader(std::string_view text, const std::string& origin)
      : text_(text), origin_(origin), workflow_(origin, "tasks") {}

  graph::Graph read() {
    if (!read_line() || numbers_.size() != 1)
      refuse("expected the number of tasks, alone on a line");
    const double count = whole(0, kMostStgTasks, "number of tasks");
    workflow_.set_name("stg");
    while (read_line()) read_task();
    // With or without the first and the last.
    const auto read = static_cast<double>(workflow_.steps());
    if (read != count + 2 && read != count) {
      refuse(
          fmt::format("the file says {} tasks, and has {}: it is cut off, or the number is wrong",
                      count, read));
    }
    for (const Edge& edge : edges_) add_edge(edge);
    return workflow_.make_graph();
  }

 private:
  struct Edge {
    Number before;
    Number after;
    double cost;
    std::size_t line;
  };

  bool read_line();
  void read_task();
  void read_predecessors(Number task, std::size_t count);
  void add_edge(const Edge& edge);
  double whole(std::size_t index, double most, std::string_view what) const;
  double real(std::size_t index, std::string_view what) const;
  [[noreturn]] void refuse(const std::string& message) const { refuse_in(line_, message); }
  [[noreturn]] void refuse_in(std::size_t line, const std::string& message) const {
    refuse_at(origin_, fmt::format("line {}", line), message);
  }

  std::string_view text_;
  const std::string& origin_;
  Workflow workflow_;
  std::size_t line_ = 0;
  std::vector<double> numbers_;  // of the line
  std::vector<Edge> edges_;
  std::set<std::pair<Number, Number>> carrying_;
};

// The next one with numbers on it; false: there is none.
bool StgReader::read_line() {
  numbers_.clear();
  while (numbers_.empty() && !text_.empty()) {
    ++line_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    line = line.substr(0, line.find('#'));
    while (true) {
      const std::size_t first = line.find_first_not_of(" \t\r\v\f,");
      if (first == std::string_view::npos) break;
      line.remove_prefix(first);
      const std::string_view word = line.substr(0, line.find_first_of(" \t\r\v\f,"));
      double number = 0;
      const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || rest != word.data() + word.size() || !std::isfinite(number)) {
        refuse(fmt::format("expected a number, found {}", in_quotes(word)));
      }
      numbers_.push_back(number);
      line.remove_prefix(word.size());
    }
  }
  return !numbers_.empty();
}

double StgReader::whole(std::size_t index, double most, std::string_view what) const {
  const double number = numbers_[index];
  if (number >= 0 && number <= most && std::trunc(number) == number) return number;
  refuse(fmt::format("{}: expected a whole number from 0 to {}, found {}", what, most, number));
}

double StgReader::real(std::size_t index, std::string_view what) const {
  const double number = numbers_[index];
  constexpr double kMostUnits = graph::kMostTaskSeconds / kSecondsPerUnit;
  if (number >= 0 && number <= kMostUnits) return number;
  refuse(fmt::format("{}: expected a number from 0 to {}, found {}", what, kMostUnits, number));
}

void StgReader::read_task() {
  if (numbers_.size() < 3) {
    refuse("expected a task: its number, its time, how many predecessors it has, and these");
  }
  const double task = whole(0, kMostStgTasks, "task");
  const auto expected = static_cast<double>(workflow_.steps());
  if (task != expected)
    refuse(fmt::format("expected task {}, found {}: tasks stand in their order", expected, task));
  const double time = real(1, "time");
  const auto count = static_cast<std::size_t>(whole(2, kMostStgTasks, "predecessors"));
  const Number step = workflow_.add_step({.id = fmt::format("{}", task),
                                          .category = "task",
                                          .seconds = seconds_everywhere(time * kSecondsPerUnit)});
  read_predecessors(step, count);
}

// All on the line, or each with its cost on a line of its own.
void StgReader::read_predecessors(Number task, std::size_t count) {
  if (numbers_.size() == 3) {
    for (std::size_t p = 0; p < count; ++p) {
      if (!read_line() || numbers_.size() != 2) {
        refuse(fmt::format(
            "task {} has {} predecessors, and only {} stand there, each with its cost on a line",
            task, count, p));
      }
      edges_.push_back({static_cast<Number>(whole(0, kMostStgTasks, "predecessor")), task,
                        real(1, "cost"), line_});
    }
    return;
  }
  const std::size_t given = numbers_.size() - 3;
  if (given != count && given != 2 * count) {
    refuse(fmt::format(
        "task {} has {} predecessors, and {} numbers stand behind: write {}, or {} with costs",
        task, count, given, count, 2 * count));
  }
  const bool costs = given != count;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t at = 3 + (costs ? 2 * p : p);
    edges_.push_back({static_cast<Number>(whole(at, kMostStgTasks, "predecessor")), task,
                      costs ? real(at + 1, "cost") : 0, line_});
  }
}

void StgReader::add_edge(const Edge& edge) {
  if (edge.before >= workflow_.steps()) {
    refuse_in(edge.line,
              fmt::format("there is no task {}, which task {} follows", edge.before, edge.after));
  }
  workflow_.add_edge(edge.before, edge.after);
  if (edge.cost == 0) return;
  const double bytes = std::ceil(edge.cost * kBytesPerUnit);
  if (bytes > static_cast<double>(graph::kMostGraphBytes.value)) {
    refuse_in(edge.line, fmt::format("cost: {} units of a megabyte are more than a graph may have",
                                     edge.cost));
  }
  if (!carrying_.emplace(edge.before, edge.after).second) {
    refuse_in(edge.line, fmt::format("task {} follows task {} twice, each time with a cost",
                                     edge.after, edge.before));
  }
  const Number datum = workflow_.add_file(fmt::format("{} -> {}", edge.before, edge.after),
                                          {static_cast<std::uint64_t>(bytes)});
  workflow_.step(edge.before).accesses.push_back({datum, AccessMode::W});
  workflow_.step(edge.after).accesses.push_back({datum, AccessMode::R});
}

}  // namespace

}  // namespace stg

graph::Graph parse_stg(std::string_view text, const std::string& origin) {
  return stg::StgReader(text, origin).read();
}

}  // namespace vicinal::graphfiles
