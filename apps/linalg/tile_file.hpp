// A file of the lower tiles of a symmetric matrix or of a lower triangular one (docs/tile-file.md).
//
//   offset 0        one block of 4096 bytes: TileFileHeader, then zeroes
//   offset 4096     the slots of the lower tiles in the order of TileGrid::index (by columns);
//                   every slot is tile * tile elements, padded to a multiple of 4096 bytes
//
// In its slot a tile is column-major and packed (the leading dimension is its number of rows); a
// smaller tile at the edge fills the beginning of its slot. Little endian. Blocks of 4096 bytes let
// the disk driver use O_DIRECT.
#pragma once

#include <cstdint>
#include <string>

#include "linalg/tile_grid.hpp"
#include "vicinal/data.hpp"

namespace vicinal::linalg {

inline constexpr std::uint64_t kFileBlock = 4096;

struct TileFileHeader {
  char magic[8] = {'V', 'I', 'C', 'T', 'I', 'L', 'E', '1'};
  std::uint64_t complete = 0;       // 1: all tiles are there; 0: being written, or the writer died
  std::uint64_t size = 0;           // of the matrix, in elements
  std::uint64_t tile = 0;           // in elements
  std::uint64_t element_bytes = 0;  // 4: float, 8: double
  std::uint64_t content = 0;        // TileContent
  std::uint64_t mark = 0;           // while several processes write it: the same for all; else 0
};

enum class TileContent : std::uint64_t {
  symmetric = 1,  // the lower triangle of a symmetric matrix
  lower = 2,      // a lower triangular matrix
};

class TileFile {
 public:
  // Creates the file, or overwrites it; its header says incomplete until mark_complete. Throws
  // UsageError that names path and cause.
  static TileFile create(const std::string& path, const TileGrid& grid, TileContent content,
                         std::uint64_t mark = 0);
  // The file that another process has created with this mark, to write to it, too. Throws UsageError if it is not there.
  static TileFile join(const std::string& path, const TileGrid& grid, TileContent content,
                       std::uint64_t mark);
  // Throws UsageError if it is not such a file, is incomplete or is too short.
  static TileFile open(const std::string& path);

  const TileGrid& grid() const { return grid_; }
  TileContent content() const { return content_; }
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return kFileBlock + grid_.lower_tiles() * slot_bytes(); }
  // Of a tile, by its number in the order of TileGrid::index.
  FileRegion region(std::uint64_t tile, bool writable) const {
    return {path_, kFileBlock + tile * slot_bytes(), writable};
  }
  // What this process has written reaches the disk. Throws DeviceError.
  void sync();
  // After all tiles have been written: syncs them to the disk, then says so in the header.
  // Throws DeviceError.
  void mark_complete();

 private:
  TileFile(std::string path, const TileGrid& grid, TileContent content)
      : path_(std::move(path)), grid_(grid), content_(content) {}
  std::uint64_t slot_bytes() const {
    return (grid_.full_tile_bytes().value + kFileBlock - 1) / kFileBlock * kFileBlock;
  }

  std::string path_;
  TileGrid grid_;
  TileContent content_;
};

}  // namespace vicinal::linalg
