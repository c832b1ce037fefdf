#include "linalg/kernel_times.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "linalg/generator.hpp"

namespace vicinal::linalg {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

constexpr int kTimedRuns = 3;
constexpr double kShortest = 20e-6;  // seconds; shorter kernels are timed several at once

// One kernel and its operands. Every run starts from the same content, so that numbers neither grow
// nor vanish (denormals are slow).
template <typename T>
class KernelBench {
 public:
  // Diagonals dominate, so that an operand stands for a matrix and for a factor.
  KernelBench(const Codelet& codelet, const KernelCall& call)
      : codelet_(codelet), index_(call.index) {
    for (const TileShape& shape : call.operands) {
      const bool is_zero = tiles_.size() < call.is_zero.size() && call.is_zero[tiles_.size()];
      tiles_.push_back(is_zero ? std::vector<T>(shape.rows * shape.columns) : content(shape));
      views_.push_back({reinterpret_cast<std::byte*>(tiles_.back().data()), shape.layout()});
    }
    saved_ = tiles_.back();
  }

  // Of one call.
  double best() {
    const double first = mean(1);
    const int calls = first > 0 ? std::clamp(static_cast<int>(kShortest / first), 1, 100) : 100;
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < kTimedRuns; ++i) shortest = std::min(shortest, mean(calls));
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

double seconds_of(const Codelet& codelet, const KernelCall& call) {
  return call.operands.front().element_bytes == sizeof(float)
             ? KernelBench<float>(codelet, call).best()
             : KernelBench<double>(codelet, call).best();
}

}  // namespace

std::vector<double> measure_kernels(const Application& application) {
  std::vector<double> seconds;
  for (const TaskKernel& kernel : application.kernels) {
    double shortest = kernel.calls.empty() ? 0 : std::numeric_limits<double>::max();
    for (const KernelCall& call : kernel.calls) {
      shortest = std::min(shortest, seconds_of(kernel.codelet, call));
    }
    seconds.push_back(shortest);
  }
  return seconds;
}

}  // namespace vicinal::linalg
