// As ../gemm.cpp, with codelets.

#include <cstdint>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {

constexpr std::uint64_t kTiles = 4;
constexpr std::uint64_t kTile = 64;

void fill_kernel(KernelContext& k) {
  const auto value = k.parameter<double>();
  const Layout& layout = k.operand(0).layout;
  double* tile = k.data<double>(0);
  for (std::uint64_t j = 0; j < layout.columns; ++j)
    for (std::uint64_t i = 0; i < layout.rows(); ++i)
      tile[i + j * layout.leading_dimension()] = value;
}
const Codelet fill_codelet{.name = "fill", .cpu = fill_kernel};

void gemm_kernel(KernelContext& k) {
  const double* a = k.data<double>(0);
  const double* b = k.data<double>(1);
  double* c = k.data<double>(2);
  const std::uint64_t lda = k.leading_dimension(0);
  const std::uint64_t ldb = k.leading_dimension(1);
  const std::uint64_t ldc = k.leading_dimension(2);
  const std::uint64_t inner = k.operand(0).layout.columns;
  const Layout& layout = k.operand(2).layout;
  for (std::uint64_t j = 0; j < layout.columns; ++j)
    for (std::uint64_t l = 0; l < inner; ++l)
      for (std::uint64_t i = 0; i < layout.rows(); ++i)
        c[i + j * ldc] += a[i + l * lda] * b[l + j * ldb];
}
const Codelet gemm_codelet{.name = "gemm", .cpu = gemm_kernel};

std::vector<Handle> make_matrix(Runtime& runtime, const std::string& name, double value) {
  std::vector<Handle> tiles;
  for (std::uint64_t j = 0; j < kTiles; ++j) {
    for (std::uint64_t i = 0; i < kTiles; ++i) {
      const std::string place = "(" + std::to_string(i) + "," + std::to_string(j) + ")";
      tiles.push_back(runtime.register_empty({.rows = kTile, .columns = kTile}, name + place));
      runtime.submit(
          {.codelet = &fill_codelet, .operands = {W(tiles.back())}, .parameters = value});
    }
  }
  return tiles;
}

}  // namespace

int main() {
  Runtime runtime({.memory = Bytes{64 * 64 * sizeof(double)} * 12, .disk = "."});
  const std::vector<Handle> a = make_matrix(runtime, "A", 1.0);
  const std::vector<Handle> b = make_matrix(runtime, "B", 2.0);
  const std::vector<Handle> c = make_matrix(runtime, "C", 0.0);
  for (std::uint64_t j = 0; j < kTiles; ++j) {
    for (std::uint64_t i = 0; i < kTiles; ++i) {
      for (std::uint64_t k = 0; k < kTiles; ++k) {
        runtime.submit(
            {.codelet = &gemm_codelet,
             .operands = {R(a[i + k * kTiles]), R(b[k + j * kTiles]), RW(c[i + j * kTiles])}});
      }
    }
  }
  const Acquired tile = runtime.acquire(c[3 + 2 * kTiles], AccessMode::R);
  const std::uint64_t last = 63 + 63 * tile.view().layout.leading_dimension();
  return tile.data<double>()[last] == 2 * 256 ? 0 : 1;  // a sum of 256 products
}
