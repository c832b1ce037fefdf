// Paje's text format: containers for the run, its memory nodes with their workers, and its links; states for tasks and
// copies, variables for memory in use and ready tasks, links for what tasks waited for.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "exporters/colours.hpp"
#include "exporters/exporters.hpp"
#include "exporters/paje_header.hpp"
#include "exporters/pieces.hpp"
#include "exporters/timeline.hpp"
#include "exporters/words.hpp"

namespace vicinal::exporters {

namespace {

using analysis::CopyOfRun;
using analysis::kNobody;
using analysis::RecordedRun;
using analysis::TaskOfRun;

// The format has no escapes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char byte : base::legible(text)) out += byte == '"' ? '\'' : byte == '\n' ? ' ' : byte;
  return out + "\"";
}

std::string seconds(std::int64_t ns) {
  return fmt::format("{}.{:09}", ns / 1000000000, ns % 1000000000);
}

// A line of the body. Lines of the same time stay in the order in which they were added, but for links: the start of a
// link comes before its end.
struct Line {
  std::int64_t time = 0;
  std::uint32_t what = 0;
  std::uint32_t where = 0;  // a row, or what the kind says
  enum class Kind : std::uint8_t {
    idle,
    task,
    unused,
    copy,
    outside,
    region,
    used,  // `what`: a level
    ready,
    mark,
    eviction,
    dependency_begins,  // `what`: an arrow
    dependency_ends,
    operand_begins,
    operand_ends,
  } kind = Kind::idle;
};

class PajeWriter {
 public:
  PajeWriter(const RecordedRun& run, Sink sink) : run_(run), timeline_(run), out_(sink) {}

  void write() {
    out_.add(kPajeHeader);
    define_values();
    create_containers();
    add_slices();
    add_levels();
    add_moments();
    add_arrows();
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const Line& a, const Line& b) { return a.time < b.time; });
    for (const Line& line : lines_) write_line(line);
    destroy_containers();
    out_.finish();
  }

 private:
  void define_values();
  void create_containers();
  void destroy_containers();
  void add_slices();
  void add_levels();
  void add_moments();
  void add_arrows();
  void write_line(const Line& line);
  void write_slice(const Line& line, const std::string& time);
  void write_arrow(const Line& line, const std::string& time);
  std::string container_of(std::uint32_t worker) const;  // of a node

  void add(std::int64_t time, Line::Kind kind, std::uint32_t what, std::uint32_t where) {
    lines_.push_back({time, what, where, kind});
  }

  const RecordedRun& run_;
  Timeline timeline_;
  Pieces out_;
  std::vector<Line> lines_;
  std::vector<Arrow> dependencies_;
  std::vector<Arrow> operands_;
  std::vector<std::uint32_t> rows_of_tasks_;  // by task: its row
  std::vector<std::uint32_t> rows_of_copies_;
};

void PajeWriter::define_values() {
  std::vector<bool> is_used(run_.names.size());
  for (const TaskOfRun& task : run_.tasks) {
    if (task.name < is_used.size()) is_used[task.name] = true;
  }
  std::size_t colour = 0;
  const auto define = [&](std::string_view type, std::string_view alias, std::string_view name) {
    const Colour own = colour_of(colour++);
    out_.print("5 {} {} {} \"{:.2f} {:.2f} {:.2f}\"\n", alias, type, quoted(name), own.red / 255.0,
               own.green / 255.0, own.blue / 255.0);
  };
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) define("ST", fmt::format("k{}", i), run_.names[i]);
  }
  define("ST", "nameless", "task");
  constexpr auto causes = static_cast<unsigned>(analysis::Cause::arrival);
  for (unsigned cause = 0; cause <= causes; ++cause) {
    define("SC", fmt::format("c{}", cause), to_string(static_cast<analysis::Cause>(cause)));
  }
}

std::string PajeWriter::container_of(std::uint32_t worker) const {
  const auto& workers = run_.facts.machine.workers;
  return worker < workers.size() ? fmt::format("n{}", workers[worker].node.value) : "n0";
}

