// A run as it was recorded: what its events say, put together by task, copy, datum and node. Everything that is told of
// a run (explanations, reports, exports) is told from this.
//
// Times are in nanoseconds since the recording began; kUnknown where the recording does not say. Numbers of tasks count
// from 0 in the order of their submission, or of their start where submissions were not recorded.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id_map.hpp"
#include "trace/decision.hpp"
#include "trace/event.hpp"
#include "trace/event_source.hpp"
#include "vicinal/access.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/task.hpp"

namespace vicinal::analysis {

inline constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
inline constexpr std::uint32_t kNobody = 0xffffffffU;  // of numbers of tasks, data, nodes, workers

enum class KindOfTask : std::uint8_t {
  compute,
  acquisition,
  prefetch,
  invalidation,
  repartition,
  combination,  // recorded as compute
  send,         // to another rank
  receive,
};
enum class Cause : std::uint8_t {
  task,
  prefetch,
  eviction,
  write_behind,
  application,
  through_ram,
  arrival,
};
std::string_view to_string(Cause cause);      // "prefetch"
std::string_view to_string(Outcome outcome);  // "done"

struct AccessOfTask {
  std::uint32_t datum = kNobody;  // index into RecordedRun::data
  AccessMode mode = AccessMode::R;
};

// What the application said of a codelet.
struct CodeletOfRun {
  std::uint32_t name = 0;                           // index into RecordedRun::names
  std::uint64_t flops = 0;                          // of one task; 0: not known
  std::array<std::uint64_t, kProcessorKinds> ns{};  // of one task; 0: not known
  bool synchronous = false;                         // see Codelet::synchronous
  bool operator==(const CodeletOfRun&) const = default;
};

struct TaskOfRun {
  std::uint64_t id = 0;              // the runtime's
  std::uint32_t name = 0;            // index into RecordedRun::names: of its codelet
  std::uint32_t own_name = kNobody;  // likewise, if it has one
  std::uint32_t codelet = kNobody;   // index into RecordedRun::codelets, if it was described
  std::int32_t priority = 0;
  KindOfTask kind = KindOfTask::compute;
  Outcome outcome = Outcome::done;
  std::uint32_t worker = kNobody;     // that ran it
  std::uint32_t releasing = kNobody;  // the worker whose task made it ready
  std::int64_t submitted = kUnknown;
  std::int64_t ready = kUnknown;
  std::int64_t scheduled = kUnknown;
  std::int64_t wanted =
      kUnknown;  // it asked for room and copies of its operands, and nothing else was in its way
  std::int64_t granted = kUnknown;   // all of them have room
  std::int64_t operands = kUnknown;  // all of them are there
  std::int64_t started = kUnknown;   // by an accelerator, not when it was put on its queue
  std::int64_t ended = kUnknown;
  std::uint32_t first_access = 0;  // RecordedRun::accesses, from here
  std::uint32_t access_count = 0;
  bool moved = false;  // from one memory node to another after it was scheduled
  bool ran() const { return started != kUnknown && ended != kUnknown; }
};

struct DatumOfRun {
  std::uint64_t id = 0;  // the runtime's
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t home = kNobody;     // a memory node
  std::uint32_t part_of = kNobody;  // another datum
};

struct CopyOfRun {
  std::uint32_t datum = kNobody;
  std::uint32_t from = kNobody;
  std::uint32_t to = kNobody;
  std::uint64_t bytes = 0;
  Cause cause = Cause::task;
  bool urgent = false;
  bool failed = false;
  std::int64_t wanted =
      kUnknown;  // the copy was decided; it may have waited for its link, or for room in RAM
  std::int64_t started = kUnknown;
  std::int64_t ended = kUnknown;
};

// What happened to the room of a datum on a node.
struct RoomChange {
  enum class Kind : std::uint8_t { taken, freed, evicted, became_void, kept };
  std::int64_t time = 0;
  std::uint32_t node = kNobody;
  std::uint32_t datum = kNobody;
  std::uint64_t used = 0;  // taken, freed: bytes of all replicas on the node from now on
  Kind kind = Kind::taken;
  bool saved_first = false;  // evicted: the content was nowhere else
};
std::string_view to_string(RoomChange::Kind kind);  // "became void"

struct Dependency {  // that follows from no access
  std::uint32_t before = kNobody;
  std::uint32_t task = kNobody;
};

// A task that a recursive one has submitted, to work on parts of its operands.
struct TaskInside {
  std::uint32_t task = kNobody;
  std::uint32_t outer = kNobody;
};

// Tasks may reduce into the datum, whose parts are private copies.
struct ReductionOfRun {
  std::uint32_t datum = kNobody;
  CodeletOfRun neutral;
  CodeletOfRun combine;
};

struct SleepOfWorker {
  std::uint32_t worker = kNobody;
  std::int64_t from = 0;
  std::int64_t to = kUnknown;  // it sleeps until the end
};

// What the thread of a worker had had of its core at a moment.
struct ProcessorTime {
  std::uint32_t worker = kNobody;
  std::int64_t time = 0;
  std::int64_t ns = 0;
};

struct MarkOfRun {  // and region
  std::string text;
  std::uint32_t lane = 0;
  std::int64_t from = 0;
  std::int64_t to = kUnknown;  // a mark, or a region that has no end
  bool is_region = false;
};

struct DecisionOfRun {
  std::int64_t time = 0;
  trace::Decision decision;  // ids are the runtime's: task_of and datum_of find them
};

// A version of a datum on its way from one rank to another: kUnknown and kNobody where the recording of that rank does
// not say, or is not there.
struct MessageOfRun {
  std::uint32_t from = kNobody;  // ranks
  std::uint32_t to = kNobody;
  std::uint32_t sent = kNobody;      // the datum on the rank that sends it
  std::uint32_t received = kNobody;  // on the other one
  std::uint64_t bytes = 0;
  std::int64_t departs = kUnknown;   // it leaves
  std::int64_t left = kUnknown;      // it has left
  std::int64_t expected = kUnknown;  // it may come
  std::int64_t arrived = kUnknown;
};

// The recording is that of one rank of several.
struct RankAlone {
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;
};

// What the head of the file says of the run.
struct RunFacts {
  std::string
      command;  // "vicinal simulate cholesky --tiles 20", or that of a program of somebody's
  std::string application;  // "cholesky"
  std::string version;      // of Vicinal
  std::string policy;
  std::vector<std::pair<std::string, std::string>>
      options;  // those that differ from their defaults
  // What was told while it ran, the last of each name: parameters, results, bounds ("bound.work_seconds").
  std::vector<std::pair<std::string, std::string>> told;
  MachineDescription machine;
  bool simulated = false;
};

class RecordedRun {
 public:
  RecordedRun() = default;  // nothing ran
  // `with_decisions`: they take most of the room, and only explanations read them. Throws what the source throws, and
  // UsageError where the events contradict each other.
  explicit RecordedRun(const trace::EventSource& source, bool with_decisions = true);

