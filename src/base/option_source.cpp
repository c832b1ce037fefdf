#include "base/option_source.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace vicinal::base {

namespace {

constexpr std::string_view kOption = "option ";

std::string value_of(const Options& options, std::string_view name) {
  for (const auto& [changed, value] : options.changed()) {
    if (changed == name) return value;
  }
  return {};
}

}  // namespace

std::string_view option_of_message(std::string_view message) {
  if (message.starts_with(kOption)) message.remove_prefix(kOption.size());
  const std::string_view name = message.substr(0, std::min(message.find(": "), message.size()));
  const auto table = option_table();
  const auto found = std::ranges::find(table, name, &OptionDescription::name);
  return found == table.end() ? std::string_view() : found->name;
}

std::string with_variable(const std::string& message, const Options& options) {
  const std::string_view name = option_of_message(message);
  if (name.empty()) return message;
  std::string variable = "VICINAL_";
  for (const char c : name) {
    variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const char* const text = std::getenv(variable.c_str());
  if (text == nullptr) return message;
  try {
    Options as_given;
    as_given.set(name, text);
    if (value_of(as_given, name) != value_of(options, name)) return message;
  } catch (const std::exception&) {
    return message;  // the program has set it since
  }
  return "environment variable " + variable + message.substr(message.find(": "));
}

}  // namespace vicinal::base
