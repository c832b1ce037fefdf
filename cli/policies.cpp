#include <memory>

#include <fmt/format.h>

#include "load_option.hpp"
#include "reports/catalogue.hpp"
#include "session.hpp"

namespace vicinal::cli {

void add_policies(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("policies", "Lists the scheduling policies.");
  auto load = std::make_shared<LoadOption>(*command);
  command->callback([load] {
    for (const auto& policy : reports::policies()) {
      fmt::print("{:<8}  {}\n", policy.name, policy.sentence);
      for (const auto& setting : policy.settings) {
        fmt::print("{:<8}    :{}={} ({})  {}\n", "", setting.name, setting.usual, setting.values,
                   setting.sentence);
      }
    }
  });
}

}  // namespace vicinal::cli
