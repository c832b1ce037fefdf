// Messages in the binary form of protocol buffers: fields are written one after the other, and need no description.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vicinal::exporters {

class Message {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    varint(value);
  }
  // int64 and int32: ten bytes where it is negative.
  void integer(std::uint32_t field, std::int64_t value) {
    number(field, static_cast<std::uint64_t>(value));
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    key(field, 1);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(value >> shift & 0xFFU);
    }
  }
  // string and bytes.
  void text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const Message& value) { text(field, value.bytes_); }

  std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void key(std::uint32_t field, unsigned form) { varint(std::uint64_t{field} << 3 | form); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace vicinal::exporters
