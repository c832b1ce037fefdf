// Numbers by which runtimes that run the same program name the same things. Nothing that a runtime makes for itself has
// one: scratch, parts, private copies, its own tasks; nor what a task registers or submits.
#pragma once

#include <compare>
#include <cstdint>

namespace vicinal::graph {

// Which registration of the application it was, from 1, of those that did not throw; 0: none of these.
struct DataNumber {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(DataNumber, DataNumber) = default;
};

// Which submission of the application it was, from 1, of all, those that threw included; 0: none of these, or nobody
// counts.
struct SubmissionNumber {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(SubmissionNumber, SubmissionNumber) = default;
};

}  // namespace vicinal::graph
