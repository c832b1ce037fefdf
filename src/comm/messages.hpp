// What ranks tell each other, as bytes. All ranks run the same program on processors of the same kind: fields are as they
// lie in memory, and the first message of each says which version wrote it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/ownership.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

enum class MessageKind : std::uint8_t {
  hello,      // the first: who speaks
  announced,  // a version is there, and waits for credit
  credit,     // room is there: send it on the channel
  content,    // a small version, without credit
  consumed,   // so many bytes of small versions are where they belong
  alive,      // the sender's thread lives; a text says what the rank does
  sequence,   // hashes of the sender's calls, 4 bytes each
  diverged,  // at a call the receiver has done something else: a text says what the sender has done
  stalled,   // no task has ended for a while
  asks_report,  // who waits for what?
  report,       // the answer, in pieces
  failed,       // the run is over: a text says why
  finished,     // all is done here; no transfer comes after it
  asks_alive,   // is anybody there? `alive` is the answer
  left,         // the program ends, and no runtime of it begins any more
  asks_time,    // which time is it on rank 0?
  tells_time,   // the answer
  accepted,  // to who has begun a broadcast: its content has room here, and a rank that forwards it was told
  declined,  // it has none yet: send it to me, and to whom I was to forward it
};

// Each begins with its kind; the fields that a kind does not use are 0. Content or text follow.
struct MessageHeader {
  MessageKind kind = MessageKind::alive;
  std::uint16_t channel = 0;  // credit: of the first segment; those of the others follow
  std::int32_t priority = 0;  // announced
  std::uint32_t datum = 0;    // hello: a number of the run, of which that of rank 0 counts
  std::uint32_t version = 0;  // the number of the transfer to the rank that is told, or tells
  std::uint64_t value =
      0;  // announced, content: bytes; consumed: bytes; sequence: 1: no call behind them is to be compared; asks_time: when
  // sequence: calls before them; diverged: calls before it; report: pieces behind this one; tells_time: the time; asks_time: the shortest
  // round trip to the receiver; credit: bytes per second of what came to the sender. 0: not known
  std::uint64_t number = 0;
};
static_assert(std::is_trivially_copyable_v<MessageHeader>);

// Behind the header of what was announced, of content, and of what is accepted, declined or credited: whose version it is. Behind it
// the recipients that the receiver serves; then content, or channels.
struct TreeHeader {
  std::uint32_t root = 0;        // who has begun, with whom the number of the transfer is counted
  std::uint32_t recipients = 0;  // their number
  std::uint64_t segment = 0;     // bytes of all segments but the last
  std::uint16_t arity = 0;
  std::uint8_t shape = 0;
  std::array<std::uint8_t, 5> unused{};
};
struct Recipient {
  std::uint32_t rank = 0;
  std::uint32_t version = 0;  // the number of the transfer from the root to it
  std::int32_t priority = 0;
};
static_assert(std::is_trivially_copyable_v<TreeHeader>);
static_assert(std::is_trivially_copyable_v<Recipient>);
// So that they fit into a message, with the largest content in one.
inline constexpr std::size_t kMostRecipients = 80;
static_assert(sizeof(MessageHeader) + sizeof(TreeHeader) + kMostRecipients * sizeof(Recipient) +
                  kMostContentInMessage <=
              kMostMessage);

using MessageBytes = std::vector<std::byte>;

inline MessageBytes to_bytes(const MessageHeader& header, std::size_t content = 0) {
  MessageBytes bytes(sizeof header + content);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}
// As much of the text as fits.
inline MessageBytes to_bytes(const MessageHeader& header, std::string_view text) {
  text = text.substr(0, kMostContentInMessage);
  MessageBytes bytes = to_bytes(header, text.size());
  if (!text.empty()) std::memcpy(bytes.data() + sizeof header, text.data(), text.size());
  return bytes;
}

struct ParsedMessage {
  MessageHeader header;
  std::span<const std::byte> rest;
  std::string text() const { return {reinterpret_cast<const char*>(rest.data()), rest.size()}; }
};
// False: they are not a message.
inline bool parse(std::span<const std::byte> bytes, ParsedMessage& parsed) {
  if (bytes.size() < sizeof parsed.header) return false;
  std::memcpy(&parsed.header, bytes.data(), sizeof parsed.header);
  parsed.rest = bytes.subspan(sizeof parsed.header);
  return parsed.header.kind <= MessageKind::declined;
}

// What follows the header of a message of a broadcast.
struct ParsedTree {
  TreeHeader tree;
  std::vector<Recipient> recipients;
  std::span<const std::byte> rest;
};
// False: it does not fit.
inline bool parse(std::span<const std::byte> bytes, ParsedTree& parsed) {
  if (bytes.size() < sizeof parsed.tree) return false;
  std::memcpy(&parsed.tree, bytes.data(), sizeof parsed.tree);
  bytes = bytes.subspan(sizeof parsed.tree);
  if (parsed.tree.recipients > bytes.size() / sizeof(Recipient)) return false;
  parsed.recipients.resize(parsed.tree.recipients);
  const std::size_t size = parsed.recipients.size() * sizeof(Recipient);
  if (size > 0) std::memcpy(parsed.recipients.data(), bytes.data(), size);
  parsed.rest = bytes.subspan(size);
  return true;
}
// With room for so many bytes behind it.
inline MessageBytes to_bytes(const MessageHeader& header, TreeHeader tree,
                             std::span<const Recipient> recipients, std::size_t more = 0) {
  tree.recipients = static_cast<std::uint32_t>(recipients.size());
  MessageBytes bytes = to_bytes(header, sizeof tree + recipients.size() * sizeof(Recipient) + more);
  std::byte* at = bytes.data() + sizeof header;
  std::memcpy(at, &tree, sizeof tree);
  at += sizeof tree;
  if (!recipients.empty())
    std::memcpy(at, recipients.data(), recipients.size() * sizeof(Recipient));
  return bytes;
}

}  // namespace vicinal::comm
