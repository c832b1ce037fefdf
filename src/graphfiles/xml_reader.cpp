#include "graphfiles/xml_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "graphfiles/file_text.hpp"

namespace vicinal::graphfiles {

namespace {

constexpr std::size_t kMostOpen = 64;
constexpr std::size_t kMostAttributes = 100;   // of an element
constexpr std::size_t kMostContent = 1 << 16;  // of text behind a tag: nobody asks for more

bool is_xml_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string without_prefix(const std::string& name) {
  return name.substr(name.rfind(':') + 1);
}

}  // namespace

void XmlReader::refuse(const std::string& message) const {
  refuse_here(tag_, message);
}

void XmlReader::refuse_here(std::size_t position, const std::string& message) const {
  refuse_at(origin_, line_and_column(text_, position), message);
}

const std::string* XmlReader::attribute(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name,
                                       [](const auto& one) { return std::string_view(one.first); });
  return found == attributes_.end() ? nullptr : &found->second;
}

XmlReader::Event XmlReader::next() {
  closed_ = false;
  if (closes_itself_) {
    closes_itself_ = false;
    close_element();
    return Event::close;
  }
  skip_to_tag();
  if (at_ < text_.size()) return read_tag();
  if (!open_.empty()) {
    refuse_here(text_.size(), fmt::format("the file ends, and <{}> is still open", open_.back()));
  }
  if (!had_root_) refuse_here(0, "there is no element in it");
  return Event::end;
}

void XmlReader::skip_behind(std::string_view end, std::string_view what) {
  const std::size_t found = text_.find(end, at_);
  if (found == std::string_view::npos)
    refuse_here(at_, fmt::format("{} does not end: write {}", what, end));
  at_ = found + end.size();
}

void XmlReader::skip_spaces() {
  while (at_ < text_.size() && is_xml_space(text_[at_])) ++at_;
}

void XmlReader::skip_to_tag() {
  content_.clear();
  while (at_ < text_.size()) {
    if (at("<!--")) {
      skip_behind("-->", "the comment");
    } else if (at("<![CDATA[")) {
      skip_behind("]]>", "the text");
    } else if (at("<?")) {
      skip_behind("?>", "the instruction");
    } else if (at("<!")) {
      refuse_here(at_, "a document type, or an entity, is not read: take it out");
    } else if (text_[at_] == '<') {
      return;
    } else {
      const std::size_t end = std::min(text_.find('<', at_), text_.size());
      const std::string_view piece = text_.substr(at_, end - at_);
      const bool is_space = std::ranges::all_of(piece, is_xml_space);
      if (!is_space && open_.empty() && !(at_ == 0 && piece == "\xEF\xBB\xBF")) {
        refuse_here(at_, "text stands outside of all elements");
      }
      if (content_.size() + piece.size() <= kMostContent) content_ += unescaped(piece, at_);
      at_ = end;
    }
  }
}

XmlReader::Event XmlReader::read_tag() {
  tag_ = at_++;
  if (at("/")) {
    ++at_;
    const std::string name = read_name();
    skip_spaces();
    if (!at(">")) refuse_here(at_, fmt::format("expected > behind </{}", name));
    ++at_;
    if (open_.empty() || open_.back() != name) {
      refuse(open_.empty() ? fmt::format("</{}> closes what is not open", name)
                           : fmt::format("</{}> stands where <{}> is open", name, open_.back()));
    }
    close_element();
    return Event::close;
  }
  if (open_.empty() && had_root_) refuse("a file holds one outermost element");
  had_root_ = true;
  open_.push_back(read_name());
  if (open_.size() > kMostOpen)
    refuse(fmt::format("more than {} elements inside each other", kMostOpen));
  name_ = without_prefix(open_.back());
  read_attributes();
  return Event::open;
}

void XmlReader::close_element() {
  name_ = without_prefix(open_.back());
  open_.pop_back();
  closed_ = true;
}