  RunFacts facts;
  trace::Categories recorded = 0;
  bool complete = true;  // false: the run was killed, and goes no further than its last event
  std::uint64_t events_lost = 0;
  std::int64_t begin = 0;  // not 0: it is a part of a recording, see phases.hpp
  std::int64_t end = 0;    // of the last event
  std::int64_t length() const { return end - begin; }

  std::vector<std::string> names;
  std::vector<CodeletOfRun> codelets;  // each as often as it was described
  std::vector<TaskOfRun> tasks;
  std::vector<AccessOfTask> accesses;
  std::vector<DatumOfRun> data;
  std::vector<CopyOfRun> copies;  // by their start, those that never began at the end
  std::vector<RoomChange> room;   // in the order of time
  std::vector<Dependency> dependencies;
  std::vector<TaskInside> inside;  // in the order of their submission
  std::vector<ReductionOfRun> reductions;
  std::vector<SleepOfWorker> sleeps;           // in the order of their beginning
  std::vector<ProcessorTime> processor_times;  // in the order of time
  std::vector<MarkOfRun> marks;
  std::vector<DecisionOfRun> decisions;    // in the order of time
  std::vector<MessageOfRun> messages;      // in the order in which they are first spoken of
  std::vector<trace::RankOfSource> ranks;  // by number; empty: the run is read from one file
  std::optional<RankAlone> alone;

  // A copy; decisions would take most of its memory, but for those that the summary counts (memory_saturated).
  RecordedRun without_decisions() const;

  std::span<const AccessOfTask> accesses_of(const TaskOfRun& task) const {
    return std::span(accesses).subspan(task.first_access, task.access_count);
  }
  // Its own name, or "gemm 812": that of the codelet and its number.
  std::string name_of(std::uint32_t task) const;
  std::string name_of_datum(std::uint32_t datum) const;  // "A(3,4)", "datum 17"
  // "core 1", "gpu0"; of several ranks "rank 2: core 1".
  std::string name_of_worker(std::uint32_t worker) const;
  std::string name_of_node(std::uint32_t node) const;
  // By the runtime's id. A task's id may not be known: then kNobody.
  std::uint32_t task_of(TaskId id) const;
  std::uint32_t datum_of(HandleId id) const;
  // What the user writes: a number, or a name ("gemm(3,1,0)", "gemm 812"; of tasks also that of a codelet). kNobody:
  // there is none; of several the first.
  std::uint32_t find_task(std::string_view text) const;
  std::uint32_t find_datum(std::string_view text) const;
  // By its part of the machine; kNobody: the run is read from one file, or no rank has it.
  std::uint32_t rank_of_node(std::uint32_t node) const;
  std::uint32_t rank_of_worker(std::uint32_t worker) const;

 private:
  friend class RunBuilder;
  base::IdMap tasks_by_id_;
  base::IdMap data_by_id_;
};

// The tasks that each had to wait for, by the accesses in the order of submission and the dependencies that follow from
// no access: direct ones alone, without those that others imply. Index by task; all that a task waits for have lower
// numbers. Of a great many that may go in any order, followed by a great many of another kind, not all pairs are given:
// most of the latter then list only the one of the former that ended last.
std::vector<std::vector<std::uint32_t>> predecessors(const RecordedRun& run);

}  // namespace vicinal::analysis
