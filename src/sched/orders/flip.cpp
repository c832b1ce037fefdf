#include "sched/orders/flip.hpp"

#include <iterator>

namespace vicinal::sched::orders {

template <typename Iterator>
std::size_t Flips::fitting(Iterator first, Iterator last) {
  ++mark_;
  std::uint64_t bytes = 0;
  std::size_t tasks = 0;
  for (; first != last; ++first, ++tasks) {
    for (const Number datum : inputs_[*first]) {
      if (seen_[datum] != mark_) bytes += inputs_.bytes(datum);
      seen_[datum] = mark_;
    }
    if (bytes > memory_.value) break;
  }
  return tasks;
}

Flips::Ends Flips::ends_of(std::span<const Number> tasks) {
  return {tasks.first(fitting(tasks.begin(), tasks.end())),
          tasks.last(fitting(tasks.rbegin(), tasks.rend()))};
}

std::pair<Flips::Ends, Flips::Ends> Flips::ends_of(const Joined& left, const Joined& right) {
  const auto ends = std::pair(ends_of(left.tasks), ends_of(right.tasks));
  const bool both_fit = ends.first.start.size() == left.tasks.size() &&
                        ends.second.start.size() == right.tasks.size();
  if (!both_fit) return ends;
  const auto halves = [](const Joined& list) {
    if (list.joint == 0) return Ends{list.tasks, list.tasks};
    return Ends{list.tasks.first(list.joint), list.tasks.subspan(list.joint)};
  };
  return {halves(left), halves(right)};
}

std::uint64_t Flips::shared(std::span<const Number> a, std::span<const Number> b) {
  mark_ += 2;
  const std::uint32_t in_a = mark_ - 1;
  for (const Number task : a) {
    for (const Number datum : inputs_[task]) seen_[datum] = in_a;
  }
  std::uint64_t bytes = 0;
  for (const Number task : b) {
    for (const Number datum : inputs_[task]) {
      if (seen_[datum] == in_a) bytes += inputs_.bytes(datum);
      seen_[datum] = mark_;
    }
  }
  return bytes;
}

std::uint64_t Flips::shared_at_joint(const Joined& left, const Joined& right) {
  const auto [ends_left, ends_right] = ends_of(left, right);
  return shared(ends_left.end, ends_right.start);
}

Flip Flips::best(const Joined& left, const Joined& right) {
  if (left.tasks.size() < 2 || right.tasks.size() < 2) return {};
  const auto [ends_left, ends_right] = ends_of(left, right);
  Flip best;
  std::uint64_t most = shared(ends_left.end, ends_right.start);
  const auto consider = [&](Flip flip, std::span<const Number> a, std::span<const Number> b) {
    const std::uint64_t bytes = shared(a, b);
    if (bytes <= most) return;
    most = bytes;
    best = flip;
  };
  consider({.left = false, .right = true}, ends_left.end, ends_right.end);
  consider({.left = true, .right = false}, ends_left.start, ends_right.start);
  consider({.left = true, .right = true}, ends_left.start, ends_right.end);
  return best;
}

}  // namespace vicinal::sched::orders
