// vicinal man: the man page vicinal.1, for `man`, from the program's own options.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "command_table.hpp"
#include "help_format.hpp"
#include "session.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

// As roff takes text: a dash that is one, no escape, no request at the begin of a line.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

// "-o, --output FILE", or of a positional argument its name.
std::string heading(const OptionEntry& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) text += (text.empty() ? "" : " ") + italic(option.value);
  return text;
}

// Lines of the sentence stay lines.
std::string option_text(const OptionEntry& option) {
  std::string sentence = roff(option.sentence);
  for (std::size_t at = 0; (at = sentence.find('\n', at)) != std::string::npos; at += 5) {
    sentence.replace(at, 1, "\n.br\n");
  }
  if (!option.usual.empty()) sentence += roff(fmt::format(" [{}]", option.usual));
  return fmt::format(".TP\n{}\n{}\n", heading(option), sentence.empty() ? "\\&" : sentence);
}

bool is_help(const OptionEntry& option) {
  return std::ranges::find(option.names, "--help") != option.names.end();
}

// Options of the runtime are named, and described once for all commands.
std::string command_text(const CommandEntry& command) {
  std::string usage = bold("vicinal " + command.name);
  for (const OptionEntry& argument : command.positionals) usage += " " + italic(argument.value);
  std::string text = fmt::format(".SS {}\n{} [{}]\n.PP\n{}\n", roff(command.name), usage,
                                 italic("OPTIONS"), roff(command.sentence));
  std::string of_runtime;
  for (const OptionEntry& argument : command.positionals) text += option_text(argument);
  for (const OptionEntry& option : command.options) {
    if (is_help(option)) continue;
    if (option.of_runtime) {
      of_runtime += (of_runtime.empty() ? "" : ", ") + bold(option.names.back());
    } else {
      text += option_text(option);
    }
  }
  if (!of_runtime.empty()) text += fmt::format(".PP\nOptions of the runtime: {}.\n", of_runtime);
  if (!command.footer.empty()) text += fmt::format(".PP\n{}\n", roff(command.footer));
  for (const Example& example : examples_of(command.name)) {
    text += fmt::format(".TP\n{}\n{}\n", bold(example.line), roff(std::string(example.does)));
  }
  return text;
}

// Each once, of the commands that have it.
std::vector<OptionEntry> runtime_options(const std::vector<CommandEntry>& commands) {
  std::vector<OptionEntry> all;
  for (const CommandEntry& command : commands) {
    for (const OptionEntry& option : command.options) {
      if (option.of_runtime &&
          std::ranges::find(all, option.names, &OptionEntry::names) == all.end())
        all.push_back(option);
    }
  }
  return all;
}

std::string man_page(const CLI::App& app) {
  const CommandEntry program = describe(app);
  const std::vector<CommandEntry> commands = describe_subcommands(app);
  std::string text = fmt::format(
      ".\\\" Written by `vicinal man`.\n"
      ".TH VICINAL 1 \"\" \"Vicinal {}\" \"User Commands\"\n"
      ".SH NAME\nvicinal \\- run and simulate graphs of tasks near their data\n"
      ".SH SYNOPSIS\n{} {} [{}]\n.SH DESCRIPTION\n{}\n",
      version(), bold("vicinal"), italic("COMMAND"), italic("OPTIONS"), roff(program.sentence));
  for (const OptionEntry& option : program.options) text += option_text(option);
  text += ".SH COMMANDS\nEach has \\fB\\-\\-help\\fR.\n";
  for (const CommandEntry& command : commands) text += command_text(command);
  text +=
      ".SH OPTIONS OF THE RUNTIME\n"
      "The variable \\fBVICINAL_NAME\\fR sets the same as the option \\fB\\-\\-name\\fR, also in "
      "other "
      "programs that use the library.\n";
  for (const OptionEntry& option : runtime_options(commands)) text += option_text(option);
  text +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nAll is well.\n"
      ".TP\n1\nA run or a check has failed, or what was to be written could not be.\n"
      ".TP\n2\nThe command line, a variable or a file cannot be.\n"
      ".TP\n128 + a signal\nIt was interrupted. What had ended is printed and written.\n";
  return text;
}

}  // namespace

void add_man(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("man", "Writes the man page vicinal.1.");
  command->callback([&app] { fmt::print("{}", man_page(app)); });
}

}  // namespace vicinal::cli
