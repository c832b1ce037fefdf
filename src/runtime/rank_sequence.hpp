// The application's calls as all ranks make them: data are registered with an owner, a task runs on one rank, and sends and
// receives are submitted around it, so that what is behind sees an ordinary sequence of tasks on local data.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/broadcast_trees.hpp"
#include "comm/call_log.hpp"
#include "comm/ownership.hpp"
#include "comm/progress.hpp"
#include "engine/application.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/partition.hpp"
#include "vicinal/task.hpp"

namespace vicinal::runtime {

// One thread at a time, outside of tasks.
class RankSequence final : private comm::RankVoice {
 public:
  // Who waits for what within this rank, in lines. Any thread.
  using Report = std::function<std::string()>;
  // Room from which content of so many bytes can be sent, of data with this name.
  using Provide = std::function<void(Bytes, const std::string&)>;
  // Tasks may reduce into the data here.
  using Declare = std::function<void(Handle, const Reduction&)>;
  struct Calls {
    Report report;
    Provide provide;
    Declare declare;
  };
  // Returns when all ranks have begun. `reduction_tree`: along which partial results of ranks come together; none: tasks
  // reduce into data where these live.
  RankSequence(comm::Progress& progress, engine::Application& application, bool is_limited,
               const std::optional<comm::Tree>& reduction_tree, Calls calls);

  RankId here() const { return progress_.rank(); }
  std::uint32_t ranks() const { return progress_.ranks(); }
  // Of the next registration, which does not name an owner: in turn.
  RankId next_owner() const { return {static_cast<std::uint32_t>(ownership_.size() % ranks())}; }
  [[noreturn]] static void refuse_rank(RankId rank, std::uint32_t ranks, const std::string& name);

  // `registered`: the data here, if this rank owns them; else none.
  Handle add(RankId owner, const Layout& layout, std::string name, bool written, Handle registered);
  std::optional<RankId> owner(
      Handle handle) const;  // none: all ranks have data of their own behind it

  // The task takes its place. Here: it is to be submitted, and `submitted` called then. Throws UsageError, on all ranks
  // alike: it reads what nobody has written, names a rank that is not there, data that are gone, a whole and its part at
  // once to write one, or is declared after a task of another rank.
  RankId takes(const TaskSpec& spec);
  void submitted();
  // The id of a task that runs there, and not here.
  static constexpr TaskId elsewhere(RankId rank) { return {kFirstElsewhere - rank.value}; }
  // A task with these operands concerns this rank, see Runtime::concerns. Throws as `takes`, and changes nothing.
  bool concerns(std::span<const Operand> operands, std::optional<RankId> rank);
  // The application accesses the data, on every rank.
  void access(Handle handle, AccessMode mode);
  bool has(Handle handle) const;
  // The handle is of data that all ranks know. Throws UsageError if they are gone.
  bool is_shared(Handle handle, const char* call) const;

  // A call that needs content, as tasks that read. Throws UsageError if some of it was not written.
  void require_written(Handle handle, const char* call) const {
    if (is_shared(handle, call)) require_written(datum(handle), "reads", call);
  }
  // The same of data in parts, whose parts would be brought together.
  void require_no_gap(Handle handle, const char* call) const {
    const std::optional<comm::DatumId> lacks =
        is_shared(handle, call) ? ownership_.unwritten(datum(handle)) : std::nullopt;
    if (lacks && *lacks != datum(handle)) require_written(datum(handle), "reads", call);
  }

  // The calls of the same names, of data that all ranks know. They throw the same on all ranks, or do what is to be done
  // here.
  void invalidate(Handle handle);
  void announce_readers(Handle handle, std::uint32_t readers);
  Parts partition(Handle whole, const Divide& divide, PartAccess access);
  void unpartition(const Parts& parts);
  void set_reduction(Handle handle, const Reduction& reduction);
  void combine(Handle handle);
  void release_later(Handle handle);
  // What is done for all data before the data here are unregistered.
  void begin_unregister(Handle handle, const char* call);
  // The application waits for all that it has submitted.
  void close();
  // Calls are recorded and compared with those of other ranks, until this: the application leaves out what does not
  // concern this rank. On all ranks, behind the same call.
  void stop_comparing();
  // The application's thread waits, in the call `what`; null: no longer. Any thread.
  void waits(const char* what);

