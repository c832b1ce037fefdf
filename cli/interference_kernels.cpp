#include "interference_kernels.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graphs/poisson.hpp"
#include "graphs/row_blocks.hpp"
#include "sparse/row_block.hpp"

#if VICINAL_HAVE_BLAS
#include "linalg/kernel_probes.hpp"
#endif

namespace vicinal::cli {

namespace {

// Poisson's equation in blocks of rows: a thread's own, of which each run multiplies the next.
class Product {
 public:
  static constexpr std::uint64_t kEdge = 768;
  static constexpr std::uint64_t kBlocks = 16;

  Product() : x_(grid().points(), 1.0), y_(grid().points()) {
    std::vector<std::uint64_t> seen_by(kBlocks, kBlocks);
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      const graphs::RowBlock block = graphs::row_block(grid(), cut_, b, seen_by);
      One& one = blocks_.emplace_back();
      one.bytes.resize(block.bytes().value);
      one.from.push_back(x_.data() + block.first);
      for (const std::uint32_t of : block.neighbours)
        one.from.push_back(x_.data() + cut_.first(of));
      one.to = y_.data() + block.first;
      sparse::store_block(grid(), cut_, b, one.bytes.data());
    }
  }
  static graphs::PoissonGrid grid() { return {.edges = {kEdge, kEdge, 1}, .dimensions = 2}; }

  double run() {
    One& one = blocks_[next_];
    next_ = (next_ + 1) % kBlocks;
    const auto begin = std::chrono::steady_clock::now();
    sparse::multiply(sparse::StoredBlock(one.bytes.data()), one.from, one.to);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  struct One {
    std::vector<std::byte> bytes;
    std::vector<const double*> from;
    double* to = nullptr;
  };
  graphs::RowCut cut_{grid().points(), kBlocks};
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<One> blocks_;
  std::size_t next_ = 0;
};

interference::PreparedKernel product() {
  interference::PreparedKernel kernel;
  kernel.set.kernels = {{.names = {"cg"}}};
  kernel.set.prepare = [] {
    return [product = std::make_shared<Product>()](std::size_t) { return product->run(); };
  };
  return kernel;
}

#if VICINAL_HAVE_BLAS
// Of tiles that lie in memory, in double.
void add_gemm(std::map<std::string, interference::PreparedKernel>& kernels) {
  constexpr std::uint64_t kTile = 256;
  const calibration::KernelSet set = linalg::kernel_sets(kTile).front();
  for (std::size_t k = 0; k < set.kernels.size(); ++k) {
    if (set.kernels[k].names.front() != "gemm") continue;
    interference::PreparedKernel gemm;
    gemm.set = set;
    gemm.set.kernels = {set.kernels[k]};
    gemm.set.prepare = [prepare = set.prepare, k] {
      return [run = prepare(), k](std::size_t) { return run(k); };
    };
    kernels.emplace("gemm", std::move(gemm));
    return;
  }
}
#endif

}  // namespace

std::map<std::string, interference::PreparedKernel> kernels_of_applications() {
  std::map<std::string, interference::PreparedKernel> kernels;
  kernels.emplace("cg", product());
#if VICINAL_HAVE_BLAS
  add_gemm(kernels);
#endif
  return kernels;
}

}  // namespace vicinal::cli
