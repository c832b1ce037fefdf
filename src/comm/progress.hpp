// How a rank talks to the others: it carries what tasks of the kinds send and receive are for. The transport and the exchange are
// used in turns, one after the other: of a thread (progress_thread.hpp), or of simulated time (simulated/simulated_ranks.hpp).
// Runtimes use it one after another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/broadcast_finding.hpp"
#include "comm/exchange.hpp"
#include "comm/transport.hpp"
#include "engine/application.hpp"
#include "engine/kinds/transfer.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::sim {
class HostMemory;
}

namespace vicinal::comm {

// What the thread asks a runtime. Any thread, under no lock of the thread's.
class RankVoice {
 public:
  RankVoice() = default;
  RankVoice(const RankVoice&) = delete;
  RankVoice& operator=(const RankVoice&) = delete;
  virtual ~RankVoice() = default;
  virtual std::string name_of(DatumId datum) const = 0;
  virtual std::string status() const = 0;  // "it had run 3 tasks"
  virtual std::string report() const = 0;  // what waits for what within this rank, in lines
};

class Progress : private ExchangeActions, private TransportEvents, private engine::Carrier {
 public:
  ~Progress() override = default;

  RankId rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  // The calls of all ranks are compared.
  bool compares() const { return ranks_ > 1 && !rules_.is_simulated; }

  // Of the next runtime that begins.
  void find_broadcasts(Finding way);
  // A runtime begins, on all ranks: returns when all have begun. Throws UsageError if another one of this process has not
  // ended, RankError if a rank is lost, or was in an earlier one. `version`: of the program, the same on all. `voice` lives
  // until `finish`.
  void begin(engine::Engine& engine, engine::Transfers& transfers, const RankVoice& voice,
             std::uint64_t version, bool is_limited);
  // What readers need to join the recordings of all ranks; said whenever a recording begins. While a runtime uses the ranks.
  void begin_recording();
  // Of ranks that record into one file; null: each has its own.
  virtual trace::SharedRecording* shared_recording() { return nullptr; }
  // Of simulated ranks: the memory of the rank's host, which payloads are read from and written to; null: that costs nothing.
  virtual void use_memory(const std::shared_ptr<sim::HostMemory>& /*memory*/) {}
  // A rank has a limit of memory.
  bool any_is_limited() const;
  // A transfer whose task is submitted next. `takes_place`: at once; else when `submitted` says so. Any thread.
  std::uint64_t add(const Transfer& transfer, const Layout& layout, int priority, bool takes_place);
  // See BroadcastFinding::announce. Any thread.
  void announce_readers(DatumId datum, std::uint32_t readers);
  // Some transfer was added and has not ended. Any thread.
  bool any_under_way() const { return under_way_.load(std::memory_order_acquire) > 0; }
  // The run is over on all ranks. Any thread.
  void fail(const std::string& text);
  // The application knows that the run has failed. Any thread.
  virtual void told() {}
  // What the application has called, in order.
  void called(CallBatch batch);
  // No task has ended for a while: rank 0 warns, and tells who waits for what on all ranks. Any thread.
  void stalled();
  // The same, unless a better reason is known soon. Any thread.
  void suspect(const std::string& text);
  // The runtime ends, and has no transfer left: returns when all ranks are as far, or why the run has failed. `is_early`:
  // its work is not done, and the run fails by another call.
  std::string finish(bool is_early);

  struct Counts {
    DeliveryCounts deliveries;
    FindingCounts finding;
    LinkCost link;  // by which trees are chosen now
    std::uint64_t messages = 0;
  };
  Counts counts() const;  // of the runtime that has begun last
  // Who waits for what. Outside of a turn.
  std::string describe();

 protected:
  using Command = std::function<void()>;
  explicit Progress(const ExchangeRules& rules) : rules_(rules) {}

  // There is something for a turn to do.
  virtual void wake() = 0;
  // Returns when `is_so`, which is asked under mutex_, as `lock` has it; turns make it so.
  virtual void await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_so) = 0;
  virtual Time now() const = 0;
  virtual void run_has_failed() {}
  // A payload of this content is posted next.
  virtual void posts(const graph::Handle& /*content*/) {}
  // Of a turn between runtimes.
  virtual void between_runtimes() {}

