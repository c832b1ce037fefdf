// The Cholesky factorisation with the kernels of the main job, as the work of any library's tasks: what
// a library costs where tasks are not empty.
#pragma once

#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/generator.hpp"
#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"
#include "overhead/graphs.hpp"

namespace overhead {

class TileWork final : public Work {
 public:
  // The graph is Shape::cholesky.
  TileWork(const Graph& graph, std::uint32_t tile)
      : tiles_(graph.tiles), tile_(tile), elements_(graph.data() * elements_of_tile()) {
    vicinal::linalg::prepare_openblas();
    for_each_cholesky_task(graph.tiles, [&](std::uint64_t, const auto& data) {
      tasks_.push_back({data.size(), {}});
      std::ranges::copy(data, tasks_.back().datum);
    });
    for (std::uint32_t k = 0; k < graph.tiles; ++k) diagonal_.push_back(overhead::tile(k, k));
  }

  std::uint64_t size() const { return std::uint64_t{tiles_} * tile_; }
  double flops() const { return std::pow(static_cast<double>(size()), 3) / 3; }

  void fill() {
    for (std::uint32_t i = 0; i < tiles_; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        double* to = at(overhead::tile(i, j)).data;
        for (std::uint64_t column = 0; column < tile_; ++column) {
          for (std::uint64_t row = 0; row < tile_; ++row) {
            *to++ = generator_.element(std::uint64_t{i} * tile_ + row,
                                       std::uint64_t{j} * tile_ + column);
          }
        }
      }
    }
  }

  void run(std::uint64_t index) override {
    using namespace vicinal::linalg;  // NOLINT(google-build-using-namespace)
    const auto& [count, datum] = tasks_[index];
    const auto c = at(datum[count - 1]);
    if (count == 1) {
      if (potrf_lower(c) != 0) throw std::runtime_error("not positive definite");
    } else if (count == 3) {
      gemm_transposed(at(datum[0]), at(datum[1]), c);
    } else if (std::ranges::binary_search(diagonal_, datum[1])) {
      syrk_lower(at(datum[0]), c);
    } else {
      trsm_right_lower_transposed(at(datum[0]), c);
    }
  }

  // A x against L (L^T x): rounding makes some 1e-12 of the largest element, an error in the order of
  // the tasks far more.
  void check(const std::string& runtime) const {
    const std::uint64_t n = size();
    std::vector<double> x(n);
    for (std::uint64_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<double>(i));
    std::vector<double> transposed(n);
    std::vector<double> product(n);
    for_lower([&](std::uint64_t i, std::uint64_t j, double l) { transposed[j] += l * x[i]; });
    for_lower([&](std::uint64_t i, std::uint64_t j, double l) { product[i] += l * transposed[j]; });
    double largest = 0;
    double difference = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::uint64_t j = 0; j < n; ++j) sum += generator_.element(i, j) * x[j];
      largest = std::max(largest, std::abs(sum));
      difference = std::max(difference, std::abs(sum - product[i]));
    }
    if (difference <= 1e-10 * largest) return;
    throw std::runtime_error(runtime + ": the factor is wrong by " + std::to_string(difference));
  }

 private:
  struct Task {
    std::size_t count;
    std::uint32_t datum[3];
  };
  std::size_t elements_of_tile() const { return std::size_t{tile_} * tile_; }
  vicinal::linalg::Block<double> at(std::uint32_t datum) {
    const auto order = static_cast<int>(tile_);
    return {elements_.data() + datum * elements_of_tile(), order, order, order};
  }
  // visit(i, j, element of L) below and on the diagonal
  template <typename Visit>
  void for_lower(Visit&& visit) const {
    for (std::uint32_t tile_row = 0; tile_row < tiles_; ++tile_row) {
      for (std::uint32_t tile_column = 0; tile_column <= tile_row; ++tile_column) {
        const double* from =
            elements_.data() + overhead::tile(tile_row, tile_column) * elements_of_tile();
        for (std::uint64_t j = 0; j < tile_; ++j) {
          const std::uint64_t first = tile_row == tile_column ? j : 0;
          for (std::uint64_t i = first; i < tile_; ++i) {
            visit(std::uint64_t{tile_row} * tile_ + i, std::uint64_t{tile_column} * tile_ + j,
                  from[j * tile_ + i]);
          }
        }
      }
    }
  }

  const std::uint32_t tiles_;
  const std::uint32_t tile_;
  const vicinal::linalg::Generator generator_{size(), 1};
  std::vector<double> elements_;  // by datum
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> diagonal_;
};

}  // namespace overhead

#endif
