// vicinal help: what `vicinal COMMAND --help` says.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

std::string help_of(const CLI::App& app, const std::string& command) {
  if (command.empty()) {  // app.help() would be that of the command that was given
    return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  }
  std::vector<std::string> names;
  for (const CLI::App* const sub : app.get_subcommands({})) {
    if (sub->get_name() == command) return sub->help(app.get_name());
    names.push_back(sub->get_name());
  }
  const std::string near = reports::suggestion(command, names);
  throw UsageError(
      fmt::format("{}: unknown command{}", command,
                  near.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : near));
}

}  // namespace

void add_help(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("help", "Says what a command does, as its --help.");
  auto name = std::make_shared<std::string>();
  command->add_option("command", *name, "One of those that are listed.")->type_name("COMMAND");
  command->callback([&app, name] { fmt::print("{}", help_of(app, *name)); });
}

}  // namespace vicinal::cli
