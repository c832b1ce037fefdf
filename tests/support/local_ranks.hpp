// Several ranks in one process: each a thread with a runtime of its own, over a transport whose order a seed draws.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/local/local_world.hpp"
#include "comm/progress_thread.hpp"
#include "runtime/ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::tests {

struct RankOutcome {
  std::exception_ptr error;
  std::string text() const {
    if (!error) return {};
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      return known.what();
    }
  }
};

// The program on each rank, with the rank's runtime, which ends when the program has returned or thrown.
using RankProgram = std::function<void(Runtime& runtime)>;
using RankOptions = std::function<Options(RankId rank)>;

inline std::vector<RankOutcome> run_on_ranks(comm::LocalWorld& world, const RankOptions& options,
                                             const RankProgram& program,
                                             const comm::ExchangeRules& rules = {}) {
  std::vector<RankOutcome> outcomes(world.ranks());
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < world.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto progress = std::make_shared<internals::RanksImpl>(
            [&] { return world.transport(RankId{rank}); }, rules);
        Runtime runtime(options(RankId{rank}), internals::RanksOpener::make(progress));
        program(runtime);
      } catch (...) {
        outcomes[rank].error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace vicinal::tests
