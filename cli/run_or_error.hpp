// One run of several: what goes wrong in it is its outcome, and the others go on.
#pragma once

#include <exception>
#include <string>

#include "tools/report.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

// `run` gives the record. UsageError and CapacityError go through: they are the same for every policy.
template <typename Run>
tools::RunRecord run_or_error(const std::string& policy, const Run& run) {
  try {
    return run();
  } catch (const UsageError&) {
    throw;
  } catch (const CapacityError&) {
    throw;
  } catch (const std::exception& error) {
    tools::RunRecord record;
    record.policy = policy;
    record.error = error.what();
    return record;
  }
}

}  // namespace vicinal::cli
