// Mailboxes of the ranks of one process, under one lock. A seed draws from them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "comm/local/local_rules.hpp"
#include "comm/transport.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::comm {

// What a poll tells, when the lock is let go.
struct LocalEvent {
  enum class Kind : std::uint8_t { message, payload, loss };
  Kind kind = Kind::message;
  RankId rank;                   // of a message and of a loss
  std::vector<std::byte> bytes;  // of a message
  PayloadId payload;
  std::string why;  // of a loss
};

// The memory of a payload, and how it lies there.
struct LocalSource {
  const std::byte* memory = nullptr;
  Layout layout;
};
struct LocalTarget {
  std::byte* memory = nullptr;
  Layout layout;
};

// All functions but the constructor may be called by any thread.
class LocalNetwork {
 public:
  LocalNetwork(std::uint32_t ranks, const LocalRules& rules);

  std::uint32_t ranks() const { return ranks_; }
  // Throws if it was.
  void note_transport(RankId rank);

  void post_message(RankId from, RankId to, std::span<const std::byte> bytes);
  void post_send(RankId from, RankId to, Channel channel, const LocalSource& source,
                 PayloadId payload);
  void post_receive(RankId at, RankId from, Channel channel, const LocalTarget& target,
                    PayloadId payload);
  // One poll of the rank: appends what it is told.
  void collect(RankId at, std::deque<LocalEvent>& told);
  // The rank is told nothing any more, and posts nothing but messages. Its memory is its own again.
  void close(RankId rank);

  void stop(RankId rank, bool silent);
  void kill(RankId rank, const std::string& why);
  LocalTraffic traffic(RankId from, RankId to) const;
  std::size_t under_way() const;

 private:
  struct Place {  // where a payload finds its receive
    RankId from;
    Channel channel;
    friend constexpr auto operator<=>(const Place&, const Place&) = default;
  };
  struct Receive {
    LocalTarget target;
    PayloadId payload;
    bool is_taken = false;  // its send was posted
  };
  // `due`: the number of the poll of who is told from which on it may be told.
  struct Message {
    std::vector<std::byte> bytes;
    std::uint64_t due = 0;
  };
  struct Arriving {
    Place place;
    LocalSource source;
    PayloadId sent;
    std::uint64_t due = 0;
    std::uint64_t delay_of_end = 0;  // polls of the sender
    bool is_copied = false;          // and the sender is told on its own
    bool is_told = false;
  };
  struct EndOfSend {
    PayloadId sent;
    RankId to;
    std::uint64_t due = 0;
    bool is_told = false;
  };
  struct Loss {
    RankId rank;
    std::string why;
    std::uint64_t due = 0;
    bool is_told = false;
  };
  struct Rank {
    explicit Rank(std::uint64_t seed) : random(seed) {}
    bool has_transport = false;
    bool is_stopped = false;
    bool is_killed = false;
    bool is_closed = false;
    std::uint64_t polls = 0;
    base::Random random;  // the order of what one poll tells
    std::map<Place, Receive> receives;
    std::vector<Arriving> arriving;
    std::vector<EndOfSend> ends;
    std::vector<Loss> losses;
  };
  struct Pair {
    explicit Pair(std::uint64_t seed) : random(seed) {}
    base::Random random;  // the delays of what one sends the other
    std::deque<Message> messages;
    LocalTraffic traffic;
  };
  // One thing that a poll may tell. Of messages only the sender is drawn: they come in their order.
  struct Turn {
    enum class Kind : std::uint8_t { message, payload, end, loss };
    Kind kind;
    std::size_t at;  // the sender of a message; the place in its list of all else
  };

  Rank& rank_of(RankId rank) { return all_[rank.value]; }
  Pair& pair_of(RankId from, RankId to) {
    return pairs_[std::size_t{from.value} * ranks_ + to.value];
  }
  void check(RankId rank) const;
  void check_ends(RankId own, RankId other) const;
  static void check_memory(const std::byte* memory, const Layout& layout, RankId rank,
                           Channel channel);
  Receive& receive_for(RankId from, RankId to, Channel channel, std::uint64_t bytes);
  std::uint64_t draw_delay(base::Random& random) const;
  std::vector<Turn> draw_turns(RankId at);
  LocalEvent told_message(RankId from, RankId to);
  LocalEvent told_payload(Rank& receiver, RankId at, Arriving& payload);
  void forget(RankId rank);

  const std::uint32_t ranks_;
  const LocalRules rules_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Rank> all_;
  std::vector<Pair> pairs_;  // by sender, then receiver
};

}  // namespace vicinal::comm
