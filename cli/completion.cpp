// vicinal completion: scripts by which bash, zsh and fish complete commands, options and their values.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "command_table.hpp"
#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// Between single quotes of a shell. zsh and bash: a quote ends the string; fish knows \' inside.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else if (c == '\\' && quote.starts_with('\\')) {
      out += "\\\\";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

// --- bash ------------------------------------------------------------------------------------------

std::string bash_action(const OptionEntry& option) {
  switch (option.argument) {
    case Argument::file:
      return "_vicinal_paths -f";
    case Argument::folder:
      return "_vicinal_paths -d";
    case Argument::one_of:
      return "_vicinal_words '" + joined(option.words) + "'";
    case Argument::list_of:
      return "_vicinal_list '" + joined(option.words) + "'";
    default:
      return ":";
  }
}

// What the command works on.
std::string bash_positional(const CommandEntry& command) {
  if (command.positionals.empty()) return "";
  return fmt::format("    {}) {} ;;\n", command.name, bash_action(command.positionals.front()));
}

std::string bash_script(const CLI::App& app) {
  const std::vector<CommandEntry> commands = describe_subcommands(app);
  std::vector<std::string> names;
  std::string values;
  std::string options;
  std::string positionals;
  const auto add = [&](const CommandEntry& command, std::string_view name) {
    std::vector<std::string> all;
    for (const OptionEntry& option : command.options) {
      all.insert(all.end(), option.names.begin(), option.names.end());
      if (option.argument == Argument::none) continue;
      std::string patterns;
      for (const std::string& each : option.names) {
        patterns += fmt::format("{}{},{}", patterns.empty() ? "" : "|", name, each);
      }
      values += fmt::format("    {}) {}; return ;;\n", patterns, bash_action(option));
    }
    options += fmt::format("      {}) _vicinal_words '{}' ;;\n", name, joined(all));
  };
  add(describe(app), "''");
  for (const CommandEntry& command : commands) {
    names.push_back(command.name);
    add(command, command.name);
    positionals += bash_positional(command);
  }
  return fmt::format(R"(# Completion of vicinal for bash. Written by `vicinal completion bash`.
_vicinal_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }}
_vicinal_paths() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}}
# Names with commas between them: the last one is completed.
_vicinal_list() {{
  local last=${{current##*,}}
  mapfile -t COMPREPLY < <(compgen -P "${{current%"$last"}}" -W "$1" -- "$last")
}}
_vicinal() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' i
  # bash makes three words of --name=value.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      {}) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  COMPREPLY=()
  case $command,$previous in
{}  esac
  if [[ $current == -* ]]; then
    case $command in
{}    esac
    return
  fi
  case $command in
    '') _vicinal_words '{}' ;;
{}  esac
}}
complete -F _vicinal vicinal
)",
                     fmt::join(names, "|"), values, options, joined(names), positionals);
}

// --- zsh -------------------------------------------------------------------------------------------

// In the specifications of _arguments [ ] and : have a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionEntry& option) {
  switch (option.argument) {
    case Argument::file:
      return "_files";
    case Argument::folder:
      return "_files -/";
    case Argument::one_of:
      return "(" + joined(option.words) + ")";
    case Argument::list_of:
      return "_values -s , name " + joined(option.words);
    default:
      return " ";
  }
}

std::string zsh_specifications(const CommandEntry& command) {
  std::string text;
  const auto add = [&](const std::string& specification) {
    text += " \\\n        " + quoted(specification, "'\\''");
  };
  for (const OptionEntry& option : command.options) {
    for (const std::string& name : option.names) {
      // With "=" the value may stand behind the name or be the next word.
      std::string specification = option.argument == Argument::none ? name
                                  : name.starts_with("--")          ? name + "="
                                                                    : name + "+";
      specification += "[" + zsh_text(option.sentence) + "]";
      if (option.argument != Argument::none) {
        specification += ":" + zsh_text(option.value) + ":" + zsh_action(option);
      }
      add(specification);
    }
  }
  for (const OptionEntry& argument : command.positionals) {
    add("*:" + zsh_text(argument.value) + ":" + zsh_action(argument));
  }
  return text;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CommandEntry& command : describe_subcommands(app)) {
    std::string sentence = command.name;
    sentence += ":" + command.sentence;
    commands += "    " + quoted(sentence, "'\\''") + "\n";
    cases += fmt::format("    {})\n      _arguments -s{} ;;\n", command.name,
                         zsh_specifications(command));
  }
  return fmt::format(R"(#compdef vicinal
# Completion of vicinal for zsh. Written by `vicinal completion zsh`.
local -a commands
local context state line
typeset -A opt_args
_arguments -C{} \
  '1:command:->command' '*::argument:->argument'
if [[ $state == command ]]; then
  commands=(
{}  )
  _describe -t commands command commands
elif [[ $state == argument ]]; then
  case $line[1] in
{}  esac
fi
)",
                     zsh_specifications(describe(app)), commands, cases);
}

// --- fish ------------------------------------------------------------------------------------------

std::string fish_values(const OptionEntry& option) {
  switch (option.argument) {
    case Argument::none:
      return "";
    case Argument::file:
      return " -r -F";
    case Argument::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Argument::one_of:
      return " -x -a '" + joined(option.words) + "'";
    case Argument::list_of:
      return " -x -a '(__fish_complete_list , \"printf \\\"%s\\\\n\\\" " + joined(option.words) +
             "\")'";
    default:
      return " -x";
  }
}

std::string fish_option(const OptionEntry& option, const std::string& condition) {
  std::string text = fmt::format("complete -c vicinal -n '{}'", condition);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text + fish_values(option) + " -d " + quoted(option.sentence, "\\'") + "\n";
}

std::string fish_script(const CLI::App& app) {
  std::string text =
      "# Completion of vicinal for fish. Written by `vicinal completion fish`.\n"
      "complete -c vicinal -f\n";
  for (const OptionEntry& option : describe(app).options) {
    text += fish_option(option, "__fish_use_subcommand");
  }
  for (const CommandEntry& command : describe_subcommands(app)) {
    text += fmt::format("complete -c vicinal -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.sentence, "\\'"));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const OptionEntry& option : command.options) text += fish_option(option, condition);
    for (const OptionEntry& argument : command.positionals) {
      if (argument.argument == Argument::word) continue;
      text += fmt::format("complete -c vicinal -n '{}'{}\n", condition,
                          argument.argument == Argument::file ? " -F" : fish_values(argument));
    }
  }
  return text;
}

// ---------------------------------------------------------------------------------------------------

struct Shell {
  std::string_view name;
  std::string (*script)(const CLI::App& app);
};
constexpr std::array<Shell, 3> kShells{
    {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};

const Shell& shell_of(const std::string& name) {
  const auto* const found = std::ranges::find(kShells, name, &Shell::name);
  if (found != kShells.end()) return *found;
  if (name.empty()) {
    throw UsageError("say for which shell: vicinal completion bash; there are bash, zsh, fish");
  }
  const std::vector<std::string> names{"bash", "zsh", "fish"};
  const std::string near = reports::suggestion(name, names);
  throw UsageError(fmt::format("{}: unknown shell{}", name,
                               near.empty() ? "; there are bash, zsh, fish" : near));
}

}  // namespace

void add_completion(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand(
      "completion", "Writes a script by which a shell completes commands, options and values.");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh, fish")->type_name("SHELL");
  command->callback([&app, shell] { fmt::print("{}", shell_of(*shell).script(app)); });
}

}  // namespace vicinal::cli
