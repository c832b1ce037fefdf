// Several ranks: data in parts, recursive tasks, and data that come and go, as on one rank alone.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_ranks.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_parts {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;

// What a task does: the first operands are written, the others are read.
struct Step {
  std::uint32_t seed = 0;
  std::uint8_t written = 0;  // operands
  std::uint8_t seen = 0;     // bit i: the task sees the content of written operand i
};

struct Row {
  std::uint64_t* numbers;
  std::size_t count;
};

void work(const Step& step, const std::vector<Row>& rows) {
  std::uint64_t sum = step.seed;
  for (std::size_t i = step.written; i < rows.size(); ++i) {
    for (std::size_t n = 0; n < rows[i].count; ++n) sum = (sum ^ rows[i].numbers[n]) * kFactor;
  }
  for (std::size_t i = 0; i < step.written; ++i) {
    const bool is_seen = ((step.seen >> i) & 1U) != 0;
    for (std::size_t n = 0; n < rows[i].count; ++n) {
      rows[i].numbers[n] = (is_seen ? rows[i].numbers[n] * 31 : 0) + sum + n * (i + 1);
    }
  }
}

void parts_kernel(KernelContext& k) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < k.operands(); ++i) {
    rows.push_back({k.data<std::uint64_t>(i), k.count<std::uint64_t>(i)});
  }
  work(k.parameter<Step>(), rows);
}
const Codelet kStep{.name = "step", .cpu = parts_kernel};

void scale(std::uint64_t* numbers, std::size_t count, std::uint64_t by) {
  for (std::size_t n = 0; n < count; ++n) numbers[n] = numbers[n] * 7 + by;
}
void scale_kernel(KernelContext& k) {
  scale(k.data<std::uint64_t>(0), k.count<std::uint64_t>(0), k.parameter<std::uint64_t>());
}
void scale_in_halves(Recursion& r) {
  const std::uint64_t numbers = r.layout(0).bytes().value / 8;
  for (const Handle half : r.parts(0, pieces((numbers + 1) / 2 * 8))) {
    static const Codelet leaf{.name = "scale half", .cpu = scale_kernel};
    r.submit(
        {.codelet = &leaf, .operands = {RW(half)}, .parameters = r.parameter<std::uint64_t>()});
  }
}
const Codelet kScale{.name = "scale", .cpu = scale_kernel, .recursive = scale_in_halves};

// --- a plan: what every rank does, and what it sees

struct Whole {
  std::size_t numbers = 0;
  std::optional<RankId> owner;
  bool has_home = false;
};

struct Action {
  enum class Kind {
    make,  // the whole `whole`, which is piece `piece`
    task,
    recursive,  // task: scales the piece
    divide,
    unite,  // what `divide` of this number made
    invalidate,
    unregister,
    read,    // the application reads the piece, and finds `expected`
    change,  // the application scales the piece, on all ranks
    hint,
    wait,
    wait_for_group,
    wait_for_piece,
  } kind = Kind::wait;
  Whole whole = {};
  std::size_t piece = 0;
  Step step = {};
  std::vector<std::pair<std::size_t, AccessMode>> operands = {};
  std::optional<RankId> on = {};
  int priority = 0;
  bool in_group = false;
  std::vector<std::size_t> parts = {};  // new pieces
  std::vector<Block> blocks = {};       // theirs
  bool read_only = false;
  std::size_t division = 0;
  Numbers expected = {};
};
using Kind = Action::Kind;

struct Plan {
  std::vector<Action> actions;
  std::uint64_t most_bytes = 4096;  // of the operands of one task, as a limit of memory counts them
  std::uint64_t largest_bytes = 4096;  // of one datum
};

std::uint64_t counted(std::size_t numbers) {
  return std::max<std::uint64_t>((numbers * 8 + 4095) / 4096 * 4096, 4096);
}

