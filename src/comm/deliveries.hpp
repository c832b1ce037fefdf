// What a rank sends and receives of data, and when: a state machine without thread, clock or transport, as Exchange, which
// owns it, is. A version that goes to another rank:
//
//   sender                                    receiver
//   send: its writer has ended                receive: nobody here uses the datum's earlier content
//   announced ------------------------------>
//                                             make_room: as for any task's operands
//                                             has_room: the receives are posted, one for each segment
//   <------------------------------ credit
//   bring: to RAM, if it is elsewhere
//   send ---------- segments --------------->
//
// A version that goes to several is a broadcast (broadcast_trees.hpp; thesis of Swartvagher, chapter 4). The root announces it to the
// ranks that the root serves, and each announcement names the recipients below its receiver. A rank with room announces the version to
// those below in turn, and sends on each segment when the segment has come. Readers begin when all segments have come, the next
// writer when all have been sent on.
//
// Why it cannot hang where one rank after the other would not. Nobody keeps room for others without a bound: a rank announces
// a broadcast to those below it once it has room itself, and a rank that has none within a time declines. It is then
// served by the root, and so are those below it; the root's copy needs no room, see engine::Transfers::bring. So what a forwarding
// rank waits for is credit, or a refusal, that comes in a bounded time, and segments whose receives are posted.
//
// Content of at most kMostContentInMessage bytes goes at once, in a message, as long as what the receiver has not yet
// consumed stays below a bound, which the root counts; else it waits for credit like all others. So what lies in the buffers of a
// transport is bounded for each pair of ranks, and a payload always finds its receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "comm/broadcast_trees.hpp"
#include "comm/measured_link.hpp"
#include "comm/messages.hpp"
#include "comm/ownership.hpp"
#include "comm/transport.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

// A send or a receive of this rank, chosen by who drives the machine; never given twice.
struct TransferId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(TransferId, TransferId) = default;
};

struct ReadyTransfer {
  TransferId id;
  Transfer what;
  Bytes bytes;
  int priority = 0;                // larger first, among those that have credit
  std::uint64_t column_bytes = 1;  // segments are multiples of it
};

// A part of some content, in bytes without gaps.
struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Content that goes between this rank and another one.
struct Hop {
  TransferId id;  // whose content it is
  RankId other;
  bool is_sent = false;  // else it is received
  DatumId datum;
  std::uint32_t version = 0;  // as the receiver counts it
  Bytes bytes;
};

// What whoever drives the machine does when told. `id` names a transfer that has not ended.
class DeliveryActions {
 public:
  DeliveryActions() = default;
  DeliveryActions(const DeliveryActions&) = delete;
  DeliveryActions& operator=(const DeliveryActions&) = delete;
  virtual ~DeliveryActions() = default;
  virtual void bring(TransferId id) = 0;  // the content to RAM; then Deliveries::in_ram
  virtual void put_down(
      TransferId id) = 0;  // it may leave RAM; it is brought again before it is read
  virtual void make_room(TransferId id) = 0;  // in RAM; then Deliveries::has_room
  virtual void send(PayloadId payload, TransferId id, RankId to, Channel channel, Piece piece) = 0;
  virtual void receive(PayloadId payload, TransferId id, RankId from, Channel channel,
                       Piece piece) = 0;
  // Small content: out of RAM, and into it.
  virtual void read(TransferId id, std::span<std::byte> content) = 0;
  virtual void write(TransferId id, std::span<const std::byte> content) = 0;
  virtual void began(const Hop& hop) = 0;
  virtual void ended(const Hop& hop) = 0;
  virtual void share(TransferId id) = 0;  // all has come: it may be read, and is sent on
  virtual void end(TransferId id) = 0;    // the transfer is done
  virtual Time clock() = 0;               // that of recordings
};

