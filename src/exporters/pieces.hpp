// Output that grows piece by piece.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "exporters/exporters.hpp"

namespace vicinal::exporters {

// Valid as long as the sink; the last piece is handed on by `finish`.
class Pieces {
 public:
  explicit Pieces(Sink sink) : sink_(sink) {}

  template <typename... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(piece_), format, std::forward<Arguments>(arguments)...);
    if (piece_.size() >= kEnough) finish();
  }
  void add(std::string_view text) {
    piece_ += text;
    if (piece_.size() >= kEnough) finish();
  }
  void finish() {
    if (!piece_.empty()) sink_(piece_);
    piece_.clear();
  }

 private:
  static constexpr std::size_t kEnough = std::size_t{1} << 16;
  Sink sink_;
  std::string piece_;
};

}  // namespace vicinal::exporters
