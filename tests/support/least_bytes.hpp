// The least bytes that any schedule of a graph moves between its home and one limited memory: exact, for small graphs.
//
//   const auto least = least_bytes(graph, 8_MiB, Counted::loads, 10'000'000);
//   least->bytes;  // no run loads less
//
// A schedule is any order that keeps the dependencies, and any choice of what leaves the memory. A task has all its data
// in the memory at once. Data start at home; what a task overwrites (W) is not loaded, and takes room. A changed datum
// that leaves is written, unless its content is void: the next task overwrites it, or it is a temporary
// (graph::temporaries_of) that nobody uses any more. The schedule ends with the last task: results that are in the memory
// then need not be written. So of a simulated run the bytes until then compare (play::Played::after), and of bounds
// those of FinalPlace::anywhere.
//
// A* over states: the tasks done, what is in the memory, and which of it is changed. Four rules make it small. Each keeps
// a best schedule, and those without them are the test's (tests/unit/least_bytes_test.cpp):
//  - Data leave when room is needed for the next task, and no more than is needed.
//  - A ready task whose data are there runs at once, if what it changes is changed already, or writes do not count:
//    moved to the front of a best schedule it moves no byte more, for nobody uses before it what it writes. Where writes
//    do not count, so does one that lacks only room for what nobody uses behind it, if there is so much.
//  - Of two data A and B of one size, where all users of A use B, too, A leaves: a schedule that keeps A can keep B in its
//    place, and load A where it loads B. Changed data would change roles; see `leaves_rather`.
//  - A state is forgotten if another one, with the same tasks done, can become it for no more than it cost.
// What remains costs at least one load of what is read next and is not there, a second load of what cannot stay while
// some task runs though it is used before and behind it, and the writes of results that do not fit.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "graph/last_uses.hpp"
#include "vicinal/error.hpp"

namespace vicinal::testing {

enum class Counted : std::uint8_t { loads, loads_and_writes };

struct LeastBytes {
  std::uint64_t bytes = 0;
  std::size_t states = 0;            // that were looked at
  std::vector<std::uint32_t> order;  // of tasks: a schedule that moves no more
};

namespace fewest {

using Mask = std::uint64_t;  // of tasks, or of data
constexpr std::size_t kMost = 64;

constexpr Mask bit(std::size_t number) {
  return Mask{1} << number;
}

template <typename Call>
void for_each(Mask mask, const Call& call) {
  for (; mask != 0; mask &= mask - 1) call(static_cast<std::size_t>(std::countr_zero(mask)));
}

// A graph as masks. Sizes in units, of which all are multiples; data of no bytes are dependencies and nothing else.
struct Instance {
  std::size_t tasks = 0;
  std::size_t data = 0;
  std::vector<Mask> reads;  // by task: data
  std::vector<Mask> writes;
  std::vector<Mask> operands;
  std::vector<Mask> before;       // by task: those that it waits for
  std::vector<Mask> ancestors;    // and those that these wait for
  std::vector<Mask> users;        // by datum: tasks
  std::vector<Mask> writers;      // by datum
  std::vector<Mask> overwriters;  // by datum: those that do not read it
  std::vector<std::uint32_t> sizes;
  Mask kept = 0;  // data that are not void after their last use, if tasks wrote them
  std::uint64_t unit = 1;
  std::uint32_t room = 0;

  std::array<std::array<std::uint32_t, 256>, 8> size_of_byte{};

  std::uint32_t size(Mask mask) const {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; mask != 0; ++i, mask >>= 8) sum += size_of_byte[i][mask & 255];
    return sum;
  }
};

inline void add_dependencies(Instance& made, const graph::Graph& graph) {
  std::vector<Mask> last_writer(graph.data().size());
  std::vector<Mask> readers_since(graph.data().size());
  for (std::size_t t = 0; t < made.tasks; ++t) {
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[t])) {
      made.before[t] |= last_writer[datum];
      if (leaves_content(mode)) made.before[t] |= readers_since[datum];
    }
    made.before[t] &= ~bit(t);
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[t])) {
      if (!leaves_content(mode)) {
        readers_since[datum] |= bit(t);
      } else {
        last_writer[datum] = bit(t);
        readers_since[datum] = 0;
      }
    }
    made.ancestors[t] = made.before[t];
    for_each(made.before[t], [&](std::size_t p) { made.ancestors[t] |= made.ancestors[p]; });
  }
}