struct DeliveryRules {
  std::size_t most_sends = 16;  // payloads on their way from here at once
  // Bytes of them, but for one: what is sent first is to come first, and all share what the network carries. More where the link
  // has more on its way, see most_at_once.
  std::uint64_t most_sent_at_once = 1 << 17;
  std::size_t most_receives = 256;  // content on its way here
  std::uint64_t most_small =
      65536;  // bytes of small content on their way to one rank, or not consumed there
  std::optional<Tree> tree = {};  // of all broadcasts; none: by their sizes and the link
  LinkCost link = {};
  // To compare with, see broadcast_option.hpp. False: priorities count for nothing here.
  bool by_priority = true;
  // False: recipients take their places in a tree as they were submitted.
  bool places_by_priority = true;
  // False: a rank that sends content on reads the content when it has sent it on, no sooner.
  bool readers_first = true;
  bool learns_link = false;  // `link` is a guess, until something is known
  Time patience{2'000'000};  // of who is to send content on, and has no room for it
};

// Bytes of content, and what was sent as broadcasts.
struct DeliveryCounts {
  Bytes sent;
  Bytes received;
  Bytes forwarded;               // of what was sent: for other ranks
  std::uint64_t broadcasts = 0;  // begun here: of versions to several ranks
};

class Deliveries {
 public:
  // How it reaches others: the first posts a message; the second tells that the ranks do not do the same.
  struct Voice {
    std::function<void(RankId, const MessageBytes&)> post;
    std::function<void(const std::string&)> suspect;
  };
  // `actions` outlives it.
  Deliveries(RankId here, std::uint32_t ranks, const DeliveryRules& rules, DeliveryActions& actions,
             Voice voice);

  // One version, to one rank or to several; `content` is the transfer among them whose access to the content is used.
  void send(std::span<const ReadyTransfer> group, TransferId content);
  void receive(const ReadyTransfer& transfer);
  void in_ram(TransferId id);
  void has_room(TransferId id);
  void payload_ended(PayloadId payload);
  void tick(Time now);
  // When it is to tick though nothing happens before; none: never.
  std::optional<Time> next() const;
  // The run is over.
  void stop() {
    is_over_ = true;
    waiting_.clear();
  }

  // Messages. False: it is none.
  bool announced(RankId from, const ParsedMessage& message);
  bool content(RankId from, const ParsedMessage& message);
  bool credit(RankId from, const ParsedMessage& message);
  bool declined(RankId from, const ParsedMessage& message);
  void accepted(RankId from, const MessageHeader& header);
  void consumed(RankId from, std::uint64_t bytes);

  // A transfer that needs something of the rank that it has not said.
  bool needs(RankId rank) const;
  const DeliveryCounts& counts() const { return counts_; }
  MeasuredLink& link() { return link_; }
  const MeasuredLink& link() const { return link_; }
  // Who waits for what, a line each, given to `tell` with its datum and the number of the transfer.
  using Tell = std::function<void(DatumId, std::uint32_t version, const std::string& what)>;
  void describe(const Tell& tell) const;

 private:
  // A version at a rank: it is counted between the root and that rank.
  struct Key {
    std::uint32_t root = 0;
    std::uint32_t to = 0;
    std::uint32_t version = 0;
    friend constexpr auto operator<=>(const Key&, const Key&) = default;
  };
  // A rank to which this one sends content.
  struct Edge {
    Recipient to;
    enum class State : std::uint8_t { announced, credited, done } state = State::announced;
    std::vector<Channel> channels = {};  // by segment
    std::size_t posted = 0;              // segments
    std::size_t ended = 0;
    std::uint64_t turn = 0;
  };
  // Content that is sent from here.
  struct Source {
    TransferId id;
    DatumId datum;
    Bytes bytes;
    RankId root;
    Route route;
    std::vector<Edge> edges = {};
    std::size_t open_edges = 0;  // not done
    enum class Place : std::uint8_t { elsewhere, wanted, comes, in_ram } place = Place::elsewhere;
    // Of the root.
    std::vector<ReadyTransfer> members = {};
    std::vector<Recipient> small = {};  // who get it in a message when it is in RAM
    std::size_t unaccepted = 0;
    // Of a rank that sends it on: the segments that have come.
    std::vector<bool> come = {};

