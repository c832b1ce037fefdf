// Waits that end after some time, a group that is cancelled, and a task that asks whether it is.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vicinal/runtime.hpp>

using namespace vicinal;

namespace {
void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}
}  // namespace

int main() {
  Runtime runtime({.workers = 2, .submitter_works = false});
  std::atomic<bool> has_begun{false};
  const auto best = runtime.data<std::uint64_t>(1, "best");

  Group search;
  runtime.task(
      "search",
      [&has_begun](StopToken stop, std::span<std::uint64_t> found) {
        for (std::uint64_t candidate = 1;; ++candidate) {
          if (stop.stop_requested()) throw Cancelled();
          has_begun = true;
          found[0] = candidate;  // nothing is ever good enough
        }
      },
      StopToken(), out(best), into(search));

  while (!has_begun) std::this_thread::yield();
  if (!runtime.wait_for(search, std::chrono::milliseconds(5))) runtime.cancel(search);
  runtime.wait(search);  // throws nothing: the task was cancelled, it has not failed

  const Result<int> other = runtime.task("other", [] { return 4; });
  while (!other.ready()) std::this_thread::yield();
  require(other.get() == 4, "others go on");
  return 0;
}
