#include "reports/page/run_data.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "reports/findings_json.hpp"

namespace vicinal::reports {

namespace {

// What there is room for. The most important is added first.
struct Later {
  explicit Later(std::size_t most_text) : most(most_text) {}

  std::size_t left() const { return most - text; }
  // `what`: is missing without it.
  void add(Section section, std::string_view what) {
    if (section.text.size() > left()) {
      missing.push_back(what);
      return;
    }
    text += section.text.size();
    sections.push_back(std::move(section));
  }

  std::size_t most;
  std::size_t text = 0;
  std::vector<Section> sections;
  Json missing = Json::array();
};

// Tasks that workers ran: not what the application asked for beside them.
std::ptrdiff_t computed(const analysis::RecordedRun& run) {
  return std::ranges::count_if(run.tasks, [](const analysis::TaskOfRun& task) {
    return task.ran() && task.kind == analysis::KindOfTask::compute;
  });
}

std::ptrdiff_t copied(const analysis::RecordedRun& run) {
  return std::ranges::count_if(run.copies, [](const analysis::CopyOfRun& copy) {
    return copy.started != analysis::kUnknown;
  });
}

// When the first task started; 0: none did.
std::int64_t first_start(const analysis::RecordedRun& run) {
  std::int64_t first = analysis::kUnknown;
  for (const analysis::TaskOfRun& task : run.tasks) {
    if (!task.ran() || task.kind != analysis::KindOfTask::compute) continue;
    if (first == analysis::kUnknown || task.started < first) first = task.started;
  }
  return first == analysis::kUnknown ? 0 : first;
}

// Tables and findings are of the run proper, what is drawn over time of the whole recording.
Json head_of(const RunView& view, const PageRun& page_run) {
  const analysis::RecordedRun& run = page_run.proper;
  const analysis::Analyses& analyses = page_run.analyses;
  return {{"facts", facts_json(view, page_run)},
          {"verdict", verdict_json(analysis::verdict(run, analyses))},
          {"phases", phases_json(view)},
          {"unit", view.unit},
          {"end", view.end},
          {"first", view.ticks(first_start(run))},
          {"tasks", run.tasks.size()},
          {"computed", computed(run)},
          {"copies", copied(run)},
          {"data", run.data.size()},
          {"machine", machine_json(view)},
          {"codelets", codelets_json(view, run)},
          {"links", links_json(view, analyses.traffic)},
          {"travels", data_json(view, analyses.traffic)},
          {"matrices", matrices_json(view)},
          {"marks", marks_json(view)},
          {"causes", causes_json()},
          {"rank_rows", rank_rows_json(view)},
          {"idle", idle_of_page_json(view, page_run)},
          {"path", path_json(analyses)},
          {"segments", analyses.path.segments.size()},
          {"advice", advice_json(run, analyses)}};
}

// A section for each task and copy, and so on: the most important first.
Later later_of(const RunView& view, const analysis::Analyses& analyses, std::size_t most_text) {
  Later later(most_text);
  Section accesses = accesses_section(view);
  const bool with_accesses = accesses.text.size() <= most_text / 4;
  if (with_accesses) {
    later.add(std::move(accesses), "");
  } else {
    later.missing.push_back("which data each task uses");
  }
  later.add(tasks_section(view, with_accesses), "each single task");
  later.add(copies_section(view), "each single copy");
  later.add(path_section(view, analyses.path), "the steps of the critical path");
  later.add(data_section(view), "the names of the data");
  later.add(task_names_section(view), "the own names of tasks");
  later.add(evictions_section(view), "each single eviction");
  later.add(gaps_section(view, analyses.idle), "why each single gap was");
  return later;
}

}  // namespace

RunData run_data(const PageRun& page_run, std::size_t most_text) {
  const analysis::RecordedRun& run = page_run.whole;
  const analysis::Analyses& analyses = page_run.analyses;
  auto view = std::make_unique<RunView>(run);
  RunData data;
  const auto begin = [&] {
    data.first = {overview_section(*view), series_section(*view),
                  idle_section(*view, analyses.idle)};
    data.head = head_of(*view, page_run);
    std::size_t taken = data.head.dump(-1, ' ', true, Json::error_handler_t::replace).size();
    for (const Section& section : data.first) taken += section.text.size();
    return later_of(*view, analyses, most_text > taken ? most_text - taken : 0);
  };
  Later later = begin();
  // Times that are less fine may make room for all.
  for (std::int64_t coarser = 10; !later.missing.empty() && view->may_be_coarser; coarser *= 10) {
    view = std::make_unique<RunView>(run, coarser);
    later = begin();
  }
  DecisionsPart decisions = decisions_part(*view, later.left());
  data.head["decisions"] = std::move(decisions.head);
  later.add(std::move(decisions.section), "decisions");
  data.later = std::move(later.sections);
  data.head["missing"] = std::move(later.missing);
  return data;
}

}  // namespace vicinal::reports
