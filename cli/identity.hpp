// What results depend on beside the options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vicinal::cli {

// Of this program and of the content of files: another build of the same version may simulate otherwise.
std::uint64_t identity_of_program(const std::vector<std::string>& files = {});

}  // namespace vicinal::cli
