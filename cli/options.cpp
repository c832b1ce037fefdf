#include "vicinal/options.hpp"

#include <memory>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "session.hpp"

namespace vicinal::cli {

void add_options(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("options", "Lists the options of the runtime.");
  auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "The page docs/options.md.");
  command->callback([markdown] {
    if (*markdown) {
      fmt::print("{}", reports::options_page());
      return;
    }
    for (const OptionDescription& option : option_table()) {
      fmt::print("{:<22} {:<8} {:<10} {}\n", option.name, option.type, option.default_value,
                 option.sentence);
    }
  });
}

}  // namespace vicinal::cli
