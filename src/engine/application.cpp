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
  Engine::Kinds kinds{};
  const auto set = [&](TaskKind of, Kind& kind) { kinds[static_cast<std::size_t>(of)] = &kind; };
  set(TaskKind::compute, recursions);
  set(TaskKind::combination, reductions);
  set(TaskKind::acquisition, acquisitions);
  set(TaskKind::prefetch, prefetches);
  set(TaskKind::invalidation, invalidations);
  set(TaskKind::repartition, repartitions);
  set(TaskKind::send, transfers);
  set(TaskKind::receive, transfers);
  engine.attach(kinds, scratch);
}

}  // namespace vicinal::engine
