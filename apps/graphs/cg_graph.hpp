// Conjugate gradients without preconditioner (Hestenes and Stiefel 1952) on a sparse matrix in blocks of rows, as tasks in
// the order of their submission: what apps/sparse runs, and what is simulated.
//
//   spmv(i)       R A_i, R p_i, R p_j of its neighbours j, W q_i, reduces into pq     q_i <- A_i p,  pq <- p . q
//   alpha         R rr, R pq, W alpha, W rr'                                          alpha <- rr / pq,  rr' <- 0
//   update(i)     R alpha, R p_i, R q_i, RW x_i, RW r_i, reduces into rr'             x += alpha p,  r -= alpha q,  rr' <- r . r
//   beta          R rr, R rr', W beta, W pq                                           beta <- rr' / rr,  pq <- 0
//   direction(i)  R beta, R r_i, RW p_i                                               p <- r + beta p
//
// In the next iteration rr and rr' change places. On several ranks the tasks of all reduce into the same sums, of rank 0, which
// computes alpha and beta for all: with P ranks P - 1 numbers come up a tree for each sum, and P - 1 go down one. Or each
// rank has the sums of its blocks, rr, rr' and pq, and an alpha and a beta of its own, which it computes from the sums of
// all: P (P - 1) numbers travel for each sum. The ranks add in the same order, so that all have the same alpha.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graphs/poisson.hpp"
#include "graphs/row_blocks.hpp"

namespace vicinal::graphs {

enum class CgKernel : std::uint8_t { spmv, alpha, update, beta, direction };
inline constexpr std::array<std::string_view, 5> kCgKernelNames{"spmv", "alpha", "update", "beta",
                                                                "direction"};

enum class CgSums : std::uint8_t { of_all, of_each_rank };

class CgSequence {
 public:
  using Access = graph::Graph::Access;
  using Number = graph::Graph::Number;
  static constexpr std::uint64_t kMostBlocks = 4096;
  static constexpr std::uint32_t kMostRanks = 2048;  // alpha reads two numbers of each

  struct Datum {
    std::string name;
    Bytes bytes;
    std::uint32_t rank = 0;   // that owns it
    bool has_content = true;  // before the first iteration
    bool is_sum = false;      // tasks reduce into it
  };
  struct Task {
    CgKernel kernel{};
    std::uint32_t index = 0;  // block, or of alpha and beta rank
    std::uint32_t rank = 0;   // that runs it
    std::span<const Access> accesses;
  };
  using Visitor = std::function<void(const Task&)>;

  // Blocks are dealt to the ranks in order, as many to each as to the others, or one more.
  explicit CgSequence(std::vector<RowBlock> blocks, std::uint32_t ranks = 1,
                      CgSums sums = CgSums::of_all);

  const std::vector<RowBlock>& blocks() const { return blocks_; }
  std::uint32_t ranks() const { return ranks_; }
  // How many there are of each sum and number: those of ranks from 0 on.
  std::uint32_t sums() const { return sums_; }
  std::uint64_t rows() const { return blocks_.back().first + blocks_.back().rows; }
  std::uint64_t entries() const;
  // The data by number. Of a block:
  const std::vector<Datum>& data() const { return data_; }
  Number matrix(std::size_t block) const { return number(block, 0); }
  Number x(std::size_t block) const { return number(block, 1); }
  Number r(std::size_t block) const { return number(block, 2); }
  Number p(std::size_t block) const { return number(block, 3); }
  Number q(std::size_t block) const { return number(block, 4); }
  // For a rank, 8 bytes each; `rr` before this iteration.
  Number rr(std::uint32_t rank, std::uint64_t iteration) const {
    return scalar(rank, static_cast<std::size_t>(iteration % 2));
  }
  Number pq(std::uint32_t rank) const { return scalar(rank, 2); }
  Number alpha(std::uint32_t rank) const { return scalar(rank, 3); }
  Number beta(std::uint32_t rank) const { return scalar(rank, 4); }
  std::uint32_t rank_of(std::size_t block) const {
    return static_cast<std::uint32_t>(block * ranks_ / blocks_.size());
  }

  std::uint64_t tasks_per_iteration() const { return 3 * blocks_.size() + 2 * sums_; }
  // 2 for each entry and 10 for each row.
  double flops_per_iteration() const;
  // Accesses are valid while a task is visited.
  void visit_iteration(std::uint64_t iteration, const Visitor& visit) const;
  // A product with the matrix, as spmv: block `block` of A `from` goes to `to`, and `from` times that is added to pq.
  std::vector<Access> product(std::size_t block, Number (CgSequence::*from)(std::size_t) const,
                              Number to) const;

 private:
  static constexpr std::size_t kOfBlock = 5;
  Number number(std::size_t block, std::size_t which) const {
    return static_cast<Number>(kOfBlock * block + which);
  }
  Number scalar(std::uint32_t rank, std::size_t which) const {
    const std::size_t of = sums_ == 1 ? 0 : rank;
    return static_cast<Number>(kOfBlock * blocks_.size() + 5 * of + which);
  }
  void visit_scalar(CgKernel kernel, std::uint64_t iteration, const Visitor& visit) const;

  std::vector<RowBlock> blocks_;
  std::uint32_t ranks_ = 1;
  std::uint32_t sums_ = 1;
  std::vector<Datum> data_;
};

struct CgShape {
  PoissonGrid grid;
  std::uint64_t blocks = 16;
  std::uint64_t iterations = 10;
};
// The iterations. Kernels take as long as their bytes at the rates of kSimulatedMemory. Throws UsageError for what is out
// of range.
graph::Graph cg(const CgShape& shape);
// The same of any matrix.
graph::Graph cg_graph(const CgSequence& sequence, std::uint64_t iterations);

}  // namespace vicinal::graphs
