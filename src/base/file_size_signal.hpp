// A write beyond the limit on the size of files (ulimit -f) ends the process by SIGXFSZ, without a word, unless the
// signal is blocked: then it is an error, EFBIG.
#pragma once

#include <csignal>

namespace vicinal::base {

// In the thread that calls, for the rest of its life: for threads of the runtime's own.
void block_file_size_signal() noexcept;

// In the thread that calls, which may be the application's, until the end of the scope. A signal that came meanwhile
// is taken; whatever the process has set for it stays as it is.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() noexcept;
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t before_;
  bool was_pending_ = false;
};

// What is to be done about it.
inline constexpr const char* kFileSizeRemedy =
    "raise the limit on the size of files of this process (ulimit -f)";

}  // namespace vicinal::base