inline void add_sizes(Instance& made, const graph::Graph& graph, std::uint64_t memory) {
  made.unit = 0;
  for (const graph::Graph::Datum& datum : graph.data()) {
    made.unit = std::gcd(made.unit, datum.bytes.value);
  }
  made.unit = std::max<std::uint64_t>(made.unit, 1);
  made.room = static_cast<std::uint32_t>(memory / made.unit);
  for (std::size_t d = 0; d < made.data; ++d) {
    made.sizes[d] = static_cast<std::uint32_t>(graph.data()[d].bytes.value / made.unit);
    auto& table = made.size_of_byte[d / 8];
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
      if ((byte >> (d % 8) & 1) != 0) table[byte] += made.sizes[d];
    }
  }
}

// Throws UsageError for what is larger than masks, has accesses other than R, W and RW, or does not fit.
inline Instance instance_of(const graph::Graph& graph, std::uint64_t memory) {
  Instance made;
  made.tasks = graph.tasks().size();
  made.data = graph.data().size();
  if (made.tasks > kMost || made.data > kMost) {
    throw UsageError("the least bytes of " + std::to_string(made.tasks) + " tasks on " +
                     std::to_string(made.data) + " data: give a graph of 64 of each at most");
  }
  made.reads.resize(made.tasks);
  made.writes.resize(made.tasks);
  made.operands.resize(made.tasks);
  made.before.resize(made.tasks);
  made.ancestors.resize(made.tasks);
  made.users.resize(made.data);
  made.writers.resize(made.data);
  made.overwriters.resize(made.data);
  made.sizes.resize(made.data);
  add_dependencies(made, graph);
  add_sizes(made, graph, memory);
  for (std::size_t t = 0; t < made.tasks; ++t) {
    for (const auto& [d, mode] : graph.accesses_of(graph.tasks()[t])) {
      if (mode != AccessMode::R && mode != AccessMode::W && mode != AccessMode::RW) {
        throw UsageError("the least bytes of a graph with " + std::string(to_string(mode)) +
                         ": give one whose tasks read (R), overwrite (W) and change (RW) data");
      }
      if (made.sizes[d] == 0) continue;
      made.operands[t] |= bit(d);
      made.users[d] |= bit(t);
      if (reads(mode)) made.reads[t] |= bit(d);
      if (leaves_content(mode)) made.writes[t] |= bit(d);
    }
    for_each(made.writes[t], [&](std::size_t d) {
      made.writers[d] |= bit(t);
      if ((made.reads[t] & bit(d)) == 0) made.overwriters[d] |= bit(t);
    });
    if (made.size(made.operands[t]) > made.room) {
      throw UsageError("task " + std::to_string(t) + " needs more than the memory of " +
                       std::to_string(memory) + " bytes: give it more");
    }
  }
  const std::vector<bool> is_temporary = graph::temporaries_of(graph);
  for (std::size_t d = 0; d < made.data; ++d) {
    if (!is_temporary[d]) made.kept |= bit(d);
  }
  return made;
}

struct State {
  Mask done = 0;     // tasks
  Mask there = 0;    // data whose content somebody needs
  Mask changed = 0;  // of these, those whose content is not at home; none where writes do not count
};

class Search {
 public:
  Search(const Instance& given, Counted counted)
      : given_(given), writes_count_(counted == Counted::loads_and_writes) {
    descendants_read_.resize(given.tasks);
    stays_.resize(given.tasks);
    for (std::size_t t = 0; t < given.tasks; ++t) {
      for_each(given.ancestors[t], [&](std::size_t a) { descendants_read_[a] |= given.reads[t]; });
      for (std::size_t d = 0; d < given.data; ++d) {
        if ((given.overwriters[d] & ~given.ancestors[t]) == 0) stays_[t] |= bit(d);
      }
    }
  }

