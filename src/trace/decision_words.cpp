#include "trace/decision_words.hpp"

#include <cstddef>
#include <utility>

#include "trace/event.hpp"

namespace vicinal::trace {

namespace {

// The fields behind the first, as the table has them.
enum DecisionField : std::size_t {
  kAmong,
  kTask,
  kHandle,
  kNode,
  kWorker,
  kBytes,
  kWinner,
  kFields
};
static_assert(entry(Event::decision).field_count() == kFields + 1);

template <typename Id>
std::uint64_t word_of(const std::optional<Id>& id) {
  return id ? std::uint64_t{id->value} : kNone;
}

std::uint64_t* put_scores(const base::SureVector<Score>& scores, std::uint64_t* at) {
  for (const Score& score : scores) {
    *at++ = static_cast<std::uint64_t>(score.measure);
    *at++ = static_cast<std::uint64_t>(score.value);
  }
  return at;
}

// What is left of the words, from the front. Nothing is read beyond them: `good` says that nothing was asked for that
// is not there.
class Words {
 public:
  explicit Words(std::span<const std::uint64_t> words) : words_(words) {}
  bool good() const { return good_; }
  bool all_read() const { return good_ && words_.empty(); }
  std::size_t left() const { return words_.size(); }
  std::uint64_t next() {
    if (words_.empty()) {
      good_ = false;
      return 0;
    }
    const std::uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  base::SureVector<Score> scores(std::uint64_t count) {
    base::SureVector<Score> scores;
    if (count > left() / 2) good_ = false;
    if (!good_) return scores;
    scores.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t measure = next();
      if (measure >= measures().size()) good_ = false;
      scores.push_back({static_cast<Measure>(measure), static_cast<std::int64_t>(next())});
    }
    return scores;
  }

 private:
  std::span<const std::uint64_t> words_;
  bool good_ = true;
};

// Ids of 32 and of 64 bits. False: it does not fit.
template <typename Id>
bool take_id(std::uint64_t word, std::optional<Id>& id) {
  if (word == kNone) return true;
  using Value = decltype(Id::value);
  id = Id{static_cast<Value>(word)};
  return id->value == word;
}

bool take_fields(std::span<const std::uint64_t> fields, Decision& decision) {
  return take_id(fields[kTask], decision.task) && take_id(fields[kHandle], decision.handle) &&
         take_id(fields[kNode], decision.node) && take_id(fields[kWorker], decision.worker) &&
         take_id(fields[kBytes], decision.bytes);
}

}  // namespace

std::size_t words_of(const Decision& decision) {
  std::size_t words = kFields + 1 + 2 * decision.scores.size();
  for (const Candidate& candidate : decision.candidates) words += 2 + 2 * candidate.scores.size();
  return words;
}

void put_decision(const Decision& decision, std::uint64_t* at) {
  at[kAmong] = static_cast<std::uint64_t>(decision.among);
  at[kTask] = word_of(decision.task);
  at[kHandle] = word_of(decision.handle);
  at[kNode] = word_of(decision.node);
  at[kWorker] = word_of(decision.worker);
  at[kBytes] = word_of(decision.bytes);
  at[kWinner] = decision.winner ? *decision.winner : kNone;
  at[kFields] = decision.candidates.size() | std::uint64_t{decision.scores.size()} << 32;
  at = put_scores(decision.scores, at + kFields + 1);
  for (const Candidate& candidate : decision.candidates) {
    *at++ = candidate.id;
    *at++ = candidate.scores.size();
    at = put_scores(candidate.scores, at);
  }
}

std::optional<Decision> read_decision(std::uint32_t rule, std::int64_t time_ns,
                                      std::span<const std::uint64_t> words) {
  if (rule >= reasons().size() || words.size() <= kFields) return std::nullopt;
  if (words[kAmong] > static_cast<std::uint64_t>(Among::workers)) return std::nullopt;
  Decision decision(static_cast<Reason>(rule), static_cast<Among>(words[kAmong]), Time{time_ns});
  if (!take_fields(words, decision)) return std::nullopt;

  Words tail(words.subspan(kFields));
  const std::uint64_t counts = tail.next();
  const std::uint64_t candidates = counts & 0xffffffffU;
  decision.scores = tail.scores(counts >> 32);
  if (candidates > tail.left() / 2) return std::nullopt;
  decision.candidates.reserve(candidates);
  for (std::uint64_t i = 0; i < candidates && tail.good(); ++i) {
    Candidate candidate;
    candidate.id = tail.next();
    candidate.scores = tail.scores(tail.next());
    decision.candidates.push_back(std::move(candidate));
  }
  if (!tail.all_read()) return std::nullopt;
  if (words[kWinner] != kNone) {
    if (words[kWinner] >= candidates) return std::nullopt;
    decision.winner = words[kWinner];
  }
  return decision;
}

namespace {

template <typename OnMeasure, typename OnCandidate>
bool walk_scores(std::span<const std::uint64_t> tail, const OnMeasure& on_measure,
                 const OnCandidate& on_candidate) {
  std::size_t at = 0;
  const auto scores = [&](std::uint64_t count) {
    if (count > (tail.size() - at) / 2) return false;
    for (std::uint64_t i = 0; i < count; ++i, at += 2) on_measure(at);
    return true;
  };
  if (tail.empty()) return false;
  const std::uint64_t candidates = tail[at] & 0xffffffffU;
  if (!scores(tail[at++] >> 32)) return false;
  for (std::uint64_t i = 0; i < candidates; ++i) {
    if (tail.size() - at < 2) return false;
    on_candidate(at);
    at += 2;
    if (!scores(tail[at - 1])) return false;
  }
  return at == tail.size();
}

}  // namespace

bool visit_measures(std::span<const std::uint64_t> tail,
                    base::FunctionRef<void(std::size_t)> visit) {
  return walk_scores(tail, visit, [](std::size_t /*at*/) {});
}

bool visit_candidates(std::span<const std::uint64_t> tail,
                      base::FunctionRef<void(std::size_t)> visit) {
  return walk_scores(
      tail, [](std::size_t /*at*/) {}, visit);
}

}  // namespace vicinal::trace