// Draws actions and runs them on plain numbers.
class Planner {
 public:
  Planner(std::uint64_t seed, std::uint32_t ranks) : random_(seed), ranks_(ranks) {
    const std::size_t wholes = 1 + random_.below(4);
    for (std::size_t i = 0; i < wholes; ++i) make_whole();
    const std::size_t actions = random_.below(70);
    for (std::size_t i = 0; i < actions; ++i) draw();
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (is_readable(i)) read(i);
    }
    plan_.actions.push_back({.kind = Kind::wait});
  }
  Plan plan() && { return std::move(plan_); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Piece {
    std::size_t whole = 0;  // its number among `contents_`
    std::size_t first = 0;
    std::size_t count = 0;
    bool read_only = false;
    bool is_there = true;
    std::size_t of = kNone;  // division
    std::vector<std::size_t> divisions = {};
  };
  struct Divided {
    std::size_t piece = 0;
    std::vector<std::size_t> parts = {};
    bool read_only = false;
    bool is_there = true;
  };
  struct Content {
    Numbers numbers;
    std::vector<bool> written;
    std::size_t piece = 0;
  };

  RankId some_rank() { return RankId{static_cast<std::uint32_t>(random_.below(ranks_))}; }
  std::uint64_t* numbers(std::size_t piece) {
    return contents_[pieces_[piece].whole].numbers.data() + pieces_[piece].first;
  }
  Numbers content(std::size_t piece) {
    return {numbers(piece), numbers(piece) + pieces_[piece].count};
  }
  bool is_readable(std::size_t at) const {
    const Piece& piece = pieces_[at];
    const auto begin =
        contents_[piece.whole].written.begin() + static_cast<std::ptrdiff_t>(piece.first);
    return piece.is_there && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(piece.count),
                                         [](bool b) { return b; });
  }
  void mark(std::size_t at, bool written) {
    const Piece& piece = pieces_[at];
    for (std::size_t n = 0; n < piece.count; ++n)
      contents_[piece.whole].written[piece.first + n] = written;
  }
  bool overlap(std::size_t a, std::size_t b) const {
    const Piece& x = pieces_[a];
    const Piece& y = pieces_[b];
    return x.whole == y.whole && x.first < y.first + y.count && y.first < x.first + x.count;
  }
  std::size_t some_piece() {
    for (;;) {
      const std::size_t at = random_.below(pieces_.size());
      if (pieces_[at].is_there) return at;
    }
  }

  void make_whole() {
    Whole whole;
    whole.numbers = 1 + random_.below(random_.below(3) == 0 ? 8 : 1500);
    if (random_.below(3) > 0) whole.owner = some_rank();
    whole.has_home = random_.below(2) == 0;
    const std::size_t piece = pieces_.size();
    pieces_.push_back({.whole = contents_.size(), .count = whole.numbers});
    Content content{Numbers(whole.numbers), std::vector<bool>(whole.numbers, whole.has_home),
                    piece};
    for (std::size_t n = 0; n < whole.numbers; ++n)
      content.numbers[n] = whole.has_home ? piece * 1000 + n : 0;
    contents_.push_back(std::move(content));
    plan_.largest_bytes = std::max(plan_.largest_bytes, counted(whole.numbers));
    plan_.most_bytes = std::max(plan_.most_bytes, counted(whole.numbers));
    plan_.actions.push_back({.kind = Kind::make, .whole = whole, .piece = piece});
  }

  void draw() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        return divide(some_piece());
      case 3:
        return unite();
      case 4:
        return random_.below(3) == 0 ? unregister() : divide(some_piece());
      case 5:
        return random_.below(2) == 0 ? invalidate() : recursive();
      case 6:
        return recursive();
      case 7:
        return others();
      case 8:
        return application();
      default:
        return task();
    }
  }

  void divide(std::size_t at) {
    Piece& piece = pieces_[at];
    if (piece.count < 2) return;
    Action action{.kind = Kind::divide, .piece = at, .read_only = random_.below(4) == 0};
    const std::size_t begin = random_.below(3) == 0 ? random_.below(piece.count) : 0;
    const std::size_t each = 1 + random_.below(std::max<std::size_t>(piece.count / 2, 1));
    std::vector<Piece> parts;
    for (std::size_t n = begin; n < piece.count && parts.size() < 6; n += each) {
      const std::size_t count = std::min(each, piece.count - n);
      parts.push_back({.whole = piece.whole,
                       .first = piece.first + n,
                       .count = count,
                       .read_only = action.read_only || piece.read_only,
                       .of = divisions_.size()});
    }
    for (const std::size_t division : piece.divisions) {
      if (action.read_only && divisions_[division].read_only) continue;
      for (const std::size_t other : divisions_[division].parts) {
        for (const Piece& part : parts) {
          const Piece& its = pieces_[other];
          if (part.first < its.first + its.count && its.first < part.first + part.count) return;
        }
      }
    }
    Divided divided{.piece = at, .read_only = action.read_only};
    const std::size_t whole_first = piece.first;
    for (const Piece& part : parts) {
      action.blocks.push_back({(part.first - whole_first) * 8, 0, part.count * 8, 1});
      divided.parts.push_back(pieces_.size() + divided.parts.size());
      plan_.most_bytes = std::max(plan_.most_bytes, counted(piece.count) + counted(part.count));
    }
    action.parts = divided.parts;
    action.division = divisions_.size();
    piece.divisions.push_back(divisions_.size());
    divisions_.push_back(std::move(divided));
    pieces_.insert(pieces_.end(), parts.begin(), parts.end());
    plan_.actions.push_back(std::move(action));
  }

  void remove(std::size_t number) {
    Divided& division = divisions_[number];
    division.is_there = false;
    for (const std::size_t part : division.parts) {
      for (const std::size_t inner : std::vector(pieces_[part].divisions)) unite(inner);
      pieces_[part].is_there = false;
    }
    std::erase(pieces_[division.piece].divisions, number);
  }
  // A whole of which a part is not written is not written afterwards.
  void unite(std::size_t number) {
    for (const std::size_t part : divisions_[number].parts) {
      for (const std::size_t inner : std::vector(pieces_[part].divisions)) unite(inner);
    }
    const bool all = std::ranges::all_of(divisions_[number].parts,
                                         [this](std::size_t part) { return is_readable(part); });
    remove(number);
    if (!all) mark(divisions_[number].piece, false);
  }
  void unite() {
    if (divisions_.empty()) return;
    const std::size_t number = random_.below(divisions_.size());
    if (!divisions_[number].is_there) return;
    unite(number);
    plan_.actions.push_back({.kind = Kind::unite, .division = number});
  }

  void unregister() {
    const std::size_t whole = pieces_[some_piece()].whole;
    const std::size_t at = contents_[whole].piece;
    Action action{.kind = Kind::unregister, .piece = at};
    for (const std::size_t division : std::vector(pieces_[at].divisions)) unite(division);
    if (is_readable(at)) action.expected = content(at);
    pieces_[at].is_there = false;
    plan_.actions.push_back(std::move(action));
    make_whole();
  }

  void invalidate() {
    const std::size_t at = some_piece();
    if (pieces_[at].read_only) return;
    mark(at, false);
    plan_.actions.push_back({.kind = Kind::invalidate, .piece = at});
  }

  void recursive() {
    const std::size_t at = some_piece();
    if (pieces_[at].read_only || !is_readable(at)) return;
    Action action{
        .kind = Kind::recursive, .piece = at, .priority = static_cast<int>(random_.below(3))};
    action.step.seed = static_cast<std::uint32_t>(random_.next());
    action.in_group = random_.below(2) == 0;
    if (random_.below(3) == 0) action.on = some_rank();
    scale(numbers(at), pieces_[at].count, action.step.seed);
    plan_.actions.push_back(std::move(action));
  }

  // Parts with gaps between them make the whole count as written.
  bool is_any_written_of_its_whole(std::size_t at) const {
    const std::vector<bool>& written = contents_[pieces_[at].whole].written;
    return std::ranges::any_of(written, [](bool b) { return b; });
  }
  void others() {
    const Kind kinds[] = {Kind::wait, Kind::wait_for_group, Kind::wait_for_piece, Kind::hint};
    const std::size_t at = some_piece();
    const Numbers seen = is_readable(at) ? content(at) : Numbers{};
    // Of data in parts it may be refused: a part that was written once and is not now cannot be brought to the whole.
    const bool may_be_refused = is_any_written_of_its_whole(at) || !pieces_[at].divisions.empty();
    if (seen.empty() && may_be_refused) return;
    plan_.actions.push_back({.kind = kinds[random_.below(4)], .piece = at, .expected = seen});
  }

  void read(std::size_t at) {
    plan_.actions.push_back({.kind = Kind::read, .piece = at, .expected = content(at)});
  }
  void application() {
    const std::size_t at = some_piece();
    if (!is_readable(at)) return;
    if (pieces_[at].read_only || random_.below(2) == 0) return read(at);
    scale(numbers(at), pieces_[at].count, 5);
    plan_.actions.push_back({.kind = Kind::change, .piece = at});
  }

  void task() {
    Action action{.kind = Kind::task, .priority = static_cast<int>(random_.below(3))};
    std::vector<std::size_t> chosen;
    const std::size_t wanted = 1 + random_.below(4);
    const std::size_t written = random_.below(std::min<std::size_t>(wanted, 2) + 1);
    const auto is_apart = [&](std::size_t at) {
      return std::ranges::none_of(chosen, [&](std::size_t other) { return overlap(at, other); });
    };
    for (std::size_t i = 0; i < written; ++i) {
      const std::size_t at = some_piece();
      if (pieces_[at].read_only || !is_apart(at)) continue;
      const bool sees = is_readable(at) && random_.below(2) == 0;
      if (sees)
        action.step.seen = static_cast<std::uint8_t>(action.step.seen | (1U << chosen.size()));
      action.operands.emplace_back(at, sees ? AccessMode::RW : AccessMode::W);
      chosen.push_back(at);
    }
    action.step.written = static_cast<std::uint8_t>(chosen.size());
    const std::vector<std::size_t> writes = chosen;
    for (std::size_t i = chosen.size(); i < wanted; ++i) {
      const std::size_t at = some_piece();
      const bool is_new = std::ranges::find(chosen, at) == chosen.end();
      const bool is_free =
          std::ranges::none_of(writes, [&](std::size_t other) { return overlap(at, other); });
      if (!is_new || !is_free || !is_readable(at)) continue;
      action.operands.emplace_back(at, AccessMode::R);
      chosen.push_back(at);
    }
    action.step.seed = static_cast<std::uint32_t>(random_.next());
    action.in_group = random_.below(3) == 0;
    if (random_.below(4) == 0) action.on = some_rank();
    std::vector<Row> rows;
    std::uint64_t bytes = 0;
    for (const auto& [at, mode] : action.operands) {
      rows.push_back({numbers(at), pieces_[at].count});
      bytes += counted(pieces_[at].count);
    }
    work(action.step, rows);
    for (const std::size_t at : writes) mark(at, true);
    plan_.most_bytes = std::max(plan_.most_bytes, bytes);
    plan_.actions.push_back(std::move(action));
  }

  base::Random random_;
  const std::uint32_t ranks_;
  Plan plan_;
  std::vector<Piece> pieces_;
  std::vector<Divided> divisions_;
  std::vector<Content> contents_;
};

