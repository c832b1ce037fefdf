// Parts of payloads that MPI, which counts in int, can send: both ends cut the content, gaps left out, at the same bytes.
#pragma once

#include <cstdint>

#include <mpi.h>

#include "vicinal/data.hpp"

namespace vicinal::comm {

// At least one: a payload without bytes is sent, too.
std::uint64_t count_pieces(const Layout& layout, std::uint64_t piece_bytes);

// Where the bytes of a piece lie, as MPI is told.
class Piece {
 public:
  // `number` of those that the layout is cut into. Throws std::runtime_error if MPI has no memory left.
  Piece(const Layout& layout, std::uint64_t piece_bytes, std::uint64_t number);
  ~Piece();
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  // From the first byte of the payload's memory.
  std::uint64_t offset() const { return offset_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t offset_ = 0;
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

}  // namespace vicinal::comm
