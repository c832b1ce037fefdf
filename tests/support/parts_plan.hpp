// Random programs on handles in parts, parts of parts, and recursive tasks, as data: who plays one for real or on a
// simulated machine does what it lists, step by step, from one thread. They keep to the contract.
//
// Data are counted in cells, which are never divided; what a cell is the player says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "vicinal/access.hpp"
#include "vicinal/task.hpp"

namespace vicinal::testing {

// A handle, or a part of one: cells first .. first + count - 1 of a root.
struct PlannedPiece {
  std::size_t root = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  bool writable = true;
  bool there = true;                      // at this point of the plan
  std::vector<std::size_t> divided = {};  // its partitions that are there
  std::size_t end() const { return first + count; }
  bool meets(const PlannedPiece& other) const {
    return root == other.root && first < other.end() && other.first < end();
  }
};

struct PlannedPartition {
  std::size_t whole = 0;
  std::vector<std::size_t> parts;  // pieces
  bool writable = true;
};

struct PlannedAccess {
  std::size_t piece = 0;
  AccessMode mode = AccessMode::R;
};

// What it writes is named first.
struct PlannedTask {
  std::uint64_t key = 0;
  std::uint32_t codelet = 0;
  std::vector<PlannedAccess> accesses = {};
  int priority = 0;
  bool divisible = false;  // all operands are equally long
  Recursive recursive = Recursive::never;
  std::size_t writes() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        accesses, [](const PlannedAccess& access) { return vicinal::writes(access.mode); }));
  }
};

struct PlannedStep {
  // `renew`: a root is unregistered and registered again.
  enum class Kind : std::uint8_t {
    task,
    divide,
    unite,
    acquire,
    wait_handle,
    wait,
    prefetch,
    renew
  };
  Kind kind = Kind::wait;
  std::size_t what = 0;  // the task, the partition or the piece
  AccessMode mode = AccessMode::R;
  std::uint32_t node = 0;
};

struct PartsPlan {
  std::vector<std::size_t> roots;  // cells of each; the first pieces
  std::vector<PlannedPiece> pieces;
  std::vector<PlannedPartition> partitions;
  std::vector<PlannedTask> tasks;
  std::vector<PlannedStep> steps;
};

struct PartsShape {
  std::vector<std::size_t> roots;
  std::size_t steps = 50;
  bool renews = false;
  std::uint32_t codelets = 1;
  std::uint32_t nodes = 1;  // 0 is RAM
  // Whether a task of this codelet on these roots may be divided.
  std::function<bool(std::uint32_t codelet, const std::vector<std::size_t>& roots)> may_divide;
};

// Into how many parts a divided task cuts its operands, and whether it has those divided again.
inline std::uint64_t parts_inside(std::uint64_t key) {
  return 2 + key % 4;
}
inline bool divides_again(std::uint64_t key) {
  return key % 5 == 0;
}

class PartsPlanMaker {
 public:
  PartsPlanMaker(base::Random& random, const PartsShape& shape) : random_(random), shape_(shape) {}

  PartsPlan make() {
    plan_.roots = shape_.roots;
    for (std::size_t r = 0; r < shape_.roots.size(); ++r) {
      plan_.pieces.push_back({.root = r, .first = 0, .count = shape_.roots[r]});
    }
    for (std::size_t i = 0; i < shape_.steps; ++i) add_step();
    return std::move(plan_);
  }

 private:
  using Kind = PlannedStep::Kind;
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  std::size_t any_piece() {
    std::size_t p = random_.below(plan_.pieces.size());
    while (!plan_.pieces[p].there) p = (p + 1) % plan_.pieces.size();
    return p;
  }

  void add_step() {
    if (shape_.renews && chance(25)) return renew(random_.below(plan_.roots.size()));
    const std::uint64_t kind = random_.below(20);
    const std::size_t p = any_piece();
    if (kind < 12) return add_task();
    if (kind < 15) return divide(p);
    if (kind < 17) return unite(p);
    PlannedStep step{.kind = Kind::wait, .what = p};
    if (kind == 17) {
      step.kind = Kind::acquire;
      step.mode = plan_.pieces[p].writable ? random_mode() : AccessMode::R;
    } else if (kind == 18) {
      step.kind = chance(2) ? Kind::wait_handle : Kind::prefetch;
      step.node = static_cast<std::uint32_t>(random_.below(shape_.nodes));
    } else if (!chance(3)) {
      return;
    }
    plan_.steps.push_back(step);
  }
  AccessMode random_mode() { return static_cast<AccessMode>(1 + random_.below(3)); }

