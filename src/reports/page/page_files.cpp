#include <cstdint>
#include <filesystem>
#include <memory>

#include "analysis/recorded_run.hpp"
#include "reports/page/page.hpp"
#include "trace/reader.hpp"

namespace vicinal::reports {

namespace {

// Decisions of larger recordings would take more memory than many computers have, and the page has no room for them.
constexpr std::uint64_t kMostBytesWithDecisions = 1ULL << 30;

}  // namespace

std::string page(const PageRequest& request) {
  PageContents contents;
  std::vector<std::unique_ptr<analysis::RecordedRun>> runs;
  for (const std::string& file : request.recordings) {
    const trace::Reader reader(file);
    runs.push_back(
        std::make_unique<analysis::RecordedRun>(reader, reader.bytes() <= kMostBytesWithDecisions));
    contents.recordings.push_back(
        {std::filesystem::path(file).filename().string(), runs.back().get()});
  }
  contents.report = request.report;
  contents.bounds = request.bounds;
  return page(contents);
}

}  // namespace vicinal::reports
