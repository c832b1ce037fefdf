#include "linalg/kernel_times.hpp"

#include <algorithm>
#include <array>
#include <chrono>
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

// One kernel and its operands. Every run starts from the same content, so that numbers neither grow
// nor vanish (denormals are slow).
template <typename T>
class Bench {
 public:
  Bench(const Codelet& codelet, std::span<const TileShape> operands, const TaskIndex& index)
      : codelet_(codelet), index_(index) {
    for (const TileShape& shape : operands) {
      tiles_.push_back(content(shape));
      views_.push_back({reinterpret_cast<std::byte*>(tiles_.back().data()), shape.layout()});
    }
    saved_ = tiles_.back();
  }

  // Of one call.
  double best() {
    const double first = mean(1);
    const int calls = first > 0 ? std::clamp(static_cast<int>(kShortest / first), 1, 100) : 100;
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < kRuns; ++i) shortest = std::min(shortest, mean(calls));
    return shortest;
  }

 private:
  // Symmetric where it is square, for potrf.
  static std::vector<T> content(const TileShape& shape) {
    const Generator generator(std::max(shape.rows, shape.columns), 1);
    std::vector<T> values;
    values.reserve(shape.rows * shape.columns);
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
      for (std::uint64_t i = 0; i < shape.rows; ++i) {
        values.push_back(static_cast<T>(generator.element(i, j)));
      }
    }
    return values;
  }

  double mean(int calls) {
    double sum = 0;
    for (int call = 0; call < calls; ++call) {
      std::copy(saved_.begin(), saved_.end(), tiles_.back().begin());  // views point there
      const double start = seconds_now();
      KernelContext context(views_.data(), views_.size(),
                            reinterpret_cast<const std::byte*>(&index_), sizeof(index_),
                            WorkerId{0});
      codelet_.cpu(context);
      sum += seconds_now() - start;
    }
    return sum / calls;
  }

  const Codelet& codelet_;
  TaskIndex index_;
  std::vector<std::vector<T>> tiles_;
  std::vector<OperandView> views_;
  std::vector<T> saved_;
};

}  // namespace

double measure_codelet(const Codelet& codelet, std::span<const TileShape> operands,
                       const TaskIndex& index) {
  return operands.front().element_bytes == sizeof(float)
             ? Bench<float>(codelet, operands, index).best()
             : Bench<double>(codelet, operands, index).best();
}

KernelTimes measure_kernels(const TileGrid& grid) {
  const TileShape tile = grid.shape(0, 0);
  const CholeskyCodelets codelets = cholesky_codelets(grid);
  const std::array<TileShape, 3> tiles{tile, tile, tile};
  const auto time = [&](const Codelet& codelet, std::size_t operands) {
    return measure_codelet(codelet, std::span(tiles).first(operands), {});
  };
  return {.potrf = time(codelets.potrf, 1),
          .trsm = time(codelets.trsm, 2),
          .syrk = time(codelets.syrk, 2),
          .gemm = time(codelets.gemm, 3)};
}

}  // namespace vicinal::linalg
