// One run of several: what goes wrong in it is its outcome, and the others go on.
#pragma once

#include <exception>
#include <string>

#include "tools/report.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

// `run` gives the record. Of the first run UsageError and CapacityError go through: most often they are the
// same for every policy.
template <typename Run>
tools::RunRecord run_or_error(const std::string& policy, bool first, const Run& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    const bool may_be_everyones = dynamic_cast<const UsageError*>(&error) != nullptr ||
                                  dynamic_cast<const CapacityError*>(&error) != nullptr;
    if (first && may_be_everyones) throw;
    tools::RunRecord record;
    record.policy = policy;
    record.error = error.what();
    return record;
  }
}

}  // namespace vicinal::cli
