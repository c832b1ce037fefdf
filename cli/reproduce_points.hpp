// The simulations of a figure, two at a time, each kept when it has ended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "reproduction/point_file.hpp"
#include "reproduction/results.hpp"
#include "session.hpp"

namespace vicinal::cli {

// Of a factorisation or a product; throws UsageError where no generator has that name.
graph::Graph graph_of(const std::string& application, std::uint64_t tiles, std::uint64_t tile,
                      std::string_view precision, std::uint64_t panel = 0,
                      std::uint64_t columns = 0);

// Those of `points` that the file does not have. Progress is told on the standard error. What went wrong, a sentence
// per point; interrupted, the process says how far it came and ends.
std::vector<std::string> measure_points(const std::vector<reproduction::Point>& points,
                                        reproduction::PointFile& file, std::string_view figure,
                                        Session& session);

}  // namespace vicinal::cli
