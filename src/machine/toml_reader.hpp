// Values of a TOML file, each converted or refused with the file, the line and the key in the message.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "vicinal/units.hpp"

namespace vicinal::machine {

// One value; `what` names it in messages: "bandwidth of [[link]]".
class TomlValue {
 public:
  TomlValue(const std::string& origin, const toml::node& node, std::string what)
      : origin_(&origin), node_(&node), what_(std::move(what)) {}

  std::uint32_t line() const { return node_->source().begin.line; }
  [[noreturn]] void refuse(std::string_view why) const;

  std::string text() const;  // not empty
  bool flag() const;
  std::uint32_t count(std::uint32_t lowest, std::uint32_t highest) const;
  Bytes bytes() const;               // 1 byte to 1 EiB
  Bytes memory() const;              // the same, with a unit if it is little
  BytesPerSecond bandwidth() const;  // 1 kB/s to 1 PB/s
  // By which one changes, from `lowest` to 1 PB/s; without it from -1 PB/s.
  BytesPerSecond change(double lowest = -1e15) const;
  double flop_rate() const;  // 1 MFlop/s to 1 EFlop/s
  double seconds() const;    // 0 to one day
  Time time() const;         // the same, in nanoseconds
  double number(double lowest, double highest) const;
  // One of the words, by its index.
  std::size_t word(std::initializer_list<std::string_view> words) const;
  std::vector<TomlValue> items() const;
  bool is_list() const { return node_->is_array(); }

 private:
  double real(std::string_view forms, double lowest, double highest, std::string_view range,
              const std::function<double(std::string_view)>& parse) const;

  const std::string* origin_;
  const toml::node* node_;
  std::string what_;
};

class TomlTable {
 public:
  // `what` names it in messages: "[gpu]"; `line`: where it begins.
  TomlTable(const std::string& origin, const toml::table& table, std::string what,
            std::uint32_t line)
      : origin_(&origin), table_(&table), what_(std::move(what)), line_(line) {}

  std::uint32_t line() const { return line_; }
  bool has(std::string_view key) const { return table_->contains(key); }
  [[noreturn]] void refuse(std::string_view why) const;
  // Refuses any key that is not one of these, and names the nearest.
  void allow(std::initializer_list<std::string_view> keys) const;

  TomlValue value(std::string_view key) const;  // refuses the table that lacks it
  std::optional<TomlValue> find(std::string_view key) const;
  Time time_or_zero(std::string_view key) const;               // 0 if it is not there
  std::optional<TomlTable> table(std::string_view key) const;  // "[key]" or, within one, "[a.key]"
  std::vector<TomlTable> tables(std::string_view key) const;   // "[[key]]"
  struct Named;
  std::vector<Named> named_tables(std::string_view key) const;  // "[key.name]"

 private:
  std::string what_of(std::string_view key) const;

  const std::string* origin_;
  const toml::table* table_;
  std::string what_;
  std::uint32_t line_;
};

struct TomlTable::Named {
  std::string name;
  TomlTable table;
};

}  // namespace vicinal::machine
