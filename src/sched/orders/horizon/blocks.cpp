#include "sched/orders/horizon/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace vicinal::sched::orders::horizon {

namespace {

constexpr double kLeastKept = 0.6;  // of a block's units, when it is cut back

struct Scored {
  double score = 0;
  Number unit = 0;
  // The greatest score first, then the lowest number.
  bool operator<(const Scored& other) const {
    return score != other.score ? score < other.score : unit > other.unit;
  }
};

// Which units make a block.
class Growth {
 public:
  Growth(const PlanGraph& graph, const Units& units, const BlockRules& rules)
      : graph_(graph),
        units_(units),
        rules_(rules),
        blocked_(units.predecessors),
        state_(units.count(), State::waiting),
        inside_(graph.data()),
        owned_(graph.data(), false),
        score_(units.count()),
        uses_(units.count()),
        weights_{0} {
    std::size_t most = 0;  // users of a datum
    for (Number datum = 0; datum < graph.data(); ++datum) {
      most = std::max(most, units.users[datum].size());
    }
    for (std::size_t n = 1; n <= most; ++n) {
      weights_.push_back(std::pow(static_cast<double>(n), -rules.falls));
    }
    for (Number unit = 0; unit < units.count(); ++unit) {
      for (const Number task : units.tasks[unit]) {
        for (const Use& use : graph.uses_of(task)) uses_[unit] += graph.bytes[use.datum];
      }
    }
  }

  // The next block; empty: all units are in blocks.
  std::vector<Number> next() {
    block_.clear();
    const Number seed = next_seed();
    forget_block();
    if (seed == kNone) return {};
    std::vector<double> ratios;  // by units
    for (Number unit = seed; unit != kNone; unit = most_related()) {
      if (!block_.empty() && footprint_with(unit) > rules_.capacity) {
        heap_.push({score_[unit], unit});
        break;
      }
      enter(unit);
      const double ratio = static_cast<double>(accessed_) /
                           static_cast<double>(std::max(distinct_, std::uint64_t{1}));
      ratios.push_back(ratio);
    }
    if (left_ > block_.size()) cut_back(ratios);
    left_ -= block_.size();
    for (const Number unit : block_) state_[unit] = State::done;
    return block_;
  }

 private:
  enum class State : std::uint8_t { waiting, inside, done };

  // The unit that has most data in the block left behind, of those that can begin; else the first.
  Number next_seed() {
    const Number related = most_related();
    if (related != kNone) return related;
    while (first_ < units_.count() && state_[first_] != State::waiting) ++first_;
    for (Number unit = first_; unit < units_.count(); ++unit) {
      if (state_[unit] == State::waiting && blocked_[unit] == 0) return unit;
    }
    return kNone;
  }

  // To where a byte of the block is used most often.
  void cut_back(const std::vector<double>& ratios) {
    const auto least =
        static_cast<std::ptrdiff_t>(kLeastKept * static_cast<double>(ratios.size() - 1));
    // Of equal ones the last.
    const auto best = std::max_element(ratios.rbegin(), ratios.rend() - least);
    const auto kept = static_cast<std::size_t>(ratios.rend() - best);
    while (block_.size() > kept) leave();
  }

  void forget_block() {
    for (const Number datum : touched_) {
      inside_[datum] = 0;
      owned_[datum] = false;
    }
    touched_.clear();
    for (const Number unit : related_) score_[unit] = 0;
    related_.clear();
    heap_ = {};
    accessed_ = distinct_ = owners_ = 0;
    longest_ = 1;
  }

  double worth(Number datum) const {
    const double size = rules_.counts_bytes ? static_cast<double>(graph_.bytes[datum]) : 1.0;
    return (owned_[datum] ? rules_.owners_count : 1.0) * size * weights_[inside_[datum]];
  }

  void enter(Number unit) {
    state_[unit] = State::inside;
    block_.push_back(unit);
    accessed_ += uses_[unit];
    longest_ = std::max<std::uint64_t>(longest_, units_.tasks[unit].size());
    const Number owner = units_.owner[unit];
    for (const Number datum : units_.data[unit]) {
      const double before = worth(datum);
      if (datum == owner && !owned_[owner]) {
        owned_[owner] = true;
        owners_ += graph_.bytes[owner];
      }
      if (inside_[datum]++ == 0) {
        distinct_ += graph_.bytes[datum];
        touched_.push_back(datum);
      }
      change_scores(datum, worth(datum) - before);
    }
    // Once, however many data they share with the unit.
    for (; !rising_.empty(); rising_.pop_back()) {
      const Number user = rising_.back();
      is_rising_[user] = false;
      if (blocked_[user] == 0) heap_.push({score_[user], user});
    }
    for (const Number after : units_.successors[unit]) {
      if (--blocked_[after] == 0 && score_[after] > 0) heap_.push({score_[after], after});
    }
  }

