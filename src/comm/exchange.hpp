// What a rank sends and receives, and when: a state machine without thread, clock or transport. Its driver tells it of events
// and carries out its actions. Not thread safe.
//
// A version that goes to another rank:
//
//   sender                                    receiver
//   send_ready: its writer has ended          receive_ready: nobody here uses the datum's earlier content
//   announced ------------------------------>
//                                             make_room: as for any task's operands
//                                             has_room: the receive is posted
//   <------------------------------ credit
//   bring: to RAM, if it is elsewhere
//   send ------------ payload -------------->
//   payload_ended: end                        payload_ended: end
//
// Content of at most kMostContentInMessage bytes goes at once, in a message, as long as what the receiver has not yet
// consumed stays below a bound; else it waits for credit like all others. So what lies in the buffers of a transport
// is bounded for each pair of ranks, and a payload always finds its receive.
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
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/call_log.hpp"
#include "comm/clock_rounds.hpp"
#include "comm/messages.hpp"
#include "comm/ownership.hpp"
#include "comm/stall_report.hpp"
#include "comm/transport.hpp"
#include "comm/watch.hpp"
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
  int priority = 0;  // larger first, among those that have credit
};

// What whoever drives the machine does when told. `id` names a transfer that has not ended.
class ExchangeActions {
 public:
  ExchangeActions() = default;
  ExchangeActions(const ExchangeActions&) = delete;
  ExchangeActions& operator=(const ExchangeActions&) = delete;
  virtual ~ExchangeActions() = default;
  virtual void post_message(RankId to, std::span<const std::byte> bytes) = 0;
  virtual void bring(TransferId id) = 0;      // the content to RAM; then Exchange::in_ram
  virtual void make_room(TransferId id) = 0;  // in RAM; then Exchange::has_room
  virtual void send(TransferId id, RankId to, Channel channel) = 0;
  virtual void receive(TransferId id, RankId from, Channel channel) = 0;
  // Small content: out of RAM, and into it.
  virtual void read(TransferId id, std::span<std::byte> content) = 0;
  virtual void write(TransferId id, std::span<const std::byte> content) = 0;
  virtual void end(TransferId id) = 0;  // the transfer is done
  virtual void run_failed(
      const std::string& text) = 0;  // once; transfers that have not ended do not any more
  // For messages.
  virtual std::string name_of(DatumId datum) = 0;
  virtual std::string
  status() = 0;  // what this rank does, in half a sentence: "it had run 3 tasks"
  virtual std::string report() = 0;  // what waits for what within this rank, in lines
  virtual void tell_stall(const std::string& text) = 0;  // on rank 0: of all ranks
  // Of the clock of recordings.
  virtual Time clock() = 0;
  virtual void clock_compared(const ClockComparison& comparison) = 0;  // on all but rank 0
};

