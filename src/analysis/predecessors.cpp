// Which tasks waited for which: the accesses to a datum, in the order of their submission, fall into turns. A turn is
// one exclusive write, or all reads, commuting writes or contributions to a reduction that stand next to each other.
// Each member of a turn waits for all of the turn before it, and through these for what came before.
#include <algorithm>
#include <utility>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

namespace {

struct Turns {
  AccessMode mode = AccessMode::R;    // of the present turn
  std::vector<std::uint32_t> before;  // the turn before it
  std::vector<std::uint32_t> present;
  std::uint32_t last_to_end = kNobody;  // of those before
};

class Predecessors {
 public:
  explicit Predecessors(const RecordedRun& run)
      : run_(run), turns_(run.data.size()), found_(run.tasks.size()) {}

  std::vector<std::vector<std::uint32_t>> find() {
    for (const Dependency& each : run_.dependencies) {
      if (each.task < found_.size() && each.before < each.task) {
        found_[each.task].push_back(each.before);
      }
    }
    for (std::uint32_t task = 0; task < found_.size(); ++task) {
      for (const AccessOfTask& access : run_.accesses_of(run_.tasks[task])) {
        if (access.datum < turns_.size()) take(task, access);
      }
      auto& before = found_[task];
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    return std::move(found_);
  }

 private:
  // So that a thousand readers behind a thousand that commute do not give a million pairs.
  static constexpr std::size_t kMostPairs = 65'536;

  void take(std::uint32_t task, const AccessOfTask& access) {
    if (access.mode == AccessMode::scratch) return;  // nobody has written it, nobody reads it
    Turns& turns = turns_[access.datum];
    const bool joins =
        !turns.present.empty() && turns.mode == access.mode && !is_exclusive(access.mode);
    if (!joins) begin_turn(turns, access.mode);
    wait_for(turns, task);
    // A task that names a datum twice waits for no one but others.
    if (turns.present.empty() || turns.present.back() != task) turns.present.push_back(task);
  }

  void begin_turn(Turns& turns, AccessMode mode) const {
    turns.mode = mode;
    std::swap(turns.before, turns.present);
    turns.present.clear();
    const auto last = std::ranges::max_element(
        turns.before, {}, [&](std::uint32_t task) { return run_.tasks[task].ended; });
    turns.last_to_end = last == turns.before.end() ? kNobody : *last;
  }

  void wait_for(const Turns& turns, std::uint32_t task) {
    auto& before = found_[task];
    if (turns.before.size() * turns.present.size() > kMostPairs) {
      if (turns.last_to_end != task) before.push_back(turns.last_to_end);
      return;
    }
    for (const std::uint32_t each : turns.before) {
      if (each != task) before.push_back(each);
    }
  }

  const RecordedRun& run_;
  std::vector<Turns> turns_;  // by datum
  std::vector<std::vector<std::uint32_t>> found_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> predecessors(const RecordedRun& run) {
  return Predecessors(run).find();
}

}  // namespace vicinal::analysis
