#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/cholesky.hpp"
#include "linalg/cholesky_check.hpp"
#include "linalg/kernel_times.hpp"
#include "linalg/openblas.hpp"
#include "vicinal/error.hpp"

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
}

namespace vicinal::linalg {
namespace {

int lapack_potrf(int n, float* a) {
  int info = 0;
  spotrf_("L", &n, a, &n, &info);
  return info;
}
int lapack_potrf(int n, double* a) {
  int info = 0;
  dpotrf_("L", &n, a, &n, &info);
  return info;
}

template <typename T>
class CholeskyKernels : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(CholeskyKernels, Precisions);

Options two_workers() {
  Options options;
  options.workers = 2;
  options.bind = false;
  return options;
}

// The whole matrix, column-major, as LAPACK wants it.
template <typename T>
std::vector<T> assemble(const Generator& generator, std::uint64_t n) {
  std::vector<T> a(n * n);
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = 0; i < n; ++i) a[i + j * n] = static_cast<T>(generator.element(i, j));
  }
  return a;
}

// Largest difference between the lower tiles and a column-major matrix, above the diagonal
// included.
template <typename T>
double largest_difference(Runtime& runtime, const TiledMatrix& tiles, const std::vector<T>& whole) {
  const TileGrid& grid = tiles.grid();
  double largest = 0;
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i) {
      const Acquired held = runtime.acquire(tiles.tile(i, j), AccessMode::R);
      for (std::uint64_t c = 0; c < grid.extent(j); ++c) {
        for (std::uint64_t r = 0; r < grid.extent(i); ++r) {
          const T actual = held.data<T>()[r + c * held.view().layout.leading_dimension()];
          const T expected = whole[grid.first(i) + r + (grid.first(j) + c) * grid.size];
          largest = std::max(largest, std::abs(static_cast<double>(actual) - expected));
        }
      }
    }
  }
  return largest;
}

TYPED_TEST(CholeskyKernels, GiveTheFactorOfLapackWholeAndRaggedTiles) {
  prepare_openblas();
  for (const auto& [size, tile] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 1}, {5, 5}, {6, 2}, {64, 16}, {65, 16}, {79, 16}, {100, 33}, {200, 100}, {30, 1}}) {
    SCOPED_TRACE(testing::Message() << size << " in tiles of " << tile);
    Runtime runtime(two_workers());
    const TileGrid grid{size, tile, kPrecisionOf<TypeParam>};
    const Generator generator(size, 7);
    const CholeskyCodelets codelets = cholesky_codelets<TypeParam>(tile);
    const TiledMatrix matrix = TiledMatrix::empty(runtime, grid, "A");
    fill(runtime, matrix, generator);
    EXPECT_EQ(submit_cholesky(runtime, matrix, codelets, {}), cholesky_tasks(grid.tiles()));
    runtime.wait();

    std::vector<TypeParam> expected = assemble<TypeParam>(generator, size);
    ASSERT_EQ(lapack_potrf(static_cast<int>(size), expected.data()), 0);
    for (std::uint64_t j = 1; j < size; ++j) {
      std::fill_n(expected.data() + j * size, j, TypeParam{0});
    }
    // Both factors differ from the exact one by rounding: elements are of size 2, the condition
    // number is below 10, and at most 200 products are summed. 50 u leaves room.
    EXPECT_LE(largest_difference(runtime, matrix, expected), 50 * roundoff(grid.precision));
  }
}

TYPED_TEST(CholeskyKernels, PotrfNamesTileAndRowOfANonPositivePivot) {
  Runtime runtime(two_workers());
  const TileGrid grid{40, 10, kPrecisionOf<TypeParam>};
  const CholeskyCodelets codelets = cholesky_codelets<TypeParam>(grid.tile);
  const TiledMatrix matrix = TiledMatrix::empty(runtime, grid, "A");
  fill(runtime, matrix, Generator(grid.size, 1));
  {
    const Acquired tile = runtime.acquire(matrix.tile(2, 2), AccessMode::RW);
    tile.data<TypeParam>()[3 + 3 * 10] = -5;  // row 23
  }
  submit_cholesky(runtime, matrix, codelets, {});
  try {
    runtime.wait();
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("potrf(2)"), std::string::npos) << message;
    EXPECT_NE(message.find("tile (2,2)"), std::string::npos) << message;
    EXPECT_NE(message.find("row 23"), std::string::npos) << message;
  }
}

