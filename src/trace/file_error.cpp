#include "trace/file_error.hpp"

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::trace {

void refuse_file(const std::string& name, std::uint64_t byte, std::string_view what,
                 std::string_view remedy) {
  throw UsageError(fmt::format("{}: byte {}: {}; {}", name, byte, what, remedy));
}

void refuse_damaged(const std::string& name, std::uint64_t byte, std::string_view what) {
  refuse_file(name, byte, what,
              "the file is damaged: copy it anew from where it was made, or record the run again");
}

}  // namespace vicinal::trace
