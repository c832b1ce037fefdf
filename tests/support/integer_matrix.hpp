// Operands of tile kernels that hold small integers, and the diagonals of factors powers of two: then every
// sum, product and quotient is exact in float and double, in whatever order, and so must the results be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <sys/mman.h>
#include <vector>

#include "linalg/block.hpp"

namespace vicinal::testing {

using linalg::Block;

// A column-major matrix of integers from -3 to 3, also between the columns. Behind its last element
// begins a page that must not be touched.
template <typename T>
class IntegerMatrix {
 public:
  IntegerMatrix(int rows, int columns, int ld) : rows_(rows), columns_(columns), ld_(ld) {
    constexpr std::size_t kPageBytes = 4096;
    const std::size_t bytes = size() * sizeof(T);
    const std::size_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    mapped_ = rounded + kPageBytes;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(base_ + rounded, kPageBytes, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + rounded - bytes);
    std::mt19937 random(static_cast<unsigned>(1000 * rows + columns));
    for (std::size_t i = 0; i < size(); ++i)
      data_[i] = static_cast<T>(static_cast<int>(random() % 7) - 3);
  }
  ~IntegerMatrix() { munmap(base_, mapped_); }
  IntegerMatrix(const IntegerMatrix&) = delete;
  IntegerMatrix& operator=(const IntegerMatrix&) = delete;

  T& operator()(int i, int j) const { return *block().at(i, j); }
  Block<T> block() const { return {data_, rows_, columns_, ld_}; }
  std::vector<T> content() const { return {data_, data_ + size()}; }
  void fill(const std::vector<T>& content) { std::copy(content.begin(), content.end(), data_); }

  // Of a square one: powers of two on the diagonal.
  void make_diagonal() {
    for (int j = 0; j < columns_; ++j) (*this)(j, j) = static_cast<T>(1 << (j % 3));
  }

  // Turns a square one into a lower factor; above the diagonal is what nobody may read.
  void make_lower() {
    make_diagonal();
    for (int j = 0; j < columns_; ++j) {
      for (int i = 0; i < j; ++i) (*this)(i, j) = std::numeric_limits<T>::quiet_NaN();
    }
  }

 private:
  std::size_t size() const {
    return static_cast<std::size_t>(ld_) * static_cast<std::size_t>(columns_ - 1) +
           static_cast<std::size_t>(rows_);
  }

  int rows_;
  int columns_;
  int ld_;
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  T* data_ = nullptr;
};

// Bit by bit, so that untouched NaNs are equal.
template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

struct Shape {
  int m;
  int n;
  int k;
};

// Every number of rows up to a panel of floats and one more vector, and of columns up to two
// panels; then more than one block of C, in rows and in columns, and pieces of the factors.
inline std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (int m = 1; m <= 65; ++m) {
    for (int n = 1; n <= 17; ++n) {
      for (const int k : {1, 2, 3, 40}) all.push_back({m, n, k});
    }
  }
  for (int k = 1; k <= 40; ++k) all.push_back({40, 40, k});
  for (const int m : {255, 256, 257, 513}) all.push_back({m, 40, 65});
  for (const int n : {255, 256, 257, 513}) all.push_back({40, n, 129});
  all.push_back({256, 256, 256});
  all.push_back({600, 270, 70});
  return all;
}

inline std::vector<int> orders() {
  std::vector<int> all;
  for (int n = 1; n <= 66; ++n) all.push_back(n);
  for (const int n : {127, 128, 129, 255, 256, 257, 530}) all.push_back(n);
  return all;
}

}  // namespace vicinal::testing
