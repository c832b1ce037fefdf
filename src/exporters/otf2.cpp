// OTF2: a location per worker, link and thread of the application; regions for codelets, causes of copies and what the
// application marks; metrics for memory in use and ready tasks.
#if VICINAL_HAVE_OTF2

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "exporters/exporters.hpp"
#include "exporters/otf2_archive.hpp"
#include "exporters/timeline.hpp"
#include "exporters/words.hpp"

namespace vicinal::exporters {

namespace {

using analysis::CopyOfRun;
using analysis::RecordedRun;
using analysis::TaskOfRun;

class Writer {
 public:
  Writer(const RecordedRun& run, const std::string& folder)
      : run_(run), timeline_(run), archive_(folder) {}

  void write() {
    host_ = archive_.group(title_of_run(run_), OTF2_LOCATION_GROUP_TYPE_PROCESS);
    write_workers();
    write_links();
    write_application();
    write_metrics();
    archive_.finish(end(), run_.facts.simulated ? "simulated machine" : "machine", facts());
  }

 private:
  void write_workers();
  void write_links();
  void write_application();
  void write_metrics();
  void write_task(const Slice& slice);
  void write_copy(const Slice& slice);
  std::int64_t end() const;
  std::vector<std::pair<std::string, std::string>> facts() const;

  const RecordedRun& run_;
  Timeline timeline_;
  Otf2Archive archive_;
  std::uint32_t host_ = 0;
};

void Writer::write_task(const Slice& slice) {
  const TaskOfRun& task = run_.tasks[slice.what];
  const std::uint32_t region = archive_.region(codelet_of(run_, task), OTF2_REGION_ROLE_TASK);
  archive_.say(Attribute::task, std::uint64_t{slice.what});
  if (task.own_name < run_.names.size()) archive_.say(Attribute::title, title_of(run_, task));
  archive_.say(Attribute::priority, std::int64_t{task.priority});
  archive_.say(Attribute::outcome, task.ran() ? to_string(task.outcome) : "not ended");
  archive_.enter(slice.from, region);
  archive_.leave(slice.to, region);
}

void Writer::write_workers() {
  // A group for each memory node beside RAM that has workers.
  const auto& workers = run_.facts.machine.workers;
  std::vector<std::uint32_t> groups(timeline_.nodes, host_);
  std::vector<bool> has_group(timeline_.nodes, false);
  for (const Row& row : timeline_.tasks) {
    const std::uint32_t node = row.owner < workers.size() ? workers[row.owner].node.value : 0;
    const bool is_device = node != 0 && node < timeline_.nodes;
    if (is_device && !has_group[node]) {
      has_group[node] = true;
      groups[node] = archive_.group(run_.name_of_node(node), OTF2_LOCATION_GROUP_TYPE_ACCELERATOR);
    }
    archive_.begin_location(
        name_of_row(run_.name_of_worker(row.owner), row),
        is_device ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM : OTF2_LOCATION_TYPE_CPU_THREAD,
        is_device ? groups[node] : host_);
    for (const Slice& slice : row.slices) write_task(slice);
  }
}

void Writer::write_copy(const Slice& slice) {
  const CopyOfRun& copy = run_.copies[slice.what];
  const std::uint32_t region = archive_.region(fmt::format("copy: {}", to_string(copy.cause)),
                                               OTF2_REGION_ROLE_DATA_TRANSFER);
  archive_.say(Attribute::copy, std::uint64_t{slice.what});
  archive_.say(Attribute::datum, title_of_datum(run_, copy.datum));
  archive_.say(Attribute::bytes, copy.bytes);
  archive_.say(Attribute::failed, std::uint64_t{copy.failed ? 1U : 0U});
  archive_.enter(slice.from, region);
  archive_.leave(slice.to, region);
}

void Writer::write_links() {
  if (timeline_.copies.empty()) return;
  const std::uint32_t group = archive_.group("links", OTF2_LOCATION_GROUP_TYPE_ACCELERATOR);
  for (const Row& row : timeline_.copies) {
    archive_.begin_location(name_of_row(name_of_link(run_, timeline_.links[row.owner]), row),
                            OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, group);
    for (const Slice& slice : row.slices) write_copy(slice);
  }
}

// Marks are regions that take no time.
void Writer::write_application() {
  for (const Row& row : timeline_.regions) {
    archive_.begin_location(name_of_row(fmt::format("regions of thread {}", row.owner), row),
                            OTF2_LOCATION_TYPE_CPU_THREAD, host_);
    for (const Slice& slice : row.slices) {
      const std::uint32_t region =
          archive_.region(run_.marks[slice.what].text, OTF2_REGION_ROLE_CODE);
      archive_.enter(slice.from, region);
      archive_.leave(slice.to, region);
    }
  }
  std::vector<std::pair<std::int64_t, std::uint32_t>> marks;
  for (std::uint32_t i = 0; i < run_.marks.size(); ++i) {
    if (run_.marks[i].is_region) continue;
    marks.emplace_back(std::max<std::int64_t>(run_.marks[i].from, 0), i);
  }
  if (marks.empty()) return;
  std::sort(marks.begin(), marks.end());
  archive_.begin_location("marks", OTF2_LOCATION_TYPE_CPU_THREAD, host_);
  for (const auto& [time, mark] : marks) {
    const std::uint32_t region = archive_.region(run_.marks[mark].text, OTF2_REGION_ROLE_CODE);
    archive_.enter(time, region);
    archive_.leave(time, region);
  }
}

void Writer::write_metrics() {
  const auto write = [&](const std::string& name, std::string_view unit,
                         const std::vector<Level>& levels) {
    const std::uint32_t metric = archive_.metric(name, unit);
    archive_.begin_location(name, OTF2_LOCATION_TYPE_METRIC, host_);
    for (const Level& level : levels) {
      archive_.level(level.time, metric, static_cast<std::uint64_t>(level.value));
    }
  };
  for (std::uint32_t node = 0; node < timeline_.nodes; ++node) {
    write(fmt::format("{} in use", run_.name_of_node(node)), "bytes", timeline_.used[node]);
  }
  write("ready tasks", "tasks", timeline_.ready);
}

// No event is later.
std::int64_t Writer::end() const {
  std::int64_t end = timeline_.end;
  for (const auto* rows : {&timeline_.tasks, &timeline_.copies, &timeline_.regions}) {
    for (const Row& row : *rows) {
      if (!row.slices.empty()) end = std::max(end, row.slices.back().to);
    }
  }
  return end;
}

std::vector<std::pair<std::string, std::string>> Writer::facts() const {
  std::vector<std::pair<std::string, std::string>> facts{
      {"command", run_.facts.command},
      {"application", run_.facts.application},
      {"version", run_.facts.version},
      {"policy", run_.facts.policy},
      {"complete", run_.complete ? "yes" : "no"},
      {"events_lost", fmt::format("{}", run_.events_lost)}};
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

}  // namespace

void write_otf2(const Recording& recording, const std::string& folder) {
  Writer(recording.run, folder).write();
}

}  // namespace vicinal::exporters

#endif
