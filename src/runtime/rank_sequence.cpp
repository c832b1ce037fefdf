#include "runtime/rank_sequence.hpp"

#include <functional>
#include <string_view>
#include <utility>

#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::runtime {

RankSequence::RankSequence(comm::Progress& progress, engine::Application& application,
                           bool is_limited, Report report)
    : progress_(progress),
      application_(application),
      ownership_(
          progress.rank(), progress.ranks(),
          [&application](comm::DatumId datum) { return application.declared.bytes(datum.value); }),
      compares_(progress.ranks() > 1),
      report_(std::move(report)) {
  progress_.begin(application_.engine, application_.transfers, *this,
                  std::hash<std::string_view>{}(version()), is_limited);
}

void RankSequence::refuse_rank(RankId rank, std::uint32_t ranks, const std::string& name) {
  throw UsageError(name + ": there is no rank " + std::to_string(rank.value) + "; there " +
                   (ranks == 1 ? "is rank 0 alone" : "are " + std::to_string(ranks) + ", from 0 on"));
}

Handle RankSequence::add(RankId owner, const Layout& layout, std::string name, bool written,
                         Handle registered) {
  record([&] { calls_.registers(layout.bytes(), owner, name); });
  const Handle handle = application_.declared.declare(layout, std::move(name), registered);
  ownership_.add(owner, written);
  return handle;
}

std::optional<RankId> RankSequence::owner(Handle handle) const {
  if (!is_shared(handle)) return std::nullopt;
  return ownership_.owner(datum(handle));
}

bool RankSequence::has(Handle handle) const {
  return !is_shared(handle) || ownership_.has(datum(handle));
}

// Tasks that reduce into data do so where the data live, for now.
void RankSequence::read_uses(const TaskSpec& spec) {
  uses_.clear();
  owner_of_reduction_.reset();
  for (const Operand& operand : spec.operands.span()) {
    if (operand.mode == AccessMode::scratch || !is_shared(operand.handle)) continue;
    const comm::DatumId id = datum(operand.handle);
    const bool reduces = operand.mode == AccessMode::reduction;
    if (reduces) owner_of_reduction_ = ownership_.owner(id);
    uses_.push_back({id, reduces ? AccessMode::RW : operand.mode});
  }
}

void RankSequence::require_written(const TaskSpec& spec) const {
  for (const Operand& operand : spec.operands.span()) {
    if (!reads(operand.mode) || !is_shared(operand.handle)) continue;
    const comm::DatumId id = datum(operand.handle);
    if (ownership_.is_written(id)) continue;
    throw UsageError("task " + (spec.name.empty() && spec.codelet != nullptr ? spec.codelet->name : spec.name) +
                     " reads handle " + application_.declared.describe(id.value) +
                     ", which nobody has written; submit a task that writes it first");
  }
}

// --- what is compared with other ranks

template <typename Note>
void RankSequence::record(const Note& note) {
  if (!compares_) return;
  note();
  if (calls_.is_full()) pass_on_calls();
}

void RankSequence::pass_on_calls() {
  if (compares_ && !calls_.empty()) progress_.called(calls_.take());
}

void RankSequence::stop_comparing() {
  if (!compares_) return;
  comm::CallBatch last = calls_.take();
  last.is_last = true;
  progress_.called(std::move(last));
  compares_ = false;
}

void RankSequence::waits(const char* what) {
  {
    const std::lock_guard lock(waits_mutex_);
    waits_in_ = what != nullptr ? what : "";
  }
  // What it waits for may not come because the ranks differ.
  if (what != nullptr) pass_on_calls();
}

std::string RankSequence::name_of(comm::DatumId datum) const {
  return application_.declared.describe(datum.value);
}

std::string RankSequence::status() const {
  const engine::Engine& engine = application_.engine;
  std::string text = "it had run " + std::to_string(engine.counts().ended()) + " tasks";
  for (const WorkerDescription& worker : engine.machine().workers) {
    const std::string running = engine.counts().running_name(worker.id);
    if (running.empty()) continue;
    text += ", ran " + running;
    break;
  }
  const std::lock_guard lock(waits_mutex_);
  return waits_in_.empty() ? text : text + ", and its program waited in " + waits_in_;
}

// --- tasks

RankId RankSequence::place(const TaskSpec& spec) const {
  if (spec.rank) {
    if (spec.rank->value >= ranks()) refuse_rank(*spec.rank, ranks(), "task " + spec.name);
    return *spec.rank;
  }
  return owner_of_reduction_ ? *owner_of_reduction_ : ownership_.place(uses_);
}

void RankSequence::submit(const comm::Transfer& transfer, int priority) {
  const std::uint32_t number = transfer.datum.value;
  const Handle local = application_.declared.local(application_.declared.name(number), "submit");
  const std::uint64_t id =
      progress_.add(transfer, application_.declared.bytes(number), priority);
  if (transfer.from == here()) {
    application_.transfers.submit_send(local, id, priority);
  } else {
    application_.transfers.submit_receive(local, id);
  }
}

void RankSequence::submit(std::span<const comm::Transfer> transfers, int priority) {
  for (const comm::Transfer& transfer : transfers) submit(transfer, priority);
}

// The copies go when the tasks before that read them have ended.
void RankSequence::invalidate(std::span<const comm::DatumId> stale) {
  for (const comm::DatumId id : stale) {
    const Handle local = application_.declared.used(application_.declared.name(id.value));
    if (local) application_.invalidations.submit(local);
  }
}

bool RankSequence::takes(const TaskSpec& spec) {
  read_uses(spec);
  record([&] {
    calls_.submits(
        spec.codelet != nullptr ? std::string_view(spec.codelet->name) : std::string_view(), uses_,
        spec.rank);
  });
  require_written(spec);
  const RankId on = place(spec);
  const comm::Ownership::Effects effects = ownership_.run(uses_, on);
  priority_ = spec.priority;
  submit(effects.before, priority_);
  invalidate(effects.stale);
  if (on != here()) {
    submit(effects.after, priority_);
    return false;
  }
  after_.assign(effects.after.begin(), effects.after.end());
  return true;
}

void RankSequence::submitted() {
  submit(after_, priority_);
  after_.clear();
}

void RankSequence::access(Handle handle, AccessMode mode) {
  if (!is_shared(handle)) return;
  record([&] { calls_.accesses(datum(handle), mode); });
  submit(ownership_.run_everywhere(datum(handle), mode).before, 0);
}

void RankSequence::forget(Handle handle) {
  if (!is_shared(handle)) return;
  record([&] { calls_.forgets(datum(handle)); });
  ownership_.forget(datum(handle));
}

void RankSequence::close() {
  record([&] { calls_.waits(); });
  if (progress_.any_is_limited()) invalidate(ownership_.drop_copies());
}

void RankSequence::fail(const std::string& what) {
  progress_.fail("rank " + std::to_string(here().value) + ": " + what);
}

void RankSequence::end_early() {
  if (ends_early_) return;
  ends_early_ = true;
  pass_on_calls();
  compares_ = false;  // what the end of the runtime calls is not the program's
  progress_.suspect("rank " + std::to_string(here().value) +
                    " has left early: an exception ends its program");
}

std::string RankSequence::finish() {
  record([&] { calls_.ends(); });
  pass_on_calls();
  return progress_.finish(ends_early_);
}

}  // namespace vicinal::runtime
