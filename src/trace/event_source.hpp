// Where recorded events come from: the file of a run (reader.hpp), or the files of all its ranks, read as one
// (joined_recording.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.hpp"
#include "trace/event.hpp"

namespace vicinal::trace {

struct RecordedEvent {
  std::int64_t time = 0;   // ns since the recording began
  std::uint32_t lane = 0;  // the thread
  Event event{};
  std::uint32_t first = 0;              // the first field
  std::span<const std::uint64_t> rest;  // the further fields, then the tail
  std::uint32_t rank = 0;               // of the thread; 0 in a file that is read alone

  // Field by its place in the table; 0 is the first.
  std::uint64_t field(std::size_t place) const { return place == 0 ? first : rest[place - 1]; }
  std::span<const std::uint64_t> tail() const {
    return rest.subspan(entry(event).field_count() - 1);
  }
  // Without the zeros. Not checked for being UTF-8.
  std::string_view text() const;
};

// A rank of a run whose files are read as one.
struct RankOfSource {
  std::string path;  // of its file, which may be that of all
  // Its part of the nodes and workers of the run.
  std::uint32_t first_node = 0;
  std::uint32_t nodes = 0;
  std::uint32_t first_worker = 0;
  std::uint32_t workers = 0;
  // Its clock and the offset are the clock of rank 0.
  std::uint64_t comparisons = 0;  // 0: its recording is taken to begin when that of rank 0 did
  std::int64_t offset_ns = 0;     // when the clocks were first compared
  double drift = 0;               // what the offset gains in ns per second, in all
  std::uint64_t error_ns = 0;     // by which the offset is wrong at most
  bool has_common_clock = false;  // it is simulated, as all are: there is nothing to compare
};

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // Of the file; of several what messages call them.
  virtual const std::string& path() const = 0;
  // The object `run` of the head, as JSON text: what ran, on which machine, with which options.
  virtual std::string_view run() const = 0;
  virtual Categories recorded() const = 0;
  virtual bool is_simulated() const = 0;
  // The file has its end: the recording was stopped, not killed.
  virtual bool is_complete() const = 0;
  // Known at a complete file's end, else as far as events tell.
  virtual std::uint64_t events_lost() const = 0;
  virtual std::uint64_t bytes() const = 0;  // of the file
  // Those of a run that is read from the files of several ranks, by number; else none.
  virtual std::span<const RankOfSource> ranks() const { return {}; }

  // In the order of time, those of one thread in their own. Events that this version does not know are left out.
  virtual void each(base::FunctionRef<void(const RecordedEvent&)> visit) const = 0;
};

}  // namespace vicinal::trace
