// How bytes go from one rank to another. Three things implement it: MPI, ranks in one process, and, later, simulated time.
// Messages are small and come unasked; payloads are large, and are sent only to who has posted a receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::comm {

// By which a payload finds the receive that was posted for it: the receiver chooses it, and has at most one receive per
// sender and channel at a time. Fits the tags that each MPI has.
struct Channel {
  std::uint16_t value = 0;  // less than kChannels
  friend constexpr auto operator<=>(Channel, Channel) = default;
};
inline constexpr std::uint16_t kChannels = 16384;

// A payload of this rank that was posted, chosen by who posts.
struct PayloadId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(PayloadId, PayloadId) = default;
};

// Bytes of the largest message: content that goes without credit, and what is said of it.
inline constexpr std::size_t kMostContentInMessage = 4096;
inline constexpr std::size_t kMostMessage = kMostContentInMessage + 1024;

// Who is told what has happened, inside Transport::poll.
class TransportEvents {
 public:
  TransportEvents() = default;
  TransportEvents(const TransportEvents&) = delete;
  TransportEvents& operator=(const TransportEvents&) = delete;
  virtual ~TransportEvents() = default;
  // The bytes are the transport's until this returns.
  virtual void message_arrived(RankId from, std::span<const std::byte> bytes) = 0;
  // Of a send: its memory may be used again. Of a receive: its content is there.
  virtual void payload_ended(PayloadId payload) = 0;
  // Nothing more comes from there, or goes there. `why` names what the transport was told.
  virtual void rank_lost(RankId rank, const std::string& why) = 0;
};

// One thread at a time; all calls but poll return at once.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual RankId rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // The bytes, at most kMostMessage, are copied, or sent before this returns. Messages of one rank to another arrive
  // once, in the order in which they were posted; a message and a payload in any order.
  virtual void post_message(RankId to, std::span<const std::byte> bytes) = 0;
  // The memory, laid out so, stays as it is until payload_ended. Any size, also beyond 2^31 bytes. The other rank has
  // posted the receive of as many bytes, perhaps laid out otherwise.
  virtual void post_send(RankId to, Channel channel, const std::byte* from, const Layout& layout,
                         PayloadId payload) = 0;
  virtual void post_receive(RankId from, Channel channel, std::byte* to, const Layout& layout,
                            PayloadId payload) = 0;
  // Makes progress and tells what has happened. Does not block. False: nothing has.
  virtual bool poll(TransportEvents& events) = 0;
  // Gives up all that was posted: no event comes any more, and the memory of payloads is the caller's again when it
  // returns. Afterwards messages alone may be posted; they may get lost.
  virtual void cancel() = 0;
};

}  // namespace vicinal::comm