  std::optional<LeastBytes> run(std::size_t most_states) {
    const Mask all = given_.tasks == kMost ? ~Mask{0} : bit(given_.tasks) - 1;
    std::size_t states = 0;
    reach({}, 0, {});
    for (std::size_t f = 0; f < open_.size(); ++f) {
      while (!open_[f].empty()) {
        const auto [state, moved, step] = open_[f].back();
        open_[f].pop_back();
        if (!is_known(state, moved)) continue;
        if (state.done == all) return LeastBytes{moved * given_.unit, states, order_to(step)};
        if (++states > most_states) return std::nullopt;
        lowest_ = f;
        expand(state, moved, step);
        f = lowest_;
      }
    }
    return std::nullopt;
  }

 private:
  // On the way to a state: the task that was chosen, and the state behind it, before others ran because all was there.
  struct Step {
    std::uint32_t before = 0;  // the step before
    std::uint32_t chosen = kMost;
    State then = {};
  };
  struct Reached {
    State state;
    std::uint32_t moved = 0;
    std::uint32_t step = 0;
  };
  struct Known {
    Mask there = 0;
    Mask changed = 0;
    std::uint32_t moved = 0;
  };

  bool is_ready(std::size_t task, Mask done) const {
    return (done & bit(task)) == 0 && (given_.before[task] & ~done) == 0;
  }

  // By the next task on it, as input; or as a result.
  bool is_needed(std::size_t datum, const State& state) const {
    const Mask pending = given_.users[datum] & ~state.done;
    if (pending == 0) return (given_.kept & state.changed & bit(datum)) != 0;
    return (given_.overwriters[datum] & bit(std::countr_zero(pending))) == 0;
  }
  bool is_read_next(std::size_t datum, Mask done) const {
    const Mask pending = given_.users[datum] & ~done;
    return pending != 0 && (given_.overwriters[datum] & bit(std::countr_zero(pending))) == 0;
  }

  // `there`: with its operands.
  void end_task(std::size_t task, State& state) const {
    state.done |= bit(task);
    state.there |= given_.operands[task];
    if (writes_count_) state.changed |= given_.writes[task];
    for_each(state.there, [&](std::size_t d) {
      if (!is_needed(d, state)) state.there &= ~bit(d);
    });
    state.changed &= state.there;
  }

  bool may_run_at_once(std::size_t task, const State& state) const {
    if (!is_ready(task, state.done)) return false;
    const Mask missing = given_.operands[task] & ~state.there;
    if (writes_count_) return missing == 0 && (given_.writes[task] & ~state.changed) == 0;
    if ((missing & given_.reads[task]) != 0 || excess(state.there | missing) > 0) return false;
    bool is_used = false;
    for_each(missing, [&](std::size_t d) {
      is_used = is_used || (given_.users[d] & ~state.done & ~bit(task)) != 0;
    });
    return !is_used;
  }

  // `note`: called with each task.
  template <typename Ran>
  void run_what_is_there(State& state, const Ran& note) const {
    for (bool ran = true; ran;) {
      ran = false;
      for (std::size_t t = 0; t < given_.tasks; ++t) {
        if (!may_run_at_once(t, state)) continue;
        end_task(t, state);
        note(t);
        ran = true;
      }
    }
  }

  // Results that nobody uses any more differ in size alone: those with the lowest numbers stand for the others.
  void take_first_results(State& state) const {
    Mask others = 0;
    for (std::size_t d = 0; d < given_.data; ++d) {
      if (given_.writers[d] == 0 || (given_.users[d] & ~state.done) != 0) continue;
      if ((given_.kept & bit(d)) != 0) others |= bit(d);
    }
    const Mask results = state.there & others;
    others &= ~results;
    for_each(results, [&](std::size_t d) {
      for (Mask left = others & (bit(d) - 1); left != 0; left &= left - 1) {
        const auto other = static_cast<std::size_t>(std::countr_zero(left));
        if (given_.sizes[other] != given_.sizes[d]) continue;
        for (Mask* mask : {&state.there, &state.changed, &others}) *mask ^= bit(d) | bit(other);
        break;
      }
    });
  }

