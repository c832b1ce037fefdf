// A recorded run in the formats of other tools. docs/exports.md says what each format holds.
//
//   const RecordedFile file("run.vtrace");
//   const Format& format = *find_format("paje");
//   format.write_file(file.recording(), [&](std::string_view piece) { ... });
//
// Names in the output are UTF-8 whatever the recording holds: see base/legible.hpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "analysis/recorded_graph.hpp"
#include "analysis/recorded_run.hpp"
#include "base/function_ref.hpp"

namespace vicinal::exporters {

// A run, and the files that it was read from. Only csv and sqlite read these: without them they leave out the events.
struct Recording {
  const analysis::RecordedRun& run;
  const trace::EventSource* file = nullptr;
  std::span<const analysis::KernelTime> times =
      {};  // that go before those recorded; of graph alone
};

// Throws what trace::open_runs and RecordedRun throw. Decisions are left in the file.
class RecordedFile {
 public:
  explicit RecordedFile(const std::string& path);
  // Of one run: several are those of its ranks.
  explicit RecordedFile(std::span<const std::string> files);
  ~RecordedFile();
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;
  Recording recording() const;

 private:
  std::unique_ptr<trace::EventSource> source_;
  std::unique_ptr<analysis::RecordedRun> run_;
};

// Is given the output in pieces.
using Sink = base::FunctionRef<void(std::string_view)>;

// The output is a file or a folder. Without both functions the format was left out when Vicinal was built.
struct Format {
  std::string_view name;
  std::string_view sentence;  // a description, and the tools that open it
  void (*write_file)(const Recording& recording, Sink sink) = nullptr;
  // The folder is there and is empty. Throws DeviceError: a file could not be written.
  void (*write_folder)(const Recording& recording, const std::string& folder) = nullptr;
  std::string_view needs = {};  // the package that was not there when Vicinal was built
};

std::span<const Format> formats();
const Format* find_format(std::string_view name);  // null: there is none

// --- one file of the room each
void write_perfetto(const Recording& recording, Sink sink);
void write_otf2(const Recording& recording, const std::string& folder);
void write_paje(const Recording& recording, Sink sink);
void write_csv(const Recording& recording, const std::string& folder);
void write_sqlite(const Recording& recording, Sink sink);
void write_dot(const Recording& recording, Sink sink);
void write_graph(const Recording& recording, Sink sink);
void write_plan(const Recording& recording, Sink sink);

}  // namespace vicinal::exporters
