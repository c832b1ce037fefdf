// vicinal: runs the applications, and says what the library has. Exit status: 0; 1 if a check or a
// run fails; 2 if the command line, a VICINAL_ variable or a file cannot be.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "help_format.hpp"
#include "output_file.hpp"
#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

#if VICINAL_HAVE_BLAS
#include "linalg/openblas.hpp"
#endif

namespace vicinal::cli {

namespace {

// Long names of the options, or names of the subcommands if `word` is not an option.
std::vector<std::string> known_words(const CLI::App& command, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : command.get_subcommands({})) words.push_back(sub->get_name());
  }
  return words;
}

std::string quoted_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// Throws UsageError for the first argument that the command, or the subcommand given, does not know, with the
// nearest that it does: CLI11's own message offers nothing.
void refuse_extras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) {
    for (const CLI::App* given : command.get_subcommands()) refuse_extras(*given);
    return;
  }
  const std::string& word = extras.front();
  const bool is_option = word.starts_with('-');
  const std::string name = word.substr(0, word.find('='));
  const std::vector<std::string> known = known_words(command, is_option);
  std::string help = reports::suggestion(name, known);
  if (help.empty()) {
    help = is_option || known.empty()
               ? fmt::format("; `vicinal {}--help` lists what there is",
                             command.get_parent() == nullptr ? "" : command.get_name() + " ")
               : fmt::format("; there are {}", quoted_list(known));
  }
  throw UsageError(fmt::format("{}: unknown {}{}", name,
                               is_option       ? "option"
                               : known.empty() ? "argument"
                                               : "command",
                               help));
}

void parse(CLI::App& app, int argc, char** argv) {
  app.parse(argc, argv);
  if (app.get_subcommands().empty()) {
    throw UsageError(fmt::format("say what to do: vicinal {}; --help tells more",
                                 quoted_list(known_words(app, false))));
  }
}

// What the runtime says of one of its options, in the words of the command line if that has set it.
std::string with_dashes(const CLI::App& app, const std::string& message) {
  const std::string_view name = reports::option_of_message(message);
  if (name.empty()) return message;
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  for (const CLI::App* const command : app.get_subcommands()) {
    const CLI::Option* const option = command->get_option_no_throw(flag);
    if (option != nullptr && option->count() > 0) return flag + message.substr(message.find(": "));
  }
  return message;
}

int complain(int status, std::string_view message) {
  fmt::print(stderr, "vicinal: {}\n", reports::legible(message));
  return status;
}

// CLI11 tells in its own words what it is missing, after the name of the option.
std::string own_words(const CLI::ParseError& error) {
  std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  if (error.get_name() == "ArgumentMismatch") {
    return text.find("missing") != std::string::npos
               ? fmt::format("{0}: its value is missing; write {0} VALUE or {0}=VALUE", name)
               : fmt::format("{}: given more than once; give it once", name);
  }
  if (error.get_name() == "RequiresError") {
    const std::string other = text.substr(text.rfind(' ') + 1);
    return fmt::format("{0}: means nothing without {1}; give {1} too, or leave {0} away", name,
                       other);
  }
  if (error.get_name() == "ConversionError") {
    const std::size_t at = text.find("--");
    const std::string flag =
        at == std::string::npos ? name : text.substr(at, text.find(' ', at) - at);
    return fmt::format("{0}: it takes no value; write {0} alone", flag);
  }
  return text;
}

// What was typed, the program without its folder.
std::string typed(int argc, char** argv) {
  std::string command = "vicinal";
  for (int i = 1; i < argc; ++i) command += " " + reports::shell_word(argv[i]);
  return command;
}

int run(int argc, char** argv) {
  Signals signals;  // before any other thread
#if VICINAL_HAVE_BLAS
  linalg::prepare_openblas();
#endif
  Session session{signals, typed(argc, argv)};
  CLI::App app("Vicinal: a task runtime that keeps work near its data.");
  app.name("vicinal");
  app.formatter(std::make_shared<HelpFormat>());  // subcommands inherit it
  app.set_version_flag("--version", fmt::format("vicinal {}", version()));
  app.require_subcommand(0, 1);                                 // one; none is told of in parse()
  app.allow_extras();                                           // and so do the subcommands
  app.parse_complete_callback([&app] { refuse_extras(app); });  // before the subcommand runs
  add_run(app, session);
  add_generate(app, session);
  add_simulate(app, session);
  add_plan(app, session);
  add_replay(app, session);
  add_bounds(app, session);
  add_report(app, session);
  add_reproduce(app, session);
  add_export(app, session);
  add_explain(app, session);
  add_machine(app, session);
  add_calibrate(app, session);
  add_contention(app, session);
  add_interference(app, session);
  add_policies(app, session);
  add_options(app, session);
  add_events(app, session);
  add_man(app, session);
  add_completion(app, session);
  add_help(app, session);
  try {
    parse(app, argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    app.exit(request, text, text);
    fmt::print("{}", text.str());
  } catch (const UsageError& error) {
    throw UsageError(with_dashes(app, error.what()));
  } catch (const CLI::ParseError& error) {
    return complain(kUsage, own_words(error));
  }
  require_printed();
  return session.status;
}

}  // namespace

}  // namespace vicinal::cli

int main(int argc, char** argv) {
  using namespace vicinal;
  try {
    return cli::run(argc, argv);
  } catch (const UsageError& error) {
    return cli::complain(cli::kUsage, error.what());
  } catch (const CapacityError& error) {
    return cli::complain(cli::kUsage, error.what());
  } catch (const std::system_error& error) {
    // What fmt throws when the standard output takes no more; its text does not say so.
    return cli::complain(
        cli::kFailure,
        fmt::format("{}{}", std::ferror(stdout) != 0 ? "the standard output: " : "", error.what()));
  } catch (const std::bad_alloc&) {
    return cli::complain(
        cli::kFailure,
        "no memory is left for the tasks and data; make them fewer (a smaller --size or "
        "--tiles, a larger --tile)");
  } catch (const std::exception& error) {
    return cli::complain(cli::kFailure, error.what());
  }
}
