// Tables of a recorded run, whatever they are written as: a table for each sort of thing, a row for each thing.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace vicinal::exporters {

struct Column {
  enum class Type : std::uint8_t { integer, real, text };
  // NOLINTNEXTLINE(google-explicit-constructor): most columns are numbers, and a list of names reads best
  constexpr Column(std::string_view its_name, Type its_type = Type::integer)
      : name(its_name), type(its_type) {}
  constexpr Column(const char* its_name)  // NOLINT(google-explicit-constructor)
      : Column(std::string_view(its_name)) {}
  std::string_view name;
  Type type;
};
constexpr Column text(std::string_view name) {
  return {name, Column::Type::text};
}

// Throws DeviceError that names the file.
class Table {
 public:
  virtual ~Table() = default;

  // In the order of the columns. Truth is 1 or 0.
  template <typename Value>
  void cell(const Value& value) {
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      put_text(value);
    } else if constexpr (std::floating_point<Value>) {
      put_real(value);
    } else if constexpr (std::unsigned_integral<Value>) {
      put_unsigned(value);
    } else {
      static_assert(std::signed_integral<Value>);
      put_integer(value);
    }
  }
  template <typename Value>
  void cell(const std::optional<Value>& value) {
    if (value) {
      cell(*value);
    } else {
      put_nothing();
    }
  }
  virtual void end_row() = 0;
  template <typename... Values>
  void row(const Values&... values) {
    (cell(values), ...);
    end_row();
  }
  virtual void close() = 0;  // without it the last rows are lost

 private:
  virtual void put_text(std::string_view text) = 0;
  virtual void put_integer(std::int64_t value) = 0;
  virtual void put_unsigned(std::uint64_t value) = 0;
  virtual void put_real(double value) = 0;
  virtual void put_nothing() = 0;
};

class Tables {
 public:
  // What was put together, or events as they were recorded.
  enum class Kind : std::uint8_t { things, events };
  virtual ~Tables() = default;
  // The names are ours, those of the columns, too.
  virtual std::unique_ptr<Table> add(Kind kind, std::string_view name,
                                     const std::vector<Column>& columns) = 0;
};

}  // namespace vicinal::exporters