std::string XmlReader::read_name() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && !is_xml_space(text_[at_]) &&
         std::string_view("<>/=\"'&?!").find(text_[at_]) == std::string_view::npos) {
    ++at_;
  }
  if (at_ == begin) refuse_here(begin, "expected a name");
  return std::string(text_.substr(begin, at_ - begin));
}

void XmlReader::read_attributes() {
  attributes_.clear();
  while (true) {
    skip_spaces();
    if (at("/>")) {
      at_ += 2;
      closes_itself_ = true;
      return;
    }
    if (at(">")) {
      ++at_;
      return;
    }
    if (at_ == text_.size())
      refuse_here(tag_, fmt::format("<{} does not end: write >", open_.back()));
    read_attribute();
  }
}

void XmlReader::read_attribute() {
  const std::size_t begin = at_;
  std::string name = read_name();
  skip_spaces();
  if (!at("=")) refuse_here(at_, fmt::format("expected = behind {}", in_quotes(name)));
  ++at_;
  skip_spaces();
  if (!at("\"") && !at("'")) refuse_here(at_, "expected a value in quotation marks");
  const char mark = text_[at_++];
  const std::size_t end = text_.find(mark, at_);
  if (end == std::string_view::npos)
    refuse_here(at_ - 1, "the value does not end: write a quotation mark");
  const std::string_view value = text_.substr(at_, end - at_);
  if (const std::size_t tag = value.find('<'); tag != std::string_view::npos) {
    refuse_here(at_ + tag, "< stands in a value: write &lt;");
  }
  if (attribute(name) != nullptr)
    refuse_here(begin, fmt::format("{} stands twice", in_quotes(name)));
  if (attributes_.size() == kMostAttributes) {
    refuse(fmt::format("<{}> has more than {} attributes", open_.back(), kMostAttributes));
  }
  attributes_.emplace_back(std::move(name), unescaped(value, at_));
  at_ = end + 1;
}

// Only the five entities that XML itself has, and characters by number.
std::string XmlReader::unescaped(std::string_view text, std::size_t position) const {
  std::string plain;
  while (!text.empty()) {
    const std::size_t sign = text.find('&');
    plain += text.substr(0, sign);
    if (sign == std::string_view::npos) break;
    const std::size_t end = text.find(';', sign);
    if (end == std::string_view::npos || end - sign > 12) {
      refuse_here(position + sign, "& stands alone: write &amp;");
    }
    append_character(text.substr(sign + 1, end - sign - 1), position + sign, plain);
    position += end + 1;
    text.remove_prefix(end + 1);
  }
  return plain;
}

void XmlReader::append_character(std::string_view reference, std::size_t position,
                                 std::string& to) const {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, character] : kEntities) {
    if (reference == name) {
      to += character;
      return;
    }
  }
  std::uint32_t code = 0;
  if (reference.starts_with('#')) {
    const bool is_hex = reference.starts_with("#x");
    const char* const first = reference.data() + (is_hex ? 2 : 1);
    const char* const last = reference.data() + reference.size();
    const auto [rest, error] = std::from_chars(first, last, code, is_hex ? 16 : 10);
    if (error != std::errc() || rest != last) code = 0;
  }
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    refuse_here(position, fmt::format("there is no entity {}", in_quotes(reference)));
  }
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xC0 | (code >> 6U));
    to += static_cast<char>(0x80 | (code & 0x3FU));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xE0 | (code >> 12U));
    to += static_cast<char>(0x80 | ((code >> 6U) & 0x3FU));
    to += static_cast<char>(0x80 | (code & 0x3FU));
  } else {
    to += static_cast<char>(0xF0 | (code >> 18U));
    to += static_cast<char>(0x80 | ((code >> 12U) & 0x3FU));
    to += static_cast<char>(0x80 | ((code >> 6U) & 0x3FU));
    to += static_cast<char>(0x80 | (code & 0x3FU));
  }
}

}  // namespace vicinal::graphfiles
