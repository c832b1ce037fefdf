#include "sched/orders/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "vicinal/access.hpp"

namespace vicinal::sched::orders {

namespace {
constexpr Number kNone = std::numeric_limits<Number>::max();
}  // namespace

Chains::Chains(const graph::Graph& graph) : datum_(graph.tasks().size(), kNone) {
  std::vector<bool> written(graph.data().size());
  std::vector<bool> alone(graph.data().size(), true);  // all who write it depend on nothing else
  for (const auto& [datum, mode] : graph.accesses()) {
    if (writes(mode)) written[datum] = true;
  }
  for (Number task = 0; task < datum_.size(); ++task) {
    std::size_t others = 0;  // predecessors and successors
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[task])) {
      if (writes(mode) && datum_[task] == kNone) {
        datum_[task] = datum;
      } else if (written[datum] && datum != datum_[task]) {
        ++others;
      }
    }
    const bool depends = others > 0 || !graph.predecessors_of(task).empty();
    if (depends && datum_[task] != kNone) alone[datum_[task]] = false;
  }
  for (Number& datum : datum_) {
    if (datum != kNone && !alone[datum]) datum = kNone;
  }
}

void Chains::straighten(std::span<Number> order) const {
  struct ChainTask {
    Number datum;
    Number task;
    std::size_t at;
  };
  std::vector<ChainTask> by_task;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (datum_[order[at]] != kNone) by_task.push_back({datum_[order[at]], order[at], at});
  }
  std::vector<ChainTask> by_place = by_task;
  std::ranges::sort(by_task, {}, [](const ChainTask& p) { return std::tie(p.datum, p.task); });
  std::ranges::sort(by_place, {}, [](const ChainTask& p) { return std::tie(p.datum, p.at); });
  for (std::size_t i = 0; i < by_task.size(); ++i) order[by_place[i].at] = by_task[i].task;
}

}  // namespace vicinal::sched::orders
