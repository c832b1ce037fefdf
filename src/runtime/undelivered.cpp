#include "runtime/undelivered.hpp"

#include <cstdlib>
#include <string>

#include "base/log.hpp"
#include "base/thread_end.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

// A further exit goes on with the functions that are left, and counts: see exit(3) of Linux.
void fail_after_success(int status, void* /*unused*/) {
  if (status == EXIT_SUCCESS) std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe)
}

void say_why() noexcept {
  try {
    base::process_log().warn(
        "no call has thrown that error before the runtime ended, so the program ends: call wait(), "
        "which throws it, or set the option undelivered_errors to warn");
  } catch (const std::exception&) {  // no memory: the error itself is told
  }
}

}  // namespace

Undelivered parse_undelivered(std::string_view text) {
  if (text == "terminate") return Undelivered::terminates;
  if (text == "warn") return Undelivered::warns;
  throw UsageError("option undelivered_errors: \"" + std::string(text) +
                   "\" is none; write terminate or warn");
}

void end_program(const std::exception_ptr& error) noexcept {
  say_why();
#if defined(__GLIBC__)
  if (base::thread_has_ended() && on_exit(fail_after_success, nullptr) == 0) return;
#endif
  std::rethrow_exception(error);  // out of what throws nothing
}

}  // namespace vicinal::runtime
