#include "engine/kinds/repartition.hpp"

#include <algorithm>

#include "engine/lifecycle.hpp"
#include "engine/ram_hold.hpp"

namespace vicinal::engine {

struct Repartitions::Data final : graph::KindData {
  RamHold hold;
  bool is_lost = false;  // something that the task reads is poisoned
};

std::unique_ptr<graph::KindData> Repartitions::make_data() {
  return std::make_unique<Data>();
}

void Repartitions::ready(graph::Task& task) {
  auto& data = static_cast<Data&>(*task.extension->kind_data);
  data.is_lost = std::ranges::any_of(task.accesses(), [](const graph::Access& access) {
    return reads(access.mode) && access.handle->poisoned.load(std::memory_order_relaxed);
  });
  data.hold.take(engine_, task, *this);
}

// If an input is poisoned, or does not come, the outputs are poisoned.
void Repartitions::held(graph::Task& task, const std::exception_ptr& error) {
  auto& data = static_cast<Data&>(*task.extension->kind_data);
  if (error) engine_.errors().report(error);
  data.hold.let_go(engine_, data.is_lost || error ? Outcome::cancelled : Outcome::done);
}

}  // namespace vicinal::engine