  // The last that entered. Scores stay those of what entered before the cut: seeds follow them.
  void leave() {
    const Number unit = block_.back();
    block_.pop_back();
    state_[unit] = State::waiting;
    for (const Number after : units_.successors[unit]) ++blocked_[after];
    heap_.push({score_[unit], unit});
    first_ = std::min(first_, unit);
  }

  void change_scores(Number datum, double change) {
    for (const Number user : units_.users[datum]) {
      if (state_[user] != State::waiting) continue;
      if (score_[user] == 0) related_.push_back(user);
      score_[user] += change;
      // A score that fell is seen when the unit comes up.
      if (change <= 0 || is_rising_[user]) continue;
      is_rising_[user] = true;
      rising_.push_back(user);
    }
  }

  Number most_related() {
    constexpr double kSame = 1e-9;
    while (!heap_.empty()) {
      const Scored top = heap_.top();
      heap_.pop();
      if (state_[top.unit] != State::waiting || blocked_[top.unit] != 0) continue;
      const double now = score_[top.unit];
      if (now < top.score - kSame) {
        if (now > kSame) heap_.push({now, top.unit});
        continue;
      }
      return top.unit;
    }
    return kNone;
  }

  std::uint64_t footprint_with(Number unit) const {
    std::uint64_t owners = owners_;
    std::uint64_t distinct = distinct_;
    const Number owner = units_.owner[unit];
    if (owner != kNone && !owned_[owner]) owners += graph_.bytes[owner];
    for (const Number datum : units_.data[unit]) {
      if (inside_[datum] == 0) distinct += graph_.bytes[datum];
    }
    const std::uint64_t longest = std::max<std::uint64_t>(longest_, units_.tasks[unit].size());
    return owners + (distinct - std::min(owners, distinct)) / longest;
  }

  const PlanGraph& graph_;
  const Units& units_;
  const BlockRules& rules_;
  std::vector<Number> blocked_;
  std::vector<State> state_;
  std::vector<Number> inside_;       // by datum: units of the block that use it
  std::vector<bool> owned_;          // by datum: it owns a unit of the block
  std::vector<double> score_;        // by unit
  std::vector<std::uint64_t> uses_;  // by unit: bytes of all operands of its tasks
  std::vector<double> weights_;      // of a datum, by its users in the block
  std::priority_queue<Scored> heap_;
  std::vector<Number> touched_;  // data with users inside
  std::vector<Number> related_;  // units with a score
  std::vector<Number> rising_;   // whose score has risen, each once
  std::vector<bool> is_rising_ = std::vector<bool>(units_.count());
  std::vector<Number> block_;
  std::uint64_t accessed_ = 0;
  std::uint64_t distinct_ = 0;
  std::uint64_t owners_ = 0;
  std::uint64_t longest_ = 1;  // tasks of a unit
  std::size_t left_ = units_.count();
  Number first_ = 0;  // none below it waits
};

// In which order the tasks of a block run: always the ready one that lacks fewest data of those that no task of the block has
// used yet; owners are there. `rooms_count`: data that are written and not read count, too, for they take room.
class Inside {
 public:
  Inside(const PlanGraph& graph, const Units& units, bool most_served_first, bool rooms_count)
      : graph_(graph),
        units_(units),
        most_served_first_(most_served_first),
        rooms_count_(rooms_count),
        blocked_(graph.predecessors),
        missing_(graph.tasks()),
        users_(graph.data(), kNone),
        releases_(graph.data()),
        next_(graph.uses.size(), kNone),
        task_of_use_(graph.uses.size()),
        there_(graph.data()) {
    for (Number task = 0; task < graph.tasks(); ++task) {
      for (std::size_t i = graph.first_use[task]; i < graph.first_use[task + 1]; ++i) {
        task_of_use_[i] = task;
      }
    }
  }

  void run(const std::vector<Number>& block, std::vector<Number>& order) {
    ++turn_;
    for (const Number unit : block) {
      if (units_.owner[unit] != kNone) there_[units_.owner[unit]] = turn_;
    }
    for (const Number unit : block) {
      for (const Number task : units_.tasks[unit]) enter(task);
    }
    for (const Number unit : block) {
      for (const Number task : units_.tasks[unit]) {
        if (blocked_[task] == 0) note(task);
      }
    }
    for (Number task = next(); task != kNone; task = next()) {
      missing_[task] = kNone;
      order.push_back(task);
      end(task);
    }
    for (const Number unit : block) {
      for (const Number task : units_.tasks[unit]) {
        for (const Use& use : graph_.uses_of(task)) {
          users_[use.datum] = kNone;
          releases_[use.datum] = 0;
        }
        in_block_at_[task] = false;
      }
    }
  }

