// What a rank does with the others, as a state machine without thread, clock or transport: beginning and end, signs of life, what
// the application has called, who waits for what; and through Deliveries the content that goes between them. Its driver tells it
// of events and carries out its actions. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/call_log.hpp"
#include "comm/clock_rounds.hpp"
#include "comm/deliveries.hpp"
#include "comm/messages.hpp"
#include "comm/stall_report.hpp"
#include "comm/watch.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::comm {

// What whoever drives the machine does when told.
class ExchangeActions : public DeliveryActions {
 public:
  virtual void post_message(RankId to, std::span<const std::byte> bytes) = 0;
  virtual void run_failed(
      const std::string& text) = 0;  // once; transfers that have not ended do not any more
  // For messages.
  virtual std::string name_of(DatumId datum) = 0;
  virtual std::string
  status() = 0;  // what this rank does, in half a sentence: "it had run 3 tasks"
  virtual std::string report() = 0;  // what waits for what within this rank, in lines
  virtual void tell_stall(const std::string& text) = 0;                // on rank 0: of all ranks
  virtual void clock_compared(const ClockComparison& comparison) = 0;  // on all but rank 0
};

struct ExchangeRules {
  DeliveryRules deliveries = {};
  Time beat{200'000'000};        // between two signs of life
  Time silence{10'000'000'000};  // after which a rank is taken to be lost
  // What follows from a cause that another rank is about to tell is told so much later, if the cause was not.
  Time suspicion{1'000'000'000};
  Time answer{2'000'000'000};  // that is waited for in a report
  ClockRules clocks = {};
  // Ranks of one simulated world: they begin and end together, none is lost, and all make the same calls.
  bool is_simulated = false;
};

class Exchange {
 public:
  // `actions` outlives it.
  Exchange(RankId here, std::uint32_t ranks, const ExchangeRules& rules, ExchangeActions& actions);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Says hello. `version`: of the program, the same on all ranks. `is_limited`: this rank has a limit of memory. `run`: a
  // random number, of which that of rank 0 becomes the number of the run.
  void start(Time now, std::uint64_t version, bool is_limited, std::uint32_t run);
  bool all_have_begun() const { return begun_ == ranks_; }
  bool any_is_limited() const { return any_is_limited_; }
  std::uint32_t run() const { return run_; }

  // What goes between ranks; it tells the actions.
  Deliveries& deliveries() { return deliveries_; }
  const Deliveries& deliveries() const { return deliveries_; }
  void send_ready(std::span<const ReadyTransfer> group, TransferId content);
  void receive_ready(const ReadyTransfer& transfer);

  void message_arrived(RankId from, std::span<const std::byte> bytes);
  void rank_lost(RankId rank, const std::string& why);
  void tick(Time now);

  // What the application here has called.
  void called(CallBatch batch);
  // No task has ended here for a while: rank 0 tells who waits for what on all.
  void stalled();

  // The run is over, here and everywhere: `text` names the rank and says why.
  void fail(const std::string& text);
  // The same, unless a better reason is known within ExchangeRules::suspicion.
  void suspect(const std::string& text) { suspect(text, std::nullopt); }
  bool has_failed() const { return has_failed_; }
  // All is done here, and no transfer is left; clocks are compared once more before the others are told.
  void finish();
  bool all_have_finished() const { return finished_ == ranks_; }

  std::uint64_t messages() const { return messages_; }
  // Who waits for what, a line each; at most so many.
  std::string describe(std::size_t most) const;

 private:
  struct Peer {
    bool has_begun = false;
    bool has_finished = false;
  };
  struct Suspicion {
    std::string text;
    std::optional<RankId>
        of;  // it has ended, and something of it is missing; unless that comes yet
    std::optional<Time> until;  // none: since the last tick
  };
  struct Report {
    StallReport all;
    std::optional<Time> until;  // none: since the last tick
  };

  void post(RankId to, const MessageBytes& bytes);
  void post_to_all(const MessageBytes& bytes);
  void require(bool is_message, RankId from, std::size_t bytes);
  void greet(RankId from, const ParsedMessage& message);
  void require_nothing_of(RankId rank);
  void suspect(const std::string& text, std::optional<RankId> of);
  void look_at_suspicion(Time now);
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
  Deliveries deliveries_;
  std::optional<Time> beaten_;
  Watch watch_;  // of the rank before
  std::optional<Suspicion> suspicion_;
  CallComparison comparison_;
  std::optional<Report> report_;
  ClockRounds clocks_;
  std::uint64_t messages_ = 0;
};

}  // namespace vicinal::comm
