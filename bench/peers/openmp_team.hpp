// A team of OpenMP threads of which one submits.
#pragma once

#include <cstdint>
#include <exception>

// Calls body() on one thread of a team of so many; all of them run the tasks it submits.
template <typename Body>
void on_one_of_a_team(std::uint32_t workers, Body&& body) {
  std::exception_ptr error;  // none may leave the parallel region
#pragma omp parallel num_threads(workers)
#pragma omp single
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
}