// One rank plays the plan, and checks all that the application can see.
class Player {
 public:
  // `skips`: leaves out tasks that do not concern the rank.
  Player(const Plan& plan, Runtime& runtime, bool skips) : runtime_(runtime), skips_(skips) {
    for (std::size_t i = 0; i < plan.actions.size(); ++i) {
      SCOPED_TRACE("action " + std::to_string(i) + " on rank " +
                   std::to_string(runtime.this_rank().value));
      play(plan.actions[i]);
    }
  }

 private:
  void make(const Action& action) {
    const Whole& whole = action.whole;
    const Bytes size{whole.numbers * 8};
    const std::string name = "d" + std::to_string(action.piece);
    Handle handle;
    if (whole.has_home) {
      Numbers& home = homes_[action.piece];
      for (std::size_t n = 0; n < whole.numbers; ++n) home.push_back(action.piece * 1000 + n);
      handle = whole.owner ? runtime_.register_buffer(*whole.owner, home.data(), size, name)
                           : runtime_.register_buffer(home.data(), size, name);
    } else {
      handle = whole.owner ? runtime_.register_empty(*whole.owner, size, name)
                           : runtime_.register_empty(size, name);
    }
    handles_[action.piece] = handle;
  }

  void submit(const Action& action, const Codelet& codelet, const std::vector<Operand>& operands) {
    if (skips_ && !runtime_.concerns(operands, action.on)) return;
    const bool scales = action.kind == Kind::recursive;
    runtime_.submit({.codelet = &codelet,
                     .operands = operands,
                     .parameters = scales ? Parameters(std::uint64_t{action.step.seed})
                                          : Parameters(action.step),
                     .priority = action.priority,
                     .rank = action.on,
                     .group = action.in_group ? &group_ : nullptr,
                     .recursive = action.priority > 0 ? Recursive::always : Recursive::automatic});
  }

