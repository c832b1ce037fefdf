#include "trace/open_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "trace/joined_recording.hpp"
#include "trace/ranks_of_file.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool are_compared(const RankRecording& first, const RankRecording& second) {
  if (!first.known || !second.known) return true;
  return first.known->run != second.known->run && first.known->rank == second.known->rank;
}

using Runs = std::vector<std::unique_ptr<EventSource>>;

// The recordings of the ranks of two runs, those of the first file's run before the others. None: they are not all there.
std::optional<std::size_t> end_of_first_run(std::vector<RankRecording>& files) {
  const auto is_of = [](const std::optional<RankRecording::Known>& run) {
    return [run](const RankRecording& file) { return file.known && file.known->run == run->run; };
  };
  for (const RankRecording& file : files) {
    if (!file.known) return std::nullopt;
  }
  const auto second = std::stable_partition(files.begin(), files.end(), is_of(files[0].known));
  if (second == files.end() || !std::all_of(second, files.end(), is_of(second->known)))
    return std::nullopt;
  const auto first_count = static_cast<std::size_t>(second - files.begin());
  const bool all_there =
      first_count == files[0].known->ranks && files.size() - first_count == second->known->ranks;
  return all_there ? std::optional(first_count) : std::nullopt;
}

void add_runs_of(std::vector<RankRecording> files, std::size_t most, Runs& runs) {
  const std::size_t left = most - std::min(most, runs.size());
  if (left == 2 && files.size() == 2 && are_compared(files[0], files[1])) {
    for (RankRecording& file : files) runs.push_back(std::move(file.reader));
    return;
  }
  if (files.size() == 1 && !runs.empty()) {
    runs.push_back(std::move(files[0].reader));
    return;
  }
  const auto count = left == 2 ? end_of_first_run(files) : std::nullopt;
  if (count) {
    const auto middle = files.begin() + static_cast<std::ptrdiff_t>(*count);
    std::vector<RankRecording> second(std::make_move_iterator(middle),
                                      std::make_move_iterator(files.end()));
    files.erase(middle, files.end());
    runs.push_back(std::make_unique<JoinedRecording>(std::move(files)));
    files = std::move(second);
  }
  runs.push_back(std::make_unique<JoinedRecording>(std::move(files)));
}

}  // namespace

Runs open_runs(std::span<const std::string> files, std::size_t most) {
  Runs runs;
  std::vector<RankRecording> of_ranks;
  bool is_first = false;  // a run of which each rank has a file, and the other has one for all
  for (const std::string& file : files) {
    auto reader = std::make_unique<Reader>(file);
    if (ranks_within(*reader) > 1) {
      runs.push_back(std::make_unique<RanksOfFile>(std::move(reader)));
    } else if (files.size() == 1) {
      runs.push_back(std::move(reader));
    } else {
      is_first = is_first || (of_ranks.empty() && runs.empty());
      of_ranks.emplace_back(std::move(reader));
    }
  }
  is_first = is_first && !runs.empty();
  if (!of_ranks.empty()) add_runs_of(std::move(of_ranks), most, runs);
  if (is_first) std::rotate(runs.begin(), runs.end() - 1, runs.end());
  if (runs.size() > most) {
    throw UsageError(fmt::format(
        "{}: the recording is of another run than {}; give {}", runs[1]->path(), runs[0]->path(),
        most == 1 ? "the recordings of one run" : "those of two runs at most"));
  }
  return runs;
}

std::string name_of(const EventSource& source) {
  const auto ranks = source.ranks();
  if (ranks.size() < 2 || ranks.front().path == ranks.back().path) return file_name(source.path());
  return file_name(ranks.front().path) + " to " + file_name(ranks.back().path);
}

}  // namespace vicinal::trace