struct ExchangeRules {
  std::size_t most_sends = 16;      // payloads on their way from here at once
  std::size_t most_receives = 256;  // and here
  std::uint64_t most_small =
      65536;               // bytes of small content on their way to one rank, or not consumed there
  Time beat{200'000'000};  // between two signs of life
  Time silence{10'000'000'000};  // after which a rank is taken to be lost
  // What follows from a cause that another rank is about to tell is told so much later, if the cause was not.
  Time suspicion{1'000'000'000};
  Time answer{2'000'000'000};  // that is waited for in a report
  ClockRules clocks = {};
};

class Exchange {
 public:
  // `actions` outlives it.
  Exchange(RankId here, std::uint32_t ranks, const ExchangeRules& rules, ExchangeActions& actions);

  // Says hello. `version`: of the program, the same on all ranks. `is_limited`: this rank has a limit of memory. `run`: a
  // random number, of which that of rank 0 becomes the number of the run.
  void start(Time now, std::uint64_t version, bool is_limited, std::uint32_t run);
  bool all_have_begun() const { return begun_ == ranks_; }
  bool any_is_limited() const { return any_is_limited_; }
  std::uint32_t run() const { return run_; }

  void send_ready(const ReadyTransfer& transfer);
  void receive_ready(const ReadyTransfer& transfer);
  void in_ram(TransferId id);
  void has_room(TransferId id);

  void message_arrived(RankId from, std::span<const std::byte> bytes);
  void payload_ended(TransferId id);
  void rank_lost(RankId rank, const std::string& why);
  void tick(Time now);

  // What the application here has called.
  void called(CallBatch batch);
  // No task has ended here for a while: rank 0 tells who waits for what on all.
  void stalled();

  // The run is over, here and everywhere: `text` names the rank and says why.
  void fail(const std::string& text);
  // The same, unless a better reason is known within ExchangeRules::suspicion.
  void suspect(const std::string& text);
  bool has_failed() const { return has_failed_; }
  // All is done here, and no transfer is left; clocks are compared once more before the others are told.
  void finish();
  bool all_have_finished() const { return finished_ == ranks_; }

  // Bytes of content that have left this rank, and that have come.
  Bytes sent() const { return sent_; }
  Bytes received() const { return received_; }
  std::uint64_t messages() const { return messages_; }
  // Who waits for what, a line each; at most so many.
  std::string describe(std::size_t most) const;

 private:
  struct Sending {
    ReadyTransfer transfer;
    enum class State : std::uint8_t {
      announced,
      credited,
      comes_to_ram,
      comes_small,
      sending
    } state;
    Channel channel;
  };
  struct Receiving {
    ReadyTransfer transfer;
    enum class State : std::uint8_t { waits, has_offer, asks_for_room, receiving } state;
    Channel channel;
    std::vector<std::byte> content;  // small, and here already
    bool is_small = false;
  };
  // What has come, or was announced, of a datum that nobody here is ready to receive.
  struct Offer {
    std::uint32_t version = 0;
    std::uint64_t bytes = 0;
    int priority = 0;
    bool is_small = false;
    std::vector<std::byte> content;
  };
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // datum, other rank
  struct Peer {
    std::uint64_t unconsumed = 0;  // bytes of small content that went there
    std::uint64_t consumed = 0;  // bytes of small content from there, of which it was not told yet
    bool has_begun = false;
    bool has_finished = false;
  };
  struct Suspicion {
    std::string text;
    std::optional<Time> until;  // none: since the last tick
  };
  struct Report {
    StallReport all;
    std::optional<Time> until;  // none: since the last tick
  };

  void post(RankId to, const MessageBytes& bytes);
  void post_to_all(const MessageBytes& bytes);
  void announce(const Sending& sending);
  void send_more();
  void offer(RankId from, DatumId datum, Offer offer);
  void match(Receiving& receiving, Offer offer);
  void ask_for_room();
  void end_receive(TransferId id);
  void tell_consumed(RankId to, std::uint64_t bytes);
  void greet(RankId from, const ParsedMessage& message);
  void give_credit(RankId from, const MessageHeader& header);
  void require_nothing_of(RankId rank);
  void look_at_watched(Time now);
  void beat_to(RankId rank);
  void compare();
  void diverged(RankId from, const ParsedMessage& message);
  void begin_report(RankId by);
  std::string own_report();
  void answer_report();
  void take_report(RankId from, const ParsedMessage& message);
  void end_report();
  void stop(const std::string& text);
  void ask_time();
  void take_time(const MessageHeader& header);
  void tell_finished();
  RankId before() const { return {(here_.value + ranks_ - 1) % ranks_}; }
  RankId behind() const { return {(here_.value + 1) % ranks_}; }

  const RankId here_;
  const std::uint32_t ranks_;
  const ExchangeRules rules_;
  ExchangeActions& actions_;
  std::vector<Peer> peers_;
  std::uint64_t version_ = 0;
  std::uint32_t run_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t finished_ = 0;
  bool any_is_limited_ = false;
  bool has_failed_ = false;
  bool is_over_ = false;  // failed, or finished
  std::unordered_map<std::uint64_t, Sending> sendings_;
  std::map<Key, std::uint64_t> announced_;  // to whom: the id
  // Those with credit that wait for their turn: by priority, then in the order of credits.
  std::set<std::tuple<int, std::uint64_t, std::uint64_t>> credited_;
  std::uint64_t next_credit_ = 0;
  std::size_t sends_ = 0;
  std::unordered_map<std::uint64_t, Receiving> receivings_;
  std::map<Key, std::uint64_t> awaited_;  // from whom: the id, without an offer
  std::map<Key, std::deque<Offer>> offers_;
  std::deque<std::uint64_t> offered_;  // receives with an offer that have not asked for room
  std::size_t receives_ = 0;
  std::vector<std::uint16_t> free_channels_;
  std::uint16_t channels_ = 0;
  std::optional<Time> beaten_;
  Watch watch_;  // of the rank before
  std::optional<Suspicion> suspicion_;
  CallComparison comparison_;
  std::optional<Report> report_;
  ClockRounds clocks_;
  Bytes sent_;
  Bytes received_;
  std::uint64_t messages_ = 0;
};

}  // namespace vicinal::comm
