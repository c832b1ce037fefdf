#include "runtime/rank_sequence.hpp"

#include <functional>
#include <string_view>
#include <utility>

#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::runtime {

RankSequence::RankSequence(comm::Progress& progress, engine::Application& application,
                           bool is_limited)
    : progress_(progress),
      application_(application),
      ownership_(progress.rank(), progress.ranks(), [&application](comm::DatumId datum) {
        return application.declared.bytes(datum.value);
      }) {
  progress_.begin(application_.engine, application_.transfers, std::hash<std::string_view>{}(version()),
                  is_limited);
}

void RankSequence::refuse_rank(RankId rank, std::uint32_t ranks, const std::string& name) {
  throw UsageError(name + ": there is no rank " + std::to_string(rank.value) + "; there " +
                   (ranks == 1 ? "is rank 0 alone" : "are " + std::to_string(ranks) + ", from 0 on"));
}

Handle RankSequence::add(RankId owner, const Layout& layout, std::string name, bool written,
                         Handle registered) {
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
    if (!reads(operand.mode) || ownership_.is_written(id)) continue;
    throw UsageError("task " + (spec.name.empty() && spec.codelet != nullptr ? spec.codelet->name : spec.name) +
                     " reads handle " + application_.declared.describe(id.value) +
                     ", which nobody has written; submit a task that writes it first");
  }
}

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
  submit(ownership_.run_everywhere(datum(handle), mode).before, 0);
}

void RankSequence::forget(Handle handle) {
  if (is_shared(handle)) ownership_.forget(datum(handle));
}

void RankSequence::close() {
  if (progress_.any_is_limited()) invalidate(ownership_.drop_copies());
}

void RankSequence::fail(const std::string& what) {
  progress_.fail("rank " + std::to_string(here().value) + ": " + what);
}

void RankSequence::finish(bool unwinds) {
  if (unwinds) fail("it has ended before its tasks, because of an error");
  progress_.finish();
}

std::string RankSequence::describe() {
  return progress_.describe(
      [this](comm::DatumId id) { return application_.declared.describe(id.value); });
}

}  // namespace vicinal::runtime
