// The words of the DOT language (https://graphviz.org/doc/info/lang.html).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vicinal::graphfiles {

class DotLexer {
 public:
  enum class Kind : std::uint8_t {
    end,
    id,           // a name, a number, a text in quotation marks
    html,         // <b>text</b>, without the outer <>
    keyword,      // strict, graph, digraph, node, edge, subgraph; in small letters
    arrow,        // ->
    line,         // --
    punctuation,  // { } [ ] = ; , :
  };
  struct Token {
    Kind kind = Kind::end;
    std::string text = {};
    std::size_t position = 0;  // characters before it
    bool is(char punctuation) const { return kind == Kind::punctuation && text[0] == punctuation; }
    bool is(std::string_view keyword) const { return kind == Kind::keyword && text == keyword; }
  };

  // `origin` names the text in messages. Both must outlive this.
  DotLexer(std::string_view text, const std::string& origin);

  const Token& now() const { return token_; }
  // The one that there was.
  Token take();
  // Throws UsageError with the place of the token.
  [[noreturn]] void refuse(const Token& at, const std::string& message) const;

 private:
  [[noreturn]] void refuse_at_position(std::size_t position, const std::string& message) const;
  void advance();
  void skip_space();
  void skip_line();
  std::string quoted();
  std::string quoted_piece();
  std::string html();
  std::string number();

  std::string_view text_;
  const std::string& origin_;
  std::size_t at_ = 0;
  Token token_;
};

}  // namespace vicinal::graphfiles
