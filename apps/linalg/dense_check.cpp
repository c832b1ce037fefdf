#include "linalg/dense_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vicinal::linalg {

namespace {

using graphs::DenseGraph;
using graphs::MatrixBlock;

bool is_lu(const DenseGraph& graph) {
  return graph.tasks.application().name == "lu";
}

// How a vector of so many elements is cut. Only one dimension of the grid counts.
TileGrid cut(const DenseGraph& graph, std::uint64_t size, std::uint64_t tile) {
  return {.size = size, .tile = tile, .precision = graph.tiles.precision};
}

// Columns of a block of A, which are rows of one of B.
std::uint64_t inner_block(const DenseGraph& graph) {
  const auto is_a = [](const MatrixBlock& block) { return block.matrix == 'A'; };
  return std::find_if(graph.blocks.begin(), graph.blocks.end(), is_a)->columns;
}

class Multiplier {
 public:
  Multiplier(Runtime& runtime, const DenseData& data) : runtime_(runtime), data_(data) {}

  // y += block x, as tasks have left it.
  void stored(std::size_t d, Part part, const Segments& x, const Segments& y) {
    const MatrixBlock& block = data_.graph().blocks[d];
    submit_multiply(runtime_, data_.precision(), data_[d], part, x.from(block.first_column),
                    y.from(block.first_row));
  }
  // As it was at the start.
  void generated(std::size_t d, const Segments& x, const Segments& y) {
    const MatrixBlock& block = data_.graph().blocks[d];
    submit_multiply(runtime_, data_.precision(), data_.content(d), x.from(block.first_column),
                    y.from(block.first_row));
  }
  // Of all blocks of one matrix.
  void generated(char matrix, const Segments& x, const Segments& y) {
    for (std::size_t d = 0; d < data_.graph().blocks.size(); ++d) {
      if (data_.graph().blocks[d].matrix == matrix) generated(d, x, y);
    }
  }

 private:
  Runtime& runtime_;
  const DenseData& data_;
};

// z = L (U x), row of tiles by row of tiles: w_i = (U x)_i needs the row from the diagonal on, and z_i the
// row up to the diagonal with the w_j so far. So every tile is loaded once, one on the diagonal perhaps twice.
void submit_factors(Multiplier& multiply, std::size_t tiles, const Segments& x, const Segments& w,
                    const Segments& z) {
  for (std::size_t i = 0; i < tiles; ++i) {
    const std::size_t row = i * tiles;  // data are numbered by rows
    for (std::size_t j = tiles; j-- > i;) {
      multiply.stored(row + j, j == i ? Part::upper : Part::whole, x, w);
    }
    for (std::size_t j = i + 1; j-- > 0;) {
      multiply.stored(row + j, j == i ? Part::unit_lower : Part::whole, w, z);
    }
  }
}

void submit_result(Multiplier& multiply, const DenseGraph& graph, const Segments& x,
                   const Segments& y) {
  for (std::size_t d = 0; d < graph.blocks.size(); ++d) {
    if (graph.blocks[d].matrix == 'C') multiply.stored(d, Part::whole, x, y);
  }
}

}  // namespace

double dense_tolerance(const DenseGraph& graph) {
  const double u = roundoff(graph.tiles.precision);
  auto roundings = static_cast<double>(graph.tiles.tile + graph.tiles.tiles);
  if (is_lu(graph)) return 4 * 1.63 * std::sqrt(roundings) * u;
  const std::uint64_t block = inner_block(graph);
  const std::uint64_t steps = graph.tasks.application().dense->k / block;
  roundings = std::max(roundings, static_cast<double>(block + steps));
  return 4 * std::sqrt(roundings) * u;
}

Residual check_dense(Runtime& runtime, const DenseData& data) {
  const DenseGraph& graph = data.graph();
  const TileGrid outer = cut(graph, graph.order(), graph.tiles.tile);
  Segments x(runtime, outer);
  Segments y(runtime, outer);
  Segments w(runtime, is_lu(graph)
                          ? outer
                          : cut(graph, graph.tasks.application().dense->k, inner_block(graph)));
  Segments z(runtime, outer);
  set_random_signs(x);  // no task uses it yet
  Multiplier multiply(runtime, data);
  if (is_lu(graph)) {
    multiply.generated('A', x, y);
    submit_factors(multiply, graph.tiles.tiles, x, w, z);
  } else {
    submit_result(multiply, graph, x, y);
    multiply.generated('B', x, w);
    multiply.generated('A', w, z);
  }
  runtime.wait();
  y.release();
  z.release();
  return {relative_difference(y, z), dense_tolerance(graph)};
}

std::uint64_t check_tasks(const DenseGraph& graph) {
  const std::uint64_t blocks = graph.blocks.size();
  return is_lu(graph) ? 2 * blocks + graph.tiles.tiles : blocks;
}

}  // namespace vicinal::linalg
