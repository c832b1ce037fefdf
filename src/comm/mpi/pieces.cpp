#include "comm/mpi/pieces.hpp"

#include <algorithm>

#include "comm/mpi/mpi_error.hpp"

namespace vicinal::comm {

namespace {

// Of columns that all have gaps behind them.
MPI_Datatype columns_type(std::uint64_t columns, const Layout& layout) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(
      "MPI_Type_create_hvector",
      MPI_Type_create_hvector(static_cast<int>(columns), static_cast<int>(layout.column_bytes),
                              static_cast<MPI_Aint>(layout.stride_bytes), MPI_BYTE, &type));
  return type;
}

}  // namespace

std::uint64_t count_pieces(const Layout& layout, std::uint64_t piece_bytes) {
  const std::uint64_t bytes = layout.bytes().value;
  return bytes == 0 ? 1 : (bytes - 1) / piece_bytes + 1;
}

Piece::Piece(const Layout& layout, std::uint64_t piece_bytes, std::uint64_t number)
    : bytes_(std::min(piece_bytes, layout.bytes().value - number * piece_bytes)) {
  const std::uint64_t begin = number * piece_bytes;
  if (layout.contiguous() || bytes_ == 0) {
    offset_ = begin;
    count_ = static_cast<int>(bytes_);
    return;
  }
  // The end of a column, whole columns, the beginning of a column.
  const std::uint64_t column = begin / layout.column_bytes;
  const std::uint64_t within = begin % layout.column_bytes;
  offset_ = column * layout.stride_bytes + within;
  const std::uint64_t head = within == 0 ? 0 : std::min(layout.column_bytes - within, bytes_);
  const std::uint64_t columns = (bytes_ - head) / layout.column_bytes;
  const std::uint64_t tail = (bytes_ - head) % layout.column_bytes;
  if (head == bytes_ || tail == bytes_) {
    count_ = static_cast<int>(bytes_);
    return;
  }
  count_ = 1;
  if (head == 0 && tail == 0) {
    type_ = columns_type(columns, layout);
  } else {
    const std::uint64_t whole = head == 0 ? 0 : layout.stride_bytes - within;
    int counts[3];
    MPI_Aint places[3];
    MPI_Datatype types[3];
    int parts = 0;
    const auto add = [&](std::uint64_t count, std::uint64_t place, MPI_Datatype type) {
      counts[parts] = static_cast<int>(count);
      places[parts] = static_cast<MPI_Aint>(place);
      types[parts++] = type;
    };
    MPI_Datatype middle = MPI_DATATYPE_NULL;
    if (head != 0) add(head, 0, MPI_BYTE);
    if (columns != 0) add(1, whole, middle = columns_type(columns, layout));
    if (tail != 0) add(tail, whole + columns * layout.stride_bytes, MPI_BYTE);
    const int code = MPI_Type_create_struct(parts, counts, places, types, &type_);
    if (middle != MPI_DATATYPE_NULL) MPI_Type_free(&middle);
    if (code != MPI_SUCCESS) type_ = MPI_BYTE;
    check_mpi("MPI_Type_create_struct", code);
  }
  if (const int code = MPI_Type_commit(&type_); code != MPI_SUCCESS) {
    MPI_Type_free(&type_);
    check_mpi("MPI_Type_commit", code);
  }
}

Piece::~Piece() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);  // MPI keeps what requests use
}

}  // namespace vicinal::comm
