// The dense applications by name, and what they take of a memory.
#pragma once

#include <string>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/run.hpp"
#include "support/linalg_runs.hpp"

namespace vicinal::testing {

inline const std::vector<std::string> kDenseNames{"cholesky", "lu", "gemm2d", "gemm3d"};
inline const std::vector<linalg::Precision> kPrecisions{linalg::Precision::f32,
                                                        linalg::Precision::f64};

inline linalg::Application application_named(const std::string& name, const graphs::Tiles& tiles,
                                             std::uint64_t inner = 0) {
  if (name == "cholesky") {
    return linalg::cholesky({tiles.tiles * tiles.tile, tiles.tile, tiles.precision});
  }
  return linalg::application_of(graphs::dense_graph(name, tiles, inner));
}

inline Bytes all_data(const linalg::Application& application) {
  Bytes sum;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    sum += padded(application.shape(d).layout().bytes());
  }
  return sum;
}

inline Bytes largest_task(const linalg::Application& application) {
  Bytes sum;
  for (const auto& shape : application.largest_task) sum += padded(shape.layout().bytes());
  return sum;
}

}  // namespace vicinal::testing
