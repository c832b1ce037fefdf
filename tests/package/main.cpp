// Uses an installed Vicinal as a stranger would: the public headers and the library.
#include <vicinal/runtime.hpp>

namespace {
void set(vicinal::KernelContext& kernel) {
  *kernel.data<int>(0) = kernel.parameter<int>();
}
const vicinal::Codelet codelet{.name = "set", .cpu = set};
}  // namespace

int main() {
  int value = 0;
  vicinal::Runtime runtime(vicinal::Options{.workers = 1});
  const vicinal::Handle handle = runtime.register_buffer(&value, vicinal::Bytes{sizeof value});
  runtime.submit({.codelet = &codelet, .operands = {vicinal::W(handle)}, .parameters = 42});
  runtime.unregister(handle);
  return value == 42 ? 0 : 1;
}
