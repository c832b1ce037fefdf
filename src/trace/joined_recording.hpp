// The recordings of all ranks of a run, read as one: events in the order of the time of rank 0, see event_source.hpp.
// The zero of time is the earliest start of a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event_source.hpp"
#include "trace/joined_clock.hpp"
#include "trace/reader.hpp"

namespace vicinal::trace {

// A file, and what it says of its rank.
struct RankRecording {
  // Reads all events. Throws UsageError: a comparison of clocks cannot be.
  explicit RankRecording(std::unique_ptr<Reader> its_reader);

  struct Known {
    std::uint64_t rank = 0;
    std::uint64_t ranks = 0;  // of the run
    std::uint64_t run = 0;    // the same in all files of it
  };
  std::unique_ptr<Reader> reader;
  std::optional<Known> known;  // none: the run was not one of several ranks
  ClockOfRank clock;
  std::set<std::string, std::less<>> facts;
};

class JoinedRecording final : public EventSource {
 public:
  // In any order. Throws UsageError that names a file: it is of no run of several ranks, or of another run, its rank is
  // there twice, or one is missing.
  explicit JoinedRecording(std::vector<RankRecording> files);

  const std::string& path() const override { return path_; }
  std::string_view run() const override { return run_; }
  Categories recorded() const override;  // by all ranks
  bool is_simulated() const override;
  bool is_complete() const override;
  std::uint64_t events_lost() const override;
  std::uint64_t bytes() const override;
  std::span<const RankOfSource> ranks() const override { return ranks_; }
  void each(base::FunctionRef<void(const RecordedEvent&)> visit) const override;

 private:
  // Of a time within the recording of the rank.
  std::int64_t common_time(std::uint32_t rank, std::int64_t time) const;

  std::vector<RankRecording> files_;  // by rank
  std::vector<RankOfSource> ranks_;
  std::string path_;
  std::string run_;
  std::vector<std::int64_t> origins_;  // by rank, see Reader::origin_ns
  std::int64_t zero_ = 0;              // of rank 0's clock
};

}  // namespace vicinal::trace
