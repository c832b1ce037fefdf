#include "linalg/dense_tasks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "linalg/kernel_times.hpp"
#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

using graphs::DenseGraph;
using tools::GraphTask;

template <typename T>
void getrf_kernel(KernelContext& context) {
  const int info = getrf_without_pivoting(operand_block<T>(context, 0));
  if (info == 0) return;
  const auto index = context.parameter<TaskIndex>();
  const std::uint64_t row = std::uint64_t{index.k} * index.tile + static_cast<unsigned>(info) - 1;
  throw TaskError(
      fmt::format("getrf({0}): the matrix needs pivoting: pivot {1} of tile ({0},{0}), row {2} of "
                  "the matrix, is 0",
                  index.k, info - 1, row));
}

template <typename T>
void trsm_kernel(KernelContext& context) {
  const auto index = context.parameter<TaskIndex>();
  const Block<T> factor = operand_block<T>(context, 0);
  const Block<T> tile = operand_block<T>(context, 1);
  index.i == index.k ? trsm_left_lower_unit(factor, tile) : trsm_right_upper(factor, tile);
}

template <typename T, Update kUpdate>
void gemm_kernel(KernelContext& context) {
  gemm(kUpdate, operand_block<T>(context, 0), operand_block<T>(context, 1),
       operand_block<T>(context, 2));
}

struct KernelCode {
  std::string_view graph;
  std::string_view kernel;
  Codelet single;
  Codelet twice;
};

// Constants, so that they outlive every runtime. The operations of a task are the graph's to say. Named
// as in machine files: learned run times are kept by the codelet's name, and Cholesky's gemm and trsm are
// other code.
const std::array<KernelCode, 5>& all_code() {
  static const std::array<KernelCode, 5> code{{
      {"lu",
       "getrf",
       {.name = "getrf", .cpu = getrf_kernel<float>},
       {.name = "getrf", .cpu = getrf_kernel<double>}},
      {"lu",
       "trsm",
       {.name = "lu.trsm", .cpu = trsm_kernel<float>},
       {.name = "lu.trsm", .cpu = trsm_kernel<double>}},
      {"lu",
       "gemm",
       {.name = "lu.gemm", .cpu = gemm_kernel<float, Update::subtract>},
       {.name = "lu.gemm", .cpu = gemm_kernel<double, Update::subtract>}},
      {"gemm2d",
       "gemm2d",
       {.name = "gemm2d", .cpu = gemm_kernel<float, Update::assign>},
       {.name = "gemm2d", .cpu = gemm_kernel<double, Update::assign>}},
      {"gemm3d",
       "gemm",
       {.name = "gemm3d.gemm", .cpu = gemm_kernel<float, Update::add>},
       {.name = "gemm3d.gemm", .cpu = gemm_kernel<double, Update::add>}},
  }};
  return code;
}

std::vector<TileShape> operand_shapes(const DenseGraph& graph, const GraphTask& task) {
  std::vector<TileShape> shapes;
  for (const tools::GraphAccess& access : graph.tasks.accesses_of(task)) {
    const graphs::MatrixBlock& block = graph.blocks[access.datum];
    shapes.push_back({block.rows, block.columns, 0, element_bytes(graph.tiles.precision)});
  }
  return shapes;
}

}  // namespace

const Codelet& dense_codelet(std::string_view graph, std::string_view kernel, Precision precision) {
  prepare_openblas();
  for (const KernelCode& code : all_code()) {
    if (code.graph != graph || code.kernel != kernel) continue;
    return precision == Precision::f32 ? code.single : code.twice;
  }
  throw std::invalid_argument(fmt::format("kernel {} of {} has no code", kernel, graph));
}

std::vector<const Codelet*> dense_codelets(const DenseGraph& graph) {
  std::vector<const Codelet*> codelets;
  for (const tools::GraphKernel& kernel : graph.tasks.kernels) {
    codelets.push_back(&dense_codelet(graph.tasks.name, kernel.name, graph.tiles.precision));
  }
  return codelets;
}

TaskIndex task_index(const DenseGraph& graph, const GraphTask& task) {
  const auto accesses = graph.tasks.accesses_of(task);
  const graphs::MatrixBlock& read = graph.blocks[accesses.front().datum];
  const graphs::MatrixBlock& written = graph.blocks[accesses.back().datum];
  const auto tile_of = [&](std::uint64_t element) {
    return static_cast<std::uint32_t>(element / graph.tiles.tile);
  };
  return {.i = tile_of(written.first_row),
          .j = tile_of(written.first_column),
          .k = tile_of(read.first_column),
          .tile = static_cast<std::uint32_t>(graph.tiles.tile)};
}

std::string task_name(const DenseGraph& graph, const GraphTask& task) {
  const std::string& kernel = graph.tasks.kernels[task.kernel].name;
  const TaskIndex index = task_index(graph, task);
  if (task.access_count == 1) return fmt::format("{}({})", kernel, index.k);
  if (task.access_count == 2) return fmt::format("{}({},{})", kernel, index.i, index.j);
  return fmt::format("{}({},{},{})", kernel, index.i, index.j, index.k);
}

std::vector<std::vector<KernelCall>> kernel_calls(const DenseGraph& graph) {
  const auto codelets = dense_codelets(graph);
  const auto& tasks = graph.tasks.tasks;
  std::vector<std::vector<KernelCall>> calls(codelets.size());
  for (std::size_t k = 0; k < codelets.size(); ++k) {
    const auto is_of_kernel = [&](const GraphTask& task) { return task.kernel == k; };
    const auto call = [&](const GraphTask& task) {
      return KernelCall{codelets[k], operand_shapes(graph, task), task_index(graph, task)};
    };
    const auto first = std::find_if(tasks.begin(), tasks.end(), is_of_kernel);
    if (first == tasks.end()) continue;
    const auto last = std::find_if(tasks.rbegin(), tasks.rend(), is_of_kernel);
    calls[k] = {call(*first), call(*last)};
  }
  return calls;
}

std::vector<double> measure_kernels(const DenseGraph& graph) {
  std::vector<double> seconds;
  for (const auto& calls : kernel_calls(graph)) {
    std::vector<double> each;
    each.reserve(calls.size());
    for (const KernelCall& call : calls) {
      each.push_back(measure_codelet(*call.codelet, call.operands, call.index));
    }
    // A bound takes the faster.
    seconds.push_back(each.empty() ? 0 : *std::min_element(each.begin(), each.end()));
  }
  return seconds;
}

}  // namespace vicinal::linalg
