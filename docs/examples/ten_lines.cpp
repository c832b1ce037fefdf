// A program in ten lines: doubles a vector in a task.

#include <span>
#include <vector>
#include <vicinal/runtime.hpp>

using namespace vicinal;

void twice(KernelContext& k) {
  for (double& value : std::span(k.data<double>(0), k.count<double>(0))) value *= 2;
}
const Codelet codelet{.name = "twice", .cpu = twice};

int main() {
  std::vector<double> x(1000, 21.0);
  Runtime runtime;
  Handle handle = runtime.register_buffer(x.data(), Bytes{x.size() * sizeof(double)}, "x");
  runtime.submit({.codelet = &codelet, .operands = {RW(handle)}});
  runtime.unregister(handle);  // waits for the task
  return x.front() == 42 && x.back() == 42 ? 0 : 1;
}