  void add_task() {
    PlannedTask task;
    task.key = random_.next();
    task.codelet = static_cast<std::uint32_t>(random_.below(shape_.codelets));
    task.priority = static_cast<int>(random_.below(3));
    for (std::uint64_t i = chance(4) ? 1 + random_.below(3) : 1; i > 0; --i) add_written(task);
    if (task.accesses.empty()) return;
    const std::size_t written = task.accesses.size();
    for (std::uint64_t i = random_.below(4); i > 0; --i) add_read(task, written);
    task.divisible = is_divisible(task);
    if (task.divisible) task.recursive = static_cast<Recursive>(random_.below(3));
    plan_.steps.push_back({.kind = Kind::task, .what = plan_.tasks.size()});
    plan_.tasks.push_back(std::move(task));
  }
  void add_written(PlannedTask& task) {
    const std::size_t p = any_piece();
    if (!plan_.pieces[p].writable || meets_any(task, p, task.accesses.size())) return;
    task.accesses.push_back({p, chance(3) ? AccessMode::W : AccessMode::RW});
  }
  void add_read(PlannedTask& task, std::size_t written) {
    const std::size_t p = any_piece();
    if (!meets_any(task, p, written)) task.accesses.push_back({p, AccessMode::R});
  }
  // One of its first `many` operands.
  bool meets_any(const PlannedTask& task, std::size_t piece, std::size_t many) const {
    return std::any_of(task.accesses.begin(),
                       task.accesses.begin() + static_cast<std::ptrdiff_t>(many),
                       [&](const PlannedAccess& access) {
                         return plan_.pieces[access.piece].meets(plan_.pieces[piece]);
                       });
  }
  bool is_divisible(const PlannedTask& task) const {
    const std::size_t count = plan_.pieces[task.accesses[0].piece].count;
    std::vector<std::size_t> roots;
    for (const PlannedAccess& access : task.accesses) {
      if (plan_.pieces[access.piece].count != count) return false;
      roots.push_back(plan_.pieces[access.piece].root);
    }
    return shape_.may_divide(task.codelet, roots);
  }

  void divide(std::size_t p) {
    const bool writable = plan_.pieces[p].writable && !chance(4);
    PlannedPartition partition{.whole = p, .parts = {}, .writable = writable};
    const std::size_t end = plan_.pieces[p].end();
    const std::size_t first = plan_.pieces.size();
    const std::uint64_t left_out = chance(2) ? 6 : 2;  // one in so many
    std::size_t at = plan_.pieces[p].first;
    while (at < end && partition.parts.size() < 6) {
      PlannedPiece part{.root = plan_.pieces[p].root,
                        .first = at,
                        .count = 1 + random_.below(end - at),
                        .writable = writable};
      at = part.end();
      if (chance(left_out) || is_taken(p, part)) continue;
      partition.parts.push_back(first + partition.parts.size());
      parts_.push_back(std::move(part));
    }
    plan_.pieces.insert(plan_.pieces.end(), parts_.begin(), parts_.end());
    parts_.clear();
    if (partition.parts.empty()) return;
    plan_.pieces[p].divided.push_back(plan_.partitions.size());
    plan_.steps.push_back({.kind = Kind::divide, .what = plan_.partitions.size()});
    plan_.partitions.push_back(std::move(partition));
  }
  // Another partition has some of it, and one of the two writes.
  bool is_taken(std::size_t whole, const PlannedPiece& part) const {
    for (const std::size_t other : plan_.pieces[whole].divided) {
      const PlannedPartition& partition = plan_.partitions[other];
      if (!part.writable && !partition.writable) continue;
      for (const std::size_t p : partition.parts) {
        if (plan_.pieces[p].meets(part)) return true;
      }
    }
    return false;
  }

  void unite(std::size_t p) {
    std::vector<std::size_t>& divided = plan_.pieces[p].divided;
    if (divided.empty()) return;
    const auto which = divided.begin() + static_cast<std::ptrdiff_t>(random_.below(divided.size()));
    plan_.steps.push_back({.kind = Kind::unite, .what = *which});
    const std::size_t partition = *which;
    divided.erase(which);
    leave(partition);
  }
  void renew(std::size_t root) {
    for (const std::size_t partition : plan_.pieces[root].divided) leave(partition);
    plan_.pieces[root].divided.clear();
    plan_.steps.push_back({.kind = Kind::renew, .what = root});
  }
  void leave(std::size_t partition) {
    for (const std::size_t part : plan_.partitions[partition].parts) {
      plan_.pieces[part].there = false;
      for (const std::size_t below : plan_.pieces[part].divided) leave(below);
      plan_.pieces[part].divided.clear();
    }
  }

  base::Random& random_;
  const PartsShape& shape_;
  PartsPlan plan_;
  std::vector<PlannedPiece> parts_;  // of a partition that is being made
};

}  // namespace vicinal::testing
