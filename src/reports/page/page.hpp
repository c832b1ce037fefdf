// The page of runs: one HTML file with everything in it, that a browser opens without a network. docs/report-page.md
// says what it shows.
//
//   PageContents contents;
//   contents.recordings.push_back({"darts.vtrace", &run});
//   write(page(contents));
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/recorded_run.hpp"
#include "bounds/graph_bounds.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

struct PageRecording {
  std::string name;  // of its file
  const analysis::RecordedRun* run = nullptr;
};

// What there is; the rest is empty.
struct PageContents {
  std::vector<PageRecording> recordings;  // of two, the second is compared with the first
  const Report* report = nullptr;
  const bounds::GraphBounds* bounds = nullptr;
  // The page may take so many bytes: what does not fit is left out, the least important first, and the page says so.
  std::size_t most_bytes = 29'500'000;
};

// Throws UsageError: this program was built without the sources of the page; there are more than two recordings.
std::string page(const PageContents& contents);
// The same, now: to be found out before a long run.
void require_page();

// The same with recordings that are yet to be read from their files. Throws also what trace::open_runs and
// analysis::RecordedRun do.
struct PageRequest {
  std::vector<std::string> recordings = {};  // files of two runs at most
  const Report* report = nullptr;
  const bounds::GraphBounds* bounds = nullptr;
};
std::string page(const PageRequest& request);

}  // namespace vicinal::reports
