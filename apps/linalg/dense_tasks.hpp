// Code for the tasks of dense graphs (graphs/linalg_graphs.hpp): LU and products.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/linalg_graphs.hpp"
#include "linalg/kernel_operands.hpp"
#include "linalg/tile_grid.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// Of a kernel of a graph, by their names; a constant. Kernels take the operands in the order of the
// graph's accesses and TaskIndex for their parameter.
//   lu      getrf   RW A_kk                     L_kk below the diagonal of ones, U_kk on and above it
//           trsm    R A_kk, RW A_kj             L_kk^-1 A_kj
//           trsm    R A_kk, RW A_ik             A_ik U_kk^-1
//           gemm    R A_ik, R A_kj, RW A_ij     A_ij - A_ik A_kj
//   gemm2d  gemm2d  R A_i, R B_j, W C_ij        A_i B_j
//   gemm3d  gemm    R A_ik, R B_kj, RW C_ij     C_ij + A_ik B_kj
// getrf throws TaskError, naming tile and row, if a pivot is 0. Throws std::invalid_argument if there is
// no code.
const Codelet& dense_codelet(std::string_view graph, std::string_view kernel, Precision precision);
// One per kernel of the graph.
std::vector<const Codelet*> dense_codelets(const graphs::DenseGraph& graph);

// From the blocks of its first and last operand.
TaskIndex task_index(const graphs::DenseGraph& graph, const graph::Graph::Task& task);
// "getrf(2)", "trsm(3,2)", "gemm(3,4,2)"
std::string task_name(const graphs::DenseGraph& graph, const graph::Graph::Task& task);

// What is needed to run a task's kernel outside a runtime.
struct KernelCall {
  const Codelet* codelet = nullptr;
  std::vector<TileShape> operands;
  TaskIndex index;
};
// Per kernel of the graph its first task and its last, none if it has none: the first trsm of LU solves
// from the left, the last from the right, and there are as many of one as of the other.
std::vector<std::vector<KernelCall>> kernel_calls(const graphs::DenseGraph& graph);

// Seconds of one task per kernel of the graph, alone; see kernel_times.hpp.
std::vector<double> measure_kernels(const graphs::DenseGraph& graph);

}  // namespace vicinal::linalg
