// Numbers by which runtimes that run the same program name the same things. Nothing that a runtime makes for itself has
// one: scratch, parts, private copies, its own tasks; nor what a task registers or submits.
#pragma once

#include <compare>
#include <cstdint>

namespace vicinal::graph {

// A registration of the application, counted from 1 without those that threw; 0: of the runtime.
struct DataNumber {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(DataNumber, DataNumber) = default;
};

// A submission of the application, counted from 1 with those that threw; 0: of the runtime, or submissions are not
// counted.
struct SubmissionNumber {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(SubmissionNumber, SubmissionNumber) = default;
};

}  // namespace vicinal::graph
