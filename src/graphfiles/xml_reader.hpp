// As much of XML as workflow files use: elements, attributes, text, comments. An own reader of it, since the format is
// small, a library would be one more that everybody must install, and what makes XML dangerous is left out: a document
// type, and with it entities of one's own and files from elsewhere, is refused.
//
//   XmlReader xml(text, "montage.dax");
//   while (xml.next() != XmlReader::Event::end) { ... xml.name(), xml.attribute("id") ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vicinal::graphfiles {

class XmlReader {
 public:
  enum class Event : std::uint8_t { open, close, end };

  // `origin` names the text in messages. Both must outlive this.
  XmlReader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  // Throws UsageError with line and column where the text is no XML, or is cut off.
  Event next();

  // Of the element that was opened or closed last, without a prefix.
  const std::string& name() const { return name_; }
  // How many elements are open, that one included.
  std::size_t depth() const { return open_.size() + (closed_ ? 1 : 0); }
  // Of the element that was opened last; null: there is none of that name.
  const std::string* attribute(std::string_view name) const;
  // Behind the last tag.
  const std::string& text() const { return content_; }

  // Throws UsageError with the place of the last tag.
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  [[noreturn]] void refuse_here(std::size_t position, const std::string& message) const;
  bool at(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void skip_behind(std::string_view end, std::string_view what);
  void skip_spaces();
  void skip_to_tag();
  Event read_tag();
  void close_element();
  std::string read_name();
  void read_attributes();
  void read_attribute();
  std::string unescaped(std::string_view text, std::size_t position) const;
  void append_character(std::string_view reference, std::size_t position, std::string& to) const;

  std::string_view text_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::size_t tag_ = 0;
  bool closes_itself_ = false;
  bool closed_ = false;
  bool had_root_ = false;
  std::string name_;
  std::string content_;
  std::vector<std::string> open_;  // with their prefixes
  std::vector<std::pair<std::string, std::string>> attributes_;
};

}  // namespace vicinal::graphfiles
