// Parameters of the contention model from a sweep: least squares of the logarithms of the curves (Levenberg and
// Marquardt), for candidates of the two numbers of cores at which slopes change.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "vicinal/contention.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

// What is fitted for given numbers of cores: logarithms of total_beside, total_alone, core and transfer; then
// least_share, and loss_before and loss_after over total_beside.
enum Unknown : std::size_t { kTotal, kAlone, kCore, kTransfer, kShare, kBefore, kAfter, kUnknowns };
using Point = std::array<double, kUnknowns>;

// Of Schwarz's criterion: less is no reason to prefer other numbers of cores.
constexpr double kLeastGain = 1e-3;

// total_beside is the largest total; the thesis's tables have some that rise behind it, by 1 %.
constexpr double kMostRise = 0.02;

struct Candidate {
  std::uint32_t most_beside = 1;
  std::uint32_t most_alone = 1;
  Point point{};
  double error = std::numeric_limits<double>::infinity();  // sum of squares
};

class Fit {
 public:
  explicit Fit(const std::vector<ContentionSample>& sweep) : sweep_(sweep) {
    for (const ContentionSample& sample : sweep) most_cores_ = std::max(most_cores_, sample.cores);
  }

  ContentionParameters best() {
    Candidate best;
    for (Candidate& candidate : most_promising(first_guess())) improve(best, candidate);
    for (std::uint32_t step = std::max(1U, most_cores_ / 8); step > 0; step /= 2) {
      while (improve_near(best, step)) {
      }
    }
    return without_what_nobody_meets(parameters(best));
  }

 private:
  // Of all pairs of numbers of cores, as they are before anything is fitted.
  std::vector<Candidate> most_promising(const Point& start) const {
    constexpr std::size_t kTried = 16;
    std::vector<Candidate> all;
    for (const std::uint32_t a : grid()) {
      for (const std::uint32_t b : grid()) {
        if (a > b) continue;
        for (const Point& point : {start, extracted(a, b, start)}) {
          Candidate at{.most_beside = a, .most_alone = b, .point = point};
          restrict(at);
          at.error = sum_of_squares(residuals(at));
          all.push_back(at);
        }
      }
    }
    std::sort(all.begin(), all.end(),
              [this](const Candidate& a, const Candidate& b) { return cost(a) < cost(b); });
    all.resize(std::min(all.size(), kTried));
    return all;
  }

  // All numbers of cores, or 32 of them.
  std::set<std::uint32_t> grid() const {
    std::set<std::uint32_t> numbers;
    const std::uint32_t most = std::min(most_cores_, 32U);
    for (std::uint32_t i = 1; i <= most; ++i) numbers.insert((i * most_cores_ + most - 1) / most);
    return numbers;
  }

  Point first_guess() const {
    const auto count = static_cast<double>(sweep_.size());
    double total = 0;
    double alone = 0;
    double transfer = 0;
    double share = 0;
    double many = 0;
    const auto fewest =
        std::min_element(sweep_.begin(), sweep_.end(),
                         [](const auto& a, const auto& b) { return a.cores < b.cores; });
    for (const ContentionSample& sample : sweep_) {
      total = std::max(total, sample.computations_beside.value + sample.transfer_beside.value);
      alone = std::max(alone, sample.computations_alone.value);
      transfer += sample.transfer_alone.value / count;
      if (4 * sample.cores < 3 * most_cores_) continue;
      share += sample.transfer_beside.value;  // of the quarter with most cores
      ++many;
    }
    const double core = fewest->computations_alone.value / fewest->cores;
    share = std::min(share / many / transfer, 1.0);
    return {std::log(total), std::log(alone), std::log(core), std::log(transfer), share, 0, 0};
  }

  // As the thesis extracts the losses, for these numbers of cores.
  Point extracted(std::uint32_t most_beside, std::uint32_t most_alone, Point point) const {
    const double at_beside = total_near(most_beside);
    const double at_alone = total_near(most_alone);
    const auto per_core = [&](double loss, std::uint32_t cores) {
      return cores == 0 ? 0 : loss / at_beside / cores;
    };
    point[kTotal] = std::log(at_beside);
    point[kBefore] = per_core(at_beside - at_alone, most_alone - most_beside);
    point[kAfter] = per_core(at_alone - total_near(most_cores_), most_cores_ - most_alone);
    return point;
  }

  // Beside the transfer, of the samples with this number of cores or the nearest.
  double total_near(std::uint32_t cores) const {
    const auto distance = [cores](const ContentionSample& sample) {
      return std::max(sample.cores, cores) - std::min(sample.cores, cores);
    };
    std::uint32_t least = kMostContendingCores;
    double sum = 0;
    double count = 0;
    for (const ContentionSample& sample : sweep_) {
      if (distance(sample) > least) continue;
      if (distance(sample) < least) sum = count = 0;
      least = distance(sample);
      sum += sample.computations_beside.value + sample.transfer_beside.value;
      ++count;
    }
    return sum / count;
  }

