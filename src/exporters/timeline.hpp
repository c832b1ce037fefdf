// A run as rows of slices that do not overlap, which is what the formats with a time axis have in common.
//
// An accelerator may have several tasks on its queue, a link several copies on their way, a thread regions within
// regions: such an owner has several rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::exporters {

// Times are in ns, never negative; what has no end goes on until the end of the run.
struct Slice {
  std::int64_t from = 0;
  std::int64_t to = 0;     // not before `from`
  std::uint32_t what = 0;  // a task, a copy, a mark or a message, by its number in the run
};

struct Row {
  std::uint32_t owner = 0;  // a worker, a link, the thread of a region, or a rank
  std::uint32_t place = 0;  // among the rows of the owner
  std::vector<Slice> slices;
};

struct Link {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  friend bool operator==(const Link&, const Link&) = default;
};

struct Level {
  std::int64_t time = 0;
  std::int64_t value = 0;
};

struct Timeline {
  explicit Timeline(const analysis::RecordedRun& run);

  std::int64_t end = 0;
  std::uint32_t workers = 0;  // those of the machine, and those that did something
  std::uint32_t nodes = 0;
  std::vector<Link> links;  // likewise
  std::vector<Row> tasks;   // of each worker one row at least
  std::vector<Row> copies;  // of each link one row at least
  std::vector<Row> regions;
  std::vector<Row> messages;             // of each rank one row at least
  std::vector<std::vector<Level>> used;  // by node: bytes of all replicas
  std::vector<Level> ready;              // tasks that are ready and have not started
};

// What has a slice.
bool has_slice(const analysis::TaskOfRun& task);
bool has_slice(const analysis::CopyOfRun& copy);

struct Arrow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;  // a task
};
// Between tasks that have slices: the direct dependencies.
std::vector<Arrow> dependency_arrows(const analysis::RecordedRun& run);
// From each copy that brought content to the first task that read it there.
std::vector<Arrow> copy_arrows(const analysis::RecordedRun& run);

std::string name_of_link(const analysis::RecordedRun& run, const Link& link);  // "ram -> gpu0"
std::string name_of_row(std::string_view owner, const Row& row);               // "gpu0", "gpu0 (2)"

}  // namespace vicinal::exporters
