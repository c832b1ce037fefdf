// The choices of the runtime, with their candidates and scores: as many as there is room for.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "reports/page/run_data.hpp"
#include "trace/decision.hpp"

namespace vicinal::reports {

namespace {

using analysis::DecisionOfRun;
using analysis::kNobody;
using trace::Among;
using trace::Candidate;
using trace::Decision;
using trace::DecisionKind;
using trace::Score;

// Only decisions that answer a click's question: the reason for a task's place, for its turn, and for an eviction.
bool is_shown(const Decision& decision) {
  const DecisionKind kind = trace::entry(decision.reason).kind;
  return decision.winner.has_value() &&
         (decision.task || kind == DecisionKind::victim || decision.among == Among::tasks);
}

// A number of the run's tables, plus one; 0: it is not known there.
std::uint64_t number_of(const analysis::RecordedRun& run, Among among, std::uint64_t id) {
  switch (among) {
    case Among::tasks:
      return one_more(run.task_of(TaskId{id}));
    case Among::handles:
      return one_more(run.datum_of(HandleId{id}));
    case Among::nodes:
    case Among::workers:
      break;
  }
  return id + 1;
}

class DecisionTable {
 public:
  explicit DecisionTable(const RunView& view) : view_(view), run_(view.run) {}

  void add(const DecisionOfRun& one) {
    decisions_.push_back(&one);
    for (const Candidate& candidate : one.decision.candidates) candidates_.push_back(&candidate);
    add_scores(one.decision.scores);
    for (const Candidate& candidate : one.decision.candidates) add_scores(candidate.scores);
  }
  // Of the columns before they are packed: a few bytes each.
  std::size_t about_bytes() const {
    return 10 * decisions_.size() + 4 * candidates_.size() + 5 * scores_.size();
  }
  std::size_t size() const { return decisions_.size(); }

  Section section() const {
    Columns table("decisions");
    table.deltas("time", size(), [&](std::size_t i) { return view_.ticks(decisions_[i]->time); });
    const auto column = [&](std::string_view name, const auto& value) {
      table.plain(name, size(), [&](std::size_t i) { return value(decisions_[i]->decision); });
    };
    column("rule", [](const Decision& d) { return static_cast<std::uint64_t>(d.reason); });
    column("among", [](const Decision& d) { return static_cast<std::uint64_t>(d.among); });
    column("task", [&](const Decision& d) {
      return d.task ? number_of(run_, Among::tasks, d.task->value) : 0;
    });
    column("datum", [&](const Decision& d) {
      return d.handle ? number_of(run_, Among::handles, d.handle->value) : 0;
    });
    column("node", [](const Decision& d) { return d.node ? std::uint64_t{d.node->value} + 1 : 0; });
    column("worker",
           [](const Decision& d) { return d.worker ? std::uint64_t{d.worker->value} + 1 : 0; });
    column("bytes", [](const Decision& d) { return d.bytes ? d.bytes->value + 1 : 0; });
    column("winner", [](const Decision& d) { return *d.winner; });
    column("candidates", [](const Decision& d) { return d.candidates.size(); });
    column("scores", [](const Decision& d) { return d.scores.size(); });
    write_candidates(table);
    return table.section();
  }

 private:
  template <typename Scores>
  void add_scores(const Scores& scores) {
    for (const Score& score : scores) scores_.push_back(score);
  }
  void write_candidates(Columns& table) const {
    std::vector<std::int64_t> numbers;
    for (const DecisionOfRun* one : decisions_) {
      for (const Candidate& candidate : one->decision.candidates) {
        numbers.push_back(
            static_cast<std::int64_t>(number_of(run_, one->decision.among, candidate.id)));
      }
    }
    table.deltas("candidate", numbers.size(), [&](std::size_t i) { return numbers[i]; });
    table.plain("candidate_scores", candidates_.size(),
                [&](std::size_t i) { return candidates_[i]->scores.size(); });
    // Of each decision those of the question, then those of its candidates.
    table.plain("measure", scores_.size(),
                [&](std::size_t i) { return static_cast<std::uint64_t>(scores_[i].measure); });
    table.plain("value", scores_.size(),
                [&](std::size_t i) { return Columns::zigzag(scores_[i].value); });
  }

  const RunView& view_;
  const analysis::RecordedRun& run_;
  std::vector<const DecisionOfRun*> decisions_;
  std::vector<const Candidate*> candidates_;
  std::vector<Score> scores_;
};

Json rules_json() {
  Json json = Json::array();
  for (const trace::ReasonEntry& rule : trace::reasons()) {
    json.push_back({trace::entry(rule.kind).name, rule.name, rule.sentence});
  }
  return json;
}

Json measures_json() {
  Json json = Json::array();
  for (const trace::MeasureEntry& measure : trace::measures()) {
    json.push_back({measure.name, static_cast<unsigned>(measure.unit), measure.sentence});
  }
  return json;
}

}  // namespace

DecisionsPart decisions_part(const RunView& view, std::size_t most_text) {
  DecisionTable table(view);
  std::size_t asked = 0;
  for (const DecisionOfRun& one : view.run.decisions) {
    if (!is_shown(one.decision)) continue;
    ++asked;
    // Base64 makes four bytes of three, and packing saves at least half.
    if (table.about_bytes() * 2 / 3 < most_text) table.add(one);
  }
  const bool recorded = (view.run.recorded & trace::bit(trace::Category::decisions)) != 0;
  return {{{"all", view.run.decisions.size()},
           {"unread", recorded && view.run.decisions.empty()},
           {"asked", asked},
           {"kept", table.size()},
           {"rules", rules_json()},
           {"measures", measures_json()}},
          table.section()};
}

}  // namespace vicinal::reports
