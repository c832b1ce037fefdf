// What vicinal calibrate times: every kernel that an application runs, and no other in its place.
#if VICINAL_HAVE_BLAS

#include "linalg/kernel_probes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"

namespace vicinal::linalg {
namespace {

using calibration::KernelSet;

// Of the first that goes by the name; the number of kernels if none does.
std::ptrdiff_t place(const KernelSet& set, const std::string& name) {
  const auto found = std::ranges::find_if(set.kernels, [&](const KernelSet::Kernel& kernel) {
    return std::ranges::count(kernel.names, name) > 0;
  });
  return found - set.kernels.begin();
}

bool has(const KernelSet& set, const std::string& name) {
  return place(set, name) < std::ssize(set.kernels);
}

TEST(KernelProbes, EveryKernelOfEveryApplicationIsTimedUnderItsOwnName) {
  const graphs::Tiles tiles{.tiles = 3, .tile = 16};
  const std::vector<graph::Graph> graphs{graphs::lu(tiles), graphs::gemm2d(tiles),
                                         graphs::gemm3d(tiles)};
  for (const KernelSet& set : kernel_sets(16)) {
    for (const char* name : {"potrf", "trsm", "syrk", "gemm", "getrf", "gemm2d"}) {
      EXPECT_TRUE(has(set, name)) << name;
    }
    for (const graph::Graph& graph : graphs) {
      for (const graph::Graph::Kernel& kernel : graph.kernels()) {
        EXPECT_TRUE(has(set, graph.application().name + "." + kernel.name))
            << graph.application().name << kernel.name;
      }
    }
    // In a machine file the first that matches counts: gemm, of any graph, comes behind lu.gemm.
    for (const char* name : {"lu.gemm", "gemm3d.gemm"}) {
      EXPECT_LT(place(set, name), place(set, "gemm")) << name;
    }
    EXPECT_LT(place(set, "lu.trsm"), place(set, "trsm"));
  }
}

TEST(KernelProbes, RunAnyNumberOfTimesOnTilesOfAnySize) {
  for (const std::uint64_t tile : {16U, 100U}) {  // 100 x 100 elements end within a page
    for (const KernelSet& set : kernel_sets(tile)) {
      const auto run = set.prepare();
      for (std::size_t kernel = 0; kernel < set.kernels.size(); ++kernel) {
        for (int i = 0; i < 500; ++i)
          EXPECT_GE(run(kernel), 0);  // potrf and getrf throw where a tile is spoilt
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
