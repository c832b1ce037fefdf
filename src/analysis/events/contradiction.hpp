// What cannot have happened in any run.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::analysis {

// Throws UsageError that names the file.
[[noreturn]] void refuse_events(const std::string& path, std::string_view what);

}  // namespace vicinal::analysis
