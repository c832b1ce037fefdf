// What tile_gemm.cpp and tile_solve.cpp are made of: a few vectors times a few columns that are
// summed up in registers. For x86-64 with AVX-512; whoever calls what is marked VICINAL_AVX512 has
// asked has_tile_gemm().
#pragma once

#if defined(__x86_64__)

#include <algorithm>
#include <cstddef>
#include <immintrin.h>
#include <type_traits>

#include "linalg/block.hpp"

// Compiled for AVX-512 whatever the rest is compiled for.
#define VICINAL_AVX512 __attribute__((target("avx512f"), noinline))
#define VICINAL_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) inline

namespace vicinal::linalg {

// One name for double and float. A masked load gives 0 where the mask is 0 and touches no memory
// there.
template <typename T>
struct Vector;

template <>
struct Vector<double> {
  using Register = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  using In = const double*;
  using Out = double*;
  using R = Register;

  VICINAL_AVX512_INLINE static R zero() { return _mm512_setzero_pd(); }
  VICINAL_AVX512_INLINE static R broadcast(double x) { return _mm512_set1_pd(x); }
  VICINAL_AVX512_INLINE static R load(In p) { return _mm512_loadu_pd(p); }
  VICINAL_AVX512_INLINE static R load(In p, Mask mask) { return _mm512_maskz_loadu_pd(mask, p); }
  VICINAL_AVX512_INLINE static void store(Out p, R x) { _mm512_storeu_pd(p, x); }
  VICINAL_AVX512_INLINE static void store(Out p, R x, Mask m) { _mm512_mask_storeu_pd(p, m, x); }
  VICINAL_AVX512_INLINE static R minus(R x, R y) { return _mm512_sub_pd(x, y); }
  VICINAL_AVX512_INLINE static R times(R x, R y) { return _mm512_mul_pd(x, y); }
  VICINAL_AVX512_INLINE static R plus_product(R z, R x, R y) { return _mm512_fmadd_pd(x, y, z); }
  VICINAL_AVX512_INLINE static R plus(R x, R y) { return _mm512_add_pd(x, y); }
  VICINAL_AVX512_INLINE static R minus_product(R z, R x, R y) { return _mm512_fnmadd_pd(x, y, z); }
  // x_0 y_0 x_1 y_1 ..., the first halves of both, and the same of the second halves.
  VICINAL_AVX512_INLINE static R interleave_first(R x, R y) {
    return _mm512_permutex2var_pd(x, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), y);
  }
  VICINAL_AVX512_INLINE static R interleave_second(R x, R y) {
    return _mm512_permutex2var_pd(x, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), y);
  }
};

template <>
struct Vector<float> {
  using Register = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  using In = const float*;
  using Out = float*;
  using R = Register;

  VICINAL_AVX512_INLINE static R zero() { return _mm512_setzero_ps(); }
  VICINAL_AVX512_INLINE static R broadcast(float x) { return _mm512_set1_ps(x); }
  VICINAL_AVX512_INLINE static R load(In p) { return _mm512_loadu_ps(p); }
  VICINAL_AVX512_INLINE static R load(In p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  VICINAL_AVX512_INLINE static void store(Out p, R x) { _mm512_storeu_ps(p, x); }
  VICINAL_AVX512_INLINE static void store(Out p, R x, Mask m) { _mm512_mask_storeu_ps(p, m, x); }
  VICINAL_AVX512_INLINE static R minus(R x, R y) { return _mm512_sub_ps(x, y); }
  VICINAL_AVX512_INLINE static R times(R x, R y) { return _mm512_mul_ps(x, y); }
  VICINAL_AVX512_INLINE static R plus_product(R z, R x, R y) { return _mm512_fmadd_ps(x, y, z); }
  VICINAL_AVX512_INLINE static R plus(R x, R y) { return _mm512_add_ps(x, y); }
  VICINAL_AVX512_INLINE static R minus_product(R z, R x, R y) { return _mm512_fnmadd_ps(x, y, z); }
  // x_0 y_0 x_1 y_1 ..., the first halves of both, and the same of the second halves.
  VICINAL_AVX512_INLINE static R interleave_first(R x, R y) {
    return _mm512_permutex2var_ps(
        x, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), y);
  }
  VICINAL_AVX512_INLINE static R interleave_second(R x, R y) {
    return _mm512_permutex2var_ps(
        x, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), y);
  }
};

// 24 sums, 3 vectors of A and one broadcast element of B take 28 of the 32 registers, and 24
// multiply-adds (12 cycles) come with 11 loads (6 cycles). 4 x 6 and 2 x 12 are as fast; with 8
// columns a row of packed doubles is a cache line.
constexpr int kVectors = 3;
constexpr int kColumns = 8;
constexpr int kLine = 64;  // bytes

// The first n lanes.
template <typename T>
constexpr typename Vector<T>::Mask first_lanes(int n) {
  return static_cast<typename Vector<T>::Mask>((1U << n) - 1);
}

template <typename T>
constexpr int vectors_of(int rows) {
  return (rows + Vector<T>::kLanes - 1) / Vector<T>::kLanes;
}

// Rows are cut into panels of three vectors; the last may be lower. 2 + 2 rather than 3 + 1: with a
// single vector there are too few sums to hide the latency of a multiply-add.
constexpr int panel_height(int vectors_left) {
  return vectors_left == 4 ? 2 : std::min(vectors_left, kVectors);
}

