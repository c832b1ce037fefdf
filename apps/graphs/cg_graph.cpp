#include "graphs/cg_graph.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "graphs/limits.hpp"
#include "vicinal/error.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::graphs {

using Access = CgSequence::Access;
using Number = CgSequence::Number;
using enum AccessMode;

CgSequence::CgSequence(std::vector<RowBlock> blocks, std::uint32_t ranks, CgSums sums)
    : blocks_(std::move(blocks)), ranks_(ranks), sums_(sums == CgSums::of_all ? 1 : ranks) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Bytes vector = blocks_[b].vector_bytes();
    const std::uint32_t rank = rank_of(b);
    const auto add = [&](std::string_view name, Bytes bytes, bool has_content) {
      data_.push_back({fmt::format("{}({})", name, b), bytes, rank, has_content, false});
    };
    add("A", blocks_[b].bytes(), true);
    add("x", vector, true);
    add("r", vector, true);
    add("p", vector, true);
    add("q", vector, false);
  }
  for (std::uint32_t rank = 0; rank < sums_; ++rank) {
    const auto add = [&](std::string_view name, bool has_content, bool is_sum) {
      std::string full = sums_ == 1 ? std::string(name) : fmt::format("{}({})", name, rank);
      data_.push_back({std::move(full), Bytes{sizeof(double)}, rank, has_content, is_sum});
    };
    add("rr", true, true);
    add("rr'", false, true);
    add("pq", true, true);
    add("alpha", false, false);
    add("beta", false, false);
  }
}

std::uint64_t CgSequence::entries() const {
  std::uint64_t sum = 0;
  for (const RowBlock& block : blocks_) sum += block.inner + block.outer;
  return sum;
}

double CgSequence::flops_per_iteration() const {
  return 2 * static_cast<double>(entries()) + 10 * static_cast<double>(rows());
}

std::vector<Access> CgSequence::product(std::size_t block,
                                        Number (CgSequence::*from)(std::size_t) const,
                                        Number to) const {
  std::vector<Access> accesses{{matrix(block), R}, {(this->*from)(block), R}};
  for (const std::uint32_t neighbour : blocks_[block].neighbours) {
    accesses.push_back({(this->*from)(neighbour), R});
  }
  accesses.push_back({to, W});
  accesses.push_back({pq(rank_of(block)), reduction});
  return accesses;
}

// alpha and beta, on every rank that has them.
void CgSequence::visit_scalar(CgKernel kernel, std::uint64_t iteration,
                              const Visitor& visit) const {
  const bool is_alpha = kernel == CgKernel::alpha;
  std::vector<Access> accesses;
  for (std::uint32_t rank = 0; rank < sums_; ++rank) {
    accesses.clear();
    for (std::uint32_t of = 0; of < sums_; ++of) accesses.push_back({rr(of, iteration), R});
    for (std::uint32_t of = 0; of < sums_; ++of) {
      accesses.push_back({is_alpha ? pq(of) : rr(of, iteration + 1), R});
    }
    accesses.push_back({is_alpha ? alpha(rank) : beta(rank), W});
    accesses.push_back({is_alpha ? rr(rank, iteration + 1) : pq(rank), W});
    visit({kernel, rank, rank, accesses});
  }
}

void CgSequence::visit_iteration(std::uint64_t iteration, const Visitor& visit) const {
  const auto blocks = static_cast<std::uint32_t>(blocks_.size());
  for (std::uint32_t b = 0; b < blocks; ++b) {
    visit({CgKernel::spmv, b, rank_of(b), product(b, &CgSequence::p, q(b))});
  }
  visit_scalar(CgKernel::alpha, iteration, visit);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const std::uint32_t rank = rank_of(b);
    const std::array<Access, 6> accesses{{{alpha(rank), R},
                                          {p(b), R},
                                          {q(b), R},
                                          {x(b), RW},
                                          {r(b), RW},
                                          {rr(rank, iteration + 1), reduction}}};
    visit({CgKernel::update, b, rank, accesses});
  }
  visit_scalar(CgKernel::beta, iteration, visit);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const std::uint32_t rank = rank_of(b);
    const std::array<Access, 3> accesses{{{beta(rank), R}, {r(b), R}, {p(b), RW}}};
    visit({CgKernel::direction, b, rank, accesses});
  }
}

