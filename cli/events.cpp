// vicinal events: what a recording can hold.
#include <memory>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "session.hpp"

namespace vicinal::cli {

void add_events(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("events", "Lists the events that a recording can hold.");
  auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "The page docs/trace.md.");
  command->callback([markdown] {
    if (*markdown) {
      fmt::print("{}", reports::events_page());
      return;
    }
    for (const reports::EventRow& event : reports::recorded_events()) {
      fmt::print("{:<12} {:<20} {}\n", event.category, event.name, event.sentence);
    }
  });
}

}  // namespace vicinal::cli
