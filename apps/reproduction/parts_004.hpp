// What the figures of paper 004 share: "On the Interactions between HPC Task-based Runtime Systems and Communication
// Libraries", Swartvagher, 2022, chapter 4, dynamic broadcasts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reproduction/figure.hpp"

namespace vicinal::reproduction {

inline constexpr std::string_view kWithout004 = "without broadcasts";
inline constexpr std::string_view kBinary004 = "binary";
inline constexpr std::string_view kBinomial004 = "binomial";

// A matrix over ranks of a cluster, in single precision and tiles of 320, the paper's (footnote of section 4.4.3).
Panel panel_004(std::string_view name, std::string_view application, std::string_view machine,
                std::uint32_t ranks);
Plot performance_004();

// By how much of its speed `a` is faster than `b`, size by size.
std::vector<double> gains_004(const Results& results, std::string_view panel, std::string_view a,
                              std::string_view b);
// "-1.2 % to +20.3 %"
std::string range_of_gains(const std::vector<double>& gains);
// `a` is faster than `b` somewhere, by what the paper found at most.
Verdict gains_up_to(const Results& results, std::string_view panel, std::string_view a,
                    std::string_view b, double in_paper);
// Neither is faster anywhere.
Verdict are_equal(const Results& results, std::string_view panel, std::string_view a,
                  std::string_view b);
// On average, by more than kEqual.
Verdict is_faster(const Results& results, std::string_view panel, std::string_view a,
                  std::string_view b);

}  // namespace vicinal::reproduction
