#include "sched/orders/horizon/moves.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/random.hpp"

namespace vicinal::sched::orders::horizon {

namespace {

class Mover {
 public:
  explicit Mover(const PlanGraph& graph)
      : predecessors_(graph.tasks()), successors_(graph.successors), goes_along_(graph.tasks()) {
    for (Number task = 0; task < graph.tasks(); ++task) {
      for (const Number after : graph.successors[task]) predecessors_.count(after);
    }
    predecessors_.counted();
    for (Number task = 0; task < graph.tasks(); ++task) {
      for (const Number after : graph.successors[task]) predecessors_.place(after, task);
    }
    predecessors_.placed();
  }

  // The task at `from` goes to `to`, and with it those in between that must.
  void move(const std::vector<Number>& order, std::size_t from, std::size_t to,
            std::vector<Number>& moved) {
    moved = order;
    goes_along_.assign(order.size(), false);
    goes_along_[order[from]] = true;
    const auto [first, last] = std::minmax(from, to);
    const bool is_later = to > from;
    const Lists& before = is_later ? predecessors_ : successors_;
    for (std::size_t step = 1; step <= last - first; ++step) {
      const Number task = order[is_later ? from + step : from - step];
      goes_along_[task] =
          std::ranges::any_of(before[task], [&](Number other) { return goes_along_[other]; });
    }
    std::size_t place = first;
    for (const bool along : {!is_later, is_later}) {
      for (std::size_t i = first; i <= last; ++i) {
        if (goes_along_[order[i]] == along) moved[place++] = order[i];
      }
    }
  }

 private:
  Lists predecessors_;
  const Lists& successors_;
  std::vector<bool> goes_along_;  // by task
};

}  // namespace

std::vector<Number> moved_about(const PlanGraph& graph, std::vector<Number> order,
                                std::size_t tries,
                                const std::function<double(const std::vector<Number>&)>& score) {
  if (order.size() < 2) return order;
  Mover mover(graph);
  base::Random random(order.size());
  double best = score(order);
  std::vector<Number> moved;
  for (; tries > 0; --tries) {
    const std::size_t from = random.below(order.size());
    const std::size_t to = random.below(order.size());
    if (from == to) continue;
    mover.move(order, from, to, moved);
    const double now = score(moved);
    if (now > best) continue;
    best = now;
    std::swap(order, moved);
  }
  return order;
}

}  // namespace vicinal::sched::orders::horizon
