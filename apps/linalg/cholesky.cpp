#include "linalg/cholesky.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "graphs/cholesky_order.hpp"
#include "linalg/application.hpp"
#include "linalg/codelets.hpp"
#include "linalg/two_level.hpp"
#include "reports/dense_bounds.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal::linalg {

namespace {

using GraphAccess = graph::Graph::Access;

enum KernelNumber : std::uint32_t { kPotrf, kTrsm, kSyrk, kGemm };

// The tasks are not kept: there may be more of them than memory holds.
class Visit {
 public:
  Visit(const TileGrid& grid, const TaskVisitor& visitor)
      : grid_(grid), visitor_(visitor), levels_{static_cast<std::int64_t>(grid.tiles())} {}

  void potrf(std::uint32_t k) { visit(kPotrf, levels_.potrf(k), {{a(k, k), AccessMode::RW}}); }
  void trsm(std::uint32_t i, std::uint32_t k) {
    visit(kTrsm, levels_.trsm(k), {{a(k, k), AccessMode::R}, {a(i, k), AccessMode::RW}});
  }
  void syrk(std::uint32_t i, std::uint32_t k) {
    visit(kSyrk, levels_.syrk(i, k), {{a(i, k), AccessMode::R}, {a(i, i), AccessMode::RW}});
  }
  void gemm(std::uint32_t i, std::uint32_t j, std::uint32_t k) {
    visit(kGemm, levels_.gemm(j, k),
          {{a(i, k), AccessMode::R}, {a(j, k), AccessMode::R}, {a(i, j), AccessMode::RW}});
  }

 private:
  std::uint32_t a(std::uint64_t i, std::uint64_t j) const {
    return static_cast<std::uint32_t>(grid_.index(i, j));
  }
  void visit(KernelNumber kernel, int level, std::initializer_list<GraphAccess> accesses) {
    visitor_({kernel, level, {accesses.begin(), accesses.size()}});
  }

  const TileGrid& grid_;
  const TaskVisitor& visitor_;
  BottomLevels levels_;
};

// b^3 times 1/3, 1, 1, 2: the smaller tiles at the edge are counted as whole ones.
std::vector<TaskKernel> kernels(const TileGrid& grid, std::uint64_t panel) {
  const auto b = static_cast<double>(grid.tile);
  const double cube = b * b * b;
  const auto kernel = [&](const char* name, double flops, std::size_t operands) {
    return TaskKernel{.name = name,
                      .indices = operands,
                      .codelet = codelet_of("cholesky", name, grid.precision, flops),
                      .calls = {{std::vector(operands, grid.shape(0, 0)), {}}}};
  };
  std::vector<TaskKernel> all{kernel("potrf", cube / 3, 1), kernel("trsm", cube, 2),
                              kernel("syrk", cube, 2), kernel("gemm", 2 * cube, 3)};
  if (panel > 0) {
    divide_cholesky({.potrf = all[kPotrf],
                     .trsm = all[kTrsm],
                     .syrk = all[kSyrk],
                     .gemm = all[kGemm],
                     .precision = grid.precision},
                    panel);
  }
  return all;
}

// In the order of TileGrid::index, which is that of tile files.
std::vector<Datum> lower_tiles(const TileGrid& grid) {
  std::vector<Datum> data;
  data.reserve(grid.lower_tiles());
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i) {
      data.push_back(
          {.name = fmt::format("L({},{})", i, j),
           .block = {'L', grid.first(i), grid.first(j), grid.extent(i), grid.extent(j)}});
    }
  }
  return data;
}

