#include "engine/kinds/invalidation.hpp"

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::engine {

void Invalidations::submit(Handle registered) {
  graph::Handle& data = *registered.impl();
  Partitions::Lock settled;
  if (data.has_family.load(std::memory_order_acquire)) {
    settled = application_.partitions.settle(data, AccessMode::W);
  }
  submit_settled(registered);
}

void Invalidations::submit_settled(Handle registered) {
  graph::Task& task = application_.submissions.make_plain(
      {graph::TaskKind::invalidation, "invalidate"},
      {*registered.impl(), registered.life(), AccessMode::W, 0, false}, nullptr);
  application_.submissions.submit_invalidation(task);
}

void Invalidations::ready(graph::Task& task) {
  application_.engine.data().invalidate(*task.accesses()[0].handle);
  application_.engine.end_plain_task(task, Engine::Obtained::order);
}

}  // namespace vicinal::engine
