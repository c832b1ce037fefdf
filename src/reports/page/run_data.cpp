#include "reports/page/run_data.hpp"

#include <fmt/format.h>

namespace vicinal::reports {

namespace {

struct Optional {
  Section (*make)(const RunView& view);
  std::string_view what;  // is missing without it
};

constexpr Optional kLater[] = {
    {tasks_section, "each single task"},         {copies_section, "each single copy"},
    {data_section, "the names of the data"},     {accesses_section, "which data each task uses"},
    {evictions_section, "each single eviction"}, {task_names_section, "the own names of tasks"},
};

}  // namespace

RunData run_data(const analysis::RecordedRun& run, std::size_t most_text) {
  const RunView view(run);
  RunData data;
  data.first = {overview_section(view), series_section(view)};
  Json missing = Json::array();
  std::size_t text = 0;
  for (const Optional& part : kLater) {
    Section section = part.make(view);
    if (text + section.text.size() > most_text) {
      missing.push_back(part.what);
      continue;
    }
    text += section.text.size();
    data.later.push_back(std::move(section));
  }
  data.head = {{"facts", facts_json(view)},
               {"unit", view.unit},
               {"end", view.end},
               {"tasks", run.tasks.size()},
               {"copies", run.copies.size()},
               {"data", run.data.size()},
               {"machine", machine_json(view)},
               {"codelets", codelets_json(view)},
               {"links", links_json(view)},
               {"travels", data_json(view)},
               {"matrices", matrices_json(view)},
               {"missing", std::move(missing)}};
  return data;
}

}  // namespace vicinal::reports