// How large the residual of a right factorisation may be: 4 sqrt(b + n) u, for n x n tiles of b x b
// elements and a unit roundoff u = 2^-24 (float) or 2^-53 (double).
//
// Derivation. The computed L satisfies L L^T = A + D, where D_ij gathers the rounding errors made
// while the partial results s_ijk of element (i,j) went from a_ij down to 0: D_ij = sum over k of
// s_ijk d_ijk with |d_ijk| <= u. The number of roundings per element is not N but K = b + n: a tile
// kernel sums at most b products (the factorisation inside a tile, b too), and at most n such sums
// are subtracted one after the other (blocked summation: Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., section 3.1).
// The s_ijk of one k are the elements of A^(k), the Schur complement after k steps, or, inside a
// tile's sum, of the difference of two of them. With 0 <= A^(k) <= A in the order of symmetric
// matrices, tr(A^(k) A^(k)) <= tr(A A): ||A^(k)||_F <= ||A||_F, and the same holds for differences.
// Take the d_ijk as independent with mean 0 (the model of Higham and Mary, SIAM J. Sci. Comput.
// 41(5), 2019; that of the worst case, K u ||L||_F^2, would hide a wrong tile in float). Then
// E ||D||_F^2 <= u^2 K ||A||_F^2. As the signs of x are random and independent of D,
// E ||D x||_2^2 = ||D||_F^2 ||x||_2^2 / N. So the residual is about sqrt(K) u or less.
// The check itself sums in double, in K steps too, three times (A x, L^T x, L w): for a
// factorisation in double each adds as much again, in all sqrt(4) = 2. Another 2 is left for
// rounding errors that are not quite independent.
//
// Measured, in units of sqrt(K) u: up to 1.1 for N = 1 and 2; 0.5 or less for N from 7 to 64; 0.03
// to 0.1 (float) and 0.13 to 0.25 (double) for N from 500 to 8000 and tiles from 100 to 2000.
//
// A wrong tile. A change by e of every element of one off-diagonal tile of L changes L (L^T x) in b
// rows by e times the sum of b elements of L^T x. For the matrix of generator.hpp these are about
// sqrt(3) each and ||A||_F is 3.05 sqrt(N): the residual becomes e b sqrt(3) / (3.05 sqrt(N)) times
// the size of a standard normal number. For e = 1e-3, N = 2000, b = 250: 3.2e-3, where the
// tolerance is 3.8e-6 in float and 7.2e-15 in double.
double tolerance(const TileGrid& grid) {
  const double u = roundoff(grid.precision);
  return 4 * std::sqrt(static_cast<double>(grid.tile + grid.tiles())) * u;
}

// y = A x against z = L (w = L^T x).
Check check(const TileGrid& grid) {
  using enum CheckVector;
  const std::uint64_t n = grid.tiles();
  Check check{.products = {}, .inner = grid, .tolerance = tolerance(grid)};
  check.products.reserve(3 * grid.lower_tiles());
  for (std::size_t d = 0; d < grid.lower_tiles(); ++d) {
    check.products.push_back({.datum = d, .is_result = false, .part = Part::mirrored});
  }
  // Column by column; the second pass over a column goes backwards, so that with little memory it begins with
  // the tiles that the first one read last.
  for (std::uint64_t j = 0; j < n; ++j) {
    const auto part = [j](std::uint64_t i) { return i == j ? Part::lower : Part::whole; };
    for (std::uint64_t i = j; i < n; ++i) {
      check.products.push_back(
          {.datum = grid.index(i, j), .part = part(i), .transposed = true, .from = x, .to = w});
    }
    for (std::uint64_t i = n; i-- > j;) {
      check.products.push_back({.datum = grid.index(i, j), .part = part(i), .from = w, .to = z});
    }
  }
  return check;
}

reports::RunBounds bounds(const TileGrid& grid, const MachineDescription& machine,
                          std::span<const double> seconds, const Statistics& before) {
  const reports::CholeskyWork work{.order = grid.size,
                                   .tile = grid.tile,
                                   .element = {element_bytes(grid.precision)},
                                   .matrix = grid.bytes(),
                                   .flops = cholesky_flops(grid.size),
                                   .potrf = seconds[kPotrf],
                                   .trsm = seconds[kTrsm],
                                   .syrk = seconds[kSyrk],
                                   .gemm = seconds[kGemm]};
  return reports::cholesky_bounds(work, machine, before);
}

}  // namespace

Application cholesky(const TileGrid& grid, std::uint64_t panel) {
  // gemm needs three tiles at once; a matrix of one or two tile rows has no gemm.
  const std::uint64_t most = std::min<std::uint64_t>(grid.tiles(), 3);
  return {
      .name = "cholesky",
      .action = "factorise",
      .grid = grid,
      .triangle = Triangle::lower,
      .panel = panel,
      .data = lower_tiles(grid),
      .kernels = kernels(grid, panel),
      .tasks = cholesky_tasks(grid.tiles()),
      .flops = cholesky_flops(grid.size),
      .largest_task = std::vector(most, grid.shape(0, 0)),
      .largest_task_name = fmt::format("{} tiles of {} x {} {}s", most, grid.tile, grid.tile,
                                       to_string(grid.precision)),
      .visit_tasks =
          [grid](const TaskVisitor& visitor) {
            Visit visit(grid, visitor);
            graphs::visit_cholesky_by_rows(static_cast<std::uint32_t>(grid.tiles()), visit);
          },
      .content = [grid](char, std::uint64_t seed) { return Generator(grid.size, seed); },
      .check = [grid] { return check(grid); },
      .bounds =
          [grid, panel](const MachineDescription& machine, std::span<const double> seconds,
                        const Statistics& before) {
            // Of tasks that are divided the times of the whole ones bound nothing.
            const std::vector<double> unknown(seconds.size());
            return bounds(grid, machine, panel > 0 ? unknown : seconds, before);
          },
  };
}

}  // namespace vicinal::linalg
