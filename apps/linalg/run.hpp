// A dense application from nothing to a checked result, as the command line and the benchmarks run it.
//
//   const linalg::Application cholesky = linalg::cholesky({.size = 8000, .tile = 500});
//   linalg::RunOutcome outcome = linalg::run(runtime, {.application = &cholesky, .check = true});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linalg/application.hpp"
#include "linalg/application_data.hpp"
#include "linalg/check.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct SubmitOptions {
  bool priorities = true;  // those of the application, bottom levels; false: 0 for all
  bool names = false;      // of tasks: "gemm(3,1,0)", some 100 bytes more per task
};

struct RunRequest {
  const Application* application = nullptr;
  DataPlaces places = {};
  bool check = false;
  SubmitOptions submit = {};
};

struct RunOutcome {
  // Around the timed part: from its first submission to the return of wait(). Filling the matrices
  // and the check are outside. With a limited memory, some tiles lie on the disk when it begins,
  // and some of the result only in memory when it ends: there is no flush in the timed part.
  Statistics before;
  Statistics after;
  Statistics last;  // when all is done: peaks include the check
  std::optional<Residual> residual;
};

// Told when a part of the run begins ("fill", "factorise" or "multiply", "check", "write") and how many
// tasks it has.
using PhaseObserver = std::function<void(std::string_view phase, std::uint64_t tasks)>;

// Submits all tasks on data that have been filled. Waits for nothing but a full submission window. The application
// must outlive the tasks.
void submit_tasks(Runtime& runtime, const ApplicationData& data, const SubmitOptions& options);

// Throws what tasks throw, after all tasks have ended, and UsageError for files that do not fit.
RunOutcome run(Runtime& runtime, const RunRequest& request, const PhaseObserver& observer = {});

// Fills the data of an application and leaves them in a file.
void generate(Runtime& runtime, const Application& application, const DataPlaces& places,
              const PhaseObserver& observer = {});

}  // namespace vicinal::linalg
