#include "trace/segments.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

#include "trace/file_error.hpp"
#include "trace/packed_events.hpp"
#include "trace/reader.hpp"

namespace vicinal::trace {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

class SegmentFinder {
 public:
  SegmentFinder(std::span<const std::byte> file, std::size_t begin, const std::string& name)
      : file_(file), name_(name), at_(begin) {}

  Segments find() {
    while (at_ < file_.size() && next()) {
    }
    found_.cut_bytes = file_.size() - at_;
    std::ranges::sort(found_.data, {}, [](const Segment& segment) {
      return std::tuple(segment.lane, segment.number, segment.offset, segment.at);
    });
    check_order();
    return std::move(found_);
  }

 private:
  SegmentHead head_at(std::size_t at) const {
    SegmentHead head;
    std::memcpy(&head, file_.data() + at, sizeof head);
    return head;
  }
  std::size_t bytes_from(std::size_t at) const { return file_.size() - at; }
  // All of it is in the file.
  bool is_whole(std::size_t at) const {
    if (bytes_from(at) < sizeof(SegmentHead)) return false;
    return head_at(at).bytes <= bytes_from(at) - sizeof(SegmentHead);
  }
  std::span<const std::uint64_t> content_of(std::size_t at) const {
    const auto* const words =
        reinterpret_cast<const std::uint64_t*>(file_.data() + at + sizeof(SegmentHead));
    return {words, head_at(at).bytes / kWord};
  }
  static bool is_kind(std::uint32_t kind) {
    return kind == SegmentHead::kData || kind == SegmentHead::kPacked ||
           kind == SegmentHead::kClock || kind == SegmentHead::kEnd;
  }

  static bool may_have(std::uint32_t kind, std::uint64_t bytes) {
    if (kind == SegmentHead::kClock) return bytes == sizeof(ClockPair);
    return kind == SegmentHead::kEnd ? bytes == sizeof(EndOfFile) : bytes % kWord == 0;
  }

  // False: the rest is no whole segment.
  bool next() {
    if (bytes_from(at_) < sizeof(SegmentHead) || is_zero_to_the_end()) return false;
    const SegmentHead head = head_at(at_);
    if (found_.events_lost) refuse_damaged(name_, at_, "the file goes on behind its end");
    if (!is_kind(head.kind)) refuse_damaged(name_, at_, "no segment begins here");
    if (!may_have(head.kind, head.bytes)) {
      refuse_damaged(name_, at_, fmt::format("no segment of its kind has {} bytes", head.bytes));
    }
    if (!is_whole(at_)) {
      check_nothing_follows();
      return false;
    }
    const auto words = content_of(at_);
    if (checksum(head, words) != head.checksum) {
      refuse_damaged(name_, at_, "the checksum of the segment does not fit it");
    }
    take(head, words);
    at_ += sizeof head + head.bytes;
    return true;
  }

  void take(const SegmentHead& head, std::span<const std::uint64_t> words) {
    if (head.kind == SegmentHead::kData || head.kind == SegmentHead::kPacked) {
      const bool is_packed = head.kind == SegmentHead::kPacked;
      const std::uint64_t count = is_packed ? unpacked_words(words) : words.size();
      if (is_packed && count > kMostPackedWords) {
        refuse_damaged(name_, at_, "the segment is packed of more events than one has");
      }
      if (head.offset % kWord != 0 || head.offset + count * kWord < head.offset) {
        refuse_damaged(name_, at_, "the segment's place in the memory of its thread cannot be");
      }
      found_.data.push_back(
          {head.lane, head.number, head.offset, at_ + sizeof head, count, is_packed, words});
      return;
    }
    if (head.kind == SegmentHead::kEnd) {
      found_.events_lost = words[0];
      return;
    }
    const ClockPair pair{static_cast<std::int64_t>(words[0]), static_cast<std::int64_t>(words[1])};
    if (!found_.last_clock || pair.ticks > found_.last_clock->ticks) found_.last_clock = pair;
  }

  // What a file system may leave of a file that was being written when the machine stopped.
  bool is_zero_to_the_end() const {
    const auto rest = file_.subspan(at_);
    if (rest[0] != std::byte{}) return false;
    return std::ranges::all_of(rest, [](std::byte each) { return each == std::byte{}; });
  }

  // A segment that ends behind the file was cut, unless another one follows: then its length is wrong.
  void check_nothing_follows() const {
    // So that no file is long to read: its words may look like heads without end.
    std::uint64_t words_left = 4 * (file_.size() / kWord) + 1024;
    for (std::size_t at = at_ + kWord; at + sizeof(SegmentHead) <= file_.size(); at += kWord) {
      const SegmentHead head = head_at(at);
      if (!is_kind(head.kind) || !may_have(head.kind, head.bytes) || !is_whole(at)) continue;
      if (head.bytes / kWord > words_left) return;
      words_left -= head.bytes / kWord;
      if (checksum(head, content_of(at)) != head.checksum) continue;
      refuse_damaged(name_, at_,
                     fmt::format("the segment claims {} bytes, more than the file has, but another "
                                 "one follows at byte {}",
                                 head_at(at_).bytes, at));
    }
  }

  void check_order() const {
    const auto overlap = [](const Segment& a, const Segment& b) {
      return a.lane == b.lane && a.number == b.number && a.offset + a.words * kWord > b.offset;
    };
    const auto twice = std::ranges::adjacent_find(found_.data, overlap);
    if (twice == found_.data.end()) return;
    refuse_damaged(
        name_, std::next(twice)->at,
        fmt::format("the segment holds what the one at byte {} holds already", twice->at));
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  std::size_t at_;
  Segments found_;
};

}  // namespace

std::optional<std::span<const std::uint64_t>> Segment::events(
    std::vector<std::uint64_t>& room) const {
  if (!is_packed) return content;
  if (!unpack_events(content, room)) return std::nullopt;
  return room;
}

Segments find_segments(std::span<const std::byte> file, std::size_t begin,
                       const std::string& name) {
  return SegmentFinder(file, begin, name).find();
}

}  // namespace vicinal::trace
