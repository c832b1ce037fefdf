// Files of the recordings that the option `trace` asks for. The runtimes of a process share the option, and each has
// a file of its own: run.vtrace, then run.2.vtrace, run.3.vtrace and so on.
#pragma once

#include <string>

namespace vicinal::trace {

// The next of them. What is no file (/dev/null) remains as it is. Any thread.
std::string next_own_file(const std::string& file);

}  // namespace vicinal::trace
