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
  const auto failed = [&](const std::exception& error) {
    tools::RunRecord record;
    record.policy = policy;
    record.error = error.what();
    return record;
  };
  try {
    return run();
  } catch (const UsageError& error) {
    if (first) throw;
    return failed(error);
  } catch (const CapacityError& error) {
    if (first) throw;
    return failed(error);
  } catch (const std::exception& error) {
    return failed(error);
  }
}

}  // namespace vicinal::cli
