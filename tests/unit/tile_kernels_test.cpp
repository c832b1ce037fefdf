// Products of tiles: exact for integers, see integer_matrix.hpp.
#if VICINAL_HAVE_BLAS

#include "linalg/tile_kernels.hpp"

#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/tile_kernels.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {
namespace {

using testing::orders;
using testing::same;
using testing::Shape;
using testing::shapes;

template <typename T>
using Matrix = testing::IntegerMatrix<T>;

std::string text(const Shape& s) {
  return fmt::format("{} x {} x {}", s.m, s.n, s.k);
}

// What C becomes with A B, where b(p, j) are the elements of B.
template <typename T, typename Element>
std::vector<T> updated(Update update, const Matrix<T>& a, const Element& b, const Matrix<T>& c) {
  const Block<T> block = c.block();
  std::vector<T> result = c.content();
  for (int j = 0; j < block.columns; ++j) {
    for (int i = 0; i < block.rows; ++i) {
      T sum = 0;
      for (int p = 0; p < a.block().columns; ++p) sum += a(i, p) * b(p, j);
      const T before = update == Update::assign ? 0 : c(i, j);
      result[block.at(i, j) - block.data] =
          update == Update::subtract ? before - sum : before + sum;
    }
  }
  return result;
}

enum class Factor { plain, transposed };

template <typename T>
class TileKernels : public testing::TileKernelsFixture<T> {
 protected:
  // kernel(a, b, c, by) updates C with A B, or with A B^T.
  template <typename Kernel>
  static void expect_exact_for_all_shapes(Update update, Factor factor, const Kernel& kernel) {
    const bool plain = factor == Factor::plain;
    for (const Shape& shape : shapes()) {
      const auto& [m, n, k] = shape;
      const Matrix<T> a(m, k, m + k % 3);
      const Matrix<T> b = plain ? Matrix<T>(k, n, k + m % 5) : Matrix<T>(n, k, n + m % 5);
      Matrix<T> c(m, n, m + n % 4);
      const auto element = [&](int p, int j) { return plain ? b(p, j) : b(j, p); };
      TileKernels::expect_content(c, updated(update, a, element, c), text(shape), [&](Products by) {
        kernel(a.block(), b.block(), c.block(), by);
      });
    }
  }
};
TYPED_TEST_SUITE(TileKernels, testing::Precisions);

TYPED_TEST(TileKernels, GemmIsExactForIntegersOfAllShapes) {
  for (const Update update : {Update::subtract, Update::add}) {
    this->expect_exact_for_all_shapes(
        update, Factor::plain, [&](const auto& a, const auto& b, const auto& c, Products by) {
          gemm(update, a, b, c, by);
        });
  }
}

TYPED_TEST(TileKernels, GemmOfATransposedFactorIsExactForIntegersOfAllShapes) {
  this->expect_exact_for_all_shapes(Update::subtract, Factor::transposed,
                                    [](const auto& a, const auto& b, const auto& c, Products by) {
                                      gemm_transposed(a, b, c, by);
                                    });
}

TYPED_TEST(TileKernels, GemmThatAssignsDoesNotReadWhatItOverwrites) {
  for (const Shape& shape :
       {Shape{1, 1, 1}, {17, 5, 40}, {49, 11, 130}, {64, 64, 64}, {300, 90, 129}}) {
    const auto& [m, n, k] = shape;
    const Matrix<TypeParam> a(m, k, m);
    const Matrix<TypeParam> b(k, n, k);
    Matrix<TypeParam> c(m, n, m);
    const std::vector<TypeParam> expected = updated(Update::assign, a, b, c);
    c.fill(std::vector<TypeParam>(expected.size(), std::numeric_limits<TypeParam>::quiet_NaN()));
    this->expect_content(c, expected, text(shape), [&](Products by) {
      gemm(Update::assign, a.block(), b.block(), c.block(), by);
    });
  }
}

TYPED_TEST(TileKernels, SyrkIsExactForIntegersAndLeavesTheUpperTriangle) {
  for (const int n : orders()) {
    const int k = 1 + n % 70;
    const Matrix<TypeParam> a(n, k, n + n % 5);
    Matrix<TypeParam> c(n, n, n + n % 3);
    const std::vector<TypeParam> before = c.content();
    for (int p = 0; p < k; ++p) {
      for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) c(i, j) -= a(i, p) * a(j, p);
      }
    }
    const std::vector<TypeParam> expected = c.content();
    c.fill(before);
    this->expect_content(c, expected, text({n, n, k}),
                         [&](Products by) { syrk_lower(a.block(), c.block(), by); });
  }
}

// The sequential OpenBLAS of Debian is not safe by itself: see openblas.cpp. Without the work
// buffers that prepare_openblas puts in, this fails in most runs.
TYPED_TEST(TileKernels, AreRightWhenManyThreadsCallThem) {
  constexpr int kThreads = 8;
  constexpr int kOrder = 96;
  Matrix<TypeParam> l(kOrder, kOrder, kOrder);
  l.make_lower();
  for (int j = 0; j < kOrder; ++j) {
    for (int i = j + 1; i < kOrder; ++i) l(i, j) /= 64;  // else what it solves for overflows
  }
  const Matrix<TypeParam> b(kOrder, kOrder, kOrder);
  for (const Products by : this->products()) {
    const auto product = [&](std::vector<TypeParam> c) {
      const Block<TypeParam> block{c.data(), kOrder, kOrder, kOrder};
      gemm_transposed(b.block(), b.block(), block, by);
      syrk_lower(b.block(), block, by);
      trsm_right_lower_transposed(l.block(), block, by);
      return c;
    };
    const std::vector<TypeParam> start = b.content();
    const std::vector<TypeParam> expected = product(start);
    const int repetitions = by == Products::openblas ? 500 : 50;
    std::vector<int> wrong(kThreads, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < repetitions; ++i) wrong[t] += same(product(start), expected) ? 0 : 1;
      });
    }
    for (auto& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) EXPECT_EQ(wrong[t], 0) << t << ", " << static_cast<int>(by);
  }
}

// A sanitizer needs address space of its own meanwhile.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// OpenBLAS would write to a null pointer.
TYPED_TEST(TileKernels, AThreadWithoutAddressSpaceForItsWorkBufferIsTold) {
  Matrix<TypeParam> c(40, 40, 40);
  std::string said;
  std::atomic<bool> go{false};
  std::thread thread([&] {
    go.wait(false);
    try {
      syrk_lower(c.block(), c.block(), Products::openblas);
    } catch (const CapacityError& error) {
      said = error.what();
    }
  });
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit less = before;
  less.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (32 << 20);
  setrlimit(RLIMIT_AS, &less);
  go = true;
  go.notify_one();
  thread.join();
  setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(said.find("ulimit -v"), std::string::npos) << said;
}
#endif

TYPED_TEST(TileKernels, NothingTimesNothingIsNothing) {
  Matrix<TypeParam> c(3, 4, 5);
  const Block<TypeParam> whole = c.block();
  this->expect_content(c, c.content(), "3 x 4", [&](Products by) {
    gemm_transposed(whole.part(0, 0, 3, 0), whole.part(0, 0, 3, 0), whole.part(0, 0, 3, 3), by);
    gemm_transposed(whole.part(0, 0, 0, 2), whole.part(0, 0, 3, 2), whole.part(0, 0, 0, 3), by);
    gemm_transposed(whole.part(0, 0, 3, 2), whole.part(0, 0, 0, 2), whole.part(0, 0, 3, 0), by);
  });
}

}  // namespace
}  // namespace vicinal::linalg

#endif
