#include "linalg/kernel_probes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "graphs/linalg_graphs.hpp"
#include "linalg/application.hpp"
#include "linalg/generator.hpp"
#include "linalg/kernel_times.hpp"

namespace vicinal::linalg {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = 2 << 20;
// Per thread, at most: so much that an operand has left the caches when its turn comes, that of several cores, too.
// Two cores with one of 32 MiB: with half of the pool potrf, trsm and syrk of 512 are 2 % faster.
constexpr std::uint64_t kMostPoolBytes = 64 << 20;
// Deeper block rows are not timed as deep as they are.
constexpr std::uint64_t kMostBlockRow = 32 << 20;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// A kernel of an application and its names in a machine file, see calibration::KernelSet.
struct Probe {
  std::vector<std::string> names;
  TaskKernel kernel;

  double flops() const { return kernel.codelet.flops * static_cast<double>(kernel.calls.size()); }
};
using Probes = std::vector<Probe>;

// "lu.gemm"; what has a name of its own goes by it in other graphs, too.
void add_graph(Probes& probes, const Application& application, const Application& cholesky) {
  for (const TaskKernel& kernel : application.kernels) {
    Probe probe{{application.name + "." + kernel.name}, kernel};
    if (std::ranges::count(cholesky.kernels, kernel.name, &TaskKernel::name) == 0) {
      probe.names.push_back(kernel.name);
    }
    probes.push_back(std::move(probe));
  }
}

template <typename T>
std::shared_ptr<const Probes> probes_of(std::uint64_t tile) {
  const auto probes = std::make_shared<Probes>();
  const auto tiles = [&](std::uint64_t count) {
    return graphs::Tiles{.tiles = count, .tile = tile, .precision = kPrecisionOf<T>};
  };
  const Application of_cholesky =
      cholesky({.size = tile, .tile = tile, .precision = kPrecisionOf<T>});
  const auto add = [&](graphs::DenseGraph graph) {
    add_graph(*probes, application_of(std::move(graph)), of_cholesky);
  };
  // A step and the beginning of the next have all of LU's kernels.
  add(graphs::dense_lu(tiles(2)));
  // Block rows of four tiles, as if nothing else were asked for, while two of them are not too much.
  const std::uint64_t inner = 9 * tile * tile * sizeof(T) <= kMostBlockRow ? 0 : tile;
  add(graphs::dense_gemm2d(tiles(1), inner));
  add(graphs::dense_gemm3d(tiles(1)));
  // Last, since its names are those of other graphs as well and the first that matches counts.
  for (const TaskKernel& kernel : of_cholesky.kernels) probes->push_back({{kernel.name}, kernel});
  return probes;
}

// Of a tile whose diagonal dominates, so that it stands for a matrix and for a factor.
template <typename T>
std::vector<T> tile_content(std::uint64_t tile) {
  std::vector<T> content;
  const Generator generator(tile, 1);
  for (std::uint64_t j = 0; j < tile; ++j) {
    for (std::uint64_t i = 0; i < tile; ++i) {
      content.push_back(static_cast<T>(generator.element(i, j)));
    }
  }
  return content;
}

// Slots of one tile in memory like the runtime's: in huge pages, replicas at multiples of 4 KiB. All have
// the same content.
template <typename T>
class Pool {
 public:
  Pool(std::uint64_t tile, Bytes wanted, std::uint64_t largest_task)
      : slot_(round_up(tile * tile * sizeof(T), kPage)),
        bytes_(round_up(std::max(wanted.value, largest_task), slot_)),
        memory_(
            static_cast<std::byte*>(std::aligned_alloc(kHugePage, round_up(bytes_, kHugePage)))),
        saved_(tile_content<T>(tile)) {
    if (memory_ == nullptr) throw std::bad_alloc();
    madvise(memory_.get(), bytes_, MADV_HUGEPAGE);  // refused: small pages serve as well
    saved_.resize(slot_ / sizeof(T));
    restore(memory_.get(), bytes_);
  }

  std::uint64_t slots(std::uint64_t bytes) const { return round_up(bytes, slot_); }

  // The next slots that hold so many bytes.
  std::byte* take(std::uint64_t bytes) {
    if (next_ + slots(bytes) > bytes_) next_ = 0;
    std::byte* const taken = memory_.get() + next_;
    next_ += slots(bytes);
    return taken;
  }

