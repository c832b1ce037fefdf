// What a file says that is no recording, or a damaged one: which file, where, what is wrong, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vicinal::trace {

// It never was a recording, or not one that this program can read. Both throw UsageError.
[[noreturn]] void refuse_file(const std::string& name, std::uint64_t byte, std::string_view what,
                              std::string_view remedy);
// It was one.
[[noreturn]] void refuse_damaged(const std::string& name, std::uint64_t byte,
                                 std::string_view what);

}  // namespace vicinal::trace
