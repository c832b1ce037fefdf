// A recorded run as the page carries it: what is shown first in the head, a JSON object; the rest in sections, which
// the browser reads later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/phases.hpp"
#include "analysis/recorded_run.hpp"
#include "analysis/verdict.hpp"
#include "reports/own_results.hpp"
#include "reports/page/columns.hpp"

namespace vicinal::reports {

// Of a number of the run's tables, where 0 stands for none.
inline std::uint64_t one_more(std::uint32_t number) {
  return number == analysis::kNobody ? 0 : std::uint64_t{number} + 1;
}

// A recording, and what is told of the run proper.
struct PageRun {
  explicit PageRun(const analysis::RecordedRun& recorded)
      : whole(recorded),
        proper(analysis::run_proper(recorded)),
        analyses(analysis::analyse(proper)),
        results(own_results(proper, analyses)) {}

  const analysis::RecordedRun& whole;
  const analysis::RecordedRun proper;
  const analysis::Analyses analyses;
  const std::vector<std::pair<std::string, std::string>> results;  // that it was not told
};

// A row of the Gantt chart that shows copies.
struct LinkLane {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// Of a run of many ranks a row of the Gantt chart has all workers of one rank, or of several that follow each other.
struct RankRow {
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t first_worker = 0;
  std::uint32_t workers = 0;
};
// So many rows the chart has at most for workers of several ranks.
inline constexpr std::size_t kMostRows = 256;

// What all parts of the data of a run go by.
struct RunView {
  // `coarser`: a power of ten by which the unit is coarser than need be, so that moments take less room.
  explicit RunView(const analysis::RecordedRun& recorded, std::int64_t coarser = 1);

  const analysis::RecordedRun& run;
  std::int64_t unit = 1;        // nanoseconds: the page's moments are whole numbers of it
  std::int64_t end = 0;         // in this unit, later than all that happened
  bool may_be_coarser = false;  // ten times, and the mean task still has twenty units
  std::vector<LinkLane> links;  // that carried something
  // Empty: each worker has a row of its own, and so has each link.
  std::vector<RankRow> rank_rows;
  // Codelets of the tasks that ran, those that took most time first. Index by name; kNobody: none of them.
  std::vector<std::uint32_t> codelets;  // names
  std::vector<std::uint32_t> codelet_of_name;
  // When each task began to run: see analysis::begins_of_runs.
  std::vector<std::int64_t> begins;

  // -1 of a moment that is not known.
  std::int64_t ticks(std::int64_t time) const {
    return time == analysis::kUnknown ? -1 : std::max<std::int64_t>(time, 0) / unit;
  }
  std::uint32_t link_of(const analysis::CopyOfRun& copy) const;  // kNobody: it never began

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> link_of_;
};

// --- sections. Each may be empty.
// `with_accesses`: the page has accesses_section, by which moments take less room.
Section tasks_section(const RunView& view, bool with_accesses);
Section copies_section(const RunView& view);
Section task_names_section(const RunView& view);
Section data_section(const RunView& view);
Section accesses_section(const RunView& view);
Section evictions_section(const RunView& view);

// How busy each row of the Gantt chart is with what, in so many equal parts of the run.
inline constexpr std::size_t kOverviewBins = 2048;
inline constexpr std::size_t kOverviewKinds = 12;  // the last of them: all others
Section overview_section(const RunView& view);
// Over time: memory in use, bytes on the links, ready tasks.
Section series_section(const RunView& view);

// --- pieces of the head
Json facts_json(const RunView& view, const PageRun& run);
Json machine_json(const RunView& view);
Json rank_rows_json(const RunView& view);  // the name of each
Json codelets_json(const RunView& view, const analysis::RecordedRun& run);
Json phases_json(const RunView& view);  // name, beginning and end of each
Json links_json(const RunView& view, const analysis::Traffic& traffic);
Json data_json(const RunView& view, const analysis::Traffic& traffic);  // those that travelled most
Json matrices_json(const RunView& view);
Json marks_json(const RunView& view);  // of the application, the first ones

// --- what analyses found (findings.cpp)
// As findings_json.hpp has it; of ranks that are rows the mean worker of each.
Json idle_of_page_json(const RunView& view, const PageRun& run);
Json causes_json();  // of idle times and of the critical path, by number: name and sentence
Section path_section(const RunView& view, const analysis::CriticalPath& path);
// Time of each cause in each of kIdleBins equal parts of the run.
inline constexpr std::size_t kIdleBins = 1024;
Section idle_section(const RunView& view, const analysis::Idle& idle);
Section gaps_section(const RunView& view, const analysis::Idle& idle);  // each one

// Decisions about tasks and victims, as many as `most_text` characters hold: those at the beginning of the run. The head
// says how many there are and were left out, and has the sentences of their rules.
struct DecisionsPart {
  Json head;
  Section section;
};
DecisionsPart decisions_part(const RunView& view, std::size_t most_text);

// The head of the run, and its sections, of `most_text` characters at most; the overview is always there.
struct RunData {
  Json head;
  std::vector<Section> first;  // for the first charts
  std::vector<Section> later;
};
RunData run_data(const PageRun& run, std::size_t most_text);

}  // namespace vicinal::reports
