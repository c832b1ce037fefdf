#include "machine/toml_guard.hpp"

#include <algorithm>

namespace vicinal::machine {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool begins_name(char c) {
  return is_bare(c) || c == '"' || c == '\'';
}

// Follows strings, comments and brackets as far as the text is TOML; what comes behind an error does not
// matter, because toml++ stops there.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  std::optional<std::uint32_t> find_nameless_header() {
    while (at_ < text_.size()) {
      skip_blanks();
      if (depth_ == 0 && peek() == '[') {
        if (is_nameless_header()) return line();
        skip_to_line_end();
      } else {
        scan_line();
      }
      ++at_;  // the end of the line
    }
    return std::nullopt;
  }

  // Looks at values as well, in which a dot or two between names are no harm.
  std::optional<std::uint32_t> find_too_many_names() {
    std::size_t names = 0;
    bool behind_dot = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = peek();
      if (begins_name(c)) {
        names = behind_dot ? names + 1 : 1;
        if (names > kMostDottedNames) return line();
        behind_dot = false;
        skip_name();
      } else if (c == '.') {
        behind_dot = true;
      } else if (!is_blank(c)) {
        names = 0;
        behind_dot = false;
        if (c == '#') skip_to_line_end();
      }
    }
    return std::nullopt;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::uint32_t line() const {
    const auto before = text_.substr(0, at_);
    return 1 + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  }
  void skip_blanks() {
    while (is_blank(peek())) ++at_;
  }
  void skip_to_line_end() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  bool is_nameless_header() {
    ++at_;
    if (peek() == '[') ++at_;
    skip_blanks();
    // toml++ itself refuses "[]", "[ [" and an end of the text.
    const bool refused =
        at_ >= text_.size() || peek() == ']' || (peek() == '[' && is_blank(text_[at_ - 1]));
    return !refused && !begins_name(peek());
  }

  // Leaves at_ on its last character.
  void skip_name() {
    const char c = peek();
    if (c == '"' || c == '\'') return skip_string(c);
    while (at_ + 1 < text_.size() && is_bare(text_[at_ + 1])) ++at_;
  }

  void scan_line() {
    for (; at_ < text_.size() && peek() != '\n'; ++at_) {
      const char c = peek();
      if (c == '#') return skip_to_line_end();
      if (c == '[' || c == '{') ++depth_;
      if ((c == ']' || c == '}') && depth_ > 0) --depth_;
      if (c == '"' || c == '\'') skip_string(c);
    }
  }

  // Leaves at_ on the last quote, or before the end of the line if there is none.
  void skip_string(char quote) {
    const std::string_view rest = text_.substr(at_);
    if (rest.size() >= 3 && rest[1] == quote && rest[2] == quote) return skip_long_string(quote);
    for (++at_; at_ < text_.size() && peek() != quote; ++at_) {
      if (peek() == '\\' && quote == '"') ++at_;
      if (peek() == '\n') break;
    }
    if (peek() != quote) --at_;
  }

  void skip_long_string(char quote) {
    const std::string_view closing = quote == '"' ? R"(""")" : "'''";
    for (at_ += 3; at_ < text_.size() && !text_.substr(at_).starts_with(closing); ++at_) {
      if (peek() == '\\' && quote == '"') ++at_;
    }
    // Up to two quotes may stand before the closing ones.
    at_ += 2;
    for (int more = 0; more < 2 && at_ + 1 < text_.size() && text_[at_ + 1] == quote; ++more) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // of lists and inline tables, which may run over several lines
};

}  // namespace

std::optional<std::uint32_t> line_of_nameless_header(std::string_view text) {
  return Scanner(text).find_nameless_header();
}

std::optional<std::uint32_t> line_of_too_many_names(std::string_view text) {
  return Scanner(text).find_too_many_names();
}

}  // namespace vicinal::machine
