#include "linalg/tiled_matrix.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

namespace {

template <typename Register>
std::vector<Handle> register_tiles(const TileGrid& grid, const std::string& name, Register&& one) {
  std::vector<Handle> tiles;
  tiles.reserve(grid.lower_tiles());
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i) {
      tiles.push_back(one(i, j, fmt::format("{}({},{})", name, i, j)));
    }
  }
  return tiles;
}

template <typename T>
void generate_kernel(KernelContext& context) {
  const auto parameters = context.parameter<GeneratedPart>();
  const Layout& layout = context.operand(0).layout;
  for (std::uint64_t j = 0; j < layout.columns; ++j) {
    T* column = context.data<T>(0) + j * layout.leading_dimension();
    for (std::uint64_t i = 0; i < layout.rows(); ++i) {
      column[i] = static_cast<T>(
          parameters.generator.element(parameters.first_row + i, parameters.first_column + j));
    }
  }
}

void copy_kernel(KernelContext& context) {
  const OperandView& from = context.operand(0);
  const OperandView& to = context.operand(1);
  for (std::uint64_t j = 0; j < to.layout.columns; ++j) {
    std::copy_n(from.address + j * from.layout.stride_bytes, to.layout.column_bytes,
                to.address + j * to.layout.stride_bytes);
  }
}

// Constants, so that they outlive every runtime.
const Codelet& generate_codelet(Precision precision) {
  static const Codelet single{.name = "generate", .cpu = generate_kernel<float>};
  static const Codelet twice{.name = "generate", .cpu = generate_kernel<double>};
  return precision == Precision::f32 ? single : twice;
}
const Codelet& copy_codelet() {
  static const Codelet codelet{.name = "copy", .cpu = copy_kernel};
  return codelet;
}

}  // namespace

TiledMatrix TiledMatrix::empty(Runtime& runtime, const TileGrid& grid, const std::string& name) {
  TiledMatrix matrix(grid);
  matrix.tiles_ = register_tiles(grid, name, [&](auto i, auto j, std::string tile_name) {
    return runtime.register_empty(grid.shape(i, j), std::move(tile_name));
  });
  return matrix;
}

TiledMatrix TiledMatrix::from_file(Runtime& runtime, const TileFile& file, bool writable,
                                   const std::string& name) {
  TiledMatrix matrix(file.grid());
  matrix.tiles_ = register_tiles(file.grid(), name, [&](auto i, auto j, std::string tile_name) {
    return runtime.register_file(file.region(i, j, writable), file.grid().shape(i, j),
                                 std::move(tile_name));
  });
  return matrix;
}

void TiledMatrix::unregister(Runtime& runtime, WriteBack write_back) {
  std::exception_ptr first;
  for (const Handle tile : tiles_) {
    try {
      runtime.unregister(tile, write_back);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  tiles_.clear();
  if (first) std::rethrow_exception(first);
}

void submit_generate(Runtime& runtime, Handle tile, Precision precision,
                     const GeneratedPart& part) {
  runtime.submit(
      {.codelet = &generate_codelet(precision), .operands = {W(tile)}, .parameters = part});
}

std::uint64_t fill(Runtime& runtime, const TiledMatrix& matrix, const Content& content) {
  const TileGrid& grid = matrix.grid();
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i) {
      if (const auto* generator = std::get_if<Generator>(&content)) {
        submit_generate(runtime, matrix.tile(i, j), grid.precision,
                        {*generator, grid.first(i), grid.first(j)});
      } else {
        const TiledMatrix& from = *std::get<const TiledMatrix*>(content);
        runtime.submit(
            {.codelet = &copy_codelet(), .operands = {R(from.tile(i, j)), W(matrix.tile(i, j))}});
      }
    }
  }
  return grid.lower_tiles();
}

}  // namespace vicinal::linalg
