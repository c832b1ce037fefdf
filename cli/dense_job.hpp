// The dense applications as a job of `vicinal run`.
#pragma once

#include <memory>

#include "job.hpp"
#include "linalg/application.hpp"
#include "linalg/run.hpp"

namespace vicinal::cli {

// The request names the application.
std::unique_ptr<Job> dense_job(std::unique_ptr<linalg::Application> application,
                               linalg::RunRequest request);

}  // namespace vicinal::cli
