#include "command_table.hpp"

#include <algorithm>
#include <string_view>

#include "exporters/exporters.hpp"
#include "play/play.hpp"
#include "reports/catalogue.hpp"
#include "runtime_options.hpp"

namespace vicinal::cli {

namespace {

// "bottom-level or none.", "Matrices: double or float.", "cholesky, lu": words and nothing else. Of another sentence
// none.
std::vector<std::string> listed_words(std::string sentence) {
  if (const std::size_t colon = sentence.rfind(": "); colon != std::string::npos) {
    sentence.erase(0, colon + 2);
  }
  if (sentence.ends_with('.')) sentence.pop_back();
  std::vector<std::string> words;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t comma = std::min(sentence.find(", ", at), sentence.size());
    const std::size_t conjunction = std::min(sentence.find(" or ", at), sentence.size());
    const std::size_t end = std::min(comma, conjunction);
    words.push_back(sentence.substr(at, end - at));
    if (words.back().find(' ') != std::string::npos) return {};
    at = end + (end == conjunction ? 4 : 2);
  }
  return words.size() < 2 ? std::vector<std::string>{} : words;
}

template <typename Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

// The words of the library's table, if there is one; else the words that the option's sentence lists.
void find_words(const std::string& name, OptionEntry& option) {
  option.argument = Argument::one_of;
  if (name == "policy") {
    option.argument = Argument::list_of;
    option.words = names_of(reports::policies());
    option.words.emplace_back("all");
  } else if (name == "machine") {
    option.words = names_of(machine::shipped_machines());
  } else if (name == "format") {
    option.words = names_of(exporters::formats());
  } else if (option.value == "BOOLEAN") {
    option.words = {"true", "false"};
  } else {
    option.words = listed_words(option.sentence);
    if (option.words.empty()) option.argument = Argument::word;
  }
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  entry.sentence = option.get_description();
  entry.of_runtime = option.get_group() == kRuntimeGroup;
  if (option.get_items_expected_max() == 0) return entry;
  // "INTEGER [512]": the value that it has without the option.
  const std::string type = option.get_type_name();
  const std::size_t bracket = std::min(type.find(" ["), type.size());
  entry.value = type.substr(0, bracket);
  if (bracket < type.size()) entry.usual = type.substr(bracket + 2, type.size() - bracket - 3);
  // Options of the runtime are texts: their sentences say of what.
  const auto begins = [&](std::string_view word) { return entry.sentence.starts_with(word); };
  const bool is_text = entry.value == "TEXT";
  if ((is_text && (begins("File ") || begins("Library "))) || entry.value.starts_with("TRACE") ||
      entry.value == "FILE" || entry.value == "PATH") {
    entry.argument = Argument::file;
  } else if ((is_text && begins("Folder ")) || entry.value == "DIR") {
    entry.argument = Argument::folder;
  } else {
    find_words(entry.names.empty() ? "" : entry.names.back().substr(2), entry);
  }
  return entry;
}

}  // namespace

CommandEntry describe(const CLI::App& command) {
  CommandEntry entry{.name = command.get_name(),
                     .sentence = command.get_description(),
                     .footer = command.get_footer(),
                     .positionals = {},
                     .options = {}};
  for (const CLI::Option* const option : command.get_options()) {
    (option->get_positional() ? entry.positionals : entry.options).push_back(entry_of(*option));
  }
  return entry;
}

std::vector<CommandEntry> describe_subcommands(const CLI::App& app) {
  std::vector<CommandEntry> entries;
  for (const CLI::App* const command : app.get_subcommands({})) {
    entries.push_back(describe(*command));
  }
  return entries;
}

}  // namespace vicinal::cli
