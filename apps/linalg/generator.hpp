// Matrices known by a formula: any element at any time, the same for every tile size and every order
// of generation. R_ij is uniform in [-1, 1), a hash of seed, i and j.
//
// Generator(n, seed): A = 3 I + R / sqrt(n), R symmetric; positive definite. The eigenvalues of R / sqrt(n) fill [-2 sigma, 2 sigma] as n grows (Wigner), sigma^2 = 1/3 being
// the variance of R_ij: those of A fill [1.85, 4.15], so A is positive definite and its condition
// number about 2.3 at every size. For n <= 9 it is diagonally dominant: 3 - 1/sqrt(n) is above
// (n - 1)/sqrt(n). Elements of size 1, rather than n on the diagonal, because a check of the
// factorisation in float must see a change of 1e-3 in one tile: beside a diagonal of n = 2000,
// 1e-3 is the size of rounding.
//
// Generator::dominant(n, seed): the same without symmetry. LU without pivoting is stable: the diagonal
// dominates the rest as a matrix. |R / sqrt(n)|_2 goes to 2 sigma = 1.155 as n grows (Geman 1980), so
// with E for the rest, a Schur complement, 3 I + E_22 - E_21 (3 I + E_11)^-1 E_12, differs from
// 3 I + E_22 by 1.155^2 / (3 - 1.155) = 0.73 at most. Dominance by rows would do as well, but asks for
// elements of size 1 / n beside the diagonal, among which a wrong update hides.
//
// Generator::random(scale, seed): scale R, of any shape. Scale 0: all zeroes.
//
// Generator::hollow(scale, seed): the same with zeroes on the diagonal: no step of LU succeeds without pivoting.
#pragma once

#include <cmath>
#include <cstdint>

namespace vicinal::linalg {

// A bijection of 64 bits that scatters: the output function of splitmix64 (Steele et al. 2014).
constexpr std::uint64_t scatter(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Trivially copyable: travels in the parameters of a task.
class Generator {
 public:
  Generator() = default;
  Generator(std::uint64_t size, std::uint64_t seed)
      : key_(scatter(seed + 0x9e3779b97f4a7c15ULL)),
        scale_(1.0 / std::sqrt(static_cast<double>(size))) {}

  static Generator dominant(std::uint64_t size, std::uint64_t seed) {
    Generator generator(size, seed);
    generator.symmetric_ = false;
    return generator;
  }
  static Generator random(double scale, std::uint64_t seed) {
    Generator generator = dominant(1, seed);
    generator.shift_ = 0;
    generator.scale_ = scale;
    return generator;
  }

  static Generator hollow(double scale, std::uint64_t seed) {
    Generator generator = random(scale, seed);
    generator.hollow_ = true;
    return generator;
  }

  // Indices below 2^32.
  double element(std::uint64_t i, std::uint64_t j) const {
    if (hollow_ && i == j) return 0;
    const bool swap = symmetric_ && i < j;
    return (i == j ? shift_ : 0.0) + scale_ * uniform(swap ? j : i, swap ? i : j);
  }

 private:
  double uniform(std::uint64_t row, std::uint64_t column) const {
    // splitmix64 with (row, column) for a counter. The top 53 bits and the sign make [-1, 1).
    const std::uint64_t counter = row << 32 | column;
    const std::uint64_t h = scatter(key_ + counter * 0x9e3779b97f4a7c15ULL);
    return static_cast<double>(static_cast<std::int64_t>(h) >> 10) * 0x1.0p-53;
  }
  std::uint64_t key_ = 0;
  double shift_ = 3;
  double scale_ = 1;
  bool symmetric_ = true;
  bool hollow_ = false;
};

}  // namespace vicinal::linalg