TYPED_TEST(CholeskyKernels, HaveATime) {
  const KernelTimes times = measure_kernels({64, 32, kPrecisionOf<TypeParam>});
  EXPECT_GT(times.potrf, 0);
  EXPECT_GT(times.trsm, 0);
  EXPECT_GT(times.syrk, 0);
  EXPECT_GT(times.gemm, 0);
}

TEST(TileGrid, NumbersTheLowerTilesColumnByColumn) {
  const TileGrid grid{10, 4, Precision::f64};  // 3 x 3 tiles, the last of 2
  EXPECT_EQ(grid.tiles(), 3U);
  EXPECT_EQ(grid.lower_tiles(), 6U);
  std::uint64_t next = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t j = 0; j < 3; ++j) {
    for (std::uint64_t i = j; i < 3; ++i) {
      EXPECT_EQ(grid.index(i, j), next++);
      bytes += grid.shape(i, j).layout().bytes().value;
    }
  }
  EXPECT_EQ(grid.extent(2), 2U);
  EXPECT_EQ(grid.bytes(), Bytes{bytes});
}

TEST(Generator, IsSymmetricAndTheSameForEveryTileSize) {
  const Generator generator(1000, 42);
  EXPECT_EQ(generator.element(3, 900), generator.element(900, 3));
  EXPECT_NE(generator.element(3, 900), generator.element(4, 900));
  EXPECT_NE(generator.element(3, 900), Generator(1000, 43).element(3, 900));
  // Tiles are filled with the same function of the global indices; see tiled_matrix.cpp.
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (std::uint64_t j = 0; j < i; ++j) {
      const double r = generator.element(i, j) * std::sqrt(1000.0);
      EXPECT_LE(std::abs(r), 1.0);
      sum += r;
      squares += r * r;
    }
  }
  // 499500 uniform numbers: the mean is 0 +- 0.0008, the mean square 1/3 +- 0.0004 (one sigma).
  EXPECT_NEAR(sum / 499500, 0, 0.004);
  EXPECT_NEAR(squares / 499500, 1.0 / 3, 0.002);
}

// The closed forms of BottomLevels against the recursion over the successors of each task.
class BottomLevelsByRecursion {
 public:
  explicit BottomLevelsByRecursion(int n) : n_(n) {}
  int potrf(int k) {
    int longest = 0;
    for (int i = k + 1; i < n_; ++i) longest = std::max(longest, trsm(i, k));
    return 1 + longest;
  }
  int trsm(int i, int k) {
    if (const auto known = trsm_.find({i, k}); known != trsm_.end()) return known->second;
    int longest = syrk(i, k);
    for (int j = k + 1; j < i; ++j) longest = std::max(longest, gemm(i, j, k));
    for (int j = i + 1; j < n_; ++j) longest = std::max(longest, gemm(j, i, k));
    return trsm_[{i, k}] = 3 + longest;
  }
  int syrk(int i, int k) { return 3 + (k + 1 < i ? syrk(i, k + 1) : potrf(i)); }
  int gemm(int i, int j, int k) { return 6 + (k + 1 < j ? gemm(i, j, k + 1) : trsm(i, j)); }

 private:
  int n_;
  std::map<std::pair<int, int>, int> trsm_;
};

TEST(BottomLevels, AreThoseOfTheRecursionOverSuccessors) {
  for (const int n : {1, 2, 3, 5, 9}) {
    BottomLevelsByRecursion expected(n);
    const BottomLevels levels{n};
    for (int k = 0; k < n; ++k) {
      EXPECT_EQ(levels.potrf(k), expected.potrf(k)) << n << " " << k;
      for (int i = k + 1; i < n; ++i) {
        EXPECT_EQ(levels.trsm(k), expected.trsm(i, k)) << n << " " << i << " " << k;
        EXPECT_EQ(levels.syrk(i, k), expected.syrk(i, k)) << n << " " << i << " " << k;
        for (int j = k + 1; j < i; ++j) {
          EXPECT_EQ(levels.gemm(j, k), expected.gemm(i, j, k)) << n << " " << i << j << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
