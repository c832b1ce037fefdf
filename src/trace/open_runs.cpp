#include "trace/open_runs.hpp"

#include <filesystem>
#include <utility>

#include "trace/joined_recording.hpp"
#include "trace/reader.hpp"

namespace vicinal::trace {

namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool are_compared(const RankRecording& first, const RankRecording& second) {
  if (!first.known || !second.known) return true;
  return first.known->run != second.known->run && first.known->rank == second.known->rank;
}

}  // namespace

std::vector<std::unique_ptr<EventSource>> open_runs(std::span<const std::string> files,
                                                    std::size_t most) {
  std::vector<std::unique_ptr<EventSource>> runs;
  if (files.size() == 1) {
    runs.push_back(std::make_unique<Reader>(files.front()));
    return runs;
  }
  std::vector<RankRecording> recordings;
  for (const std::string& file : files) recordings.emplace_back(std::make_unique<Reader>(file));
  if (most == 2 && recordings.size() == 2 && are_compared(recordings[0], recordings[1])) {
    for (RankRecording& recording : recordings) runs.push_back(std::move(recording.reader));
  } else if (!recordings.empty()) {
    runs.push_back(std::make_unique<JoinedRecording>(std::move(recordings)));
  }
  return runs;
}

std::string name_of(const EventSource& source) {
  const auto ranks = source.ranks();
  if (ranks.size() < 2) return file_name(source.path());
  return file_name(ranks.front().path) + " to " + file_name(ranks.back().path);
}

}  // namespace vicinal::trace
