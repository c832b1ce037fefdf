// A vector in parts, and a recursive task that divides its operand itself.
#include <cstdio>
#include <vector>
#include <vicinal/recursion.hpp>
#include <vicinal/runtime.hpp>

namespace {

void add_one(vicinal::KernelContext& k) {
  auto* x = k.data<double>(0);
  for (std::size_t i = 0; i < k.count<double>(0); ++i) x[i] += 1;
}
const vicinal::Codelet add_one_codelet{.name = "add_one", .cpu = add_one};

// In place of one long kernel: four tasks on quarters of the operand.
void add_one_in_quarters(vicinal::Recursion& r) {
  for (const vicinal::Handle quarter : r.parts(0, vicinal::row_blocks(4))) {
    r.submit({.codelet = &add_one_codelet, .operands = {RW(quarter)}});
  }
}
const vicinal::Codelet divisible{
    .name = "add_one_large", .cpu = add_one, .recursive = add_one_in_quarters};

}  // namespace

int main() {
  std::vector<double> values(1 << 16, 0.0);
  vicinal::Runtime runtime({.workers = 2});
  const vicinal::Handle x =
      runtime.register_tile(values.data(), {.rows = values.size(), .columns = 1});

  const vicinal::Parts parts = runtime.partition(x, vicinal::row_blocks(8));
  for (const vicinal::Handle part : parts) {
    runtime.submit({.codelet = &add_one_codelet, .operands = {RW(part)}});
  }
  // Comes behind all eight, and finds what they wrote.
  runtime.submit(
      {.codelet = &divisible, .operands = {RW(x)}, .recursive = vicinal::Recursive::always});
  runtime.unpartition(parts);
  runtime.unregister(x);

  for (const double value : values) {
    if (value != 2) return 1;
  }
  std::puts("every element is 2");
  return 0;
}
