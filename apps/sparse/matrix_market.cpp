#include "sparse/matrix_market.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sparse {

namespace {

constexpr std::string_view kRemedy = "conjugate gradients read a real symmetric matrix by entries";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// The file, line by line, and the words of a line.
class Lines {
 public:
  Lines(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  // False: there is none.
  bool next() {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    return true;
  }
  // The next that is neither empty nor a comment.
  bool next_of_data() {
    while (next()) {
      skip_blanks();
      if (!line_.empty() && line_.front() != '%') return true;
    }
    return false;
  }
  // Empty: there is none.
  std::string_view word() {
    skip_blanks();
    std::size_t end = 0;
    while (end < line_.size() && !is_blank(line_[end])) ++end;
    const std::string_view word = line_.substr(0, end);
    line_.remove_prefix(end);
    return word;
  }
  void require_end() {
    const std::string_view more = word();
    if (!more.empty()) refuse(fmt::format("\"{}\" is one word too many", shown(more)));
  }
  [[noreturn]] void refuse(std::string_view why) const {
    const bool is_cut = at_ > text_.size();
    throw UsageError(fmt::format(
        "{}, line {}: {}{}", origin_, number_, why,
        is_cut ? "; the file ends in this line: if it is not whole, fetch it again" : ""));
  }
  [[noreturn]] void refuse_all(std::string_view why) const {
    throw UsageError(fmt::format("{}: {}", origin_, why));
  }
  static std::string shown(std::string_view word) {
    constexpr std::size_t kMost = 40;
    return base::legible_name(word.substr(0, kMost)) + (word.size() > kMost ? "..." : "");
  }

 private:
  void skip_blanks() {
    while (!line_.empty() && is_blank(line_.front())) line_.remove_prefix(1);
  }

  std::string_view text_;
  std::string_view origin_;
  std::string_view line_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
};

struct Header {
  bool has_values = true;
  bool is_symmetric = false;
};

std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

Header parse_header(Lines& lines) {
  if (!lines.next() || lines.word() != "%%MatrixMarket") {
    lines.refuse_all(
        "no Matrix Market file: that begins with \"%%MatrixMarket matrix coordinate real "
        "symmetric\"");
  }
  const auto require = [&](std::string_view what, std::initializer_list<std::string_view> known) {
    const std::string word = lower(lines.word());
    if (std::ranges::find(known, word) != known.end()) return word;
    lines.refuse(fmt::format("the {} \"{}\" is not known: it must be {}; {}", what,
                             Lines::shown(word), fmt::join(known, " or "), kRemedy));
  };
  require("object", {"matrix"});
  require("format", {"coordinate"});
  Header header;
  header.has_values = require("field", {"real", "integer", "pattern"}) != "pattern";
  header.is_symmetric = require("symmetry", {"general", "symmetric"}) == "symmetric";
  lines.require_end();
  return header;
}

std::uint64_t parse_number(Lines& lines, std::string_view what, std::uint64_t least,
                           std::uint64_t most) {
  const std::string_view word = lines.word();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size() && number >= least &&
      number <= most) {
    return number;
  }
  lines.refuse(fmt::format("the {} \"{}\" is no number from {} to {}", what, Lines::shown(word),
                           least, most));
}

double parse_value(Lines& lines) {
  std::string_view word = lines.word();
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size() && std::isfinite(value))
    return value;
  lines.refuse(fmt::format("the value \"{}\" is no finite number", Lines::shown(word)));
}

}  // namespace

SparseMatrix parse_matrix_market(std::string_view text, std::string_view origin) {
  constexpr std::uint64_t kMostRows = 0xffffffffU;
  Lines lines(text, origin);
  const Header header = parse_header(lines);
  if (!lines.next_of_data()) {
    lines.refuse_all("it ends before the line with rows, columns and entries: fetch it again");
  }
  const std::uint64_t rows = parse_number(lines, "number of rows", 1, kMostRows);
  const std::uint64_t columns = parse_number(lines, "number of columns", 1, kMostRows);
  const std::uint64_t count = parse_number(lines, "number of entries", 1, 1ULL << 48);
  lines.require_end();
  if (rows != columns) {
    lines.refuse(fmt::format("{} rows and {} columns: {}", rows, columns, kRemedy));
  }
  // Before memory is taken for the rows.
  if (rows > count) {
    lines.refuse(fmt::format(
        "{} rows and {} entries: a positive definite matrix has one on the diagonal of each row",
        rows, count));
  }
  std::vector<Entry> entries;
  constexpr std::size_t kShortest = 4;  // bytes of a line, "1 1\n"
  entries.reserve(std::min<std::uint64_t>(count, text.size() / kShortest + 1) *
                  (header.is_symmetric ? 2 : 1));
  for (std::uint64_t e = 0; e < count; ++e) {
    if (!lines.next_of_data()) {
      lines.refuse_all(fmt::format("it ends after {} of {} entries: fetch it again", e, count));
    }
    const std::uint64_t row = parse_number(lines, "row", 1, rows) - 1;
    const std::uint64_t column = parse_number(lines, "column", 1, rows) - 1;
    const double value = header.has_values ? parse_value(lines) : 1;
    lines.require_end();
    if (header.is_symmetric && column > row) {
      lines.refuse(
          fmt::format("row {}, column {} lies above the diagonal, and a symmetric file "
                      "holds what is on and below it; write \"general\" in line 1 if it holds "
                      "all",
                      row + 1, column + 1));
    }
    entries.push_back({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column), value});
    if (header.is_symmetric && column != row) {
      entries.push_back(
          {static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(row), value});
    }
  }
  if (lines.next_of_data()) lines.refuse(fmt::format("more than {} entries", count));
  SparseMatrix matrix = from_entries(rows, entries);
  if (!header.is_symmetric) require_symmetric(matrix, origin);
  return matrix;
}

SparseMatrix read_matrix_market(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!text || file.bad()) throw UsageError(fmt::format("{}: it cannot be read whole", path));
  return parse_matrix_market(std::move(text).str(), path);
}

}  // namespace vicinal::sparse