  void use(std::unique_ptr<Transport> transport);
  // False: nothing has happened.
  bool turn();
  void guarded(const Command& step);

  const ExchangeRules rules_;
  RankId rank_;
  mutable std::mutex mutex_;         // guards what follows
  std::condition_variable changed_;  // for who waits
  std::uint32_t ranks_ = 0;          // 0: the transport is being made
  std::string failure_;  // of this runtime, or of one before it: the transport is not used any more
  std::vector<Command> commands_;

  // Of the turns.
  std::unique_ptr<Transport> transport_;
  std::optional<Exchange> exchange_;
  std::uint64_t payloads_ = 0;  // posted, and not ended
  bool hears_ = false;          // in the last turn: more than a sign of life

 private:
  using Group = BroadcastFinding::Group;
  struct Added {
    ReadyTransfer transfer;
    Group group = nullptr;  // of a send
  };
  // A transfer that was added and has not ended.
  struct Carried {
    ReadyTransfer transfer;
    graph::Task* task = nullptr;  // null: it has no access yet
    enum class State : std::uint8_t { idle, asked, held } state = State::idle;
    bool is_awaited = false;  // it is received
    bool is_done = false;     // it ends when it has access
  };

  // The engine's side: any thread.
  void submitted(std::uint64_t number) override;
  void ready(std::uint64_t number, graph::Task& task) override;
  void held(std::uint64_t number, const std::exception_ptr& error) override;
  // The exchange's side: this thread.
  void post_message(RankId to, std::span<const std::byte> bytes) override;
  void bring(TransferId id) override;
  void make_room(TransferId id) override;
  void put_down(TransferId id) override;
  void send(PayloadId payload, TransferId id, RankId to, Channel channel, Piece piece) override;
  void receive(PayloadId payload, TransferId id, RankId from, Channel channel,
               Piece piece) override;
  void read(TransferId id, std::span<std::byte> content) override;
  void write(TransferId id, std::span<const std::byte> content) override;
  void began(const Hop& hop) override;
  void ended(const Hop& hop) override;
  void share(TransferId id) override;
  void end(TransferId id) override;
  void run_failed(const std::string& text) override;
  std::string name_of(DatumId datum) override;
  std::string status() override;
  std::string report() override;
  void tell_stall(const std::string& text) override;
  Time clock() override;
  void clock_compared(const ClockComparison& comparison) override;
  // The transport's side: this thread.
  void message_arrived(RankId from, std::span<const std::byte> bytes) override;
  void payload_ended(PayloadId payload) override;
  void rank_lost(RankId rank, const std::string& why) override;

  void tell(Command command);  // to be carried out in a turn
  // Tells it, and waits until it was carried out.
  void tell_and_wait(const Command& command);
  bool carry_out();
  void count();  // under mutex_
  void give_access(const ReadyTransfer& transfer, graph::Task& task, const Group& group);
  void leave(const ReadyTransfer& first, SendGroup& group);
  void record(const ClockComparison& comparison);
  void publish();
  void end_with(std::uint64_t number, Outcome outcome);
  void look_at_errors();
  void forget_runtime();

  enum class State : std::uint8_t { idle, begins, runs, finished, failed };

  // Under mutex_.
  State state_ = State::idle;
  bool any_is_limited_ = false;
  std::uint64_t next_ = 1;
  std::unordered_map<std::uint64_t, Added> added_;  // and not ready
  Finding way_ = Finding::sequence;
  BroadcastFinding finding_;
  Counts counts_;
  std::uint32_t run_ = 0;                    // the number of the run
  std::optional<ClockComparison> compared_;  // last

  std::atomic<std::uint64_t> under_way_{0};

  // Of the turns.
  engine::Engine* engine_ = nullptr;
  engine::Transfers* transfers_ = nullptr;
  const RankVoice* voice_ = nullptr;
  std::unordered_map<std::uint64_t, Carried> carried_;
  std::deque<std::pair<RankId, MessageBytes>> early_;  // of ranks whose next runtime has begun
  std::vector<std::pair<RankId, std::string>> losses_;
  std::vector<bool> is_ahead_;        // by rank: its next runtime has begun
  std::vector<bool> has_left_;        // by rank
  std::vector<bool> has_said_hello_;  // by rank, of this runtime
};

}  // namespace vicinal::comm
