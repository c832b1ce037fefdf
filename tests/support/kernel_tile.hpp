// A tile for tests of kernels, with elements at random.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/block.hpp"
#include "linalg/generator.hpp"

namespace vicinal::testing {

template <typename T>
class KernelTile {
 public:
  KernelTile(int rows, int columns)
      : rows_(rows), columns_(columns), values_(std::size_t(rows * columns)) {}
  KernelTile(int rows, int columns, std::uint64_t seed) : KernelTile(rows, columns) {
    const linalg::Generator generator = linalg::Generator::random(1, seed);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        at(i, j) = static_cast<T>(generator.element(std::uint64_t(i), std::uint64_t(j)));
      }
    }
  }
  T& at(int i, int j) { return values_[std::size_t(i + j * rows_)]; }
  const T& at(int i, int j) const { return values_[std::size_t(i + j * rows_)]; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  linalg::Block<T> block() { return {values_.data(), rows_, columns_, rows_}; }
  std::vector<double> column(int j) const {
    std::vector<double> of;
    for (int i = 0; i < rows_; ++i) of.push_back(static_cast<double>(at(i, j)));
    return of;
  }
  // Column j of the upper triangle.
  std::vector<double> upper(int j) const {
    std::vector<double> of = column(j);
    if (j + 1 < rows_) std::fill(of.begin() + j + 1, of.end(), 0.0);
    return of;
  }
  std::vector<T>& values() { return values_; }

 private:
  int rows_;
  int columns_;
  std::vector<T> values_;
};

}  // namespace vicinal::testing
