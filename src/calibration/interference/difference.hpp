// Whether two conditions differ by more than a machine's noise: a pure function of what was measured in turn.
#pragma once

#include <vector>

namespace vicinal::interference {

// Seconds of an operation, by round. In a round each condition is measured twice: alone, beside, alone, beside; in every
// other round in the opposite order, so that a drift of the machine weighs on both alike.
struct Rounds {
  std::vector<double> alone;
  std::vector<double> beside;
  std::vector<double> alone_again;
  std::vector<double> beside_again;
};

struct Difference {
  // So unlikely that conditions which do not differ look as if they did.
  static constexpr double kLevel = 0.01;

  double alone = 0;  // medians over both halves, seconds; 0: not measured
  double beside = 0;
  double low_alone = 0;  // quartiles of the same
  double high_alone = 0;
  double low_beside = 0;
  double high_beside = 0;
  double change = 0;  // of `beside` over `alone`, less 1
  double noise = 0;   // the largest change between a condition and the same again
  double chance =
      1;  // that equal conditions are as far from each other: two-sided, of Wilcoxon's test of signed ranks

  bool is_measured() const { return alone > 0 && beside > 0; }
  bool is_seen() const {
    return is_measured() && chance <= kLevel && (change > noise || change < -noise);
  }
};

// Of as many rounds as all four have. `change` is the median over the rounds, each of which compares what was measured
// within it: the shorter of the same twice, for interruptions only lengthen.
Difference difference_of(const Rounds& rounds);

// The chance of a sum of signed ranks as far from its mean as that of these numbers, if each is as likely positive as
// negative (Wilcoxon 1945); exact up to ties. Zeros are left out.
double chance_of_signs(const std::vector<double>& differences);

// Of values in any order; 0: there are none. `part` 0.5: the median.
double quantile(std::vector<double> values, double part);

}  // namespace vicinal::interference
