// Typed data in parts, each of them typed data: see partition.hpp.
//
//   const auto quarters = runtime.partition(x, row_blocks(4));  // x: Data<double>
//   for (const Data<double> quarter : quarters) runtime.task("scale", scale, inout(quarter));
//   runtime.unpartition(quarters);
#pragma once

#include <cstddef>
#include <iterator>

#include "vicinal/partition.hpp"
#include "vicinal/typed_data.hpp"

namespace vicinal {

// Small values that name the parts, valid until they are taken back. Blocks count in elements of type T.
template <typename T, std::size_t rank>
class DataParts {
 public:
  DataParts() = default;
  // Of parts whose elements are of type T, by the caller's word.
  explicit DataParts(Parts parts) : parts_(std::move(parts)) {}
  // Without the type.
  const Parts& parts() const { return parts_; }

  // Their number.
  std::size_t size() const { return parts_.size(); }
  // Part i, below size().
  Data<T, rank> operator[](std::size_t i) const { return Data<T, rank>(parts_[i]); }
  // As Parts::grid_rows.
  std::size_t grid_rows() const { return parts_.grid_rows(); }
  // As Parts::grid_columns.
  std::size_t grid_columns() const { return parts_.grid_columns(); }
  // The part of a grid in this row and column of parts, both counted from 0.
  Data<T, rank> operator()(std::size_t row, std::size_t column) const {
    return Data<T, rank>(parts_(row, column));
  }

  // A forward iterator over the parts.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Data<T, rank>;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    // At this part.
    Iterator(const Parts& parts, std::size_t at) : parts_(&parts), at_(at) {}
    Data<T, rank> operator*() const { return Data<T, rank>((*parts_)[at_]); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Parts* parts_ = nullptr;
    std::size_t at_ = 0;
  };
  Iterator begin() const { return {parts_, 0}; }
  Iterator end() const { return {parts_, size()}; }

 private:
  Parts parts_;
};

}  // namespace vicinal
