#include "sweep_csv.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "identity.hpp"
#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

// Of which no result depends, and those that runs add.
constexpr std::string_view kNoColumns[] = {
    "help",         "json",           "report",           "plot",  "csv",          "processes",
    "seeds",        "verbose",        "against",          "disk",  "real_runs",    "load",
    "cuda_library", "cublas_library", "cusolver_library", "trace", "trace_events", "trace_memory",
    "policy",       "seed",           "vary_seed"};

std::string column_of(const CLI::Option& option) {
  std::string name =
      option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
  std::ranges::replace(name, '-', '_');
  return name;
}

// "INTEGER [512]": 512; else what CLI11 knows.
std::string usual_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t bracket = type.find(" [");
  return bracket == std::string::npos ? option.get_default_str()
                                      : type.substr(bracket + 2, type.size() - bracket - 3);
}

std::map<std::string, std::string> runtime_values(const Options& options) {
  std::map<std::string, std::string> values;
  for (const OptionDescription& option : option_table()) {
    values[std::string(option.name)] = option.default_value;
  }
  for (const auto& [name, value] : options.changed()) values[name] = value;
  return values;
}

std::string field(const std::string& text) {
  const std::string clean = reports::legible_name(text);
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string quoted = "\"";
  for (const char c : clean) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::string joined(const Asked& asked, bool names) {
  std::string text;
  for (const auto& [name, value] : asked) {
    text += (text.empty() ? "" : ",") + (names ? name : field(value));
  }
  return text;
}

}  // namespace

Asked asked_columns(const SimulateArguments& arguments, const Options& options) {
  std::vector<std::string> files = arguments.load.files();
  if (!arguments.graph.file().empty()) files.push_back(arguments.graph.file());
  if (machine::is_machine_file(arguments.machine.name())) files.push_back(arguments.machine.name());
  if (!arguments.scheduling.empty()) files.push_back(arguments.scheduling);
  Asked asked{{"vicinal", std::string(version())},
              {"inputs", fmt::format("{:016x}", identity_of_program(files))}};
  const std::map<std::string, std::string> runtime = runtime_values(options);
  for (const CLI::Option* const option : arguments.command.get_options()) {
    const std::string name = column_of(*option);
    if (std::ranges::find(kNoColumns, name) != std::end(kNoColumns)) continue;
    if (option->get_group() == kRuntimeGroup) {
      asked.emplace_back(name, runtime.at(name));
    } else if (option->count() > 0) {
      asked.emplace_back(name, option->results().back());
    } else {
      asked.emplace_back(name, arguments.graph.concerns(*option) ? usual_value(*option) : "");
    }
  }
  return asked;
}

std::string csv_names(const Asked& asked) {
  return joined(asked, true);
}

std::string csv_values(const Asked& asked) {
  return joined(asked, false);
}

void require_own_file(const reports::RowFile& file, const std::string& path,
                      const std::vector<Asked>& runs) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("--csv: {} is of another command: {}; name another file, or remove it",
                    reports::legible_name(path), reports::legible_name(why)));
  };
  if (file.found() == reports::RowFile::Found::other) refuse("its first line is another");
  if (!file.stranger()) return;
  const std::vector<std::string> fields = fields_of(file.stranger()->line);
  const std::string row = fmt::format("row {}", file.stranger()->number);
  for (std::size_t c = 0; c < runs.front().size() && c < fields.size(); ++c) {
    const auto is_known = [&](const Asked& run) { return field(run[c].second) == fields[c]; };
    if (std::ranges::any_of(runs, is_known)) continue;
    const std::string& name = runs.front()[c].first;
    if (name == "inputs") {
      refuse(fmt::format(
          "{} was made by another program, or from files (--graph, --machine, --load) of other "
          "content",
          row));
    }
    refuse(fmt::format("{} has {} \"{}\", which no run of this one has", row, name, fields[c]));
  }
  refuse(row + " is none of its runs");
}

}  // namespace vicinal::cli
