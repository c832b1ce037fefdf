// A process that crashes says in what: a seed is worth more than a core.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

#include "support/sanitized.hpp"

namespace vicinal::testing {

// While it lives, the label is printed if the process dies of a signal. The sanitizers have handlers of
// their own: there the label is printed at once.
class NamedCrash {
 public:
  explicit NamedCrash(const std::string& label) {
#if TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER
    std::fprintf(stderr, "%s\n", label.c_str());
#else
    length() = std::min(label.size(), text().size() - 1);
    std::memcpy(text().data(), label.data(), length());
    text()[length()++] = '\n';
    for (const int signal : kSignals) std::signal(signal, say);
#endif
  }
  ~NamedCrash() {
    for (const int signal : kSignals) {
      if (length() > 0) std::signal(signal, SIG_DFL);
    }
  }
  NamedCrash(const NamedCrash&) = delete;
  NamedCrash& operator=(const NamedCrash&) = delete;

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  static std::array<char, 2000>& text() {
    static std::array<char, 2000> text;
    return text;
  }
  static std::size_t& length() {
    static std::size_t length = 0;
    return length;
  }
  // Only what a signal handler may call.
  static void say(int signal) {
    static_cast<void>(!write(STDERR_FILENO, "CRASH in ", 9));
    static_cast<void>(!write(STDERR_FILENO, text().data(), length()));
    std::signal(signal, SIG_DFL);
    static_cast<void>(std::raise(signal));
  }
};

}  // namespace vicinal::testing