    std::size_t segments() const;
    Piece piece(std::size_t segment) const;
  };
  // What has come, or was announced.
  struct Offer {
    RankId parent;
    DatumId datum;
    std::uint64_t bytes = 0;
    int priority = 0;
    Route route;
    std::vector<Recipient> recipients = {};
    bool is_small = false;
    std::vector<std::byte> content = {};
    std::uint64_t passed_on = 0;  // small content: to so many ranks
  };
  struct Receiving {
    ReadyTransfer transfer;
    enum class Room : std::uint8_t { none, queued, asked, there } room = Room::none;
    std::size_t segments_left = 0;
    std::vector<Channel> channels = {};
    RankId parent = {};
    bool is_forwarded = false;
    bool has_come = false;
  };
  struct Payload {
    bool is_sent = false;
    std::uint64_t id = 0;  // of the source, or of the receive
    std::size_t edge = 0;
    std::size_t segment = 0;
    std::uint64_t bytes = 0;
  };
  struct Peer {
    std::uint64_t unconsumed =
        0;  // bytes of small content that this rank, as the root, has sent there
    std::uint64_t consumed = 0;  // bytes of small content from there, of which it was not told yet
  };
  struct Waiting {
    Key key;
    std::optional<Time> until = {};  // none: since the last tick
  };
  using Turn = std::tuple<int, std::uint64_t, std::uint64_t, std::size_t, std::size_t>;

  // deliveries_sending.cpp
  void send_small(Source& source);
  std::vector<Recipient> take_placed(const Source& source, const Tree& tree,
                                     std::span<const Recipient>& recipients) const;
  void announce_along(Source& source, const Tree& tree, std::span<const Recipient> recipients);
  void announce(Source& source, const Recipient& to, const Tree& tree,
                std::span<const Recipient> recipients);
  void bring_more();
  void take_turns(Source& source, std::size_t edge);
  std::uint64_t most_at_once() const;
  void send_more();
  void sent(const Payload& payload);
  void end_edge(Source& source, std::size_t edge);
  void look_at(Source& source);
  void accept(const Key& key);
  Hop hop(const Source& source, const Edge& edge) const;

  // deliveries.cpp
  bool offer(RankId from, const ParsedMessage& message, bool is_small);
  void pass_on(const Offer& offer, RankId root);
  void match(Receiving& receiving, const Offer& offer);
  void ask_for_room();
  void begin(Receiving& receiving, const Offer& offer);
  void came(const Payload& payload);
  void end_receive(std::uint64_t id);
  void decline(const Key& key);
  void tell_consumed(RankId root, std::uint64_t bytes);
  static Hop hop(const Receiving& receiving);
  PayloadId add_payload(const Payload& payload);

  const RankId here_;
  const DeliveryRules rules_;
  DeliveryActions& actions_;
  const Voice voice_;
  MeasuredLink link_;
  bool is_over_ = false;
  std::vector<Peer> peers_;
  DeliveryCounts counts_;
  std::unordered_map<std::uint64_t, Payload> payloads_;
  std::uint64_t next_payload_ = 1;

  std::unordered_map<std::uint64_t, Source> sources_;
  std::map<Key, std::pair<std::uint64_t, std::size_t>> edges_;  // announced: the source, the edge
  std::map<Key, std::uint64_t> unaccepted_;                     // the source; of this rank as root
  // Segments that wait for their turn, and sources to be brought: by priority, then in the order of credits.
  std::set<Turn> turns_;
  std::set<std::tuple<int, std::uint64_t, std::uint64_t>> wanted_;
  std::uint64_t next_turn_ = 0;
  std::size_t sends_ = 0;
  std::uint64_t sent_at_once_ = 0;  // bytes of these
  std::size_t brought_ = 0;

  std::unordered_map<std::uint64_t, Receiving> receivings_;
  std::map<Key, std::uint64_t> awaited_;  // receives that have not begun
  std::map<Key, Offer> offers_;           // with which nothing has begun
  std::deque<Waiting> waiting_;           // offers that are declined in time
  std::deque<std::uint64_t> queued_;      // receives that have not asked for room
  std::size_t receives_ = 0;
  std::vector<Channel> free_channels_;
  std::uint16_t channels_ = 0;
};

}  // namespace vicinal::comm
