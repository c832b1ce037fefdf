// The commands of the program with their options, as data: read from what the parser of the command line holds, so
// that the man page and the completion of shells say what the program does.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace vicinal::cli {

enum class Argument { none, word, file, folder, one_of, list_of };

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--output"; of a positional argument none
  std::string value;               // "FILE"; empty: it takes none
  std::string usual;               // value without the option, or empty
  std::string sentence;
  bool of_runtime = false;  // one of the options of the runtime, which several commands have
  Argument argument = Argument::none;
  std::vector<std::string> words = {};  // of one_of and list_of
};

struct CommandEntry {
  std::string name;  // of the program itself "vicinal"
  std::string sentence;
  std::string footer;
  std::vector<OptionEntry> positionals;
  std::vector<OptionEntry> options;
};

CommandEntry describe(const CLI::App& command);
// Of all subcommands, in the order of the help.
std::vector<CommandEntry> describe_subcommands(const CLI::App& app);

}  // namespace vicinal::cli
