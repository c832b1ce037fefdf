// The recording of a run of several simulated ranks, which is one file: what it holds is told as that of the files of real ranks
// is (joined_recording.hpp). Its events are in the order in which they happened, by one clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event_source.hpp"
#include "trace/reader.hpp"

namespace vicinal::trace {

// By the head of the file; 0: of one runtime.
std::uint64_t ranks_within(const Reader& reader);

class RanksOfFile final : public EventSource {
 public:
  // Of a file that says how many ranks it is of. Throws UsageError that names the file: their machines cannot be, or are too large.
  explicit RanksOfFile(std::unique_ptr<Reader> reader);

  const std::string& path() const override { return reader_->path(); }
  std::string_view run() const override { return run_; }
  Categories recorded() const override { return reader_->recorded(); }
  bool is_simulated() const override { return reader_->is_simulated(); }
  bool is_complete() const override { return reader_->is_complete(); }
  std::uint64_t events_lost() const override { return reader_->events_lost(); }
  std::uint64_t bytes() const override { return reader_->bytes(); }
  std::span<const RankOfSource> ranks() const override { return ranks_; }
  void each(base::FunctionRef<void(const RecordedEvent&)> visit) const override;

 private:
  std::unique_ptr<Reader> reader_;
  std::vector<RankOfSource> ranks_;
  std::string run_;
};

}  // namespace vicinal::trace
