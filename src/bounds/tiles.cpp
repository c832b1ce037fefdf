#include "bounds/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vicinal::bounds {

namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

std::uint64_t pairs(std::uint64_t n) {
  return n < 2 ? 0 : n * (n - 1) / 2;
}

std::uint64_t triples(std::uint64_t n) {
  return n < 3 ? 0 : pairs(n) * (n - 2) / 3;
}

// The largest a with C(a, 2) <= u.
std::uint64_t vertices(std::uint64_t u) {
  auto a = static_cast<std::uint64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(u))) / 2);
  while (pairs(a) > u) --a;
  while (pairs(a + 1) <= u) ++a;
  return a;
}

// Rounded up by more than the error of the root, then down to whole tasks.
std::uint64_t whole(double tasks) {
  constexpr double kPart = 1e-12;
  return static_cast<std::uint64_t>(tasks * (1 + kPart) + kPart);
}

double cube_of_root(double x) {
  return x * std::sqrt(x);
}

// A(u); F(u) of a kernel that changes no tile.
std::uint64_t most_tasks_apart(TileKernel kernel, std::uint64_t tiles) {
  switch (kernel) {
    case TileKernel::cholesky:
      return most_inner_tasks(TileKernel::syrk, tiles);
    case TileKernel::lu:
      return most_inner_tasks(TileKernel::gemm, tiles);
    case TileKernel::gemm:
    case TileKernel::syrk:
    case TileKernel::grid:
      break;
  }
  return most_inner_tasks(kernel, tiles);
}

// What several segments of `tiles` tiles each run, at most.
class Segments {
 public:
  Segments(TileKernel kernel, std::uint64_t tiles, std::uint64_t changes)
      : most_(most_inner_tasks(kernel, tiles)),
        apart_(std::min(most_, most_tasks_apart(kernel, tiles))) {
    std::uint64_t low = 0;  // no so many more tiles are enough
    std::uint64_t high = tiles;
    if (apart_ == 0 || apart_ == most_ || changes == kAnyChanges) {
      full_ = kAnyChanges;
      return;
    }
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (most_tasks_apart(kernel, tiles + middle) < most_ ? low : high) = middle;
    }
    full_ = changes / high + 1;  // rounded up
  }
  std::uint64_t most() const { return most_; }
  std::uint64_t of(std::uint64_t count) const {
    return count * apart_ + std::min(count, full_) * (most_ - apart_);
  }
  // The least number of segments that run no fewer than so many.
  std::uint64_t fewest(std::uint64_t tasks) const {
    const std::uint64_t of_full = full_ > tasks / most_ ? tasks : full_ * most_;
    if (tasks <= of_full) return (tasks + most_ - 1) / most_;
    return full_ + (tasks - of_full + apart_ - 1) / apart_;
  }

 private:
  std::uint64_t most_;
  std::uint64_t apart_;
  std::uint64_t full_ = 0;  // segments that may run most_
};

// For one X: see the head of tiles.hpp. `distinct(q)` tiles serve q tasks. The last segment may be one that runs most.
std::uint64_t obtained(const TileWork& work, std::uint64_t room, std::uint64_t segment) {
  const Segments segments(work.kernel, room + segment, work.changes);
  const std::uint64_t most = segments.most();
  if (most == 0) return 0;
  if (work.tasks <= most) return fewest_distinct_tiles(work.kernel, work.tasks);
  const std::uint64_t full = segments.fewest(work.tasks - most);
  const std::uint64_t done = segments.of(full);
  const std::uint64_t left = done < work.tasks ? work.tasks - done : 1;
  return full * segment + std::max(room, fewest_distinct_tiles(work.kernel, left));
}

using Row = std::vector<std::uint64_t>;

// By the number of cells that two groups of memories have together.
Row sum_of_fewest(const Row& a, const Row& b) {
  Row sum(a.size(), kNever);
  for (std::size_t i = 0; i < a.size() && a[i] != kNever; ++i) {
    for (std::size_t j = 0; i + j < sum.size() && b[j] != kNever; ++j) {
      sum[i + j] = std::min(sum[i + j], a[i] + b[j]);
    }
  }
  return sum;
}

}  // namespace

std::string_view source_of(TileKernel kernel) {
  switch (kernel) {
    case TileKernel::cholesky:
      return "tiles in segments: Hong and Kung, Kruskal and Katona";
    case TileKernel::lu:
    case TileKernel::gemm:
      return "tiles in segments: Hong and Kung, Loomis and Whitney";
    case TileKernel::syrk:
    case TileKernel::grid:
      break;
  }
  return "tiles in segments: Hong and Kung";
}

std::uint64_t most_inner_tasks(TileKernel kernel, std::uint64_t tiles) {
  const auto u = static_cast<double>(tiles);
  switch (kernel) {
    case TileKernel::cholesky: {
      const std::uint64_t a = vertices(tiles);
      return triples(a) + pairs(tiles - pairs(a));
    }
    case TileKernel::lu:
      return whole(cube_of_root(u) / 2);
    case TileKernel::gemm:
      return whole(cube_of_root(u / 3));
    case TileKernel::syrk:
      return whole(cube_of_root(u / 3) * std::sqrt(2.0));
    case TileKernel::grid:
      return tiles % 2 == 0 ? (tiles / 2) * (tiles / 2) : (tiles / 2) * (tiles / 2 + 1);
  }
  return kNever;
}

std::uint64_t fewest_distinct_tiles(TileKernel kernel, std::uint64_t tasks) {
  if (tasks == 0) return 0;
  std::uint64_t high = 1;
  while (most_inner_tasks(kernel, high) < tasks) high *= 2;
  std::uint64_t low = high / 2;  // too few
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (most_inner_tasks(kernel, middle) < tasks ? low : high) = middle;
  }
  return high;
}

