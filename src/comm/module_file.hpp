// Shared objects of the library's own, which bring what it does not want to be linked with.
#pragma once

#include <string_view>

namespace vicinal::comm {

// Opens the module, which is never closed, and returns its function. It is looked for beside the library, or the program
// that the library is part of, where it was to be installed, and where the system has libraries. Throws UsageError if it
// is not there, if `brought`, which it is linked with, is missing, or if it is of another version.
void* find_in_module(std::string_view file, const char* function, std::string_view brought);

}  // namespace vicinal::comm