// function(std::integral_constant<int, height>())
template <typename Function>
void with_height(int height, Function&& function) {
  if (height == 3) {
    function(std::integral_constant<int, 3>());
  } else if (height == 2) {
    function(std::integral_constant<int, 2>());
  } else {
    function(std::integral_constant<int, 1>());
  }
}

// kHeight vectors below each other.
template <typename T, int kHeight>
struct Column {
  using V = Vector<T>;
  typename V::Register row[kHeight];

  VICINAL_AVX512_INLINE explicit Column(const T* p) {
#pragma GCC unroll 3
    for (int r = 0; r < kHeight; ++r) row[r] = V::load(p + r * V::kLanes);
  }
  // `last`: the lanes of the last vector.
  VICINAL_AVX512_INLINE Column(const T* p, typename V::Mask last) {
#pragma GCC unroll 3
    for (int r = 0; r < kHeight - 1; ++r) row[r] = V::load(p + r * V::kLanes);
    row[kHeight - 1] = V::load(p + (kHeight - 1) * V::kLanes, last);
  }
  VICINAL_AVX512_INLINE void store(T* p) const {
#pragma GCC unroll 3
    for (int r = 0; r < kHeight; ++r) V::store(p + r * V::kLanes, row[r]);
  }
  VICINAL_AVX512_INLINE void store(T* p, typename V::Mask last) const {
#pragma GCC unroll 3
    for (int r = 0; r < kHeight - 1; ++r) V::store(p + r * V::kLanes, row[r]);
    V::store(p + (kHeight - 1) * V::kLanes, row[kHeight - 1], last);
  }
};

// Sums of products, kHeight vectors x kColumns.
template <typename T, int kHeight>
struct MicroTile {
  using V = Vector<T>;
  typename V::Register sum[kColumns][kHeight];

  VICINAL_AVX512_INLINE MicroTile() {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 3
      for (int r = 0; r < kHeight; ++r) sum[j][r] = V::zero();
    }
  }
  // sum += a b^T
  VICINAL_AVX512_INLINE void add_product(const Column<T, kHeight>& a, const T* b) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const typename V::Register element = V::broadcast(b[j]);
#pragma GCC unroll 3
      for (int r = 0; r < kHeight; ++r) {
        sum[j][r] = V::plus_product(sum[j][r], a.row[r], element);
      }
    }
  }
};

// The cache lines of a matrix, column by column, so that they can be fetched a few at a time while
// something else is computed.
class Lines {
 public:
  Lines() = default;
  template <typename T>
  explicit Lines(const Block<T>& block)
      : column_(reinterpret_cast<const char*>(block.data)),
        stride_(static_cast<std::ptrdiff_t>(sizeof(T)) * block.ld),
        bytes_(static_cast<std::ptrdiff_t>(sizeof(T)) * block.rows),
        columns_(block.columns) {}

  bool empty() const { return columns_ <= 0; }

  // The address of the next `count` lines, which follow each other: where the column has fewer,
  // those behind it count as well (to fetch is no access).
  const char* take(int count) {
    const char* const first = column_ + taken_;
    taken_ += std::ptrdiff_t{kLine} * count;
    if (taken_ >= bytes_) {
      taken_ = 0;
      column_ += stride_;
      --columns_;
    }
    return first;
  }

 private:
  const char* column_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  std::ptrdiff_t bytes_ = 0;
  std::ptrdiff_t taken_ = 0;  // of the column
  int columns_ = 0;
};

// Into the cache of the second level: that of the first holds what is being multiplied.
inline void fetch(const char* line) {
  __builtin_prefetch(line, 0, 2);
}

// `rows` (at most kColumns) rows of B, side by side as the micro-tile reads them: `depth` times
// kColumns elements, the missing ones 0.
template <typename T>
VICINAL_AVX512 void pack_rows(const Block<T>& b, T* packed) {
  using V = Vector<T>;
  const auto read = first_lanes<T>(b.rows);
  const auto written = first_lanes<T>(kColumns);
  const T* from = b.data;
  for (int p = 0; p < b.columns; ++p) {
    V::store(packed, V::load(from, read), written);
    from += b.ld;
    packed += kColumns;
  }
}

// The same from columns: at most kColumns columns of B, whose elements of one row lie side by side after it.
// What is written ends at a multiple of kLanes rows. Eight vectors are a matrix of 8 x kLanes elements. To
// interleave its first half with its second rotates the bits of an element's place by one, so that three times
// transpose it: (j2 j1 j0 p) becomes (p j2 j1 j0).
template <typename T>
VICINAL_AVX512 void pack_columns(const Block<T>& b, T* packed) {
  using V = Vector<T>;
  constexpr int kHalf = kColumns / 2;
  for (int p = 0; p < b.rows; p += V::kLanes) {
    const auto read = first_lanes<T>(std::min(V::kLanes, b.rows - p));
    typename V::Register from[kColumns];
    typename V::Register to[kColumns];
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      from[j] = j < b.columns ? V::load(b.at(p, j), read) : V::zero();
    }
#pragma GCC unroll 3
    for (int round = 0; round < 3; ++round) {
#pragma GCC unroll 4
      for (int i = 0; i < kHalf; ++i) {
        to[2 * i] = V::interleave_first(from[i], from[i + kHalf]);
        to[2 * i + 1] = V::interleave_second(from[i], from[i + kHalf]);
      }
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) from[j] = to[j];
    }
#pragma GCC unroll 8
    for (int i = 0; i < kColumns; ++i) V::store(packed + i * V::kLanes, to[i]);
    packed += kColumns * V::kLanes;
  }
}

}  // namespace vicinal::linalg

#endif
