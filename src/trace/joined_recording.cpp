#include "trace/joined_recording.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "trace/clock.hpp"
#include "trace/joined_ids.hpp"
#include "trace/joined_run.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

bool is_possible(const ClockComparison& comparison) {
  constexpr std::int64_t kMost = ClockOfRank::kMost;
  return std::max(comparison.at, comparison.offset) <= kMost &&
         std::min(comparison.at, comparison.offset) >= -kMost &&
         comparison.error <= static_cast<std::uint64_t>(kMost);
}

void require_rank(const RankRecording& file) {
  if (!file.known) {
    throw UsageError(
        fmt::format("{}: the recording does not say that it is of one of several ranks; give one "
                    "recording, or those of all ranks of one run",
                    file.reader->path()));
  }
  const std::uint64_t rank = file.known->rank;
  if (rank < file.known->ranks) return;
  throw UsageError(fmt::format(
      "{}: the recording is of rank {} of a run of {} ranks, which cannot be; record the run again",
      file.reader->path(), rank, file.known->ranks));
}

// By rank already.
void require_one_run(std::span<const RankRecording> files) {
  const RankRecording::Known& first = *files.front().known;
  const std::string& path = files.front().reader->path();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const RankRecording::Known& each = *files[i].known;
    if (each.run != first.run || each.ranks != first.ranks) {
      throw UsageError(
          fmt::format("{}: the recording is of another run than {}; give the recordings of one run",
                      files[i].reader->path(), path));
    }
  }
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    if (files[i].known->rank != files[i + 1].known->rank) continue;
    throw UsageError(fmt::format("{}: the recording is of rank {}, as {} is; give each rank once",
                                 files[i + 1].reader->path(), files[i].known->rank,
                                 files[i].reader->path()));
  }
  std::size_t missing = 0;
  while (missing < files.size() && files[missing].known->rank == missing) ++missing;
  if (missing == first.ranks) return;
  throw UsageError(fmt::format(
      "{}: its run has {} ranks, and the recording of rank {} is not there; give those of all",
      path, first.ranks, missing));
}

// The events of a rank, as far as they were visited.
struct RankCursor {
  std::uint32_t rank = 0;
  Reader::Walk walk;
  RecordedEvent event = {};
  std::int64_t time = 0;  // of the event, of the run
};

struct LaterOfRanks {
  bool operator()(const RankCursor& a, const RankCursor& b) const {
    return std::tie(a.time, a.rank) > std::tie(b.time, b.rank);
  }
};

}  // namespace

RankRecording::RankRecording(std::unique_ptr<Reader> its_reader) : reader(std::move(its_reader)) {
  std::vector<ClockComparison> comparisons;
  reader->each([&](const RecordedEvent& event) {
    enum Place : std::size_t { first, at, offset, error, ranks = at, run = offset };
    if (event.event == Event::rank_known && !known) {
      known = {event.first, event.field(ranks), event.field(run)};
    } else if (event.event == Event::clock_compared) {
      const ClockComparison comparison{static_cast<std::int64_t>(event.field(at)),
                                       static_cast<std::int64_t>(event.field(offset)),
                                       event.field(error)};
      if (!is_possible(comparison)) {
        throw UsageError(
            fmt::format("{}: a comparison of its clock has a time that cannot be; "
                        "record the run again",
                        reader->path()));
      }
      comparisons.push_back(comparison);
    } else if (event.event == Event::fact) {
      facts.emplace(event.text());
    }
  });
  clock = ClockOfRank(std::move(comparisons));
}