void PajeWriter::create_containers() {
  out_.print("6 0.000000000 run CR 0 {}\n", quoted(title_of_run(run_)));
  const std::uint32_t nodes = std::max(timeline_.nodes, 1U);  // workers lie below one
  for (std::uint32_t node = 0; node < nodes; ++node) {
    out_.print("6 0.000000000 n{} CN run {}\n", node, quoted(run_.name_of_node(node)));
  }
  for (std::size_t i = 0; i < timeline_.tasks.size(); ++i) {
    const Row& row = timeline_.tasks[i];
    out_.print("6 0.000000000 w{} CW {} {}\n", i, container_of(row.owner),
               quoted(name_of_row(run_.name_of_worker(row.owner), row)));
  }
  for (std::size_t i = 0; i < timeline_.copies.size(); ++i) {
    const Row& row = timeline_.copies[i];
    out_.print("6 0.000000000 l{} CL run {}\n", i,
               quoted(name_of_row(name_of_link(run_, timeline_.links[row.owner]), row)));
  }
  for (std::size_t i = 0; i < timeline_.regions.size(); ++i) {
    const Row& row = timeline_.regions[i];
    out_.print("6 0.000000000 a{} CA run {}\n", i,
               quoted(name_of_row(fmt::format("thread {}", row.owner), row)));
  }
}

void PajeWriter::destroy_containers() {
  const std::string end = seconds(std::max(timeline_.end, lines_.empty() ? 0 : lines_.back().time));
  for (std::size_t i = 0; i < timeline_.regions.size(); ++i) out_.print("7 {} CA a{}\n", end, i);
  for (std::size_t i = 0; i < timeline_.copies.size(); ++i) out_.print("7 {} CL l{}\n", end, i);
  for (std::size_t i = 0; i < timeline_.tasks.size(); ++i) out_.print("7 {} CW w{}\n", end, i);
  for (std::uint32_t node = 0; node < std::max(timeline_.nodes, 1U); ++node) {
    out_.print("7 {} CN n{}\n", end, node);
  }
  out_.print("7 {} CR run\n", end);
}

void PajeWriter::add_slices() {
  const auto add_rows = [&](const std::vector<Row>& rows, Line::Kind kind, Line::Kind rest,
                            std::vector<std::uint32_t>* rows_of) {
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      add(0, rest, kNobody, row);
      for (const Slice& slice : rows[row].slices) {
        add(slice.from, kind, slice.what, row);
        add(slice.to, rest, slice.what, row);
        if (rows_of != nullptr) (*rows_of)[slice.what] = row;
      }
    }
  };
  rows_of_tasks_.resize(run_.tasks.size());
  rows_of_copies_.resize(run_.copies.size());
  add_rows(timeline_.tasks, Line::Kind::task, Line::Kind::idle, &rows_of_tasks_);
  add_rows(timeline_.copies, Line::Kind::copy, Line::Kind::unused, &rows_of_copies_);
  add_rows(timeline_.regions, Line::Kind::region, Line::Kind::outside, nullptr);
}

void PajeWriter::add_levels() {
  for (std::uint32_t node = 0; node < timeline_.nodes; ++node) {
    const std::vector<Level>& levels = timeline_.used[node];
    for (std::uint32_t i = 0; i < levels.size(); ++i) {
      add(levels[i].time, Line::Kind::used, i, node);
    }
  }
  for (std::uint32_t i = 0; i < timeline_.ready.size(); ++i) {
    add(timeline_.ready[i].time, Line::Kind::ready, i, 0);
  }
}

void PajeWriter::add_moments() {
  for (std::uint32_t i = 0; i < run_.marks.size(); ++i) {
    const std::int64_t time = std::max<std::int64_t>(run_.marks[i].from, 0);
    if (!run_.marks[i].is_region) add(time, Line::Kind::mark, i, 0);
  }
  for (std::uint32_t i = 0; i < run_.room.size(); ++i) {
    const analysis::RoomChange& change = run_.room[i];
    if (change.kind == analysis::RoomChange::Kind::evicted && change.node < timeline_.nodes) {
      add(std::max<std::int64_t>(change.time, 0), Line::Kind::eviction, i, change.node);
    }
  }
}

