#include "reports/catalogue.hpp"

#include <fmt/format.h>

#include "base/command_line.hpp"
#include "base/legible.hpp"
#include "base/option_source.hpp"
#include "base/options_page.hpp"
#include "base/text.hpp"
#include "sched/default_policy.hpp"
#include "sched/policy.hpp"
#include "trace/event.hpp"
#include "trace/events_page.hpp"
#include "trace/kind_of_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {

std::vector<PolicyDescription> policies() {
  std::vector<PolicyDescription> descriptions;
  for (const sched::PolicyEntry& entry : sched::policies()) {
    PolicyDescription& description = descriptions.emplace_back();
    description = {.name = entry.name, .sentence = entry.sentence, .settings = {}};
    for (const sched::Setting& setting : entry.settings) {
      description.settings.push_back(
          {setting.name, setting.usual, setting.values, setting.sentence});
    }
  }
  return descriptions;
}

void require_policy(std::string_view name) {
  if (name != sched::kDefault && name != sched::kAuto) sched::make_policy(name);
}

std::optional<ChosenPolicy> default_policy(std::string_view name, const Options& options,
                                           const MachineDescription* machine) {
  if (name != sched::kDefault && name != sched::kAuto) return std::nullopt;
  const sched::DefaultPolicy chosen = sched::default_policy(options, machine);
  return ChosenPolicy{.name = std::string(chosen.policy), .why = std::string(chosen.why)};
}

std::string_view option_of_message(std::string_view message) {
  return base::option_of_message(message);
}

std::string options_page() {
  return base::options_markdown();
}

std::string events_page() {
  return trace::events_markdown();
}

std::vector<EventRow> recorded_events() {
  std::vector<EventRow> rows;
  for (const trace::EventEntry& event : trace::events()) {
    const auto category = static_cast<std::size_t>(event.category);
    rows.push_back({trace::categories()[category].name, event.name, event.sentence});
  }
  return rows;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view nearest = base::nearest(word, views);
  return nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest);
}

std::uint64_t parse_count(std::string_view what, std::string_view text, std::uint64_t lowest,
                          std::uint64_t highest) {
  try {
    return base::parse_count(text, lowest, highest);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", what, error.what()));
  }
}

Bytes parse_bytes(std::string_view what, std::string_view text) {
  try {
    return base::parse_bytes(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", what, error.what()));
  }
}

double parse_real(std::string_view what, std::string_view text, double lowest) {
  try {
    const double value = base::parse_real(text);
    if (value >= lowest) return value;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", what, error.what()));
  }
  throw UsageError(fmt::format("{}: \"{}\" is less than {}", what, text, lowest));
}

bool is_recording(const std::string& file) {
  return trace::kind_of_file(file) == trace::KindOfFile::recording;
}

void require_recordable(std::string_view what, const std::string& file) {
  if (trace::kind_of_file(file) != trace::KindOfFile::other) return;
  throw UsageError(
      fmt::format("{}: {} is a file of another kind, which would be lost; name another file, or "
                  "remove it first",
                  what, base::legible_name(file)));
}

std::string shell_word(std::string_view word) {
  return base::shell_word(word);
}

std::string legible(std::string_view text) {
  return base::legible(text);
}

std::string legible_name(std::string_view name) {
  return base::legible_name(name);
}

std::string format_bytes(Bytes bytes) {
  return base::format_bytes(bytes);
}

std::string format_duration(double seconds) {
  return base::format_duration(Time::from_seconds(seconds));
}

}  // namespace vicinal::reports