  void play(const Action& action) {
    const Handle handle = handles_[action.piece];
    switch (action.kind) {
      case Kind::make:
        return make(action);
      case Kind::task: {
        std::vector<Operand> operands;
        for (const auto& [at, mode] : action.operands) operands.push_back({handles_[at], mode});
        return submit(action, kStep, operands);
      }
      case Kind::recursive:
        return submit(action, kScale, {RW(handle)});
      case Kind::divide: {
        const auto access = action.read_only ? PartAccess::read_only : PartAccess::writable;
        const Parts parts = runtime_.partition(
            handle,
            [&](const Layout&) {
              return Division{action.blocks, 0};
            },
            access);
        for (std::size_t i = 0; i < parts.size(); ++i) handles_[action.parts[i]] = parts[i];
        divisions_[action.division] = parts;
        return;
      }
      case Kind::unite:
        return runtime_.unpartition(divisions_[action.division]);
      case Kind::invalidate:
        return runtime_.invalidate(handle);
      case Kind::unregister:
        return unregister(action, handle);
      case Kind::read:
        return read(action, handle);
      case Kind::change: {
        const Acquired held = runtime_.acquire(handle, AccessMode::RW);
        return scale(held.data<std::uint64_t>(), held.view().layout.bytes().value / 8, 5);
      }
      case Kind::hint:
        if (action.expected.empty()) {
          EXPECT_THROW(runtime_.prefetch(handle, kRam), UsageError);
        } else {
          runtime_.prefetch(handle, kRam);
        }
        runtime_.advise(handle, kRam);
        return runtime_.wont_use(handle);
      case Kind::wait:
        return runtime_.wait();
      case Kind::wait_for_group:
        return runtime_.wait(group_);
      case Kind::wait_for_piece: {
        runtime_.wait(handle);
        EXPECT_TRUE(runtime_.ready(handle));
        return;
      }
    }
  }