  void restore(std::byte* taken, std::uint64_t bytes) const {
    for (std::uint64_t at = 0; at < slots(bytes); at += slot_) {
      std::memcpy(taken + at, saved_.data(), slot_);
    }
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::uint64_t slot_;
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<T> saved_;
  std::uint64_t next_ = 0;
};

// In each thread. Every call takes the next slots and leaves what it wrote as it was, so that numbers
// neither grow nor vanish (denormals are slow), and nothing that it takes is in a core's cache for that.
template <typename T>
class Bench {
 public:
  Bench(std::uint64_t tile, Bytes memory, std::shared_ptr<const Probes> probes)
      : probes_(std::move(probes)), pool_(tile, memory, largest_task(*probes_, tile)) {}

  // Seconds of one run of all its calls.
  double run(std::size_t kernel) {
    double seconds = 0;
    const TaskKernel& of_probe = (*probes_)[kernel].kernel;
    for (const KernelCall& call : of_probe.calls) seconds += time(of_probe.codelet, call);
    return seconds;
  }

 private:
  static constexpr std::size_t kMostViews = 3;

  // With a slot of padding per operand.
  static std::uint64_t largest_task(const Probes& probes, std::uint64_t tile) {
    std::uint64_t most = 0;
    for (const Probe& probe : probes) {
      for (const KernelCall& call : probe.kernel.calls) {
        std::uint64_t bytes = 0;
        for (const TileShape& shape : call.operands) {
          bytes += shape.layout().bytes().value + tile * tile * sizeof(T) + kPage;
        }
        most = std::max(most, bytes);
      }
    }
    return most;
  }

  double time(const Codelet& codelet, const KernelCall& call) {
    std::array<OperandView, kMostViews> views;
    const std::size_t count = call.operands.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Layout layout = call.operands[i].layout();
      views[i] = {pool_.take(layout.bytes().value), layout};
    }
    KernelContext context(views.data(), count, reinterpret_cast<const std::byte*>(&call.index),
                          sizeof(call.index), WorkerId{0});
    const double start = seconds_now();
    codelet.cpu(context);
    const double seconds = seconds_now() - start;
    const OperandView& written = views[count - 1];
    pool_.restore(written.address, written.layout.bytes().value);
    return seconds;
  }

  std::shared_ptr<const Probes> probes_;
  Pool<T> pool_;
};

// The calls of a task, for devices.
std::vector<calibration::KernelSet::Call> calls_of(const std::shared_ptr<const Probes>& probes,
                                                   const Probe& probe) {
  std::vector<calibration::KernelSet::Call> calls;
  for (const KernelCall& call : probe.kernel.calls) {
    calibration::KernelSet::Call& of = calls.emplace_back();
    of.codelet = std::shared_ptr<const Codelet>(probes, &probe.kernel.codelet);
    for (const TileShape& shape : call.operands) of.operands.push_back(shape.layout().packed());
    const auto* const index = reinterpret_cast<const std::byte*>(&call.index);
    of.parameters.assign(index, index + sizeof(call.index));
  }
  return calls;
}

template <typename T>
calibration::KernelSet kernel_set(std::uint64_t tile, Bytes memory) {
  const auto probes = probes_of<T>(tile);
  calibration::KernelSet set;
  set.precision = to_string(kPrecisionOf<T>);
  for (const Probe& probe : *probes) {
    set.kernels.push_back({probe.names, probe.flops(), calls_of(probes, probe)});
  }
  set.fill = [content = tile_content<T>(tile)](std::byte* to, Bytes bytes) {
    const std::uint64_t of_tile = content.size() * sizeof(T);
    for (std::uint64_t at = 0; at < bytes.value; at += of_tile) {
      std::memcpy(to + at, content.data(), std::min(of_tile, bytes.value - at));
    }
  };
  set.prepare = [tile, memory, probes] {
    auto bench = std::make_shared<Bench<T>>(tile, memory, probes);
    return [bench](std::size_t kernel) { return bench->run(kernel); };
  };
  return set;
}

}  // namespace

std::vector<calibration::KernelSet> kernel_sets(std::uint64_t tile, std::optional<Bytes> memory) {
  constexpr Bytes kMost{kMostPoolBytes};
  const Bytes pool = std::min(memory.value_or(kMost), kMost);
  return {kernel_set<double>(tile, pool), kernel_set<float>(tile, pool)};
}

}  // namespace vicinal::linalg
