// The application's calls as all ranks make them: data are registered with an owner, a task runs on one rank, and sends and
// receives are submitted around it, so that what is behind sees an ordinary sequence of tasks on local data.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/call_log.hpp"
#include "comm/ownership.hpp"
#include "comm/progress.hpp"
#include "engine/application.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/task.hpp"

namespace vicinal::runtime {

// One thread at a time, outside of tasks.
class RankSequence final : private comm::RankVoice {
 public:
  // Who waits for what within this rank, in lines. Any thread.
  using Report = std::function<std::string()>;
  // Returns when all ranks have begun.
  RankSequence(comm::Progress& progress, engine::Application& application, bool is_limited,
               Report report);

  RankId here() const { return progress_.rank(); }
  std::uint32_t ranks() const { return progress_.ranks(); }
  // Of the next registration, which does not name an owner: in turn.
  RankId next_owner() const { return {static_cast<std::uint32_t>(ownership_.size() % ranks())}; }
  [[noreturn]] static void refuse_rank(RankId rank, std::uint32_t ranks, const std::string& name);

  // `registered`: the data here, if this rank owns them; else none.
  Handle add(RankId owner, const Layout& layout, std::string name, bool written, Handle registered);
  std::optional<RankId> owner(Handle handle) const;  // none: all ranks have data of their own behind it

  // The task takes its place. True: it is to be submitted here, and `submitted` called then. Throws UsageError, on all
  // ranks: it reads what nobody has written, or names a rank that is not there.
  bool takes(const TaskSpec& spec);
  void submitted();
  // The application accesses the data, on every rank.
  void access(Handle handle, AccessMode mode);
  // The data have no content any more, or are no more.
  void forget(Handle handle);
  bool has(Handle handle) const;
  // The application waits for all that it has submitted.
  void close();
  // Calls are recorded and compared with those of other ranks, until this: the application leaves out what does not
  // concern this rank. On all ranks, behind the same call.
  void stop_comparing();
  // The application's thread waits, in the call `what`; null: no longer. Any thread.
  void waits(const char* what);

  // Something went wrong here that did not elsewhere. The run is over.
  void fail(const std::string& what);
  // Something was submitted to be sent or received, and is not yet.
  bool any_under_way() const { return progress_.any_under_way(); }
  // The application knows that the run has failed. Any thread.
  void told() { progress_.told(); }
  // An exception of the program ends the runtime, before it waits. The run is over.
  void end_early();
  // The runtime ends, and has waited. Returns why the run has failed; empty: it has not.
  std::string finish();
  comm::Progress::Counts counts() const { return progress_.counts(); }

 private:
  comm::DatumId datum(Handle handle) const { return {engine::DeclaredData::number(handle)}; }
  bool is_shared(Handle handle) const { return application_.declared.has(handle); }
  void read_uses(const TaskSpec& spec);
  RankId place(const TaskSpec& spec) const;
  void submit(const comm::Transfer& transfer, int priority);
  void submit(std::span<const comm::Transfer> transfers, int priority);
  void invalidate(std::span<const comm::DatumId> stale);
  void require_written(const TaskSpec& spec) const;
  template <typename Note>
  void record(const Note& note);
  void pass_on_calls();
  std::string name_of(comm::DatumId datum) const override;
  std::string status() const override;
  std::string report() const override { return report_(); }

  comm::Progress& progress_;
  engine::Application& application_;
  comm::Ownership ownership_;
  std::vector<comm::Use> uses_;              // of the task at hand
  std::vector<comm::Transfer> after_;        // it
  int priority_ = 0;                         // its
  std::optional<RankId> owner_of_reduction_; // its
  comm::CallRecorder calls_;
  bool compares_;
  bool ends_early_ = false;
  const Report report_;
  mutable std::mutex waits_mutex_;
  std::string waits_in_;  // guarded by it; empty: it does not wait
};

}  // namespace vicinal::runtime
