// Where the tiles of a matrix belong on the accelerators of one machine, or of each machine of a grid: the
// two-level block-cyclic mapping of Bouteiller et al. 2025, section 4, and of DPLASMA for lower triangles. (For a
// product the paper deals the rows of C to the accelerators, m mod G; by this mapping they load fewer tiles of A and B
// together: n/Gp + n/Gq instead of n/G + n rows and columns.)
//
//   const vicinal::BlockCyclic mapping{.devices = 4};
//   runtime.advise(tile[m][n], devices[mapping.device(m, n)]);   // policy "directed"
//
// Which process owns a tile, by this grid or otherwise, is distribution.hpp's; Distribution::device deals its tiles by this.
#pragma once

#include <cstdint>

namespace vicinal {

// Tile (m, n) belongs to the process (m mod P, n mod Q) of a grid of P x Q, and there to the accelerator
// ((m / P) mod Gp) Gq + (n / Q) mod Gq of G = Gp x Gq, where Gq is the largest divisor of G not above its square
// root. All are at least 1.
struct BlockCyclic {
  std::uint32_t devices = 1;  // G
  std::uint32_t rows = 1;     // P
  std::uint32_t columns = 1;  // Q
  // Gq, if it is another than the rule gives: a divisor of G. The paper's mapping of a product is 1.
  std::uint32_t device_columns_given = 0;

  // Gq.
  constexpr std::uint32_t device_columns() const {
    if (device_columns_given > 0) return device_columns_given;
    std::uint32_t largest = 1;
    for (std::uint32_t divisor = 2; divisor <= devices / divisor; ++divisor) {
      if (devices % divisor == 0) largest = divisor;
    }
    return largest;
  }
  // Gp.
  constexpr std::uint32_t device_rows() const { return devices / device_columns(); }

  // The number of tile (m, n)'s accelerator in its process, from 0 to G - 1.
  constexpr std::uint32_t device(std::uint64_t m, std::uint64_t n) const {
    const std::uint32_t across = device_columns();
    return static_cast<std::uint32_t>(m / rows % device_rows() * across + n / columns % across);
  }
};

}  // namespace vicinal