  // Limits that the sweep never meets: the largest of the predicted curves, or the least.
  ContentionParameters without_what_nobody_meets(ContentionParameters p) const {
    double total = 0;
    double alone = 0;
    double share = 1;
    double room = std::numeric_limits<double>::infinity();
    for (const ContentionSample& sample : sweep_) {
      const ContentionShares shares = predict_contention(p, sample.cores);
      const double both = shares.computations.value + shares.transfer.value;
      total = std::max(total, both);
      room = std::min(room, shares.total.value - both);
      alone = std::max(alone, shares.alone.value);
      share = std::min(share, shares.transfer.value / p.transfer.value);
    }
    p.total_alone = {std::min(p.total_alone.value, alone)};
    p.least_share = std::max(p.least_share, share);
    if (room < 1e-9 * total) return with_total_that_is_met(p);
    p.total_beside = p.total_at_most_alone = {total};
    p.loss_before = p.loss_after = {};
    return p;
  }

  // The total falls from the first number of cores that meets it on, where it is as large as any before.
  ContentionParameters with_total_that_is_met(ContentionParameters p) const {
    double before = 0;
    for (std::uint32_t n = 1; n <= p.most_alone; ++n) {
      const ContentionShares shares = predict_contention(p, n);
      const double both = shares.computations.value + shares.transfer.value;
      if (both < shares.total.value * (1 - 1e-9)) {
        before = both;
        continue;
      }
      const bool slides = p.most_alone - p.most_beside > 1;  // as equation 6.5 asks
      if (n <= p.most_beside || before > shares.total.value || slides != (p.most_alone - n > 1)) {
        break;
      }
      p.most_beside = n;
      p.total_beside = shares.total;
      break;
    }
    return p;
  }

  ContentionParameters parameters(const Candidate& at) const {
    const Point& x = at.point;
    ContentionParameters p;
    p.most_beside = at.most_beside;
    p.most_alone = at.most_alone;
    const double total = std::exp(x[kTotal]);
    p.total_beside = {total};
    p.total_alone = {std::exp(x[kAlone])};
    p.core = {std::exp(x[kCore])};
    p.transfer = {std::exp(x[kTransfer])};
    p.least_share = x[kShare];
    p.loss_before = {x[kBefore] * total};
    p.loss_after = {x[kAfter] * total};
    p.total_at_most_alone = {total * (1 - x[kBefore] * (at.most_alone - at.most_beside))};
    return p;
  }

  // Logarithms of predicted over measured.
  std::vector<double> residuals(const Candidate& at) const {
    const ContentionParameters p = parameters(at);
    std::vector<double> result;
    result.reserve(4 * sweep_.size());
    const double least = 1e-6 * p.core.value;
    const auto compare = [&](BytesPerSecond predicted, BytesPerSecond measured) {
      result.push_back(std::log(std::max(predicted.value, least) / measured.value));
    };
    for (const ContentionSample& sample : sweep_) {
      const ContentionShares shares = predict_contention(p, sample.cores);
      compare(shares.alone, sample.computations_alone);
      compare(shares.computations, sample.computations_beside);
      compare(shares.transfer, sample.transfer_beside);
      compare(p.transfer, sample.transfer_alone);
    }
    return result;
  }

