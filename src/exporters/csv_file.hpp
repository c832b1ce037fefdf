// A file of comma-separated values as RFC 4180 describes it, with line feeds: a line of names, then rows.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace vicinal::exporters {

// Throws DeviceError that names the file.
class CsvFile {
 public:
  CsvFile(const std::string& folder, std::string_view name,
          std::initializer_list<std::string_view> columns);

  // Text is made legible, and put in quotes where it must be; what a spreadsheet would take for a formula gets a ' in
  // front. Truth is 1 or 0. What is not there is an empty cell.
  template <typename Value>
  void cell(const Value& value) {
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      text(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      plain(value ? "1" : "0");
    } else {
      static_assert(std::integral<Value> || std::floating_point<Value>);
      plain(fmt::format("{}", value));
    }
  }
  template <typename Value>
  void cell(const std::optional<Value>& value) {
    if (value) {
      cell(*value);
    } else {
      plain({});
    }
  }
  void end_row();
  template <typename... Values>
  void row(const Values&... values) {
    (cell(values), ...);
    end_row();
  }
  void close();  // without it the last rows are lost

 private:
  struct Closer {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  void text(std::string_view text);
  void plain(std::string_view text);
  void write();
  [[noreturn]] void refuse() const;

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string buffer_;
  bool in_row_ = false;
};

}  // namespace vicinal::exporters
