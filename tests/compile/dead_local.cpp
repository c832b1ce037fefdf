// A mistake that is to be found: the task uses `local` when it is gone.
#include <cstdio>
#include <span>
#include <vicinal/runtime.hpp>

using namespace vicinal;

int main() {
  Runtime runtime({.workers = 1, .submitter_works = true});
  const auto x = runtime.data<int>(1, "x");
  {
    volatile int local = 3;
    // In this thread, at the wait.
    runtime.task(
        "uses", [&local](std::span<int> to) { to[0] = local; }, out(x));
  }
  std::printf("%d: nobody has noticed\n", runtime.read(x)[0]);
  return 0;
}
