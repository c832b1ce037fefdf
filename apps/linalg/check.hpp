// Checks a result without assembling a matrix: by products with a vector x of random signs, tile by tile, in
// tasks under the run's own memory limit. Beside the data it takes four vectors of doubles.
#pragma once

#include "linalg/application.hpp"
#include "linalg/application_data.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct Residual {
  // ||y - z||_2 / (||M||_F ||x||_2 / sqrt(N)) of a check with y = M x, N being the order of the result; of reflections
  // ||Q^T Q x - x||_2 / ||x||_2 if that is larger.
  double value = 0;
  double tolerance = 0;  // how large that of a right result may be
  // Also false for NaN.
  bool passed() const { return value <= tolerance; }
};

// Of what the tasks of the application have left in the data. Submits a task per product and waits for them; may
// throw what they throw.
Residual run_check(Runtime& runtime, const ApplicationData& data, const Check& check);

}  // namespace vicinal::linalg
