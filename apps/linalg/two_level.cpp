#include "linalg/two_level.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "graphs/cholesky_order.hpp"
#include "linalg/codelets.hpp"
#include "linalg/kernel_operands.hpp"
#include "vicinal/recursion.hpp"

namespace vicinal::linalg {

namespace {

struct Inner {
  std::uint64_t panel;
  Codelet potrf;
  Codelet trsm;
  Codelet syrk;
  Codelet gemm;
  Codelet zero;

  double cube() const {
    const auto p = static_cast<double>(panel);
    return p * p * p;
  }
};

void zero_kernel(KernelContext& context) {
  const OperandView& view = context.operand(0);
  for (std::uint64_t j = 0; j < view.layout.columns; ++j) {
    std::fill_n(view.address + j * view.layout.stride_bytes, view.layout.column_bytes,
                std::byte{0});
  }
}

// The tasks inside one task: all have its priority.
class Division {
 public:
  Division(Recursion& task, const Inner& inner) : task_(task), inner_(inner) {}

  Divide tiles() const { return vicinal::tiles(inner_.panel, inner_.panel); }
  Divide rows() const {
    return [panel = inner_.panel](const Layout& whole) {
      return vicinal::tiles(panel, whole.columns)(whole);
    };
  }
  double elements(std::size_t operand) const {
    const Layout& layout = task_.layout(operand);
    return static_cast<double>(layout.rows()) * static_cast<double>(layout.columns);
  }
  void submit(const Codelet& codelet, const Operands& operands, double flops,
              const TaskIndex& index = {}) {
    task_.submit({.codelet = &codelet,
                  .operands = operands,
                  .parameters = index,
                  .priority = task_.priority(),
                  .flops = flops,
                  .recursive = Recursive::never});
  }

 private:
  Recursion& task_;
  const Inner& inner_;
};

// Visits the tasks of the factorisation of one tile.
class Factorisation {
 public:
  Factorisation(Recursion& task, const Inner& inner)
      : inner_(inner),
        division_(task, inner),
        outer_(task.parameter<TaskIndex>()),
        a_(task.parts(0, division_.tiles())),
        cube_(inner.cube()) {}

  void potrf(std::uint32_t k) {
    // Rows of the matrix are counted in panels.
    const auto panel = static_cast<std::uint32_t>(inner_.panel);
    const std::uint32_t tile = outer_.k * (outer_.tile / panel) + k;
    division_.submit(inner_.potrf, {RW(a_(k, k))}, cube_ / 3,
                     {.i = tile, .j = tile, .k = tile, .tile = panel});
  }
  void trsm(std::uint32_t i, std::uint32_t k) {
    division_.submit(inner_.trsm, {R(a_(k, k)), RW(a_(i, k))}, cube_);
  }
  void syrk(std::uint32_t i, std::uint32_t k) {
    division_.submit(inner_.syrk, {R(a_(i, k)), RW(a_(i, i))}, cube_);
  }
  void gemm(std::uint32_t i, std::uint32_t j, std::uint32_t k) {
    division_.submit(inner_.gemm, {R(a_(i, k)), R(a_(j, k)), RW(a_(i, j))}, 2 * cube_);
  }
  void submit() {
    const auto m = static_cast<std::uint32_t>(a_.grid_rows());
    graphs::visit_cholesky_by_rows(m, *this);
    for (std::uint32_t j = 1; j < m; ++j) {
      for (std::uint32_t i = 0; i < j; ++i) division_.submit(inner_.zero, {W(a_(i, j))}, 0);
    }
  }

 private:
  const Inner& inner_;
  Division division_;
  TaskIndex outer_;
  Parts a_;
  double cube_ = 0;
};

void divide_trsm(Recursion& task, const Inner& inner) {
  Division division(task, inner);
  const Handle factor = task.whole(0);
  const Parts rows = task.parts(1, division.rows());
  const double flops = division.elements(0) * division.elements(1) /
                       static_cast<double>(task.layout(0).rows()) /
                       static_cast<double>(rows.size());
  for (const Handle part : rows) division.submit(inner.trsm, {R(factor), RW(part)}, flops);
}

// Products go by tiles of p x p, which stay in a core's cache, in steps of p.
void divide_syrk(Recursion& task, const Inner& inner) {
  Division division(task, inner);
  const Parts a = task.parts(0, division.tiles());
  const Parts c = task.parts(1, division.tiles());
  for (std::size_t i = 0; i < c.grid_rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t k = 0; k < a.grid_columns(); ++k) {
        division.submit(inner.gemm, {R(a(i, k)), R(a(j, k)), RW(c(i, j))}, 2 * inner.cube());
      }
    }
    for (std::size_t k = 0; k < a.grid_columns(); ++k) {
      division.submit(inner.syrk, {R(a(i, k)), RW(c(i, i))}, inner.cube());
    }
  }
}

void divide_gemm(Recursion& task, const Inner& inner) {
  Division division(task, inner);
  const Parts a = task.parts(0, division.tiles());
  const Parts b = task.parts(1, division.tiles());
  const Parts c = task.parts(2, division.tiles());
  for (std::size_t i = 0; i < c.grid_rows(); ++i) {
    for (std::size_t j = 0; j < c.grid_columns(); ++j) {
      for (std::size_t k = 0; k < a.grid_columns(); ++k) {
        division.submit(inner.gemm, {R(a(i, k)), R(b(j, k)), RW(c(i, j))}, 2 * inner.cube());
      }
    }
  }
}

}  // namespace

void divide_cholesky(const CholeskyKernels& kernels, std::uint64_t panel) {
  const auto codelet = [&](const char* name) {
    return codelet_of("cholesky", name, kernels.precision, 0);
  };
  const auto inner =
      std::make_shared<const Inner>(Inner{.panel = panel,
                                          .potrf = codelet("potrf"),
                                          .trsm = codelet("trsm"),
                                          .syrk = codelet("syrk"),
                                          .gemm = codelet("gemm"),
                                          .zero = {.name = "zero", .cpu = zero_kernel}});
  const auto make = [&](TaskKernel& kernel, Recursive division, auto submit) {
    kernel.division = division;
    kernel.codelet.recursive = [inner, submit](Recursion& task) { submit(task, *inner); };
  };
  make(kernels.potrf, Recursive::always,
       [](Recursion& task, const Inner& of) { Factorisation(task, of).submit(); });
  make(kernels.trsm, Recursive::automatic, divide_trsm);
  make(kernels.syrk, Recursive::automatic, divide_syrk);
  make(kernels.gemm, Recursive::automatic, divide_gemm);
}

}  // namespace vicinal::linalg
