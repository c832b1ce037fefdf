// main() of a program that measures one library for another benchmark.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "help.hpp"

namespace bench {

// `run()` parses the arguments and prints what it measured. `starter` is the benchmark that starts the program.
template <typename Run>
int peer_main(int count, char** arguments, const std::string& starter, Run&& run) {
  const std::string help =
      "A library to compare with, run by `" + starter + "`, whose --help lists the options.\n";
  if (helped(count, arguments, help.c_str())) return 0;
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}

}  // namespace bench
