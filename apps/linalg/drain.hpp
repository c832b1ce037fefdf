// Ends a run that throws.
#pragma once

#include <exception>

#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// When a submission throws, earlier tasks may still be running, on data of the caller.
class Drain {
 public:
  explicit Drain(Runtime& runtime) : runtime_(runtime) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    if (std::uncaught_exceptions() == 0) return;
    try {
      runtime_.cancel();
      runtime_.wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first error is already on its way
    }
  }

 private:
  Runtime& runtime_;
};

}  // namespace vicinal::linalg
