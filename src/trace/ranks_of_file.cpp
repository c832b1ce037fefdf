#include "trace/ranks_of_file.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/id_map.hpp"
#include "trace/joined_ids.hpp"
#include "trace/joined_run.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

// Of the descriptions of the machines of all ranks. What a small file may claim must not take all memory.
constexpr std::uint64_t kMostText = 64ULL << 20;
constexpr std::uint64_t kMostRanks = 1ULL << 16;

}  // namespace

std::uint64_t ranks_within(const Reader& reader) {
  const auto run = nlohmann::ordered_json::parse(reader.run(), nullptr, false);
  const auto found = run.is_object() ? run.find("ranks") : run.end();
  const bool is_known = found != run.end() && found->is_number_unsigned();
  return is_known ? found->get<std::uint64_t>() : 0;
}

RanksOfFile::RanksOfFile(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {
  const std::uint64_t count = ranks_within(*reader_);
  if (count > kMostRanks || count > kMostText / reader_->run().size()) {
    throw UsageError(
        fmt::format("{}: what the head says of the run is not as it should be: the machines of its "
                    "{} ranks are "
                    "too large; record the run again",
                    path(), count));
  }
  const std::vector<std::string_view> runs(count, reader_->run());
  ranks_.assign(count, {.path = path(), .has_common_clock = true});
  run_ = join_runs(runs, ranks_);
}

// Each thread speaks for one rank after the other. A fact that rank 0 has told before is told once.
void RanksOfFile::each(base::FunctionRef<void(const RecordedEvent&)> visit) const {
  JoinedIds ids(ranks_, JoinedIds::Names::common);
  base::IdMap ranks;  // by lane
  std::set<std::string, std::less<>> facts;
  reader_->each([&](const RecordedEvent& recorded) {
    RecordedEvent event = recorded;
    std::uint32_t& rank = ranks[event.lane];
    if (rank == base::IdMap::kNone) rank = 0;
    if (event.event == Event::of_rank) {
      if (event.first >= ranks_.size()) {
        throw UsageError(fmt::format(
            "{}: the events of the recording contradict each other: the run has no rank {}; record "
            "the run again",
            path(), event.first));
      }
      rank = event.first;
      return;
    }
    std::string text;
    if (event.event == Event::fact) {
      text = event.text();
      if (rank == 0) {
        facts.insert(text);
      } else if (facts.contains(text)) {
        return;
      } else {
        text = fmt::format("rank {}: {}", rank, text);
      }
    }
    ids.translate(rank, event);
    if (event.event == Event::fact) ids.replace_text(text, event);
    visit(event);
  });
}

}  // namespace vicinal::trace