  void unregister(const Action& action, Handle handle) {
    const bool owns = runtime_.owner(handle) == runtime_.this_rank();
    runtime_.unregister(handle);
    const auto home = homes_.find(action.piece);
    if (home == homes_.end() || action.expected.empty() || !owns) return;
    EXPECT_EQ(home->second, action.expected) << "the home of piece " << action.piece;
  }

  void read(const Action& action, Handle handle) {
    const Acquired held = runtime_.acquire(handle, AccessMode::R);
    const auto* const at = held.data<std::uint64_t>();
    EXPECT_EQ(Numbers(at, at + action.expected.size()), action.expected)
        << "piece " << action.piece;
  }

  Runtime& runtime_;
  const bool skips_;
  std::map<std::size_t, Handle> handles_;
  std::map<std::size_t, Numbers> homes_;
  std::map<std::size_t, Parts> divisions_;
  Group group_;
};

TEST(RanksParts, RandomProgramsAreAsOnOneRank) {
  tests::play_random_programs(
      "ranks_parts", [](std::uint64_t seed, std::uint32_t ranks, base::Random& random) {
        const auto plan = std::make_shared<const Plan>(Planner(seed, ranks).plan());
        const bool skips = random.below(2) == 0;  // ranks leave out what does not concern them
        return tests::RankedProgram{{plan->most_bytes, plan->largest_bytes}, [=](Runtime& runtime) {
                                      const Player played(*plan, runtime, skips);
                                    }};
      });
}

}  // namespace
}  // namespace vicinal::rank_parts
