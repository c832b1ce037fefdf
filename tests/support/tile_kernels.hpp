// What tests of tile kernels share: both precisions, whoever can multiply here, exact expectations.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"
#include "support/integer_matrix.hpp"

namespace vicinal::testing {

template <typename T>
class TileKernelsFixture : public ::testing::Test {
 protected:
  using Matrix = IntegerMatrix<T>;
  using Products = linalg::Products;

  TileKernelsFixture() { linalg::prepare_openblas(); }

  // Whoever can multiply here.
  static std::vector<Products> products() {
    if (linalg::fastest_products() == Products::openblas) return {Products::openblas};
    return {Products::own, Products::openblas};
  }

  // What kernel(by) makes of the matrix as it is, whoever multiplies.
  template <typename Kernel>
  static void expect_content(Matrix& matrix, const std::vector<T>& expected,
                             const std::string& shape, Kernel&& kernel) {
    const std::vector<T> before = matrix.content();
    for (const Products by : products()) {
      matrix.fill(before);
      kernel(by);
      ASSERT_TRUE(same(matrix.content(), expected)) << shape << ", " << static_cast<int>(by);
    }
  }
};

using Precisions = ::testing::Types<float, double>;

}  // namespace vicinal::testing
