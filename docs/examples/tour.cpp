// The user's guide, compiled: data, tasks, waiting, errors. Everything here runs without a memory
// limit; see out_of_core.cpp for data larger than the memory.

#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>

namespace {

using vicinal::Bytes;
using vicinal::Handle;
using vicinal::R;
using vicinal::Runtime;
using vicinal::RW;
using vicinal::W;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

// --- kernels and codelets

// operand 0: a column-major tile, any leading dimension; parameter: the value of all its elements
void fill(vicinal::KernelContext& k) {
  const vicinal::Layout& layout = k.operand(0).layout;
  double* a = k.data<double>(0);
  for (std::uint64_t column = 0; column < layout.columns; ++column) {
    for (std::uint64_t row = 0; row < layout.rows(); ++row) {
      a[column * layout.leading_dimension() + row] = k.parameter<double>();
    }
  }
}
const vicinal::Codelet fill_codelet{.name = "fill", .cpu = fill};

// operands: R x, RW y, vectors of equal length; y <- y + alpha x
struct AxpyParameters {
  double alpha;
  std::uint32_t first;  // element; what comes before it stays
};
void axpy(vicinal::KernelContext& k) {
  const auto [alpha, first] = k.parameter<AxpyParameters>();
  const double* x = k.data<double>(0);
  double* y = k.data<double>(1);
  for (std::size_t i = first; i < k.count<double>(1); ++i) y[i] += alpha * x[i];
}
const vicinal::Codelet axpy_codelet{.name = "axpy", .cpu = axpy};

void refuse(vicinal::KernelContext& /*k*/) {
  throw std::runtime_error("pivot 3 is not positive");
}
const vicinal::Codelet refuse_codelet{.name = "refuse", .cpu = refuse};

vicinal::Options two_workers() {
  vicinal::Options options = vicinal::Options::from_environment();
  options.workers = 2;
  options.bind = false;
  return options;
}

// --- data

void registers_tiles_of_a_matrix() {
  Runtime runtime(two_workers());
  // 6 x 4 doubles, column-major; the tile is rows 2..4 of columns 1..2.
  std::vector<double> matrix(6 * 4, 0.0);
  Handle tile = runtime.register_tile(&matrix[1 * 6 + 2],
                                      {.rows = 3, .columns = 2, .leading_dimension = 6}, "A(2,1)");
  runtime.submit({.codelet = &fill_codelet, .operands = {W(tile)}, .parameters = 1.0});
  runtime.unregister(tile);
  require(std::accumulate(matrix.begin(), matrix.end(), 0.0) == 6, "6 elements were filled");
  require(matrix[1 * 6 + 2] == 1 && matrix[2 * 6 + 4] == 1, "from the first to the last");
}

void keeps_the_owner_of_memory() {
  std::weak_ptr<std::vector<double>> watched;
  {
    Runtime runtime(two_workers());
    auto values = std::make_shared<std::vector<double>>(1024);
    watched = values;
    auto x = runtime.data(*values, "x", [values] {});
    values.reset();
    runtime.task(
        "double", [](std::span<double> of) { of[0] *= 2; }, vicinal::inout(x));
    require(!watched.expired(), "the runtime keeps the vector");
    runtime.release(x);  // and the vector goes
    require(watched.expired(), "nobody else has it");
  }
}

void reads_results_in_place() {
  Runtime runtime(two_workers());
  Handle x = runtime.register_empty({.rows = 100, .columns = 1}, "x");
  runtime.submit({.codelet = &fill_codelet, .operands = {W(x)}, .parameters = 4.0});
  {
    const vicinal::Acquired content = runtime.acquire(x, vicinal::AccessMode::R);
    require(content.data<double>()[99] == 4, "the task has run");
  }  // released here: tasks that write x may go on
  runtime.unregister(x);
}

// --- tasks

void passes_parameters_and_priorities() {
  Runtime runtime(two_workers());
  std::vector<double> x(8, 1.0);
  std::vector<double> y(8, 0.0);
  Handle hx = runtime.register_buffer(x.data(), Bytes{8 * sizeof(double)}, "x");
  Handle hy = runtime.register_buffer(y.data(), Bytes{8 * sizeof(double)}, "y");
  runtime.submit({.codelet = &axpy_codelet,
                  .operands = {R(hx), RW(hy)},
                  .parameters = AxpyParameters{.alpha = 2.0, .first = 4},
                  .priority = 3,
                  .name = "axpy(0)"});
  runtime.unregister(hy);
  runtime.unregister(hx);
  require(y[3] == 0 && y[4] == 2, "from element 4 on");
}

void waits_for_a_group() {
  Runtime runtime(two_workers());
  std::vector<Handle> tiles;
  vicinal::Group first_half;
  for (int i = 0; i < 10; ++i) {
    tiles.push_back(
        runtime.register_empty({.rows = 16, .columns = 16}, "tile " + std::to_string(i)));
    runtime.submit({.codelet = &fill_codelet,
                    .operands = {W(tiles.back())},
                    .parameters = double(i),
                    .group = i < 5 ? &first_half : nullptr});
  }
  runtime.wait(first_half);  // the other five may still run
  require(first_half.pending() == 0, "all of the group have ended");
  runtime.wait();
}

void orders_tasks_without_data() {
  Runtime runtime(two_workers());
  Handle a = runtime.register_empty({.rows = 1, .columns = 1}, "a");
  Handle b = runtime.register_empty({.rows = 1, .columns = 1}, "b");
  std::atomic<int> ended{0};
  vicinal::Group group;
  const vicinal::TaskId first =
      runtime.submit({.codelet = &fill_codelet, .operands = {W(a)}, .parameters = 1.0});
  runtime.submit({.codelet = &fill_codelet,
                  .operands = {W(b)},
                  .parameters = 2.0,
                  .worker = vicinal::WorkerId{0},  // this worker and no other
                  .group = &group,
                  .after = std::span(&first, 1),  // though they share no data
                  .on_end = [&](vicinal::Outcome outcome) {
                    if (outcome == vicinal::Outcome::done) ++ended;
                  }});
  runtime.wait(group);
  require(ended == 1, "on_end was called");
}

// --- errors

void survives_a_kernel_that_throws() {
  Runtime runtime(two_workers());
  Handle x = runtime.register_empty({.rows = 1, .columns = 1}, "x");
  runtime.submit({.codelet = &refuse_codelet, .operands = {W(x)}, .name = "potrf(2)"});
  std::string message;
  try {
    runtime.wait();
  } catch (const vicinal::TaskError& error) {
    message = error.what();
  }
  require(message == "task potrf(2) failed: pivot 3 is not positive", "the message names the task");
  bool poisoned = false;
  try {
    const auto content = runtime.acquire(x, vicinal::AccessMode::R);
  } catch (const vicinal::PoisonedError&) {
    poisoned = true;
  }
  require(poisoned, "what a failed task should have written cannot be read");
  runtime.submit({.codelet = &fill_codelet, .operands = {W(x)}, .parameters = 0.0});
  runtime.wait();  // written anew: the runtime goes on
}

}  // namespace

int main() {
  registers_tiles_of_a_matrix();
  keeps_the_owner_of_memory();
  reads_results_in_place();
  passes_parameters_and_priorities();
  waits_for_a_group();
  orders_tasks_without_data();
  survives_a_kernel_that_throws();
  return 0;
}