  static double sum_of_squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  }

  // Unknowns within their ranges; the losses of a part without a core stay 0.
  void restrict(Candidate& at) const {
    Point& x = at.point;
    const std::uint32_t before = at.most_alone - at.most_beside;
    const std::uint32_t after = most_cores_ - at.most_alone;
    x[kShare] = std::clamp(x[kShare], 0.0, 1.0);
    x[kBefore] = before == 0 ? 0 : std::clamp(x[kBefore], 0.0, 0.9 / before);
    const double rise = x[kBefore] * before + kMostRise;
    x[kAfter] = after == 0 ? 0 : std::clamp(x[kAfter], -rise / after, 0.9 / after);
  }

  bool is_free(const Candidate& at, std::size_t unknown) const {
    if (unknown == kBefore) return at.most_alone > at.most_beside;
    if (unknown == kAfter) return at.most_alone < most_cores_;
    return true;
  }

  void descend(Candidate& at) const {
    constexpr int kMostSteps = 12;
    restrict(at);
    std::vector<double> now = residuals(at);
    at.error = sum_of_squares(now);
    double damping = 1e-3;
    for (int step = 0; step < kMostSteps && damping < 1e6; ++step) {
      const double before = at.error;
      Matrix normal{};
      Point gradient{};
      linearise(at, now, normal, gradient);
      while (damping < 1e6) {
        Candidate next = at;
        const Point move = solve(normal, gradient, damping);
        for (std::size_t i = 0; i < kUnknowns; ++i) next.point[i] -= move[i];
        restrict(next);
        std::vector<double> then = residuals(next);
        next.error = sum_of_squares(then);
        if (next.error < at.error) {
          at = next;
          now = std::move(then);
          damping = std::max(damping / 10, 1e-9);
          break;
        }
        damping *= 10;
      }
      if (at.error > before * (1 - 1e-4)) return;
    }
  }

  using Matrix = std::array<Point, kUnknowns>;

  void linearise(const Candidate& at, const std::vector<double>& now, Matrix& normal,
                 Point& gradient) const {
    std::array<std::vector<double>, kUnknowns> slopes;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      if (!is_free(at, i)) continue;
      Candidate near = at;
      // Inwards, where the range ends.
      double change = i == kBefore || i == kAfter ? 1e-4 / most_cores_ : 1e-4;
      if (i == kShare && at.point[i] > 0.5) change = -change;
      near.point[i] += change;
      slopes[i] = residuals(near);
      for (std::size_t r = 0; r < now.size(); ++r) slopes[i][r] = (slopes[i][r] - now[r]) / change;
    }
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t r = 0; r < slopes[i].size(); ++r) gradient[i] += slopes[i][r] * now[r];
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        const std::size_t rows = std::min(slopes[i].size(), slopes[j].size());
        for (std::size_t r = 0; r < rows; ++r) normal[i][j] += slopes[i][r] * slopes[j][r];
      }
    }
  }

  // Cholesky's factorisation; unknowns on which nothing depends do not move.
  static Point solve(Matrix a, Point b, double damping) {
    for (std::size_t i = 0; i < kUnknowns; ++i) a[i][i] += damping * a[i][i] + 1e-12;
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
      a[j][j] = std::sqrt(std::max(a[j][j], 1e-18));
      for (std::size_t i = j + 1; i < kUnknowns; ++i) {
        for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
        a[i][j] /= a[j][j];
      }
    }
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
      b[i] /= a[i][i];
    }
    for (std::size_t i = kUnknowns; i-- > 0;) {
      for (std::size_t k = i + 1; k < kUnknowns; ++k) b[i] -= a[k][i] * b[k];
      b[i] /= a[i][i];
    }
    return b;
  }

  // Schwarz's criterion: every unknown must explain more than noise does.
  double cost(const Candidate& at) const {
    const auto measured = static_cast<double>(4 * sweep_.size());
    int unknowns = 0;
    if (at.most_alone > at.most_beside) unknowns += 2;
    if (at.most_alone < most_cores_) unknowns += 2;
    return measured * std::log(at.error / measured + 1e-12) + unknowns * std::log(measured);
  }

  bool improve(Candidate& best, Candidate at) const {
    descend(at);
    if (std::isfinite(best.error) && cost(at) > cost(best) - kLeastGain) return false;
    best = at;
    return true;
  }

  // From three totals: where a number of cores begins not to fit, the curves have steps, at which a descent ends.
  bool improve_near(Candidate& best, std::uint32_t step) const {
    const Candidate from = best;
    bool better = false;
    const auto moved = [step](std::uint32_t number, int by) {
      return static_cast<std::int64_t>(number) + by * static_cast<std::int64_t>(step);
    };
    for (const int a : {-1, 0, 1}) {
      for (const int b : {-1, 0, 1}) {
        const std::int64_t beside = moved(from.most_beside, a);
        const std::int64_t alone = moved(from.most_alone, b);
        if (beside < 1 || beside > alone || alone > most_cores_) continue;
        for (const double change : {0.0, -0.04, 0.04}) {
          if (change != 0 && step > 1) break;
          Candidate at{.most_beside = static_cast<std::uint32_t>(beside),
                       .most_alone = static_cast<std::uint32_t>(alone),
                       .point = from.point};
          at.point[kTotal] += change;
          better |= improve(best, at);
        }
      }
    }
    return better;
  }

  const std::vector<ContentionSample>& sweep_;
  std::uint32_t most_cores_ = 1;
};

}  // namespace

ContentionParameters fit_contention(const std::vector<ContentionSample>& sweep) {
  if (sweep.empty()) throw UsageError("contention model: the sweep has no samples");
  for (const ContentionSample& sample : sweep) {
    if (sample.cores < 1 || sample.cores > kMostContendingCores) {
      throw UsageError(
          fmt::format("contention model: a sample of the sweep has {} cores; 1 to {} "
                      "are expected",
                      sample.cores, kMostContendingCores));
    }
    for (const BytesPerSecond rate : {sample.computations_alone, sample.computations_beside,
                                      sample.transfer_alone, sample.transfer_beside}) {
      if (rate.value > 0 && std::isfinite(rate.value)) continue;
      throw UsageError(
          fmt::format("contention model: a bandwidth of the sweep with {} cores is {} "
                      "B/s, and must be above 0",
                      sample.cores, rate.value));
    }
  }
  return Fit(sweep).best();
}

}  // namespace vicinal
