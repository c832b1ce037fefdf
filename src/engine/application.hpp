// What an application has given the engine, and the kinds of tasks that come of it: the part of the runtime that has
// neither threads nor waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/declared_data.hpp"
#include "engine/departures.hpp"
#include "engine/handles.hpp"
#include "engine/kinds/acquisition.hpp"
#include "engine/kinds/combination.hpp"
#include "engine/kinds/invalidation.hpp"
#include "engine/kinds/partition.hpp"
#include "engine/kinds/prefetch.hpp"
#include "engine/kinds/recursion.hpp"
#include "engine/kinds/repartition.hpp"
#include "engine/kinds/scratch.hpp"
#include "engine/kinds/transfer.hpp"
#include "engine/program_numbers.hpp"
#include "engine/sole_copies.hpp"
#include "engine/submissions.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

class Engine;

struct Application {
  // `number`: of the runtime, never 0, never twice in a process. The engine and what the configuration names
  // outlive it.
  Application(Engine& its_engine, std::uint32_t number, const SubmissionsConfig& config);
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  Engine& engine;
  // The worker that has no thread of its own: whoever waits drives it.
  const std::optional<WorkerId> lent_worker;
  ProgramNumbers numbers;
  SoleCopies sole_copies;
  Handles handles;
  Submissions submissions;
  Partitions partitions{*this};
  Reductions reductions{*this};
  Recursions recursions{*this};
  ScratchPool scratch{handles};
  Acquisitions acquisitions{*this};
  Prefetches prefetches{*this};
  Invalidations invalidations{*this};
  Repartitions repartitions{engine};
  Transfers transfers{*this};
  Departures departures{*this};
  DeclaredData declared{*this};
};

}  // namespace vicinal::engine