std::uint64_t fewest_obtained_tiles(TileKernel kernel, std::uint64_t room, std::uint64_t tasks,
                                    std::uint64_t changes) {
  if (tasks == 0) return 0;
  if (most_inner_tasks(kernel, room) == 0) return kNever;
  std::uint64_t fewest = fewest_distinct_tiles(kernel, tasks);
  if (room >= fewest) return fewest;  // each comes once
  // From small segments, of which there are many, up to some that are much larger than the memory.
  const TileWork work{.kernel = kernel, .tasks = tasks, .changes = changes};
  const std::uint64_t longest = 16 * room;
  for (std::uint64_t x = std::max<std::uint64_t>(1, room / 8); x <= longest; x += x / 8 + 1) {
    fewest = std::max(fewest, obtained(work, room, x));
  }
  return fewest;
}

TileWork tile_work(TileKernel kernel, std::uint64_t tiles, std::uint64_t steps) {
  switch (kernel) {
    case TileKernel::cholesky:
      return {.kernel = kernel, .tasks = triples(tiles), .others = tiles, .changes = pairs(tiles)};
    case TileKernel::lu:
      return {.kernel = kernel,
              .tasks = 2 * triples(tiles),
              .others = tiles,
              .changes = 2 * pairs(tiles)};
    case TileKernel::gemm:
      return {.kernel = kernel, .tasks = tiles * tiles * steps, .others = 0};
    case TileKernel::syrk:
      return {.kernel = kernel, .tasks = pairs(tiles) * steps, .others = 0};
    case TileKernel::grid:
      return {.kernel = kernel, .tasks = tiles * tiles, .others = 0};
  }
  return {};
}

SplitTiles::SplitTiles(const TileWork& work, std::uint64_t room, std::uint32_t memories)
    : work_(work), memories_(memories) {
  // Cells: all tasks or none for one memory; for several, whole tasks if they are few.
  constexpr std::uint64_t kMostCells = 512;
  const std::uint64_t cells =
      memories == 1 ? std::min<std::uint64_t>(1, work.tasks) : std::min(kMostCells, work.tasks);
  least_tasks_.push_back(0);
  fewest_.push_back(0);
  for (std::uint64_t cell = 1; cell <= cells; ++cell) {
    // (cell - 1) tasks / cells, rounded down, in terms that cannot overflow.
    const std::uint64_t below =
        (cell - 1) * (work.tasks / cells) + (cell - 1) * (work.tasks % cells) / cells;
    least_tasks_.push_back(memories > 1 ? below + 1 : work.tasks);
    fewest_.push_back(fewest_obtained_tiles(work.kernel, room, least_tasks_.back(), work.changes));
  }
}

std::optional<std::uint64_t> SplitTiles::fewest(std::uint64_t most_tasks,
                                                std::uint64_t most_tiles) const {
  if (work_.tasks == 0) return 0;
  Row one(fewest_.size(), kNever);
  for (std::size_t cell = 0; cell < one.size(); ++cell) {
    if (least_tasks_[cell] <= most_tasks && fewest_[cell] <= most_tiles) one[cell] = fewest_[cell];
  }
  // Doubled as often as `memories_` says: cells of 2^n memories.
  Row all(fewest_.size(), kNever);
  all[0] = 0;
  for (std::uint32_t left = memories_; left > 0; left /= 2) {
    if (left % 2 == 1) all = sum_of_fewest(all, one);
    if (left > 1) one = sum_of_fewest(one, one);
  }
  return all.back() == kNever ? std::nullopt : std::optional(all.back());
}

BytesBound tile_loads(const SplitTiles& split, Bytes tile) {
  BytesBound loads{.value = {},
                   .leading = {},
                   .name = "loads of tiles",
                   .source = source_of(split.work().kernel)};
  const auto fewest = split.fewest();
  if (fewest) loads.value = tile * (*fewest + split.work().others);
  return loads;
}

namespace {

std::uint64_t whole_part(double value) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::clamp(value, 0.0, kMost));
}

// Whether some split of the tasks that fits in this time has loads that fit in it.
bool fits(const SplitTiles& split, const SplitRates& rates, double seconds) {
  constexpr double kSlack = 1 + 1e-9;  // more than any rounding here
  const double tile = static_cast<double>(rates.tile.value);
  const double free = static_cast<double>(rates.free.value);
  const double tasks = rates.task_seconds > 0 ? seconds / rates.task_seconds * kSlack : 9e18;
  const double tiles =
      rates.each.value > 0 ? (seconds * rates.each.value + free) / tile * kSlack : 9e18;
  const auto fewest = split.fewest(whole_part(tasks), whole_part(tiles));
  if (!fewest) return false;
  const double loads =
      std::max(0.0, static_cast<double>(*fewest + split.work().others) * tile - free);
  return loads + static_cast<double>(rates.also.value) <= seconds * rates.together.value * kSlack;
}

}  // namespace

Time split_time(const SplitTiles& split, const SplitRates& rates) {
  const TileWork& work = split.work();
  if (work.tasks == 0 || rates.together.value <= 0 || rates.tile.value == 0) return {};
  if (!split.fewest()) return {};
  double low =
      std::max(static_cast<double>(work.tasks) / split.memories() * rates.task_seconds, 1e-9);
  if (fits(split, rates, low)) return {};
  double high = 2 * low;
  for (; !fits(split, rates, high); high *= 2) low = high;
  constexpr double kPrecision = 1e-4;
  while (high > low * (1 + kPrecision)) {
    const double middle = (low + high) / 2;
    (fits(split, rates, middle) ? high : low) = middle;
  }
  return rounded_down(low);
}

}  // namespace vicinal::bounds
