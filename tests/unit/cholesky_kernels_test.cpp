#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/cholesky.hpp"
#include "linalg/kernel_times.hpp"
#include "linalg/run.hpp"
#include "support/lapack.hpp"
#include "support/tile_kernels.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

template <typename T>
class CholeskyKernels : public ::testing::Test {};
TYPED_TEST_SUITE(CholeskyKernels, testing::Precisions);

Options two_workers() {
  Options options;
  options.workers = 2;
  options.bind = false;
  return options;
}

// Largest difference between the lower tiles and a column-major matrix, above the diagonal
// included.
template <typename T>
double largest_difference(Runtime& runtime, const ApplicationData& data,
                          const std::vector<T>& whole) {
  const Application& application = data.application();
  double largest = 0;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    const graphs::MatrixBlock& block = application.data[d].block;
    const Acquired held = runtime.acquire(data[d], AccessMode::R);
    for (std::uint64_t c = 0; c < block.columns; ++c) {
      for (std::uint64_t r = 0; r < block.rows; ++r) {
        const T actual = held.data<T>()[r + c * held.view().layout.leading_dimension()];
        const T expected =
            whole[block.first_row + r + (block.first_column + c) * application.grid.size];
        largest = std::max(largest, std::abs(static_cast<double>(actual) - expected));
      }
    }
  }
  return largest;
}

TYPED_TEST(CholeskyKernels, GiveTheFactorOfLapackWholeAndRaggedTiles) {
  for (const auto& [size, tile] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 1}, {5, 5}, {6, 2}, {64, 16}, {65, 16}, {79, 16}, {100, 33}, {200, 100}, {30, 1}}) {
    SCOPED_TRACE(::testing::Message() << size << " in tiles of " << tile);
    const Application application = cholesky({size, tile, kPrecisionOf<TypeParam>});
    Runtime runtime(two_workers());
    const ApplicationData data(runtime, application, {.seed = 7});
    data.fill(runtime);
    submit_tasks(runtime, data, {});
    runtime.wait();

    auto expected = testing::whole_matrix<TypeParam>(Generator(size, 7), size);
    ASSERT_EQ(testing::lapack_potrf(static_cast<int>(size), expected.data()), 0);
    for (std::uint64_t j = 1; j < size; ++j) {
      std::fill_n(expected.data() + j * size, j, TypeParam{0});
    }
    // Both factors differ from the exact one by rounding: elements are of size 2, the condition
    // number is below 10, and at most 200 products are summed. 50 u leaves room.
    EXPECT_LE(largest_difference(runtime, data, expected), 50 * roundoff(kPrecisionOf<TypeParam>));
  }
}

TYPED_TEST(CholeskyKernels, PotrfNamesTileAndRowOfANonPositivePivot) {
  const Application application = cholesky({40, 10, kPrecisionOf<TypeParam>});
  Runtime runtime(two_workers());
  const ApplicationData data(runtime, application, {});
  data.fill(runtime);
  {
    const Acquired tile = runtime.acquire(data[application.grid.index(2, 2)], AccessMode::RW);
    tile.data<TypeParam>()[3 + 3 * 10] = -5;  // row 23
  }
  submit_tasks(runtime, data, {});
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
  const std::vector<double> seconds = measure_kernels(cholesky({64, 32, kPrecisionOf<TypeParam>}));
  ASSERT_EQ(seconds.size(), 4U);
  for (const double time : seconds) EXPECT_GT(time, 0);
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
  // Tiles are filled with the same function of the global indices; see application_data.cpp.
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

TEST(Generator, DominantIsNotSymmetricAndRandomHasNoDiagonal) {
  const Generator dominant = Generator::dominant(1000, 42);
  EXPECT_NE(dominant.element(3, 900), dominant.element(900, 3));
  EXPECT_NEAR(dominant.element(5, 5), 3, 1 / std::sqrt(1000.0));
  const Generator random = Generator::random(0.5, 42);
  EXPECT_LE(std::abs(random.element(5, 5)), 0.5);
  EXPECT_NE(random.element(3, 900), random.element(900, 3));
  EXPECT_EQ(Generator::random(0, 42).element(3, 900), 0);
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
