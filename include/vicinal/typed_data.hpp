// Data that know the type of their elements, their views in kernels, and their uses by tasks.
//
//   auto x = runtime.data(values, "x");                   // Data<double>: a std::span<double> in kernels
//   auto a = runtime.tile<double>(512, 512, "a");         // Data<double, 2>: a Tile<double>
//   runtime.task("scale", [](double by, std::span<double> x) { ... }, 2.0, inout(x));
//
// Typed data are small values that name a registration, like handles; the runtime owns the registration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"

namespace vicinal {

// Rows and columns in memory, column-major as in BLAS and LAPACK. Like std::span it refers to elements and copies none.
template <typename T>
class Tile {
 public:
  using element_type = T;  // NOLINT(readability-identifier-naming): as std::span has it
  constexpr Tile() = default;
  // `rows` x `columns` elements from `data` on; from one column to the next there are `leading_dimension` elements.
  constexpr Tile(T* data, std::uint64_t rows, std::uint64_t columns,
                 std::uint64_t leading_dimension)
      : data_(data), rows_(rows), columns_(columns), leading_dimension_(leading_dimension) {}
  // `rows` x `columns` elements from `data` on, packed: a column begins where the one before it ends.
  constexpr Tile(T* data, std::uint64_t rows, std::uint64_t columns)
      : Tile(data, rows, columns, rows) {}
  // The same elements, to be read.
  constexpr operator Tile<const T>() const  // NOLINT(google-explicit-constructor): as std::span
      requires(!std::is_const_v<T>) {
    return {data_, rows_, columns_, leading_dimension_};
  }

  // The first element.
  constexpr T* data() const { return data_; }
  // Elements of a column.
  constexpr std::uint64_t rows() const { return rows_; }
  // Elements of a row.
  constexpr std::uint64_t columns() const { return columns_; }
  // From one column to the next, in elements; it differs between memory nodes.
  constexpr std::uint64_t leading_dimension() const { return leading_dimension_; }
  // The element in this row and column, both from 0, unchecked.
  constexpr T& operator()(std::uint64_t row, std::uint64_t column) const {
    return data_[row + column * leading_dimension_];
  }
  // The elements of column `number`.
  constexpr std::span<T> column(std::uint64_t number) const {
    return {data_ + number * leading_dimension_, static_cast<std::size_t>(rows_)};
  }

 private:
  T* data_ = nullptr;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  std::uint64_t leading_dimension_ = 0;
};

// The same, row-major as in C: std::layout_right where Tile is std::layout_left.
template <typename T>
class RowTile {
 public:
  using element_type = T;  // NOLINT(readability-identifier-naming): as std::span has it
  constexpr RowTile() = default;
  // `rows` x `columns` elements from `data` on; from one row to the next there are `leading_dimension` elements.
  constexpr RowTile(T* data, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t leading_dimension)
      : data_(data), rows_(rows), columns_(columns), leading_dimension_(leading_dimension) {}
  // `rows` x `columns` elements from `data` on, packed: a row begins where the one before it ends.
  constexpr RowTile(T* data, std::uint64_t rows, std::uint64_t columns)
      : RowTile(data, rows, columns, columns) {}
  // The same elements, to be read.
  constexpr operator RowTile<const T>() const  // NOLINT(google-explicit-constructor): as std::span
      requires(!std::is_const_v<T>) {
    return {data_, rows_, columns_, leading_dimension_};
  }

  // The first element.
  constexpr T* data() const { return data_; }
  // Elements of a column.
  constexpr std::uint64_t rows() const { return rows_; }
  // Elements of a row.
  constexpr std::uint64_t columns() const { return columns_; }
  // From one row to the next, in elements; it differs between memory nodes.
  constexpr std::uint64_t leading_dimension() const { return leading_dimension_; }
  // The element in this row and column, both from 0, unchecked.
  constexpr T& operator()(std::uint64_t row, std::uint64_t column) const {
    return data_[row * leading_dimension_ + column];
  }
  // The elements of row `number`.
  constexpr std::span<T> row(std::uint64_t number) const {
    return {data_ + number * leading_dimension_, static_cast<std::size_t>(columns_)};
  }

