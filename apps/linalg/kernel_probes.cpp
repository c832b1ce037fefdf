#include "linalg/kernel_probes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/generator.hpp"

namespace vicinal::linalg {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

enum class TileKernel : std::uint8_t { potrf, trsm, syrk, gemm };

// Sets of three tiles: a factor, a panel tile and one to be updated. Every run starts from the same
// content, so that numbers neither grow nor vanish (denormals are slow). Each run takes the next set:
// of several sets the operands that are read are not in cache.
template <typename T>
class Bench {
 public:
  Bench(std::uint64_t n, std::size_t sets) : n_(n), codelets_(cholesky_codelets<T>(n)) {
    const Generator generator(n_, 1);
    for (std::uint64_t j = 0; j < n_; ++j) {
      for (std::uint64_t i = 0; i < n_; ++i) {
        saved_.push_back(static_cast<T>(generator.element(i, j)));
      }
    }
    sets_.resize(sets, {saved_, saved_, saved_});
    // Tile 0 is a factor from here on.
    for (std::size_t set = 0; set < sets; ++set) run(TileKernel::potrf);
  }

  const Codelet& codelet(TileKernel kernel) const {
    const Codelet* const codelets[] = {&codelets_.potrf, &codelets_.trsm, &codelets_.syrk,
                                       &codelets_.gemm};
    return *codelets[static_cast<std::size_t>(kernel)];
  }

  // Seconds of one run.
  double run(TileKernel kernel) {
    constexpr std::array<std::array<std::size_t, 3>, 4> kOperands{{{0}, {0, 1}, {1, 2}, {1, 0, 2}}};
    constexpr std::array<std::size_t, 4> kCounts{1, 2, 2, 3};  // the last operand is written
    Tiles& tiles = sets_[next_++ % sets_.size()];
    const auto& operands = kOperands[static_cast<std::size_t>(kernel)];
    const std::size_t count = kCounts[static_cast<std::size_t>(kernel)];
    tiles[operands[count - 1]] = saved_;
    std::array<OperandView, 3> views;
    for (std::size_t i = 0; i < count; ++i) {
      views[i] = {reinterpret_cast<std::byte*>(tiles[operands[i]].data()),
                  TileShape{n_, n_, 0, sizeof(T)}.layout()};
    }
    const TaskIndex index;
    KernelContext context(views.data(), count, reinterpret_cast<const std::byte*>(&index),
                          sizeof(index), WorkerId{0});
    const double start = seconds_now();
    codelet(kernel).cpu(context);
    return seconds_now() - start;
  }

 private:
  using Tiles = std::array<std::vector<T>, 3>;
  std::uint64_t n_;
  CholeskyCodelets codelets_;
  std::vector<T> saved_;
  std::vector<Tiles> sets_;
  std::size_t next_ = 0;
};

// So many that none is left in the caches of a core when its turn comes.
std::size_t sets_beyond_cache(std::uint64_t tile, std::size_t element) {
  constexpr std::uint64_t kBytes = std::uint64_t{32} << 20;
  constexpr std::uint64_t kMost = 256;
  return std::clamp<std::uint64_t>(kBytes / (3 * tile * tile * element), 1, kMost);
}

template <typename T>
tools::KernelSet kernel_set(std::uint64_t tile) {
  const CholeskyCodelets codelets = cholesky_codelets<T>(tile);
  tools::KernelSet set;
  set.precision = to_string(kPrecisionOf<T>);
  // In the order of TileKernel. getrf and the products of other graphs run at the rate of their kin.
  set.kernels = {{{"potrf", "getrf"}, codelets.potrf.flops},
                 {{"trsm"}, codelets.trsm.flops},
                 {{"syrk"}, codelets.syrk.flops},
                 {{"gemm", "gemm2d", "gemm3d"}, codelets.gemm.flops}};
  set.prepare = [tile] {
    auto bench = std::make_shared<Bench<T>>(tile, sets_beyond_cache(tile, sizeof(T)));
    return [bench](std::size_t kernel) { return bench->run(static_cast<TileKernel>(kernel)); };
  };
  return set;
}

}  // namespace

std::vector<tools::KernelSet> kernel_sets(std::uint64_t tile) {
  return {kernel_set<double>(tile), kernel_set<float>(tile)};
}

}  // namespace vicinal::linalg
