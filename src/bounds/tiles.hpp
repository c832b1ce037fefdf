// Lower bounds on the tiles that tiled dense kernels load into limited memories, each loaded whole.
// They count the inner tasks, those of the innermost loop, and hold in any order and with any victims.
//
// F(u), the most inner tasks that u distinct tiles serve:
//   cholesky  C(a, 3) + C(b, 2) with u = C(a, 2) + b, b < a. Task (i, j, k) updates tile (i, j) with (i, k) and
//             (j, k): a triangle of the graph whose edges are the tiles below the diagonal (Kruskal and Katona).
//   lu        u^(3/2) / 2. Tiles off the diagonal: l below it, r above, and (l + r) that are updated, so at most
//             sqrt(l r (l + r)) tasks (Loomis and Whitney).
//             QR by a flat tree is the same: tsmqr (i, j, k) works on (i, k), (k, j) and (i, j) as LU's product does.
//   gemm      (u / 3)^(3/2), as a tiles of A, b of B and c of C serve sqrt(a b c) at most.
//   syrk      sqrt(2) (u / 3)^(3/2): a tiles of A and c of C below the diagonal serve a sqrt(c / 2) (dense.cpp).
//   grid      floor(u^2 / 4): rows times columns.
// A tile of a factorisation counts once, whether it is updated or, final, read. If none of u tiles is both, fewer inner tasks
// are served, A(u): of Cholesky as of syrk, of LU as of gemm.
//
// A memory of S tiles that is empty at first and obtains L of them: cut its time after the first S + X, and
// then after each X. At most S + X distinct tiles are at hand in a segment (Hong and Kung), S + r in the last
// one, of r < X. So it runs no more than (n F(S + X) + F(S + r)) inner tasks, with n full segments, and never
// more than F(L). Each X gives a bound on L; the largest counts.
// Of a factorisation, a segment in which o tiles are both updated and read runs no more than min(F(u), A(u + o)) tasks,
// u = S + X, for such a tile counts as two. A tile becomes final once, in one segment of one memory. So the
// sum of o over all segments is at most the number of tiles below the diagonal, or off it, and what n segments run is at most
// n A(u) + min(n, tiles / o) (F(u) - A(u)), with the least o for which A(u + o) >= F(u): A is convex. (Our own derivation.)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bounds/bounds.hpp"
#include "bounds/dense.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

enum class TileKernel : std::uint8_t { cholesky, lu, gemm, syrk, grid };

// Who bounds F.
std::string_view source_of(TileKernel kernel);

std::uint64_t most_inner_tasks(TileKernel kernel, std::uint64_t tiles);
// The smallest number of tiles that serve so many.
std::uint64_t fewest_distinct_tiles(TileKernel kernel, std::uint64_t tasks);
// Any number of tiles may be updated, then read, as often as one likes.
inline constexpr std::uint64_t kAnyChanges = UINT64_MAX;
// That a memory with room for `room` tiles, empty at first, obtains for so many inner tasks. Most of what 64 bits
// hold if it has no room for one. `changes`: tiles that are updated, and read when they are final.
std::uint64_t fewest_obtained_tiles(TileKernel kernel, std::uint64_t room, std::uint64_t tasks,
                                    std::uint64_t changes = kAnyChanges);

struct TileWork {
  TileKernel kernel = TileKernel::cholesky;
  std::uint64_t tasks = 0;              // inner ones
  std::uint64_t others = 0;             // tiles that no inner task uses and some task reads
  std::uint64_t changes = kAnyChanges;  // tiles that are updated, and read when they are final
};
// Of `tiles` per side; gemm and syrk: `steps` tiles between A and B. The diagonal's tiles of a factorisation are
// the others, and tasks that update them are not counted; nor are they of syrk.
TileWork tile_work(TileKernel kernel, std::uint64_t tiles, std::uint64_t steps);

// What several memories of one size obtain together, in tiles, however the inner tasks are split among them. A tile
// that goes to two memories is obtained twice.
class SplitTiles {
 public:
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;

  SplitTiles(const TileWork& work, std::uint64_t room, std::uint32_t memories);
  // If no memory runs more inner tasks than `most_tasks`, nor obtains more tiles than `most_tiles`, the others
  // not counted; none if that cannot be.
  std::optional<std::uint64_t> fewest(std::uint64_t most_tasks = kNoLimit,
                                      std::uint64_t most_tiles = kNoLimit) const;
  const TileWork& work() const { return work_; }
  std::uint32_t memories() const { return memories_; }

 private:
  TileWork work_;
  std::uint32_t memories_ = 1;
  // A memory runs no inner task, or between (tasks of cell i - 1) + 1 and those of cell i: with the fewest tiles of
  // its lower end. So the result is at most what it would be for whole tasks.
  std::vector<std::uint64_t> least_tasks_;
  std::vector<std::uint64_t> fewest_;
};

// All in tiles of `tile` bytes. Without a leading term.
BytesBound tile_loads(const SplitTiles& split, Bytes tile);

// How fast several memories run the inner tasks and obtain tiles.
struct SplitRates {
  double task_seconds = 0;  // of an inner task, over the workers of one memory; 0: not known
  Bytes tile;
  BytesPerSecond each;      // into one memory; 0: not known
  BytesPerSecond together;  // into all
  Bytes also;               // that cross the same links beside them
  // Obtained without a copy: made by tasks, or there at the start.
  Bytes free;
};
// No schedule that obtains these tiles is faster. Faster schedules use more memories, each with tiles of its own: a
// time is too short if no split of the tasks that fits in it has loads that fit in it. 0 where the loads are no
// limit: where a split that keeps all memories busy has time for them.
Time split_time(const SplitTiles& split, const SplitRates& rates);

}  // namespace vicinal::bounds
