#include "sweep_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

void SweepOptions::add_options(CLI::App& command) {
  const auto add = [&](const char* name, std::string& to, const char* type, const char* sentence) {
    command.add_option(name, to, sentence)->type_name(type)->group("Sweep");
  };
  add("--seeds", seeds, "INTEGER",
      "So many runs of each, with --seed, --vary-seed and the numbers that follow them.");
  add("--csv", csv, "FILE",
      "A row per run, added when it has ended; the same command goes on there. -: to the output.");
  add("--processes", processes, "INTEGER", "How many simulate at a time.");
}

std::size_t SweepOptions::number_of_seeds() const {
  return seeds.empty() ? 1 : reports::parse_count("--seeds", seeds, 1, 100'000);
}

std::size_t SweepOptions::number_of_processes() const {
  return processes.empty() ? 1 : reports::parse_count("--processes", processes, 1, 1024);
}

std::vector<std::string> listed_values(std::string_view option, const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string value = text.substr(at, end - at);
    at = end + 1;
    if (value.empty() && !text.empty()) {
      throw UsageError(
          fmt::format("{}: a value is missing in \"{}\"; write them with one comma "
                      "between two",
                      option, text));
    }
    if (std::ranges::find(values, value) != values.end()) {
      throw UsageError(fmt::format("{}: {} is there twice; give each value once", option, value));
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace vicinal::cli
