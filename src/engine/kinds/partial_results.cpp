// Partial results of other ranks, see Reductions.
#include <string>

#include "engine/application.hpp"
#include "engine/kinds/combination.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"

namespace vicinal::engine {

namespace {
// Their receives are under way together, while the ones before are combined.
constexpr std::size_t kMostPartials = 8;
}  // namespace

bool Reductions::holds_any(graph::Handle& handle) {
  const Partitions::Lock lock = application_.partitions.lock();
  return handle.reduction->is_open || graph::has_content(handle);
}

// Where all content must fit in RAM, one after the other.
std::size_t Reductions::most_partials() const {
  return application_.sole_copies.limited() ? 1 : kMostPartials;
}

Handle Reductions::place_for_partial(graph::Handle& handle, std::size_t number) {
  std::vector<graph::PrivateCopy>& partials = handle.reduction->partials;
  if (number >= partials.size()) {
    const Handle added = add_copy(handle, "partial result " + std::to_string(partials.size()));
    {
      const std::lock_guard lock(mutex_);  // see record
      partials.push_back({.handle = added.impl(), .life = added.life(), .node = {}});
    }
    if (application_.sole_copies.limited()) {
      const graph::Access access(*added.impl(), AccessMode::W);
      application_.sole_copies.count({&access, 1}, "reduction", "");
    }
    return added;
  }
  const graph::PrivateCopy& partial = partials[number];
  return {*partial.handle, application_.handles.number(), partial.life};
}

void Reductions::combine_partial(Handle into, Handle partial, int priority) {
  graph::Handle& handle = *into.impl();
  {
    const Partitions::Lock lock = application_.partitions.settle(handle, AccessMode::RW);
    graph::Task& task =
        application_.submissions.make_inner({.codelet = handle.reduction->codelets.combine,
                                             .operands = {RW(into), R(partial)},
                                             .priority = priority,
                                             .recursive = Recursive::never});
    task.extension->hands_on = &handle;
    application_.submissions.submit_inner(task);
  }
  application_.invalidations.submit_settled(partial);
}

}  // namespace vicinal::engine