  // The run is over on all ranks. Any thread.
  void cancel();
  // Something went wrong here that did not elsewhere. The run is over.
  void fail(const std::string& what);
  // A step that this rank takes and the others do not: what it throws ends the run.
  template <typename Step>
  auto here_alone(const Step& step) {
    try {
      return step();
    } catch (const std::exception& error) {
      fail(error.what());
      throw;
    }
  }
  // Something was submitted to be sent or received, and is not yet.
  bool any_under_way() const { return progress_.any_under_way(); }
  // The application knows that the run has failed. Any thread.
  void told() { progress_.told(); }
  // An exception of the program ends the runtime, before it waits. The run is over.
  void end_early();
  // The runtime ends, and has waited. Returns why the run has failed; empty: it has not.
  std::string finish();
  // A recording has begun.
  void begin_recording() { progress_.begin_recording(); }
  comm::Progress::Counts counts() const { return progress_.counts(); }
  // Of other ranks: they are combined here. Any thread.
  struct PartialResults {
    std::uint64_t all = 0;
    std::uint64_t passed_on = 0;  // of these: for data of yet other ranks
  };
  PartialResults partial_results() const {
    return {partials_.load(std::memory_order_relaxed),
            partials_passed_on_.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr std::uint64_t kFirstElsewhere = ~std::uint64_t{0} - 1;
  struct Divided {
    Division division;
    bool writable;
    std::uint32_t first;  // part
  };

  static comm::DatumId datum(Handle handle) { return {engine::DeclaredData::number(handle)}; }
  bool is_shared(Handle handle) const { return application_.declared.has(handle); }
  std::optional<RankId> passes(std::span<const Operand> operands) const;
  void read_uses(std::span<const Operand> operands, const TaskSpec* spec);
  RankId place(std::optional<RankId> rank, const TaskSpec* spec) const;
  void require_after(const TaskSpec& spec, RankId on) const;
  void require_apart() const;
  void require_written(comm::DatumId id, const char* what, const std::string& name) const;
  void require_may_write(comm::DatumId id) const;
  [[noreturn]] void throw_gone(const char* call, comm::DatumId id) const;
  void release_copy(comm::DatumId id);
  void release_parts(std::span<const comm::DatumId> gone);
  // rank_reductions.cpp
  void begin_reductions(RankId on);
  void end_reductions();
  void end_reduction(comm::DatumId id, int priority);
  void combine_here(const comm::Gathering& gathering, Handle local, int priority);
  engine::Destination destination();
  void submit(const comm::Transfer& transfer, int priority, const engine::Destination& to = {});
  void submit_receive(const comm::Transfer& transfer, Handle into, int priority,
                      const engine::Destination& to = {});
  void submit(std::span<const comm::Transfer> transfers, int priority);
  void invalidate(std::span<const comm::DatumId> stale);
  template <typename Note>
  void record(const Note& note) {
    if (!compares_) return;
    note();
    if (calls_.is_full()) pass_on_calls();
  }
  void pass_on_calls();
  std::string name_of(comm::DatumId id) const override {
    return application_.declared.describe(id.value);
  }
  std::string status() const override;
  std::string report() const override { return runtime_.report(); }

  comm::Progress& progress_;
  engine::Application& application_;
  comm::Ownership ownership_;
  std::vector<comm::Use> uses_;           // of the task at hand
  std::vector<comm::Transfer> after_;     // it
  int priority_ = 0;                      // its
  std::optional<comm::DatumId> reduced_;  // its
  bool in_family_ = false;                // it uses data in parts
  struct Reduced {
    Reduction codelets;
    bool is_declared = false;  // here
  };
  std::unordered_map<std::uint32_t, Reduced> reductions_;  // data that tasks may reduce into
  const std::optional<comm::Tree> reduction_tree_;
  std::atomic<std::uint64_t> partials_{0};            // statistics: relaxed
  std::atomic<std::uint64_t> partials_passed_on_{0};  // likewise
  std::vector<bool> has_home_;  // by number: memory or a file of the application
  std::unordered_map<std::uint32_t, std::vector<Divided>> divided_;  // by number of the whole
  comm::CallRecorder calls_;
  bool compares_;
  bool ends_early_ = false;
  const Calls runtime_;
  mutable std::mutex waits_mutex_;
  std::string waits_in_;  // guarded by it; empty: it does not wait
};

}  // namespace vicinal::runtime