  // What it costs at most to go on from the one as from the other, which has the same tasks done. `used`: data that tasks
  // will use.
  std::uint32_t distance(const Known& from, const Known& to, Mask used) const {
    return given_.size(to.there & ~from.there & used) + given_.size(from.changed & ~to.changed);
  }

  std::vector<std::uint32_t> order_to(std::uint32_t step) const {
    std::vector<std::uint32_t> order;
    if (step > 0) order = order_to(steps_[step].before);
    if (steps_[step].chosen < kMost) order.push_back(steps_[step].chosen);
    State state = steps_[step].then;
    run_what_is_there(state,
                      [&](std::size_t task) { order.push_back(static_cast<std::uint32_t>(task)); });
    return order;
  }

  void reach(State state, std::uint32_t moved, Step step) {
    step.then = state;
    run_what_is_there(state, [](std::size_t /*task*/) {});
    take_first_results(state);
    Mask used = 0;
    for (std::size_t d = 0; d < given_.data; ++d) {
      if ((given_.users[d] & ~state.done) != 0) used |= bit(d);
    }
    std::vector<Known>& others = known_[state.done];
    const Known own{state.there, state.changed, moved};
    for (const Known& other : others) {
      if (other.moved + distance(other, own, used) <= moved) return;
    }
    std::erase_if(others, [&](const Known& other) {
      return moved + distance(own, other, used) <= other.moved;
    });
    others.push_back(own);
    const std::size_t f = moved + remaining(state);
    if (f >= open_.size()) open_.resize(f + 1);
    open_[f].push_back({state, moved, static_cast<std::uint32_t>(steps_.size())});
    steps_.push_back(step);
    lowest_ = std::min(lowest_, f);
  }

  bool is_known(const State& state, std::uint32_t moved) const {
    return std::ranges::any_of(known_.at(state.done), [&](const Known& known) {
      return known.there == state.there && known.changed == state.changed && known.moved == moved;
    });
  }

  // A lower bound.
  std::uint32_t remaining(const State& state) const {
    Mask read = 0;
    Mask unfinished = 0;  // results
    for (std::size_t d = 0; d < given_.data; ++d) {
      if (is_read_next(d, state.done)) read |= bit(d);
      if ((given_.writers[d] & ~state.done) != 0) unfinished |= bit(d);
    }
    std::uint32_t sum = given_.size(read & ~state.there);
    if (writes_count_) {
      const std::uint32_t results = given_.size(given_.kept & (unfinished | state.changed));
      if (results > given_.room) sum += results - given_.room;
    }
    return sum + loaded_again(state, state.there & read);
  }

  // Data that are used, or there, before a task and read behind it have to be there with its operands or come again.
  // The next task takes the room of some of what is there.
  std::uint32_t loaded_again(const State& state, Mask there) const {
    std::uint32_t most = 0;
    std::uint32_t next = ~std::uint32_t{0};
    std::array<Mask, kMost> used_before{};  // by task that is not done: data
    for (std::size_t t = 0; t < given_.tasks; ++t) {
      if ((state.done & bit(t)) != 0) continue;
      Mask used = there;
      for_each(given_.before[t] & ~state.done,
               [&](std::size_t p) { used |= used_before[p] | given_.operands[p]; });
      used_before[t] = used;
      const Mask stay = used & descendants_read_[t] & stays_[t];
      most = std::max(most, excess(stay | given_.operands[t]));
      if (is_ready(t, state.done)) next = std::min(next, excess(there | given_.operands[t]));
    }
    return next == ~std::uint32_t{0} ? most : std::max(most, next);
  }
  std::uint32_t excess(Mask data) const {
    const std::uint32_t size = given_.size(data);
    return size > given_.room ? size - given_.room : 0;
  }