namespace {

// Of one task, in the mean of all blocks.
struct KernelWork {
  double flops = 0;
  double bytes = 0;
};

KernelWork work_of(CgKernel kernel, const CgSequence& sequence) {
  const auto blocks = static_cast<double>(sequence.blocks().size());
  const double rows = static_cast<double>(sequence.rows()) / blocks;
  const double entries = static_cast<double>(sequence.entries()) / blocks;
  switch (kernel) {
    case CgKernel::spmv: {
      double matrix = 0;
      for (const RowBlock& block : sequence.blocks()) {
        matrix += static_cast<double>(block.bytes().value);
      }
      return {2 * entries + 2 * rows, matrix / blocks + 16 * rows};
    }
    case CgKernel::update:
      return {6 * rows, 48 * rows};
    case CgKernel::direction:
      return {2 * rows, 24 * rows};
    case CgKernel::alpha:
    case CgKernel::beta:
      break;
  }
  return {0, 32.0 * sequence.sums()};
}

graph::Graph::Kernel timed(std::string_view name, const KernelWork& work) {
  graph::Graph::Kernel kernel{.name = std::string(name), .flops = work.flops};
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    const bool is_core = static_cast<ProcessorKind>(kind) == ProcessorKind::cpu;
    const BytesPerSecond rate = is_core ? kSimulatedMemory.core : kSimulatedMemory.accelerator;
    kernel.seconds[kind] = std::max(work.bytes / rate.value, kSimulatedMemory.least.seconds());
  }
  return kernel;
}

}  // namespace

graph::Graph cg_graph(const CgSequence& sequence, std::uint64_t iterations) {
  graph::Graph graph;
  graph.application() = {.name = "cg", .precision = "double"};
  for (const CgSequence::Datum& datum : sequence.data()) {
    graph.add_datum({.bytes = datum.bytes,
                     .home = datum.has_content ? std::optional(NodeKind::ram) : std::nullopt},
                    datum.name);
  }
  for (std::size_t k = 0; k < kCgKernelNames.size(); ++k) {
    graph.add_kernel(timed(kCgKernelNames[k], work_of(static_cast<CgKernel>(k), sequence)));
  }
  const Number zero = graph.add_kernel(timed("zero", {0, 8}));
  const Number add = graph.add_kernel(timed("add", {1, 24}));
  for (std::size_t d = 0; d < sequence.data().size(); ++d) {
    if (sequence.data()[d].is_sum) graph.add_reduction({static_cast<Number>(d), zero, add});
  }
  for (std::uint64_t k = 0; k < iterations; ++k) {
    sequence.visit_iteration(k, [&](const CgSequence::Task& task) {
      graph.add_task(static_cast<Number>(task.kernel), task.accesses);
    });
  }
  return graph;
}

graph::Graph cg(const CgShape& shape) {
  constexpr std::string_view kName = "cg";
  require_within(kName, "blocks", shape.blocks, 1, CgSequence::kMostBlocks);
  require_within(kName, "iterations", shape.iterations, 1, static_cast<std::uint64_t>(kMostTasks));
  require_tasks(kName,
                (3 * static_cast<double>(shape.blocks) + 2) * static_cast<double>(shape.iterations),
                "fewer blocks or iterations");
  const RowCut cut(shape.grid.points(), shape.blocks);
  return cg_graph(CgSequence(row_blocks(shape.grid, cut)), shape.iterations);
}

}  // namespace vicinal::graphs
