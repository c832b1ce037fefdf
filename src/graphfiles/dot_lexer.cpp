#include "graphfiles/dot_lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "graphfiles/file_text.hpp"

namespace vicinal::graphfiles {

namespace {

constexpr std::array<std::string_view, 6> kKeywords{"strict", "graph", "digraph",
                                                    "node",   "edge",  "subgraph"};

bool is_dot_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}
bool is_dot_digit(char c) {
  return c >= '0' && c <= '9';
}
// Letters of other scripts are bytes from 0x80 on.
bool begins_dot_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

}  // namespace

DotLexer::DotLexer(std::string_view text, const std::string& origin)
    : text_(text), origin_(origin) {
  advance();
}

DotLexer::Token DotLexer::take() {
  Token taken = std::move(token_);
  advance();
  return taken;
}

void DotLexer::refuse(const Token& at, const std::string& message) const {
  refuse_at_position(at.position, message);
}

void DotLexer::refuse_at_position(std::size_t position, const std::string& message) const {
  refuse_at(origin_, line_and_column(text_, position), message);
}

void DotLexer::skip_line() {
  at_ = std::min(text_.find('\n', at_), text_.size());
}

// Lines that begin with # are the output of a preprocessor.
void DotLexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const std::string_view rest = text_.substr(at_);
    if (is_dot_space(c)) {
      ++at_;
    } else if (rest.starts_with("//") || (c == '#' && (at_ == 0 || text_[at_ - 1] == '\n'))) {
      skip_line();
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos)
        refuse_at_position(at_, "the comment does not end: write */");
      at_ = end + 2;
    } else {
      return;
    }
  }
}

void DotLexer::advance() {
  skip_space();
  token_ = {.position = at_};
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("->") || rest.starts_with("--")) {
    token_.kind = rest[1] == '>' ? Kind::arrow : Kind::line;
    token_.text = rest.substr(0, 2);
    at_ += 2;
  } else if (c == '"') {
    token_.kind = Kind::id;
    token_.text = quoted();
  } else if (c == '<') {
    token_.kind = Kind::html;
    token_.text = html();
  } else if (begins_dot_name(c)) {
    std::size_t end = at_;
    while (end < text_.size() && (begins_dot_name(text_[end]) || is_dot_digit(text_[end]))) ++end;
    token_.text = text_.substr(at_, end - at_);
    at_ = end;
    std::string small = in_small_letters(token_.text);
    const bool is_keyword = std::ranges::find(kKeywords, small) != kKeywords.end();
    token_.kind = is_keyword ? Kind::keyword : Kind::id;
    if (is_keyword) token_.text = std::move(small);
  } else if (is_dot_digit(c) || c == '.' || c == '-') {
    token_.kind = Kind::id;
    token_.text = number();
  } else if (std::string_view("{}[]=;,:").find(c) != std::string_view::npos) {
    token_.kind = Kind::punctuation;
    token_.text = c;
    ++at_;
  } else {
    refuse_at_position(at_,
                       fmt::format("{} is nothing of DOT; a name with it stands in quotation marks",
                                   in_quotes(rest.substr(0, 1))));
  }
}

// "one " + "text"
std::string DotLexer::quoted() {
  std::string text = quoted_piece();
  while (true) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != '+') return text;
    const std::size_t plus = at_++;
    skip_space();
    if (at_ == text_.size() || text_[at_] != '"') {
      refuse_at_position(plus, "expected a text in quotation marks behind +");
    }
    text += quoted_piece();
  }
}

// Of what a backslash may stand before, only a quotation mark and the end of a line mean something here.
std::string DotLexer::quoted_piece() {
  const std::size_t begin = at_++;
  std::string text;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      const char next = text_[at_ + 1];
      at_ += 2;
      if (next == '"') {
        text += '"';
      } else if (next != '\n') {
        text += '\\';
        text += next;
      }
    } else {
      text += text_[at_++];
    }
  }
  if (at_ == text_.size())
    refuse_at_position(begin, "the text does not end: write a quotation mark");
  ++at_;
  return text;
}

std::string DotLexer::html() {
  const std::size_t begin = at_;
  std::size_t depth = 0;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '<') ++depth;
    if (text_[at_] == '>' && --depth == 0) {
      ++at_;
      return std::string(text_.substr(begin + 1, at_ - begin - 2));
    }
  }
  refuse_at_position(begin, "the label in <> does not end: write >");
}

std::string DotLexer::number() {
  const std::size_t begin = at_;
  if (text_[at_] == '-') ++at_;
  bool digits = false;
  bool point = false;
  for (; at_ < text_.size(); ++at_) {
    if (is_dot_digit(text_[at_])) {
      digits = true;
    } else if (text_[at_] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!digits) refuse_at_position(begin, "expected a number, or ->");
  // Graphviz has no such numbers and would read two; programs write them.
  if (at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    std::size_t end = at_ + 1;
    if (text_[end] == '+' || text_[end] == '-') ++end;
    if (end < text_.size() && is_dot_digit(text_[end])) {
      while (end < text_.size() && is_dot_digit(text_[end])) ++end;
      at_ = end;
    }
  }
  return std::string(text_.substr(begin, at_ - begin));
}

}  // namespace vicinal::graphfiles
