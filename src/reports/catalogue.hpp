// What a command line needs to know of the library: its policies, its options, and how to help
// somebody who mistyped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reports {

// "name:setting=value" is a policy that is told something.
struct SettingDescription {
  std::string_view name;
  std::string_view usual;
  std::string_view values;
  std::string_view sentence;
};
struct PolicyDescription {
  std::string_view name;
  std::string_view sentence;
  std::vector<SettingDescription> settings;
};
std::vector<PolicyDescription> policies();

// Throws UsageError, which names the nearest one, if there is no such policy, or what it may be told.
void require_policy(std::string_view name);

// What the policy "default" stands for on a machine, and "auto" where nothing is simulated before; null: on the one that the
// options describe. None: another name.
struct ChosenPolicy {
  std::string name;
  std::string why;  // "memory is limited"
};
std::optional<ChosenPolicy> default_policy(std::string_view name, const Options& options,
                                           const MachineDescription* machine = nullptr);

// Of a message that begins with an option of the runtime ("devices: ..."): its name; of another nothing.
std::string_view option_of_message(std::string_view message);

// The page docs/options.md.
std::string options_page();
// The page docs/trace.md, of recordings and their events.
std::string events_page();

struct EventRow {
  std::string_view category;
  std::string_view name;
  std::string_view sentence;
};
std::vector<EventRow> recorded_events();

// ": did you mean X?" for the candidate that `word` most likely stands for, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// A whole number within [lowest, highest]. Throws UsageError that begins with `what` ("--size").
std::uint64_t parse_count(std::string_view what, std::string_view text, std::uint64_t lowest,
                          std::uint64_t highest);

Bytes parse_bytes(std::string_view what, std::string_view text);  // "800MiB"
double parse_real(std::string_view what, std::string_view text, double lowest);

// The file is there, and begins as a recording.
bool is_recording(const std::string& file);
// Throws UsageError that begins with `what`: there is a file of another kind, which a recording may not replace.
void require_recordable(std::string_view what, const std::string& file);

// A word as a shell would be told it: in quotes where it needs them.
std::string shell_word(std::string_view word);
// As a terminal may be shown it; of a name, within one line. See base/legible.hpp.
std::string legible(std::string_view text);
std::string legible_name(std::string_view name);

std::string format_bytes(Bytes bytes);        // "61.04 MiB"
std::string format_duration(double seconds);  // "12.35 s"

}  // namespace vicinal::reports