void PajeWriter::add_arrows() {
  dependencies_ = dependency_arrows(run_);
  operands_ = copy_arrows(run_);
  const auto at = [](std::int64_t time) { return std::max<std::int64_t>(time, 0); };
  for (std::uint32_t i = 0; i < dependencies_.size(); ++i) {
    const TaskOfRun& task = run_.tasks[dependencies_[i].to];
    const TaskOfRun& before = run_.tasks[dependencies_[i].from];
    const std::int64_t begin = before.ran() ? at(before.ended) : at(task.started);
    add(begin, Line::Kind::dependency_begins, i, rows_of_tasks_[dependencies_[i].from]);
    add(std::max(begin, at(task.started)), Line::Kind::dependency_ends, i,
        rows_of_tasks_[dependencies_[i].to]);
  }
  for (std::uint32_t i = 0; i < operands_.size(); ++i) {
    const std::int64_t begin = at(run_.copies[operands_[i].from].ended);
    add(begin, Line::Kind::operand_begins, i, rows_of_copies_[operands_[i].from]);
    add(std::max(begin, at(run_.tasks[operands_[i].to].started)), Line::Kind::operand_ends, i,
        rows_of_tasks_[operands_[i].to]);
  }
}

void PajeWriter::write_line(const Line& line) {
  const std::string time = seconds(line.time);
  switch (line.kind) {
    case Line::Kind::used:
      out_.print("11 {} VU n{} {}\n", time, line.where,
                 timeline_.used[line.where][line.what].value);
      return;
    case Line::Kind::ready:
      out_.print("11 {} VR run {}\n", time, timeline_.ready[line.what].value);
      return;
    case Line::Kind::mark:
      out_.print("14 {} EM run {}\n", time, quoted(run_.marks[line.what].text));
      return;
    case Line::Kind::eviction:
      out_.print("14 {} EV n{} {}\n", time, line.where,
                 quoted(title_of_datum(run_, run_.room[line.what].datum)));
      return;
    case Line::Kind::dependency_begins:
    case Line::Kind::dependency_ends:
    case Line::Kind::operand_begins:
    case Line::Kind::operand_ends:
      write_arrow(line, time);
      return;
    default:
      write_slice(line, time);
  }
}

void PajeWriter::write_slice(const Line& line, const std::string& time) {
  switch (line.kind) {
    case Line::Kind::task: {
      const TaskOfRun& task = run_.tasks[line.what];
      const std::string value =
          task.name < run_.names.size() ? fmt::format("k{}", task.name) : "nameless";
      out_.print("9 {} ST w{} {} {} {}\n", time, line.where, value, line.what,
                 quoted(title_of(run_, task)));
      return;
    }
    case Line::Kind::copy: {
      const CopyOfRun& copy = run_.copies[line.what];
      out_.print("10 {} SC l{} c{} {} {} {}\n", time, line.where, static_cast<unsigned>(copy.cause),
                 line.what, quoted(title_of_datum(run_, copy.datum)), copy.bytes);
      return;
    }
    case Line::Kind::region:
      out_.print("8 {} SR a{} {}\n", time, line.where, quoted(run_.marks[line.what].text));
      return;
    case Line::Kind::unused:
      out_.print("8 {} SC l{} unused\n", time, line.where);
      return;
    case Line::Kind::outside:
      out_.print("8 {} SR a{} outside\n", time, line.where);
      return;
    default:
      out_.print("8 {} ST w{} idle\n", time, line.where);
  }
}

void PajeWriter::write_arrow(const Line& line, const std::string& time) {
  const bool begins =
      line.kind == Line::Kind::dependency_begins || line.kind == Line::Kind::operand_begins;
  const bool is_operand =
      line.kind == Line::Kind::operand_begins || line.kind == Line::Kind::operand_ends;
  out_.print("{} {} {} run {}{} {} {}{}\n", begins ? 12 : 13, time, is_operand ? "LO" : "LD",
             is_operand && begins ? 'l' : 'w', line.where, is_operand ? "reads" : "after",
             is_operand ? 'o' : 'd', line.what);
}

}  // namespace

void write_paje(const Recording& recording, Sink sink) {
  PajeWriter(recording.run, sink).write();
}

}  // namespace vicinal::exporters
