// Plays a random program on handles in parts on a random simulated machine, with room for the largest task, and checks
// what can be checked: it ends, each task once, in an order that has the result of the sequence, with no fewer bytes
// between memories than the program cannot do without, within the limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/parts_plan.hpp"
#include "support/random_case.hpp"
#include "support/random_machine.hpp"
#include "support/watchdog.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class SimulatedParts {
 public:
  explicit SimulatedParts(std::uint64_t seed) {
    base::Random random(seed);
    machine_ = MachineMaker(random).make();
    codelets_ = random_codelets(machine_, random);
    options_ = random_simulated_options(random);
    window_ = options_.window_tasks > 0 || options_.window_bytes.value > 0;
    if (window_) machine_.submit_overhead = Time{0};
    PartsShape shape{.roots = {},
                     .steps = 10 + random.below(90),
                     .codelets = static_cast<std::uint32_t>(codelets_.size()),
                     .nodes = static_cast<std::uint32_t>(machine_.nodes.size()),
                     .may_divide = {}};
    static constexpr std::uint64_t kSizes[] = {1, 64, 4096, 5000, 1 << 20, 80 << 20};
    for (std::uint64_t r = 1 + random.below(5); r > 0; --r) {
      shape.roots.push_back(1 + random.below(64));
      cell_bytes_.push_back(kSizes[random.below(std::size(kSizes))]);
      const std::uint64_t home = random.below(4);
      homes_.push_back(home < 2                       ? Home::none
                       : home == 2 && machine_.disk() ? Home::file
                                                      : Home::buffer);
    }
    shape.may_divide = [this](std::uint32_t codelet, const std::vector<std::size_t>& roots) {
      return may_divide(codelet, roots);
    };
    plan_ = PartsPlanMaker(random, shape).make();
    add_recursive_codelets();
    set_limits(random);
  }

  std::string label() const {
    return "policy " + options_.policy + ", " + std::to_string(machine_.workers.size()) +
           " workers, " + std::to_string(machine_.nodes.size()) + " nodes" +
           (window_ ? ", window" : "") +
           (options_.compute_priorities ? ", computed priorities" : "") +
           (options_.memory_rules.empty() ? "" : ", memory rules " + options_.memory_rules);
  }

  // All that the run says of itself. In a world that others may share submissions always take time.
  std::string run(Watchdog& watchdog, bool is_shared = false) {
    text_.clear();
    started_.clear();
    inside_ = 0;
    moved_ = {};
    handles_.assign(plan_.pieces.size(), Handle{});
    parts_.assign(plan_.partitions.size(), Parts{});
    cells_.clear();
    for (const std::size_t cells : plan_.roots) cells_.emplace_back(cells);
    SimulatedWorld world;
    MachineDescription machine = machine_;
    if (is_shared) machine.submit_overhead.ns += 1000;
    std::unique_ptr<Runtime> made = is_shared ? std::make_unique<Runtime>(machine, options_, world)
                                              : std::make_unique<Runtime>(machine, options_);
    Runtime& runtime = *made;
    const Watched watched(watchdog, runtime);
    runtime_ = &runtime;
    for (std::size_t r = 0; r < plan_.roots.size(); ++r) add_root(r);
    for (const PlannedStep& step : plan_.steps) play(step);
    runtime.wait();
    for (std::size_t p = 0; p < plan_.pieces.size(); ++p) {
      if (plan_.pieces[p].there) acquire(p, AccessMode::R);
    }
    check();
    for (std::size_t r = 0; r < plan_.roots.size(); ++r) runtime.unregister(handles_[r]);
    text_ += describe(runtime.statistics());
    return text_;
  }

 private:
  using Kind = PlannedStep::Kind;
  static constexpr std::size_t kNone = SIZE_MAX;
  // As the steps so far leave it, one after the other.
  struct User {
    std::size_t task = kNone;
    std::size_t piece = 0;
  };
  struct Cell {
    User writer = {};
    std::vector<User> readers = {};
    bool on_device = false;  // written last by a task that runs on accelerators only
    bool at_start = true;    // never written; the content comes from RAM, or the disk
    bool counted = false;    // brought to an accelerator, for a task that runs nowhere else
  };
  struct Started {
    std::size_t task = 0;
    bool ended = false;
    std::size_t tasks_inside = 0;
    std::size_t ended_inside = 0;
    std::vector<std::size_t> before = {};  // must have ended when it ends
  };
  // What cannot have been avoided, summed over accelerators.
  struct Moved {
    Bytes in;
    Bytes out;
  };

  // --- the plan on this machine

  bool has_cores() const {
    return std::ranges::any_of(machine_.workers, [](const auto& w) { return w.node == kRam; });
  }
  // Inside a task that takes room of a limited RAM others run on cores.
  bool may_divide(std::uint32_t codelet, const std::vector<std::size_t>& roots) const {
    if (has_cores() && runs_beside(codelet, kRam)) return true;
    return std::ranges::all_of(roots, [&](std::size_t r) { return homes_[r] == Home::buffer; });
  }
  bool runs_beside(std::uint32_t codelet, NodeId node) const {
    return std::ranges::any_of(machine_.workers, [&](const WorkerDescription& worker) {
      return worker.node == node && can_run(codelets_[codelet], worker.kind, true);
    });
  }
  bool runs_on_devices_only(std::uint32_t codelet) const { return !runs_beside(codelet, kRam); }

  void add_recursive_codelets() {
    for (std::size_t c = 0; c < codelets_.size(); ++c) {
      Codelet& divided = divided_.emplace_back(codelets_[c]);
      divided.recursive = [this, c](Recursion& r) { submit_inside(r, c); };
    }
  }

  Bytes piece_bytes(std::size_t p) const {
    const PlannedPiece& piece = plan_.pieces[p];
    return Bytes{piece.count * cell_bytes_[piece.root]};
  }
  Bytes footprint(std::size_t p, NodeId node) const {
    const bool at_home = node == kRam && homes_[plan_.pieces[p].root] == Home::buffer;
    return at_home ? Bytes{0} : padded(piece_bytes(p).value);
  }
  Bytes working_set(const std::vector<std::size_t>& pieces, NodeId node) const {
    Bytes sum;
    for (const std::size_t p : pieces) sum += footprint(p, node);
    return sum;
  }
  // Named twice it is there once; inside a task that is divided, its parts are there for each operand.
  static std::vector<std::size_t> pieces_of(const PlannedTask& task) {
    std::vector<std::size_t> pieces;
    for (const PlannedAccess& access : task.accesses) pieces.push_back(access.piece);
    if (task.divisible) return pieces;
    std::ranges::sort(pieces);
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    return pieces;
  }

  // A task needs one node where it may run and its operands fit, RAM if it is to be divided; what goes to an
  // accelerator or comes from it fits in RAM piece by piece, and the copies between a whole and a part fit somewhere.
  void set_limits(base::Random& random) {
    std::vector<Bytes> least(machine_.nodes.size(), Bytes{4096});
    Bytes unhomed;
    for (std::size_t p = 0; p < plan_.pieces.size(); ++p) {
      least[0] = std::max(least[0], footprint(p, kRam));
      if (homes_[plan_.pieces[p].root] != Home::buffer) unhomed += padded(piece_bytes(p).value);
    }
    for (const PlannedTask& task : plan_.tasks) {
      const std::vector<std::size_t> pieces = pieces_of(task);
      if (task.recursive == Recursive::always) {
        least[0] = std::max(least[0], working_set(pieces, kRam));
      }
      make_fit(least, pieces, random, [&](NodeId node) { return runs_beside(task.codelet, node); });
    }
    for (const PlannedPartition& partition : plan_.partitions) {
      if (homes_[plan_.pieces[partition.whole].root] == Home::buffer) continue;
      for (const std::size_t part : partition.parts) {
        make_fit(least, {partition.whole, part}, random, [](NodeId) { return true; });
      }
    }
    for (NodeDescription& node : machine_.nodes) {
      const Bytes tight = least[node.id.value];
      if (node.kind == NodeKind::disk) {
        if (chance(random, 3)) node.limit = (unhomed + Bytes{1 << 20}) * 4;
      } else if (node.kind == NodeKind::ram && !machine_.disk()) {
        if (chance(random, 2)) node.limit = std::max(tight, unhomed);
      } else if (!chance(random, 8)) {
        node.limit = tight;
      }
    }
  }
  template <typename Runs>
  void make_fit(std::vector<Bytes>& least, const std::vector<std::size_t>& pieces,
                base::Random& random, Runs runs) const {
    std::vector<NodeId> nodes;
    for (const WorkerDescription& worker : machine_.workers) {
      if (!runs(worker.node)) continue;
      if (working_set(pieces, worker.node) <= least[worker.node.value]) return;
      nodes.push_back(worker.node);
    }
    const NodeId node = nodes[random.below(nodes.size())];
    least[node.value] = working_set(pieces, node);
  }

  // --- the run

  void add_root(std::size_t r) {
    const Bytes bytes = piece_bytes(r);
    const std::string name = "root" + std::to_string(r);
    if (homes_[r] != Home::none) {
      const NodeId home = homes_[r] == Home::file ? *machine_.disk() : kRam;
      handles_[r] = runtime_->register_simulated(bytes, home, name);
      return;
    }
    handles_[r] = runtime_->register_empty(bytes, name);
    runtime_->acquire(handles_[r], AccessMode::W);
  }

  void play(const PlannedStep& step) {
    switch (step.kind) {
      case Kind::task:
        return submit(step.what);
      case Kind::divide:
        return divide(step.what);
      case Kind::unite:
        return runtime_->unpartition(parts_[step.what]);
      case Kind::acquire:
        return acquire(step.what, step.mode);
      case Kind::wait_handle:
        return runtime_->wait(handles_[step.what]);
      case Kind::wait:
        return runtime_->wait();
      case Kind::prefetch:
        return runtime_->prefetch(handles_[step.what], NodeId{step.node});
      case Kind::renew:
        break;  // not asked for
    }
  }

  template <typename Each>
  void for_each_cell(std::size_t p, Each each) {
    const PlannedPiece& piece = plan_.pieces[p];
    for (std::size_t c = piece.first; c < piece.end(); ++c) each(cells_[piece.root][c]);
  }

  // No task uses the piece when this returns: the acquisition comes behind the tasks that it waits for.
  void acquire(std::size_t p, AccessMode mode) {
    const Acquired held = runtime_->acquire(handles_[p], mode);
    for_each_cell(p, [&](Cell& cell) {
      if (reads(mode) && cell.writer.task != kNone) {
        EXPECT_TRUE(started_[cell.writer.task].ended)
            << "t" << cell.writer.task << " has not ended";
      }
      if (reads(mode) && cell.on_device) {
        moved_.out += Bytes{cell_bytes_[plan_.pieces[p].root]};
        cell.on_device = false;
      }
      if (writes(mode)) cell = Cell{};
    });
  }

  void divide(std::size_t p) {
    const PlannedPartition& partition = plan_.partitions[p];
    const PlannedPiece& whole = plan_.pieces[partition.whole];
    const std::uint64_t bytes = cell_bytes_[whole.root];
    const auto blocks = [&](const Layout&) {
      Division division;
      for (const std::size_t part : partition.parts) {
        const PlannedPiece& piece = plan_.pieces[part];
        division.blocks.push_back({.row = (piece.first - whole.first) * bytes,
                                   .column = 0,
                                   .rows = piece.count * bytes,
                                   .columns = 1});
      }
      return division;
    };
    parts_[p] =
        runtime_->partition(handles_[partition.whole], blocks,
                            partition.writable ? PartAccess::writable : PartAccess::read_only);
    std::ranges::copy(parts_[p],
                      handles_.begin() + static_cast<std::ptrdiff_t>(partition.parts.front()));
  }

  void submit(std::size_t t) {
    const PlannedTask& task = plan_.tasks[t];
    std::vector<Operand> operands;
    for (const PlannedAccess& access : task.accesses) {
      operands.push_back({handles_[access.piece], access.mode});
    }
    const std::size_t number = started_.size();
    started_.push_back({.task = t});
    note_order(number, task);
    runtime_->submit(
        {.codelet = task.divisible ? &divided_[task.codelet] : &codelets_[task.codelet],
         .operands = operands,
         .parameters = number,
         .priority = task.priority,
         .on_end = [this, number](Outcome outcome) { ended(number, outcome); },
         .name = "t" + std::to_string(number),
         .recursive = task.recursive});
  }

  void note_order(std::size_t number, const PlannedTask& task) {
    // A task that may be divided may run elsewhere, as others inside it.
    const bool on_devices = runs_on_devices_only(task.codelet) && !task.divisible;
    for (const PlannedAccess& access : task.accesses) {
      for_each_cell(access.piece, [&](Cell& cell) {
        note_use({number, access.piece}, access.mode, cell);
        const Bytes bytes{cell_bytes_[plan_.pieces[access.piece].root]};
        if (on_devices && reads(access.mode) && cell.at_start && !cell.counted) {
          cell.counted = true;
          moved_.in += bytes;
        }
        if (!writes(access.mode)) return cell.readers.push_back({number, access.piece});
        cell = {.writer = {number, access.piece}, .on_device = on_devices, .at_start = false};
      });
    }
    std::vector<std::size_t>& before = started_[number].before;
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  // Where a part has room of its own what is overwritten may still be in use on the other side.
  void note_use(const User& user, AccessMode mode, const Cell& cell) {
    std::vector<std::size_t>& before = started_[user.task].before;
    const bool one_place = homes_[plan_.pieces[user.piece].root] == Home::buffer;
    const auto waits_for = [&](const User& earlier) {
      return earlier.task != kNone && earlier.task != user.task &&
             (one_place || earlier.piece == user.piece);
    };
    const bool gets_content = reads(mode) && cell.writer.task != user.task;
    if (cell.writer.task != kNone && (gets_content || waits_for(cell.writer))) {
      before.push_back(cell.writer.task);
    }
    if (!writes(mode)) return;
    for (const User& reader : cell.readers) {
      if (waits_for(reader)) before.push_back(reader.task);
    }
  }

  // Inner tasks come behind all predecessors of the outer task, and end before the outer task does.
  void submit_inside(Recursion& r, std::size_t codelet) {
    const auto number = r.parameter<std::size_t>();
    const PlannedTask& task = plan_.tasks[started_[number].task];
    const std::uint64_t key = task.key;
    const Divide how = row_blocks(parts_inside(key));
    std::vector<Parts> divided;
    for (std::size_t o = 0; o < r.operands(); ++o) divided.push_back(r.parts(o, how));
    std::size_t count = SIZE_MAX;  // operands of other cells may have other numbers of parts
    for (const Parts& parts : divided) count = std::min(count, parts.size());
    const bool outermost = r.layout(0).bytes() == piece_bytes(task.accesses[0].piece);
    const bool again = divides_again(key) && outermost && count > 1;
    expect_all_ended(number, "is divided");
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Operand> operands;
      for (std::size_t o = 0; o < divided.size(); ++o) {
        operands.push_back({divided[o][i], r.mode(o)});
      }
      ++started_[number].tasks_inside;
      ++inside_;
      r.submit({.codelet = again ? &divided_[codelet] : &codelets_[codelet],
                .operands = operands,
                .parameters = number,
                .on_end =
                    [this, number](Outcome outcome) {
                      EXPECT_EQ(outcome, Outcome::done);
                      EXPECT_FALSE(started_[number].ended) << "t" << number << " ended too early";
                      ++started_[number].ended_inside;
                    },
                .name = "t" + std::to_string(number) + " inside",
                .recursive = Recursive::always});
    }
  }

  void expect_all_ended(std::size_t number, const char* what) const {
    for (const std::size_t before : started_[number].before) {
      EXPECT_TRUE(started_[before].ended) << "t" << number << " " << what << " before t" << before;
    }
  }
  void ended(std::size_t number, Outcome outcome) {
    Started& task = started_[number];
    EXPECT_EQ(outcome, Outcome::done);
    EXPECT_FALSE(task.ended) << "t" << number << " ended twice";
    EXPECT_EQ(task.ended_inside, task.tasks_inside) << "t" << number;
    task.ended = true;
    expect_all_ended(number, "ended");
    text_ += "t" + std::to_string(number) + " at " + std::to_string(runtime_->statistics().now.ns) +
             "\n";
  }

  void check() {
    const Statistics s = runtime_->statistics();
    for (std::size_t t = 0; t < started_.size(); ++t) {
      EXPECT_TRUE(started_[t].ended) << "t" << t << " has not ended";
    }
    EXPECT_GE(s.tasks_done, started_.size() + inside_);
    EXPECT_EQ(s.tasks_done, s.tasks_submitted);
    Moved moved;
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
      const NodeDescription& node = machine_.nodes[n];
      if (node.limit) {
        EXPECT_LE(s.nodes[n].peak, *node.limit) << node.name;
      }
      if (node.kind != NodeKind::device) continue;
      moved.in += s.nodes[n].bytes_in;
      moved.out += s.nodes[n].bytes_out;
    }
    EXPECT_GE(moved.in, moved_.in) << "bytes to accelerators";
    EXPECT_GE(moved.out, moved_.out) << "bytes from accelerators";
    text_ += describe(s);
  }
  static std::string describe(const Statistics& s) {
    std::string text = std::to_string(s.now.ns) + " ns";
    for (const auto& node : s.nodes) {
      text += "; " + std::to_string(node.bytes_in.value) + " in " +
              std::to_string(node.bytes_out.value) + " out, peak " +
              std::to_string(node.peak.value) + ", " + std::to_string(node.evictions) + " gone";
    }
    for (const auto& worker : s.workers) {
      text += "; " + std::to_string(worker.tasks) + " tasks " + std::to_string(worker.busy.ns);
    }
    return text + "\n";
  }

  MachineDescription machine_;
  std::vector<Codelet> codelets_;
  std::deque<Codelet> divided_;  // the same, which may be divided
  Options options_;
  bool window_ = false;
  std::vector<std::uint64_t> cell_bytes_;  // by root
  std::vector<Home> homes_;
  PartsPlan plan_;
  // --- of one run
  Runtime* runtime_ = nullptr;
  std::vector<Handle> handles_;  // of pieces
  std::vector<Parts> parts_;     // of partitions
  std::vector<std::vector<Cell>> cells_;
  std::deque<Started> started_;
  std::size_t inside_ = 0;
  Moved moved_;
  std::string text_;
};

}  // namespace vicinal::testing
