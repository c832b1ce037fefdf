#include "engine/application.hpp"

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

Application::Application(Engine& its_engine, std::uint32_t number, const SubmissionsConfig& config)
    : engine(its_engine),
      lent_worker(config.lent_worker),
      sole_copies(its_engine, config.world != nullptr),
      handles(its_engine, sole_copies, numbers, number),
      submissions(*this, config) {
  using graph::TaskKind;
  engine.attach(TaskKind::compute, recursions);
  engine.attach(TaskKind::combination, reductions);
  engine.attach(TaskKind::acquisition, acquisitions);
  engine.attach(TaskKind::prefetch, prefetches);
  engine.attach(TaskKind::invalidation, invalidations);
  engine.attach(TaskKind::repartition, repartitions);
  engine.attach(scratch);
}

}  // namespace vicinal::engine
