// Which of two lists of tasks is best reversed before one is put behind the other.
//
// The paper, section 3, "Improving HFP with package flipping", and its Figure 2. The start and the end of a list
// are as many first and last tasks as have inputs that fit the memory together. That pair of a start or end of
// the left list with one of the right list which shares most shall meet at the joint. Not in the paper:
//  - a list that fits as a whole is its own start and end; if both lists do, these are the halves that were
//    joined last (as in the authors' program), for otherwise all pairs share the same;
//  - a reversal must gain something, and of equal gains the one that reverses least is taken: nothing, right, left, both;
//  - a list of one task has nothing to reverse: nothing is done then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

struct Flip {
  bool left = false;
  bool right = false;
  friend bool operator==(const Flip&, const Flip&) = default;
};

// Tasks in their order; the first `joint` of them were joined to the others last.
struct Joined {
  std::span<const Number> tasks;
  std::size_t joint = 0;  // 0: never joined
};

class Flips {
 public:
  // The inputs outlive it.
  Flips(const TaskInputs& inputs, Bytes memory)
      : inputs_(inputs), memory_(memory), seen_(inputs.data_count()) {}

  // For `right` to come behind `left`. O(inputs of the tasks of both starts and ends).
  Flip best(const Joined& left, const Joined& right);
  // Bytes that the end of `left` and the start of `right` share: what need not be loaded again behind the joint.
  std::uint64_t shared_at_joint(const Joined& left, const Joined& right);

 private:
  struct Ends {
    std::span<const Number> start;
    std::span<const Number> end;
  };
  // How many tasks from this end of the list fit the memory together.
  template <typename Iterator>
  std::size_t fitting(Iterator first, Iterator last);
  Ends ends_of(std::span<const Number> tasks);
  std::pair<Ends, Ends> ends_of(const Joined& left, const Joined& right);
  std::uint64_t shared(std::span<const Number> a, std::span<const Number> b);

  const TaskInputs& inputs_;
  Bytes memory_;
  std::vector<std::uint32_t> seen_;  // by datum: the mark that it got last
  std::uint32_t mark_ = 0;
};

}  // namespace vicinal::sched::orders
