#include <cstdint>
#include <memory>

#include "analysis/recorded_run.hpp"
#include "reports/page/page.hpp"
#include "trace/open_runs.hpp"

namespace vicinal::reports {

namespace {

// Decisions of larger recordings would take more memory than many computers have, and the page has no room for them.
constexpr std::uint64_t kMostBytesWithDecisions = 1ULL << 30;

}  // namespace

std::string page(const PageRequest& request) {
  PageContents contents;
  std::vector<std::unique_ptr<analysis::RecordedRun>> runs;
  for (const auto& source : trace::open_runs(request.recordings, 2)) {
    runs.push_back(std::make_unique<analysis::RecordedRun>(
        *source, source->bytes() <= kMostBytesWithDecisions));
    contents.recordings.push_back({trace::name_of(*source), runs.back().get()});
  }
  contents.report = request.report;
  contents.bounds = request.bounds;
  return page(contents);
}

}  // namespace vicinal::reports