  // Rather than `other`, at no loss: a schedule that drops `other` can drop `datum` instead, and load `datum` where it
  // loads `other`. If both were changed, `other` is changed from then on and `datum` is not, not the other way round:
  // no loss if the next task on `other` changes that.
  bool leaves_rather(std::size_t datum, std::size_t other, const State& state) const {
    if (datum == other || given_.sizes[datum] != given_.sizes[other]) return false;
    const Mask users = given_.users[datum] & ~state.done;
    const Mask of_other = given_.users[other] & ~state.done;
    if ((users & ~of_other) != 0) return false;
    const bool is_changed = (state.changed & bit(datum)) != 0;
    const bool other_changed = (state.changed & bit(other)) != 0;
    if (is_changed && users != 0) {
      if (!other_changed) return false;
      const auto next = static_cast<std::size_t>(std::countr_zero(of_other));
      if ((given_.writes[next] & bit(other)) == 0) return false;
    }
    if (users != of_other) return true;
    return is_changed != other_changed ? other_changed : datum < other;
  }

  void expand(const State& state, std::uint32_t moved, std::uint32_t step) {
    for (std::size_t d = 0; d < given_.data; ++d) {
      rather_[d] = 0;
      if ((state.there & bit(d)) == 0) continue;
      for_each(state.there, [&](std::size_t other) {
        if (leaves_rather(other, d, state)) rather_[d] |= bit(other);
      });
    }
    for (std::size_t t = 0; t < given_.tasks; ++t) {
      if (!is_ready(t, state.done)) continue;
      const Mask missing = given_.operands[t] & ~state.there;
      const std::uint32_t loads = moved + given_.size(missing & given_.reads[t]);
      const std::uint32_t needed = excess(state.there | missing);
      const Mask may_leave = state.there & ~given_.operands[t];
      make_room(may_leave, needed, 0, 0, [&](Mask leaving) {
        State next = state;
        next.there &= ~leaving;
        next.changed &= ~leaving;
        end_task(t, next);
        reach(next, loads + given_.size(leaving & state.changed),
              {.before = step, .chosen = static_cast<std::uint32_t>(t)});
      });
    }
  }

  // Calls for each set of data of the needed size that needs all its data.
  template <typename Call>
  void make_room(Mask left, std::uint32_t needed, Mask leaving, Mask staying, const Call& call) {
    const std::uint32_t size = given_.size(leaving);
    if (size >= needed) {
      bool is_least = true;
      const Mask others = left | staying;
      for_each(leaving, [&](std::size_t d) {
        if (size - given_.sizes[d] >= needed || (rather_[d] & others) != 0) is_least = false;
      });
      if (is_least) call(leaving);
      return;
    }
    if (left == 0 || size + given_.size(left) < needed) return;
    const Mask first = left & (~left + 1);
    make_room(left & ~first, needed, leaving | first, staying, call);
    make_room(left & ~first, needed, leaving, staying | first, call);
  }

  const Instance& given_;
  const bool writes_count_;
  std::vector<Mask> descendants_read_;  // by task: data that tasks behind it read
  std::vector<Mask> stays_;             // by task: data that no task overwrites but those before it
  std::array<Mask, kMost> rather_{};    // by datum: what leaves rather
  std::unordered_map<Mask, std::vector<Known>> known_;
  std::vector<std::vector<Reached>> open_;  // by what they cost at least
  std::vector<Step> steps_;
  std::size_t lowest_ = 0;
};

}  // namespace fewest

// None: there are more states than that.
inline std::optional<LeastBytes> least_bytes(const graph::Graph& graph, std::uint64_t memory,
                                             Counted counted, std::size_t most_states) {
  const fewest::Instance given = fewest::instance_of(graph, memory);
  return fewest::Search(given, counted).run(most_states);
}

// Of schedules that run the tasks in this order.
inline std::optional<LeastBytes> least_bytes_of(const std::vector<std::uint32_t>& order,
                                                const graph::Graph& graph, std::uint64_t memory,
                                                Counted counted, std::size_t most_states) {
  fewest::Instance given = fewest::instance_of(graph, memory);
  fewest::Mask done = 0;
  for (const std::uint32_t task : order) {
    if (task >= given.tasks || (given.before[task] & ~done) != 0) {
      throw UsageError("task " + std::to_string(task) +
                       " of the order waits for others: give an order of all tasks");
    }
    given.before[task] = given.ancestors[task] = done;
    done |= fewest::bit(task);
  }
  return fewest::Search(given, counted).run(most_states);
}

}  // namespace vicinal::testing