 private:
  bool lacks(const Use& use) const {
    return (use.reads || rooms_count_) && there_[use.datum] != turn_;
  }

  // It is ready, or lacks less than before.
  void note(Number task) {
    ready_.emplace(missing_[task], task);
    if (missing_[task] != 1 || !most_served_first_) return;
    for (const Use& use : graph_.uses_of(task)) {
      if (lacks(use)) released_.push({++releases_[use.datum], use.datum});
    }
  }

  // kNone: no task is left.
  Number next() {
    while (!ready_.empty()) {
      const auto [missing, task] = ready_.top();
      if (missing != missing_[task]) {  // it has run, or stands there again
        ready_.pop();
        continue;
      }
      const Number other = missing == 1 ? of_most_released() : kNone;
      if (other != kNone) return other;
      ready_.pop();
      return task;
    }
    return kNone;
  }

  // Of the datum that most ready tasks lack alone the first of these.
  Number of_most_released() {
    while (!released_.empty()) {
      const auto [count, datum] = released_.top();
      if (there_[datum] == turn_ || count != releases_[datum]) {
        released_.pop();
        continue;
      }
      Number first = kNone;
      for (Number i = users_[datum]; i != kNone; i = next_[i]) {
        const Number user = task_of_use_[i];
        if (missing_[user] == 1 && blocked_[user] == 0) first = std::min(first, user);
      }
      if (first != kNone) return first;
      released_.pop();  // it stands there from a block before
    }
    return kNone;
  }

  struct Released {
    Number count = 0;
    Number datum = 0;
    bool operator<(const Released& other) const {
      return count != other.count ? count < other.count : datum > other.datum;
    }
  };

  void enter(Number task) {
    in_block_at_[task] = true;
    missing_[task] = 0;
    for (std::size_t i = graph_.first_use[task]; i < graph_.first_use[task + 1]; ++i) {
      if (!lacks(graph_.uses[i])) continue;
      const Number datum = graph_.uses[i].datum;
      ++missing_[task];
      next_[i] = std::exchange(users_[datum], static_cast<Number>(i));
    }
  }

  void end(Number task) {
    for (const Use& use : graph_.uses_of(task)) {
      if (std::exchange(there_[use.datum], turn_) == turn_) continue;
      for (Number i = users_[use.datum]; i != kNone; i = next_[i]) {
        const Number user = task_of_use_[i];
        if (missing_[user] == kNone) continue;
        --missing_[user];
        if (blocked_[user] == 0) note(user);
      }
    }
    for (const Number after : graph_.successors[task]) {
      if (--blocked_[after] == 0 && in_block_at_[after]) note(after);
    }
  }

  const PlanGraph& graph_;
  const Units& units_;
  const bool most_served_first_;
  const bool rooms_count_;
  std::vector<Number> blocked_;
  std::vector<Number> missing_;      // by task of the block; kNone: it has run
  std::vector<Number> users_;        // by datum: the first of its uses in the block
  std::vector<Number> releases_;     // by datum: ready tasks that lack it alone, or did
  std::vector<Number> next_;         // by use: the next one of the datum
  std::vector<Number> task_of_use_;  // by use
  std::vector<Number> there_;        // by datum: since this block
  std::vector<bool> in_block_at_ = std::vector<bool>(graph_.tasks());
  using Ready = std::pair<Number, Number>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::priority_queue<Released> released_;
  Number turn_ = 0;
};

}  // namespace

Blocks grow_blocks(const PlanGraph& graph, const Units& units, const BlockRules& rules) {
  Growth growth(graph, units, rules);
  Inside inside(graph, units, rules.most_served_first, true);
  Blocks blocks;
  blocks.order.reserve(graph.tasks());
  for (;;) {
    const std::vector<Number> block = growth.next();
    if (block.empty()) return blocks;
    inside.run(block, blocks.order);
    blocks.ends.push_back(blocks.order.size());
  }
}

Blocks one_block(const PlanGraph& graph, const Units& units) {
  std::vector<Number> all(units.count());
  std::iota(all.begin(), all.end(), Number{0});
  Blocks blocks;
  blocks.order.reserve(graph.tasks());
  Inside(graph, units, true, false).run(all, blocks.order);
  blocks.ends.push_back(blocks.order.size());
  return blocks;
}

}  // namespace vicinal::sched::orders::horizon
