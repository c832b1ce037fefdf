// A table of numbers as a page carries it: column by column, each number in as few bytes as it needs (7 bits a byte,
// the lowest first, the highest bit says that more follow), then packed. share/report/columns.js reads it.
//
//   Columns table("copies");
//   table.plain("bytes", copies.size(), [&](std::size_t i) { return copies[i].bytes; });
//   section = table.section();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/json.hpp"

namespace vicinal::reports {

// What a page carries beside its head, in an element of its own.
struct Section {
  std::string name;
  Json columns;  // of each: name, kind, how many numbers, where its bytes begin, how many
  std::string text;
};

class Columns {
 public:
  explicit Columns(std::string name) : name_(std::move(name)) {}

  // As they are.
  template <typename Value>
  void plain(std::string_view name, std::size_t count, const Value& value) {
    begin(name, "plain", count);
    for (std::size_t i = 0; i < count; ++i) put(static_cast<std::uint64_t>(value(i)));
    end();
  }
  // Each less the one before it; may be negative.
  template <typename Value>
  void deltas(std::string_view name, std::size_t count, const Value& value) {
    begin(name, "deltas", count);
    std::int64_t last = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto now = static_cast<std::int64_t>(value(i));
      put(zigzag(now - last));
      last = now;
    }
    end();
  }
  // Moments of the same things, negative where they are not known: each less the last that is known of its row, or,
  // where none is, of its column. The columns that are added by one `Moments`, a chain, belong together.
  class Moments;

  // A byte each.
  void bytes(std::string_view name, std::string_view bytes);
  // Texts, one behind the other; their lengths are a column of their own, `name`_length.
  template <typename Text>
  void texts(std::string_view name, std::size_t count, const Text& text) {
    std::string all;
    std::vector<std::size_t> lengths(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = text(i);
      lengths[i] = one.size();
      all += one;
    }
    plain(std::string(name) + "_length", count, [&](std::size_t i) { return lengths[i]; });
    bytes(name, all);
  }

  Section section() const;
  const std::string& content() const { return content_; }  // not packed

  // Small numbers of either sign as small ones.
  static std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  }

 private:
  void begin(std::string_view name, std::string_view kind, std::size_t count);
  void end();
  void put(std::uint64_t value) {
    while (value >= 0x80) {
      content_ += static_cast<char>((value & 0x7f) | 0x80);
      value >>= 7;
    }
    content_ += static_cast<char>(value);
  }

  std::string name_;
  Json columns_ = Json::array();
  std::size_t chains_ = 0;
  std::string content_;
};

class Columns::Moments {
 public:
  Moments(Columns& columns, std::size_t rows)
      : columns_(columns), chain_(columns.chains_++), last_(rows, -1) {}
  template <typename Value>
  void add(std::string_view name, const Value& value) {
    columns_.begin(name, "moments", last_.size());
    columns_.columns_.back()["chain"] = chain_;
    std::int64_t before = 0;  // in the column
    for (std::size_t i = 0; i < last_.size(); ++i) {
      const std::int64_t now = value(i);
      if (now < 0) {
        columns_.put(0);
        continue;
      }
      columns_.put(zigzag(now - (last_[i] >= 0 ? last_[i] : before)) + 1);
      last_[i] = before = now;
    }
    columns_.end();
  }

 private:
  Columns& columns_;
  std::size_t chain_;
  std::vector<std::int64_t> last_;  // known of each row
};

}  // namespace vicinal::reports
