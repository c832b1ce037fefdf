#include "trace/packed_events.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "trace/event.hpp"

namespace vicinal::trace {

namespace {

constexpr std::size_t kSlots = 128;
constexpr std::uint8_t kOtherHead = 0x80;
constexpr std::size_t kEventHeadWords = 2;
constexpr std::size_t kLongestNumber = 10;  // bytes
constexpr std::size_t kInMask = 8;          // words

constexpr std::uint64_t with_sign_below(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t with_sign_above(std::uint64_t number) {
  return number >> 1 ^ (0 - (number & 1));
}
constexpr std::uint64_t wide(std::uint32_t difference) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(difference)});
}

constexpr std::uint32_t low_half(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
constexpr std::uint32_t high_half(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::size_t words_of(std::uint64_t head) {
  return low_half(head) >> 16;
}

// Where the events lie that had the slots last.
using LastEvents = std::array<std::uint32_t, kSlots>;
constexpr std::uint32_t kNowhere = 0xffffffff;

LastEvents no_events() {
  LastEvents last{};
  last.fill(kNowhere);
  return last;
}

// A word of the former event of the slot.
std::uint64_t former(std::span<const std::uint64_t> event, std::size_t place) {
  return place < event.size() ? event[place] : 0;
}

// Decisions by the same rule resemble each other.
std::size_t slot_of(std::uint64_t head) {
  const std::size_t event = head & 0xffff;
  const std::size_t slot = event == static_cast<std::size_t>(Event::decision)
                               ? events().size() + high_half(head)
                               : event;
  return slot < kSlots ? slot : kSlots - 1;
}

class Packer {
 public:
  explicit Packer(std::span<std::uint64_t> to)
      : begin_(reinterpret_cast<std::uint8_t*>(to.data())),
        at_(begin_),
        end_(begin_ + to.size_bytes()) {}

  std::size_t room() const { return static_cast<std::size_t>(end_ - at_); }
  void byte(std::uint8_t value) { *at_++ = value; }
  void signed_number(std::uint64_t difference) { number(with_sign_below(difference)); }
  void number(std::uint64_t left) {
    while (left >= 0x80) {
      byte(static_cast<std::uint8_t>(left | 0x80));
      left >>= 7;
    }
    byte(static_cast<std::uint8_t>(left));
  }
  // Up to a whole word. How many there are.
  std::size_t finish() {
    while ((at_ - begin_) % static_cast<std::ptrdiff_t>(sizeof(std::uint64_t)) != 0) byte(0);
    return static_cast<std::size_t>(at_ - begin_) / sizeof(std::uint64_t);
  }

 private:
  std::uint8_t* begin_;
  std::uint8_t* at_;
  std::uint8_t* end_;
};

void pack_further(std::span<const std::uint64_t> event, std::span<const std::uint64_t> before,
                  Packer& out) {
  for (std::size_t first = kEventHeadWords; first < event.size(); first += kInMask) {
    const std::size_t end = std::min(first + kInMask, event.size());
    const std::size_t end_of_both = std::min(end, std::max(first, before.size()));
    unsigned differ = 0;
    for (std::size_t i = first; i < end_of_both; ++i) {
      differ |= (event[i] != before[i] ? 1U : 0U) << (i - first);
    }
    for (std::size_t i = end_of_both; i < end; ++i) {
      differ |= (event[i] != 0 ? 1U : 0U) << (i - first);
    }
    out.byte(static_cast<std::uint8_t>(differ));
    for (; differ != 0; differ &= differ - 1) {
      const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(differ));
      out.signed_number(event[i] - former(before, i));
    }
  }
}

void pack_event(std::span<const std::uint64_t> event, std::span<const std::uint64_t> before,
                std::uint64_t time_before, std::size_t slot, Packer& out) {
  const std::uint64_t head = event[1];
  const std::uint64_t head_before = former(before, 1);
  const bool other = head != head_before;
  out.byte(static_cast<std::uint8_t>(slot | (other ? kOtherHead : 0U)));
  out.signed_number(event[0] - time_before);
  if (other) {
    const bool other_low = low_half(head) != low_half(head_before);
    const std::uint64_t first = with_sign_below(wide(high_half(head) - high_half(head_before)));
    out.number(first << 1 | (other_low ? 1U : 0U));
    if (other_low) out.signed_number(wide(low_half(head) - low_half(head_before)));
  }
  pack_further(event, before, out);
}

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::uint64_t> from)
      : at_(reinterpret_cast<const std::uint8_t*>(from.data())), end_(at_ + from.size_bytes()) {}

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  // After the last byte: zeros, and `good` no more.
  bool good() const { return good_; }
  std::uint8_t byte() {
    if (at_ == end_) {
      good_ = false;
      return 0;
    }
    return *at_++;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 7 * kLongestNumber; shift += 7) {
      const std::uint8_t next = byte();
      number |= std::uint64_t{next & 0x7fU} << shift;
      if (next < 0x80) return number;
    }
    good_ = false;
    return 0;
  }
  std::uint64_t signed_number() { return with_sign_above(number()); }
  bool only_zeros() {
    while (at_ != end_) {
      if (byte() != 0) return false;
    }
    return true;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool good_ = true;
};

