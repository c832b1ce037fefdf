#include "linalg/kernel_times.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/generator.hpp"

namespace vicinal::linalg {

namespace {

constexpr int kRuns = 3;
constexpr double kShortest = 20e-6;  // seconds; shorter kernels are timed several at once

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Three tiles: a factor, a panel tile and one to be updated. Every run starts from the same
// content, so that numbers neither grow nor vanish (denormals are slow).
template <typename T>
class Bench {
 public:
  explicit Bench(const TileGrid& grid)
      : n_(std::min(grid.tile, grid.size)), codelets_(cholesky_codelets<T>(n_)) {
    const Generator generator(n_, 1);
    for (auto& tile : tiles_) {
      for (std::uint64_t j = 0; j < n_; ++j) {
        for (std::uint64_t i = 0; i < n_; ++i) {
          tile.push_back(static_cast<T>(generator.element(i, j)));
        }
      }
    }
    saved_ = tiles_[0];
    run(codelets_.potrf, {0});  // tile 0 is a factor from here on
    times_.trsm = best(codelets_.trsm, {0, 1}, 1);
    times_.syrk = best(codelets_.syrk, {1, 2}, 2);
    times_.gemm = best(codelets_.gemm, {1, 0, 2}, 2);
    times_.potrf = best(codelets_.potrf, {0}, 0);
  }
  const KernelTimes& times() const { return times_; }

 private:
  void run(const Codelet& codelet, std::initializer_list<std::size_t> operands) {
    std::array<OperandView, 3> views;
    std::size_t count = 0;
    for (const std::size_t tile : operands) {
      views[count++] = {reinterpret_cast<std::byte*>(tiles_[tile].data()),
                        TileShape{n_, n_, 0, sizeof(T)}.layout()};
    }
    const TaskIndex index;
    KernelContext context(views.data(), count, reinterpret_cast<const std::byte*>(&index),
                          sizeof(index), WorkerId{0});
    codelet.cpu(context);
  }

  // Of one call; `written` is restored before each run.
  double best(const Codelet& codelet, std::initializer_list<std::size_t> operands,
              std::size_t written) {
    double shortest = std::numeric_limits<double>::max();
    const auto total = [&](int calls) {
      double sum = 0;
      for (int call = 0; call < calls; ++call) {
        tiles_[written] = saved_;
        const double start = seconds_now();
        run(codelet, operands);
        sum += seconds_now() - start;
      }
      return sum / calls;
    };
    const double first = total(1);
    const int calls = first > 0 ? std::clamp(static_cast<int>(kShortest / first), 1, 100) : 100;
    for (int i = 0; i < kRuns; ++i) shortest = std::min(shortest, total(calls));
    return shortest;
  }

  std::uint64_t n_;
  CholeskyCodelets codelets_;
  std::array<std::vector<T>, 3> tiles_;
  std::vector<T> saved_;
  KernelTimes times_;
};

}  // namespace

KernelTimes measure_kernels(const TileGrid& grid) {
  return grid.precision == Precision::f32 ? Bench<float>(grid).times()
                                          : Bench<double>(grid).times();
}

}  // namespace vicinal::linalg