 private:
  T* data_ = nullptr;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  std::uint64_t leading_dimension_ = 0;
};

// In place of a number of dimensions: two, row-major. What is registered is the transpose, column-major.
inline constexpr std::size_t kRowMajor = 3;

namespace internals {

// What lies behind an operand of so many dimensions.
template <typename T, std::size_t rank>
struct ViewOf {
  static_assert(rank == 1 || rank == 2, "vicinal: data have one dimension, two, or kRowMajor");
  using Type = std::span<T>;
  static Type of(const OperandView& operand) {
    return {reinterpret_cast<T*>(operand.address), operand.layout.bytes().value / sizeof(T)};
  }
};
template <typename T>
struct ViewOf<T, 2> {
  using Type = Tile<T>;
  static Type of(const OperandView& operand) {
    const Layout& layout = operand.layout;
    return {reinterpret_cast<T*>(operand.address), layout.column_bytes / sizeof(T), layout.columns,
            layout.stride_bytes / sizeof(T)};
  }
};

template <typename T>
struct ViewOf<T, kRowMajor> {
  using Type = RowTile<T>;
  static Type of(const OperandView& operand) {
    const Layout& layout = operand.layout;
    return {reinterpret_cast<T*>(operand.address), layout.columns, layout.column_bytes / sizeof(T),
            layout.stride_bytes / sizeof(T)};
  }
};

template <typename T>
concept Element = std::is_trivially_copyable_v<T> && std::is_object_v<T> && alignof(T) <= 64;

}  // namespace internals

// A registration of elements of type T: a sequence with rank 1, a tile with rank 2, a RowTile with kRowMajor. No task
// may write data of `const T`.
template <typename T, std::size_t rank = 1>
class Data {
  static_assert(internals::Element<std::remove_const_t<T>>,
                "vicinal: data are copied as bytes: their elements must be trivially copyable");

 public:
  using element_type = T;  // NOLINT(readability-identifier-naming): as std::span has it
  constexpr Data() = default;
  // Of a handle that was registered by other means; its elements are of type T by the caller's word.
  constexpr explicit Data(Handle handle) : handle_(handle) {}
  // Without the type.
  constexpr Handle handle() const { return handle_; }
  // Whether there is a registration, which may have ended.
  constexpr explicit operator bool() const { return static_cast<bool>(handle_); }
  friend constexpr bool operator==(Data, Data) = default;

 private:
  Handle handle_;
};

namespace internals {

// An operand of a typed task; T is const where the task only reads.
template <typename T, std::size_t rank, AccessMode mode>
struct Use {
  Handle handle;
  Operand operand() const { return {handle, mode}; }
};
template <typename T>
struct Room {
  Bytes bytes;
  Operand operand() const { return Scratch(bytes); }
};

struct Reads {
  template <typename T, std::size_t rank>
  constexpr Use<const T, rank, AccessMode::R> operator()(Data<T, rank> data) const {
    return {data.handle()};
  }
};
template <AccessMode mode>
struct Writes {
  template <typename T, std::size_t rank>
  constexpr Use<T, rank, mode> operator()(Data<T, rank> data) const {
    static_assert(
        !std::is_const_v<T>,
        "vicinal: these data were registered as const, and a task cannot write them: register "
        "them without const, or say in(...)");
    return {data.handle()};
  }
};

}  // namespace internals

// How a task uses data. The parameter of its function must fit: `std::span<const T>` or `Tile<const T>` for data that
// the task reads, `std::span<T>` or `Tile<T>` for data that it writes.
// NOLINTBEGIN(readability-identifier-naming): they are called, as functions are

// `in(x)`: the task reads x.
inline constexpr internals::Reads in{};
// `out(x)`: the task overwrites all of x; the content of before is not brought.
inline constexpr internals::Writes<AccessMode::W> out{};
// `inout(x)`: the task reads x, then changes it.
inline constexpr internals::Writes<AccessMode::RW> inout{};
// `commute(x)`: as inout, in any order with its neighbours that commute.
inline constexpr internals::Writes<AccessMode::commute> commute{};
// `reduce(x)`: the task adds to x in a private copy, see Runtime::set_reduction.
inline constexpr internals::Writes<AccessMode::reduction> reduce{};
// NOLINTEND(readability-identifier-naming)

// Room for `count` elements, the task's own while it runs: a `std::span<T>`.
template <internals::Element T>
constexpr internals::Room<T> scratch(std::size_t count) {
  return {
      Bytes{count > kLargestData.value / sizeof(T) ? kLargestData.value + 1 : count * sizeof(T)}};
}

}  // namespace vicinal