std::uint64_t unpack_head(Unpacker& in, std::uint64_t before) {
  const std::uint64_t number = in.number();
  const std::uint32_t first = high_half(before) + low_half(with_sign_above(number >> 1));
  std::uint32_t low = low_half(before);
  if ((number & 1) != 0) low += low_half(in.signed_number());
  return std::uint64_t{first} << 32 | low;
}

void unpack_further(Unpacker& in, std::span<std::uint64_t> event,
                    std::span<const std::uint64_t> before) {
  for (std::size_t first = kEventHeadWords; first < event.size(); first += kInMask) {
    const unsigned differ = in.byte();
    const std::size_t end = std::min(first + kInMask, event.size());
    for (std::size_t i = first; i < end; ++i) {
      event[i] = former(before, i);
      if ((differ >> (i - first) & 1U) != 0) event[i] += in.signed_number();
    }
  }
}

std::span<const std::uint64_t> event_at(std::span<const std::uint64_t> words, std::uint32_t at) {
  if (at == kNowhere) return {};
  return words.subspan(at, words_of(words[at + 1]));
}

}  // namespace

std::size_t pack_events(std::span<const std::uint64_t> words, std::span<std::uint64_t> packed) {
  if (words.empty() || words.size() > kMostPackedWords) return 0;
  packed[0] = words.size();
  Packer out(packed.subspan(1));
  LastEvents last = no_events();
  std::uint64_t time = 0;
  for (std::size_t at = 0; at < words.size();) {
    const std::uint64_t head = words[at + 1];
    const auto event = words.subspan(at, words_of(head));
    // More than any event takes, and the zeros behind the last.
    const std::size_t most = event.size() * (kLongestNumber + 1) + 3 * kLongestNumber;
    if (out.room() < most) return 0;
    const std::size_t slot = slot_of(head);
    pack_event(event, event_at(words, last[slot]), time, slot, out);
    last[slot] = static_cast<std::uint32_t>(at);
    time = event[0];
    at += event.size();
  }
  const std::size_t size = 1 + out.finish();
  return size < words.size() ? size : 0;
}

std::uint64_t unpacked_words(std::span<const std::uint64_t> packed) {
  return packed.empty() ? kMostPackedWords + 1 : packed[0];
}

bool unpack_events(std::span<const std::uint64_t> packed, std::vector<std::uint64_t>& words) {
  words.clear();
  const std::uint64_t count = unpacked_words(packed);
  if (count > kMostPackedWords) return false;
  Unpacker in(packed.subspan(1));
  // A byte of a mask is for eight words.
  if (count / kInMask > in.left()) return false;
  words.resize(count);
  LastEvents last = no_events();
  std::uint64_t time = 0;
  std::size_t at = 0;
  while (at < count && in.good()) {
    const std::uint8_t control = in.byte();
    std::uint32_t& slot = last[control % kSlots];
    const auto before = event_at(words, slot);
    time += in.signed_number();
    std::uint64_t head = former(before, 1);
    if ((control & kOtherHead) != 0) head = unpack_head(in, head);
    const std::size_t size = words_of(head);
    if (size < kEventHeadWords || size > count - at) return false;
    const auto event = std::span(words).subspan(at, size);
    event[0] = time;
    event[1] = head;
    unpack_further(in, event, before);
    slot = static_cast<std::uint32_t>(at);
    at += size;
  }
  return at == count && in.good() && in.only_zeros();
}

}  // namespace vicinal::trace
