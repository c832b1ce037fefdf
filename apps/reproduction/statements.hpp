// The arithmetic of statements: comparisons of one curve with others, and their words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reproduction/figure.hpp"
#include "reproduction/results.hpp"

namespace vicinal::reproduction {

// Two results that differ by no more than this count as equal: measurements of paper 000 vary by less than 2 %
// (section 6.1).
inline constexpr double kEqual = 0.02;
// A number of a paper is met by one that differs from it by no more than this share of it; of a gain in speed, also by
// one within kEqual.
inline constexpr double kTolerance = 0.25;
// And a speed by one within this share of it.
inline constexpr double kSpeedTolerance = 0.1;

using Measure = double (*)(const Measures&);
inline double gflops(const Measures& measures) {
  return measures.gflops();
}
inline double loaded(const Measures& measures) {
  return measures.loaded();
}

// Which points a comparison looks at. `panel` empty: all.
struct Scope {
  std::string_view panel = {};
  Where where = Where::everywhere;
};

// The measure of `a` over that of `b`, for each point where both have been measured.
std::vector<double> ratios(const Results& results, Scope scope, std::string_view a,
                           std::string_view b, Measure measure);
// All series but one.
std::vector<std::string> others(const Results& results, Scope scope, std::string_view series);
double mean(std::span<const double> values);
double geometric_mean(std::span<const double> values);

// "0.98 to 1.50"; "0.98" where there is one or they are the same.
std::string range(std::span<const double> values);
std::string percent(double share);  // of a change: 0.123 is "+12.3 %"

Verdict unknown(std::string_view why);
Verdict verdict(bool holds, std::string measured);
bool meets(double number, double in_paper);
bool meets_speed(double gflops, double in_paper);
// Of a statement with a number: what it says without it, and the number.
Verdict numbered(bool is_so, bool number_is_met, std::string measured);
// Holds if all do; in sign, if some hold but in sign.
Verdict all_of(std::span<const Verdict> verdicts);

// --- whole rules. Each is unknown where there is nothing to compare.

// No other is faster by more than kEqual anywhere, and each is slower by more than that somewhere. Measured is its
// speed over that of each other.
Verdict is_fastest(const Results& results, Scope scope, std::string_view series);
// Every other loads at least `times` what `series` does, at every point.
Verdict others_load_more(const Results& results, Scope scope, std::string_view series,
                         std::span<const std::string> compared, double times);
// At every point more than half of the curves come within `share` of the fastest.
Verdict most_are_equal(const Results& results, Scope scope, double share);
// On average over the points, `a` is faster than `b` by what the paper found.
Verdict is_faster_on_average(const Results& results, Scope scope, std::string_view a,
                             std::string_view b, double in_paper);

// How much of its best speed on sizes that fit a curve has lost at the largest size: 0.3 is 30 %. None if one of the
// two is missing.
std::optional<double> loss_at_largest(const Results& results, std::string_view panel,
                                      std::string_view series);

}  // namespace vicinal::reproduction
