#include "exporters/words.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "base/legible.hpp"

namespace vicinal::exporters {

using analysis::RecordedRun;
using analysis::TaskOfRun;

std::string_view to_string(analysis::KindOfTask kind) {
  constexpr std::string_view words[] = {"compute",     "acquisition", "prefetch", "invalidation",
                                        "repartition", "combination", "send",     "receive"};
  return words[static_cast<std::size_t>(kind)];
}

std::string codelet_of(const RecordedRun& run, const TaskOfRun& task) {
  const std::string name = task.name < run.names.size() ? base::legible(run.names[task.name]) : "";
  return name.empty() ? "task" : name;
}

std::string title_of(const RecordedRun& run, const TaskOfRun& task) {
  return task.own_name < run.names.size() ? base::legible(run.names[task.own_name])
                                          : codelet_of(run, task);
}

std::string title_of_datum(const RecordedRun& run, std::uint32_t datum) {
  return datum < run.data.size() ? base::legible(run.name_of_datum(datum)) : "a datum";
}

std::vector<std::string> operands_of(const RecordedRun& run, const TaskOfRun& task) {
  std::vector<std::string> operands;
  for (const analysis::AccessOfTask& access : run.accesses_of(task)) {
    operands.push_back(
        fmt::format("{} {}", vicinal::to_string(access.mode), title_of_datum(run, access.datum)));
  }
  return operands;
}

std::string title_of_run(const RecordedRun& run) {
  if (!run.facts.command.empty()) return base::legible(run.facts.command);
  return run.facts.application.empty() ? "a run" : base::legible(run.facts.application);
}

}  // namespace vicinal::exporters
