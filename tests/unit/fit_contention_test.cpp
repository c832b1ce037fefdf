// Parameters of the contention model from sweeps that were made from known ones.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/contention_tables.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::contention_tables;
using vicinal::testing::parameters_of;

// Normal, with this standard deviation, of every measured value.
class Noise {
 public:
  Noise(double deviation, std::uint64_t seed) : deviation_(deviation), random_(seed) {}
  BytesPerSecond operator()(BytesPerSecond exact) {
    const double u = 1 - random_.uniform();  // above 0
    const double v = random_.uniform();
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    return {exact.value * std::max(0.1, 1 + deviation_ * normal)};
  }

 private:
  double deviation_;
  base::Random random_;
};

std::vector<ContentionSample> sweep_of(const ContentionParameters& parameters, std::uint32_t cores,
                                       Noise noise) {
  std::vector<ContentionSample> sweep;
  for (std::uint32_t n = 1; n <= cores; ++n) {
    const ContentionShares exact = predict_contention(parameters, n);
    sweep.push_back({.cores = n,
                     .computations_alone = noise(exact.alone),
                     .computations_beside = noise(exact.computations),
                     .transfer_alone = noise(parameters.transfer),
                     .transfer_beside = noise(exact.transfer)});
  }
  return sweep;
}

using Predict = std::function<ContentionShares(std::uint32_t)>;

// Mean over both curves and all numbers of cores, in percent.
double curve_error(std::uint32_t cores, const Predict& fitted, const Predict& known) {
  double sum = 0;
  for (std::uint32_t n = 1; n <= cores; ++n) {
    const ContentionShares a = fitted(n);
    const ContentionShares b = known(n);
    sum += std::abs(a.computations.value / b.computations.value - 1) / 2;
    sum += std::abs(a.transfer.value / b.transfer.value - 1) / 2;
  }
  return 100 * sum / cores;
}

double error_of_fit(std::uint32_t cores, const ContentionParameters& fitted,
                    const ContentionParameters& known) {
  return curve_error(
      cores, [&](std::uint32_t n) { return predict_contention(fitted, n); },
      [&](std::uint32_t n) { return predict_contention(known, n); });
}

TEST(FitContention, WithoutNoiseHasTheCurvesOfTheThesisTables) {
  for (const auto& table : contention_tables()) {
    for (const ContentionParameters& known : {table.model.local, table.model.remote}) {
      const std::uint32_t cores = table.model.cores_per_socket;
      const auto fitted = fit_contention(sweep_of(known, cores, Noise(0, 1)));
      EXPECT_LT(error_of_fit(cores, fitted, known), 0.1) << table.machine;
      EXPECT_NEAR(fitted.core.value, known.core.value, 1e-3 * known.core.value) << table.machine;
    }
  }
}

// A machine on which a sweep meets every limit: all cores ask for 100 GB/s, and 55 are there. In MB/s.
ContentionParameters known_parameters(std::uint32_t cores) {
  const double core = 100'000.0 / cores;
  return parameters_of({.most_beside = cores / 2,
                        .total_beside = 55'000,
                        .most_alone = cores * 3 / 4,
                        .total_alone = 46'000,
                        .total_at_most_alone = 49'500,
                        .least_share = 0.5,
                        .loss_before = 5'500.0 / (cores * 3 / 4 - cores / 2),
                        .loss_after = 2'000.0 / (cores - cores * 3 / 4),
                        .core = core,
                        .transfer = 12'000});
}

TEST(FitContention, KnownParametersAreRecoveredUnderNoiseOfFivePercent) {
  constexpr int kSeeds = 8;
  for (const std::uint32_t cores : {8, 16, 32, 64}) {
    const ContentionParameters known = known_parameters(cores);
    std::map<std::string, double> mean;
    double curves = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const ContentionParameters fitted =
          fit_contention(sweep_of(known, cores, Noise(0.05, static_cast<std::uint64_t>(seed))));
      const auto compare = [&](const char* name, double a, double b) {
        mean[name] += 100 * std::abs(a / b - 1) / kSeeds;
      };
      compare("total_beside", fitted.total_beside.value, known.total_beside.value);
      compare("total_alone", fitted.total_alone.value, known.total_alone.value);
      // Also where the fit has its changes of slope elsewhere.
      for (const std::uint32_t n : {known.most_alone, cores}) {
        compare(n == cores ? "total with all cores" : "total_at_most_alone",
                predict_contention(fitted, n).total.value,
                predict_contention(known, n).total.value);
      }
      compare("core", fitted.core.value, known.core.value);
      compare("transfer", fitted.transfer.value, known.transfer.value);
      compare("least_share", fitted.least_share, known.least_share);
      curves += error_of_fit(cores, fitted, known) / kSeeds;
    }
    // Where the slopes change is not seen under this noise, nor are the slopes: the curves say enough of them.
    EXPECT_LT(curves, 3) << cores << " cores";
    for (const auto& [name, error] : mean) {
      EXPECT_LT(error, 5) << name << " of " << cores << " cores, seeds 1 to " << kSeeds;
    }
  }
}

TEST(FitContention, PlacementsThatWereNotFittedArePredicted) {
  for (const double deviation : {0.02, 0.05}) {
    double all = 0;
    double count = 0;
    for (const auto& table : contention_tables()) {
      const ContentionModel& known = table.model;
      const std::uint32_t cores = known.cores_per_socket;
      ContentionModel fitted = known;
      fitted.local = fit_contention(sweep_of(known.local, cores, Noise(deviation, 1)));
      fitted.remote = fit_contention(sweep_of(known.remote, cores, Noise(deviation, 2)));
      const std::uint32_t nodes = 2 * known.numa_nodes_per_socket;
      for (std::uint32_t a = 0; a < nodes; ++a) {
        for (std::uint32_t b = 0; b < nodes; ++b) {
          if (a == b && a % known.numa_nodes_per_socket == 0) continue;  // fitted
          const double error = curve_error(
              cores, [&](std::uint32_t n) { return predict_contention(fitted, n, a, b); },
              [&](std::uint32_t n) { return predict_contention(known, n, a, b); });
          EXPECT_LT(error, 4) << table.machine << ", data on " << a << " and " << b << ", noise "
                              << deviation;
          all += error;
          ++count;
        }
      }
    }
    EXPECT_LT(all / count, deviation == 0.02 ? 1 : 2);
  }
}

TEST(FitContention, SamplesMayBeFewAndInAnyOrder) {
  const ContentionParameters known = known_parameters(16);
  auto sweep = sweep_of(known, 16, Noise(0, 1));
  std::reverse(sweep.begin(), sweep.end());
  EXPECT_LT(error_of_fit(16, fit_contention(sweep), known), 0.1);
  // Of one core alone nothing but that is known.
  const ContentionParameters of_one = fit_contention({sweep.back()});
  EXPECT_NEAR(of_one.core.value, known.core.value, 1e-3 * known.core.value);
  EXPECT_NEAR(predict_contention(of_one, 1).transfer.value, known.transfer.value,
              1e-3 * known.transfer.value);
}

TEST(FitContention, RefusesWhatIsNoSweep) {
  const auto said = [](const std::vector<ContentionSample>& sweep) -> std::string {
    try {
      (void)fit_contention(sweep);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  const BytesPerSecond rate{1e9};
  EXPECT_THAT(said({}), HasSubstr("no samples"));
  EXPECT_THAT(said({{0, rate, rate, rate, rate}}), HasSubstr("0 cores"));
  EXPECT_THAT(said({{3, rate, rate, rate, {}}}), HasSubstr("with 3 cores is 0 B/s"));
}

}  // namespace
}  // namespace vicinal
