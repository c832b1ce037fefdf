// [contention] of a machine file. docs/machine-file.md describes the keys.
#pragma once

#include <string>

#include "machine/toml_reader.hpp"
#include "vicinal/contention.hpp"

namespace vicinal::machine {

// `origin` is the machine file, beside which a surface lies. Throws UsageError.
ContentionModel read_contention(const TomlTable& table, const std::string& origin);

// As a machine file has it, without a surface; to a tenth of a MB/s.
std::string contention_tables(const ContentionModel& model);

}  // namespace vicinal::machine