JoinedRecording::JoinedRecording(std::vector<RankRecording> files) : files_(std::move(files)) {
  for (const RankRecording& file : files_) require_rank(file);
  std::ranges::stable_sort(files_, {}, [](const RankRecording& file) { return file.known->rank; });
  require_one_run(files_);
  std::vector<std::string_view> runs;
  for (const RankRecording& file : files_) {
    const Reader& reader = *file.reader;
    if (std::max(reader.origin_ns(), -reader.origin_ns()) > ClockOfRank::kMost) {
      throw UsageError(
          fmt::format("{}: the recording began at a time that cannot be; record the "
                      "run again",
                      reader.path()));
    }
    origins_.push_back(reader.origin_ns());
    runs.push_back(reader.run());
    ranks_.push_back({.path = reader.path(),
                      .comparisons = file.clock.comparisons(),
                      .offset_ns = file.clock.first_offset(),
                      .drift = file.clock.drift(),
                      .error_ns = file.clock.error()});
  }
  run_ = join_runs(runs, ranks_);
  path_ = files_.size() == 1 ? ranks_[0].path
                             : fmt::format("{} to {}", ranks_.front().path, ranks_.back().path);
  zero_ = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t rank = 0; rank < files_.size(); ++rank) {
    zero_ = std::min(zero_, common_time(rank, 0));
  }
}

Categories JoinedRecording::recorded() const {
  Categories all = kAllCategories;
  for (const RankRecording& file : files_) all &= file.reader->recorded();
  return all;
}
bool JoinedRecording::is_simulated() const {
  return std::ranges::all_of(files_,
                             [](const RankRecording& file) { return file.reader->is_simulated(); });
}
bool JoinedRecording::is_complete() const {
  return std::ranges::all_of(files_,
                             [](const RankRecording& file) { return file.reader->is_complete(); });
}
std::uint64_t JoinedRecording::events_lost() const {
  std::uint64_t lost = 0;
  for (const RankRecording& file : files_) lost += file.reader->events_lost();
  return lost;
}
std::uint64_t JoinedRecording::bytes() const {
  std::uint64_t bytes = 0;
  for (const RankRecording& file : files_) bytes += file.reader->bytes();
  return bytes;
}

// By the clock of rank 0. A rank whose clock was never compared begins with rank 0.
std::int64_t JoinedRecording::common_time(std::uint32_t rank, std::int64_t time) const {
  const std::uint32_t by = files_[rank].clock.comparisons() == 0 ? 0 : rank;
  const ClockOfRank& clock = files_[by].clock;
  const std::int64_t local = origins_[by] + (by == rank ? time : 0);
  return local + clock.offset_at(local) + (by == rank ? 0 : time);
}

void JoinedRecording::each(base::FunctionRef<void(const RecordedEvent&)> visit) const {
  // The time of a rank never goes backward, also where comparisons are so far apart that it would.
  const auto find_next = [this](RankCursor& cursor) {
    if (!cursor.walk.next(cursor.event)) return false;
    const std::int64_t time = common_time(cursor.rank, cursor.event.time) - zero_;
    cursor.time = std::max(cursor.time, std::min(time, kLongestRecording));
    return true;
  };
  std::vector<RankCursor> heap;
  for (std::uint32_t rank = 0; rank < files_.size(); ++rank) {
    RankCursor cursor{rank, Reader::Walk(*files_[rank].reader)};
    if (find_next(cursor)) heap.push_back(std::move(cursor));
  }
  std::ranges::make_heap(heap, LaterOfRanks{});
  JoinedIds ids(ranks_);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, LaterOfRanks{});
    RankCursor& cursor = heap.back();
    bool more = true;
    do {
      RecordedEvent event = cursor.event;
      event.time = cursor.time;
      // What all ranks say is said once, what one of them says, with its name.
      const bool is_fact = event.event == Event::fact && cursor.rank > 0;
      if (!is_fact || files_[0].facts.count(event.text()) == 0) {
        const std::string text =
            is_fact ? fmt::format("rank {}: {}", cursor.rank, event.text()) : std::string();
        ids.translate(cursor.rank, event);
        if (is_fact) ids.replace_text(text, event);
        visit(event);
      }
      more = find_next(cursor);
    } while (more && (heap.size() == 1 || !LaterOfRanks{}(cursor, heap.front())));
    if (more) {
      std::ranges::push_heap(heap, LaterOfRanks{});
    } else {
      heap.pop_back();
    }
  }
}

}  // namespace vicinal::trace
