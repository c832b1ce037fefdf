// What one thread of a random program that fails did, and whether that is what a serial run leaves: of the tasks that
// were done, one after the other, with what the others should have written lost until it is written anew.
//
// What is lost is known by cell. A handle may lose more: one that is read as a whole is lost with any of its parts. So
// of a root that has lost a cell since it was last written as a whole nothing need be there, and what is there is right.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/parts_numbers.hpp"
#include "vicinal/access.hpp"
#include "vicinal/data.hpp"
#include "vicinal/task.hpp"

namespace vicinal::testing {

class FailingParts;

// A task, and what has become of it.
struct FailingTask {
  FailingParts* program = nullptr;
  FailingTask* outer = nullptr;
  std::size_t number = 0;
  Told told;
  Handle reduced;       // what it reduces into; none: it mixes
  bool throws = false;  // its kernel, or one inside
  bool function_throws = false;
  std::atomic<bool> began{false};
  std::atomic<bool> divided{false};
  std::atomic<bool> threw{false};
  std::atomic<int> outcome{-1};
  std::atomic<std::size_t> inside{0};
  std::atomic<std::size_t> ended_inside{0};
  std::atomic<bool> any_failed{false};
  std::atomic<bool> any_cancelled{false};
  std::string name() const {
    return "t" + std::to_string(number) + (outer != nullptr ? " inside " + outer->name() : "");
  }
};

// Cells of a root.
struct Cells {
  std::size_t root = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Of a root, or of what is reduced into.
struct AccountedRoot {
  std::vector<std::uint64_t> values = {};
  std::vector<bool> lost = {};
  bool any_lost = false;    // since it was last written as a whole
  bool is_unknown = false;  // a divided task has reduced some of its parts into it

  void write(const Cells& cells, const std::vector<std::uint64_t>& left, AccessMode mode) {
    std::ranges::copy(left, values.begin() + static_cast<std::ptrdiff_t>(cells.first));
    found(cells, mode);
  }
  void found(const Cells& cells, AccessMode mode) {
    set_lost(cells, false);
    if (mode == AccessMode::W && cells.count == values.size()) any_lost = false;
  }
  void lose(const Cells& cells) {
    set_lost(cells, true);
    any_lost = true;
  }
  bool has_lost(const Cells& cells) const {
    const auto first = lost.begin() + static_cast<std::ptrdiff_t>(cells.first);
    return std::find(first, first + static_cast<std::ptrdiff_t>(cells.count), true) !=
           first + static_cast<std::ptrdiff_t>(cells.count);
  }
  void add(std::uint64_t number) {
    for (std::uint64_t& value : values) value += number;
  }

 private:
  void set_lost(const Cells& cells, bool is_lost) {
    const auto first = lost.begin() + static_cast<std::ptrdiff_t>(cells.first);
    std::fill(first, first + static_cast<std::ptrdiff_t>(cells.count), is_lost);
  }
};

inline AccountedRoot accounted(std::size_t count) {
  return {.values = std::vector<std::uint64_t>(count), .lost = std::vector<bool>(count)};
}

inline std::uint64_t contribution(const Numbers& read, std::uint64_t key) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < read.count; ++i) sum += mixed(read.data[i], 1, key);
  return sum;
}

struct PartsEvent {
  enum class Kind : std::uint8_t { task, acquired, went_home, registered };
  struct Operand {
    Cells cells;
    AccessMode mode = AccessMode::R;
  };
  Kind kind = Kind::task;
  const FailingTask* task = nullptr;
  std::vector<Operand> operands = {};     // one, but of a task
  AccountedRoot* reduced = nullptr;       // of a task that reduces
  bool reduces_itself = true;             // or those inside do
  bool refused = false;                   // as poisoned
  bool knows_refusal = true;              // or it was told to nobody
  std::vector<std::uint64_t> found = {};  // empty in simulation
  std::vector<std::uint64_t> left = {};
};

class PartsAccount {
 public:
  std::vector<AccountedRoot> roots;
  std::vector<PartsEvent> events;

  void replay() {
    for (const PartsEvent& event : events) {
      switch (event.kind) {
        case PartsEvent::Kind::task:
          replay_task(event);
          break;
        case PartsEvent::Kind::registered:
          root_of(event).write(event.operands[0].cells, event.left, AccessMode::W);
          break;
        case PartsEvent::Kind::acquired:
        case PartsEvent::Kind::went_home:
          check(event);
          break;
      }
    }
  }

 private:
  AccountedRoot& root_of(const PartsEvent& event) { return roots[event.operands[0].cells.root]; }

  void replay_task(const PartsEvent& event) {
    const FailingTask& task = *event.task;
    const bool done = task.outcome == static_cast<int>(Outcome::done);
    std::vector<Numbers> numbers;
    for (const PartsEvent::Operand& operand : event.operands) {
      AccountedRoot& root = roots[operand.cells.root];
      numbers.push_back({root.values.data() + operand.cells.first, operand.cells.count});
      if (!reads(operand.mode)) continue;
      EXPECT_FALSE(done && root.has_lost(operand.cells)) << task.name() << " has read what is lost";
    }
    if (event.reduced != nullptr) {
      const Cells all{0, 0, event.reduced->values.size()};
      if (done) return event.reduced->add(contribution(numbers[0], task.told.key));
      if (event.reduces_itself || task.any_failed || task.any_cancelled) {
        return event.reduced->lose(all);
      }
      if (task.inside > 0) event.reduced->is_unknown = true;
      return;
    }
    if (done) mix(numbers, task.told);
    for (const PartsEvent::Operand& operand : event.operands) {
      if (!writes(operand.mode)) continue;
      AccountedRoot& root = roots[operand.cells.root];
      done ? root.found(operand.cells, operand.mode) : root.lose(operand.cells);
    }
  }

  void check(const PartsEvent& event) {
    const auto& [cells, mode] = event.operands[0];
    AccountedRoot& root = root_of(event);
    const std::string what = "cells " + std::to_string(cells.first) + " + " +
                             std::to_string(cells.count) + " of root " + std::to_string(cells.root);
    if (event.refused) {
      EXPECT_TRUE(root.any_lost) << what << " are refused, and nothing is lost";
      return;
    }
    const bool looks = reads(mode) && (event.knows_refusal || !root.any_lost);
    if (looks) {
      EXPECT_FALSE(root.has_lost(cells)) << what << " are lost, and were read";
      const auto first = root.values.begin() + static_cast<std::ptrdiff_t>(cells.first);
      EXPECT_TRUE(event.found.empty() ||
                  std::ranges::equal(event.found.begin(), event.found.end(), first,
                                     first + static_cast<std::ptrdiff_t>(cells.count)))
          << what;
    }
    if (!event.left.empty()) root.write(cells, event.left, mode);
  }
};

}  // namespace vicinal::testing
