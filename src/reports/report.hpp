// What a run did, beside what it had to do: as a table for people and as JSON for programs. The
// JSON is documented in docs/report.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reports {

// One memory node during the run.
struct NodeRecord {
  std::string name;
  NodeKind kind = NodeKind::ram;
  std::optional<Bytes> limit;
  Bytes
      peak;  // from the start of the runtime: what came before the run (filling the matrix) counts
  Bytes bytes_in;
  Bytes bytes_out;
  std::uint64_t evictions = 0;
  std::uint64_t write_backs = 0;
  std::uint64_t tasks = 0;  // that its workers ran
};

struct LinkRecord {
  std::string name;  // "disk->ram"
  Bytes bytes;
  std::uint64_t copies = 0;
};

// Lower bounds; zero where nothing is known, so that a bound is never too high.
struct RunBounds {
  double work_seconds = 0;      // the work, shared evenly among the workers
  double area_seconds = 0;      // the same of unlike workers, see bounds/area.hpp
  double path_seconds = 0;      // a long chain of tasks
  double transfer_seconds = 0;  // bytes_in() over the links, where their bandwidth is known
  Bytes compulsory_in;          // data that are not in limited memory at the beginning
  Bytes proved_in;              // for this algorithm and this memory, at this size
  Bytes formula_in;      // the leading term that papers give: no bound, but what they compare with
  Bytes compulsory_out;  // results that do not fit

  double seconds() const {
    return std::max({work_seconds, area_seconds, path_seconds, transfer_seconds});
  }
  Bytes bytes_in() const { return std::max(compulsory_in, proved_in); }
  Bytes bytes_out() const { return compulsory_out; }
};

// What a simulation took of this computer's time: not repeatable.
struct SimulationCost {
  double wall_seconds = 0;
  double wall_scheduling_seconds = 0;  // of it, inside the policy
};

// The recording of a run, and what is wrong with it; no message: nothing, or there is none.
struct RecordingOutcome {
  std::string file;  // empty: there is none, or it is not whole
  Bytes bytes;
  std::string message;
  bool failed = false;  // it is not whole
};

// One of several ranks during the run. Trivially copyable: ranks tell each other.
struct RankRecord {
  double seconds = 0;
  double idle_seconds = 0;      // of its workers together; in it
  double awaiting_seconds = 0;  // while content of other ranks was awaited
  double ended_seconds = 0;     // while other ranks had not ended
  std::uint64_t tasks = 0;
  std::uint32_t workers = 0;
  Bytes sent;                                   // content, to other ranks
  Bytes received;                               // likewise
  std::uint64_t messages = 0;                   // sent beside that
  Bytes forwarded;                              // of what was sent: for other ranks
  std::uint64_t broadcasts = 0;                 // begun there
  std::uint64_t late_sends = 0;                 // that missed one
  std::uint64_t versions_to_several = 0;        // as of Statistics
  std::uint64_t versions_in_time = 0;           // likewise
  std::uint64_t broadcasts_missed = 0;          // likewise
  std::uint64_t partial_results = 0;            // of other ranks, combined there
  std::uint64_t partial_results_passed_on = 0;  // of these: for data of yet other ranks
  Bytes placed_on_arrival;    // of what was received: sent on to an accelerator at once
  Time rank_latency;          // of messages, as it takes it to be
  double rank_bandwidth = 0;  // bytes per second, likewise
  Bytes peak;                 // in RAM, from the start of the runtime on
  Bytes bytes_in;             // as of RunRecord
  Bytes bytes_out;            // likewise
};

struct RunRecord {
  std::string policy;
  std::string error;  // not empty: the run failed, and what follows is what is known of it
  double seconds = 0;
  double flops = 0;
  std::optional<bool> verified;  // none: the check was not asked for
  double residual = 0;           // of the check
  double tolerance = 0;
  std::uint64_t tasks = 0;
  double idle_seconds = 0;  // of all workers together
  std::uint32_t workers = 0;
  std::vector<NodeRecord> nodes;
  std::vector<LinkRecord> links;
  std::vector<RankRecord>
      ranks;        // several: nodes and links are those of rank 0, and what is no list counts all
  Bytes bytes_in;   // loaded into memories that are limited
  Bytes bytes_out;  // written back from them
  RunBounds bounds;
  std::optional<SimulationCost> simulation;  // none: a real run
  RecordingOutcome recording;

  double gflops() const { return seconds > 0 ? flops / seconds * 1e-9 : 0; }
};

// A fact about all runs of a report: the size of the matrix, the machine.
using Value = std::variant<std::uint64_t, double, std::string, Bytes>;
using Facts = std::vector<std::pair<std::string, Value>>;

// What binds the fastest run, where a recording tells: analysis/verdict.hpp.
struct ReportVerdict {
  std::string policy;    // of that run
  std::string sentence;  // "The disk binds: for 62 % of the run tasks waited for data from it."
  std::string remedy;    // empty: none is known
  std::string binds;     // in a word: "link"
  double share = 0;      // of the run's time
};

struct Report {
  std::string command = {};  // as it was typed; empty: not known
  std::string application;   // "cholesky"
  Facts parameters;          // "size": 20000, ...
  Facts machine;             // "workers": 2, ...
  std::vector<RunRecord> runs;
  std::optional<ReportVerdict> verdict = {};
  bool has_tiles = true;  // which --distribution may deal to ranks otherwise
};

// The fastest of those that did not fail; null: there is none.
const RunRecord* fastest(const Report& report);

// What happened between two readings of a runtime's statistics. The peaks are those of `after`.
// Loaded is what a copy away from the disk, or between accelerators, brings into a limited node;
// written back is what a copy towards the disk takes out of one.
RunRecord make_record(std::string policy, const MachineDescription& machine,
                      const Statistics& before, const Statistics& after);

// What a rank tells the others of its record, made as above.
RankRecord rank_record(const RunRecord& record, const Statistics& before, const Statistics& after);
// The record of all ranks, of that of rank 0 and what each has told.
void join_ranks(RunRecord& record, std::vector<RankRecord> ranks);

// For people; ends with a line feed. At most 25 lines: what ran, the runs ranked by time beside their bounds, and
// what bounds them; of an error the first line. `verbose`: then all of report_table(). `columns`: of the terminal; what
// does not fit in a row of the ranking is left out, and said to be; 0: as wide as it is.
std::string report_text(const Report& report, bool verbose = false, std::size_t columns = 0);
// A row per measure, a column per run, a few columns at a time; errors in full.
std::string report_table(const Report& report);
// Indented; ends with a line feed.
std::string report_json(const Report& report);

}  // namespace vicinal::reports
