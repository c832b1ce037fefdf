// What vicinal calibrate times: every kernel that an application runs, and no other in its place.
#if VICINAL_HAVE_BLAS

#include "linalg/kernel_probes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"

namespace vicinal::linalg {
namespace {

using tools::KernelSet;

bool has(const KernelSet& set, const std::string& name) {
  return std::ranges::any_of(set.kernels, [&](const KernelSet::Kernel& kernel) {
    return std::ranges::count(kernel.names, name) > 0;
  });
}

TEST(KernelProbes, EveryKernelOfEveryApplicationIsTimedUnderItsOwnName) {
  const graphs::Tiles tiles{.tiles = 3, .tile = 16};
  const std::vector<tools::TaskGraph> graphs{graphs::lu(tiles), graphs::gemm2d(tiles),
                                             graphs::gemm3d(tiles)};
  for (const KernelSet& set : kernel_sets(16)) {
    for (const char* name : {"potrf", "trsm", "syrk", "gemm", "getrf", "gemm2d"}) {
      EXPECT_TRUE(has(set, name)) << name;
    }
    for (const tools::TaskGraph& graph : graphs) {
      for (const tools::GraphKernel& kernel : graph.kernels) {
        EXPECT_TRUE(has(set, graph.name + "." + kernel.name)) << graph.name << kernel.name;
      }
    }
    // Nobody else's gemm and trsm go by Cholesky's names.
    for (const KernelSet::Kernel& kernel : set.kernels) {
      if (kernel.names.size() > 1) {
        EXPECT_TRUE(kernel.names[1] == "getrf" || kernel.names[1] == "gemm2d") << kernel.names[1];
      }
    }
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
