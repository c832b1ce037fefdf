// The graph of tasks as it was, for graphviz: a box per task in the colour of its worker, an edge per direct
// dependency.
#include <string>
#include <string_view>
#include <vector>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "exporters/colours.hpp"
#include "exporters/exporters.hpp"
#include "exporters/pieces.hpp"
#include "exporters/words.hpp"

namespace vicinal::exporters {

namespace {

using analysis::kNobody;
using analysis::RecordedRun;
using analysis::TaskOfRun;

// What stands in a label between quotes: there a backslash begins an escape and & an HTML entity.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += byte;
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '&') {
      out += "&amp;";
    } else {
      out += byte;
    }
  }
  return out;
}

// In place of the times of one that ran.
std::string_view what_instead(const TaskOfRun& task) {
  if (task.kind != analysis::KindOfTask::compute) return to_string(task.kind);
  return task.started == analysis::kUnknown ? "did not run" : "has not ended";
}

void write_task(const RecordedRun& run, std::uint32_t number, Pieces& out) {
  const TaskOfRun& task = run.tasks[number];
  out.print("  t{} [task={}, label=\"{} #{}", number, number, escaped(title_of(run, task)), number);
  if (task.worker != kNobody) {
    out.print("\\n{}", escaped(base::legible(run.name_of_worker(task.worker))));
  }
  if (task.ran()) {
    out.print("\\n{} + {}", base::format_duration({task.started}),
              base::format_duration({task.ended - task.started}));
  } else {
    out.print("\\n{}", what_instead(task));
  }
  out.print("\", tooltip=\"{}", escaped(codelet_of(run, task)));
  for (const std::string& operand : operands_of(run, task)) out.print("\\n{}", escaped(operand));
  out.add("\"");
  if (task.worker != kNobody) {
    const Colour colour = colour_of(task.worker);
    out.print(", worker={}, fillcolor=\"#{:02x}{:02x}{:02x}\"", task.worker, colour.red,
              colour.green, colour.blue);
  }
  if (task.ran()) out.print(", started_ns={}, ended_ns={}", task.started, task.ended);
  out.add("];\n");
}

}  // namespace

void write_dot(const Recording& recording, Sink sink) {
  const RecordedRun& run = recording.run;
  Pieces out(sink);
  out.print("digraph tasks {{\n  label=\"{}\";\n", escaped(title_of_run(run)));
  out.add("  node [shape=box, style=filled, fillcolor=white];\n");
  for (std::uint32_t task = 0; task < run.tasks.size(); ++task) write_task(run, task, out);
  const std::vector<std::vector<std::uint32_t>> before = analysis::predecessors(run);
  for (std::size_t task = 0; task < before.size(); ++task) {
    for (const std::uint32_t other : before[task]) out.print("  t{} -> t{};\n", other, task);
  }
  out.add("}\n");
  out.finish();
}

}  // namespace vicinal::exporters
