#include "runtime/rank_sequence.hpp"

#include <functional>
#include <string_view>
#include <utility>

#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::runtime {

RankSequence::RankSequence(comm::Progress& progress, engine::Application& application,
                           bool is_limited, const std::optional<comm::Tree>& reduction_tree,
                           Calls calls)
    : progress_(progress),
      application_(application),
      ownership_(progress.rank(), progress.ranks()),
      reduction_tree_(reduction_tree),
      compares_(progress.compares()),
      runtime_(std::move(calls)) {
  progress_.begin(application_.engine, application_.transfers, *this,
                  std::hash<std::string_view>{}(version()), is_limited);
}

void RankSequence::refuse_rank(RankId rank, std::uint32_t ranks, const std::string& name) {
  throw UsageError(
      name + ": there is no rank " + std::to_string(rank.value) + "; there " +
      (ranks == 1 ? "is rank 0 alone" : "are " + std::to_string(ranks) + ", from 0 on"));
}

Handle RankSequence::add(RankId owner, const Layout& layout, std::string name, bool written,
                         Handle registered) {
  record([&] { calls_.registers(layout.bytes(), owner, name); });
  const Handle handle = application_.declared.declare(layout, std::move(name), registered);
  ownership_.add(owner, layout.bytes(), written);
  has_home_.push_back(written);
  return handle;
}

std::optional<RankId> RankSequence::owner(Handle handle) const {
  if (!is_shared(handle)) return std::nullopt;
  return ownership_.owner(datum(handle));
}

bool RankSequence::has(Handle handle) const {
  return !is_shared(handle) || ownership_.has(datum(handle));
}

// --- a task takes its place

namespace {
std::string name_of_task(const TaskSpec* spec) {
  if (spec == nullptr) return "concerns";
  return "task " +
         (spec->name.empty() && spec->codelet != nullptr ? spec->codelet->name : spec->name);
}
}  // namespace

// Most tasks do not concern this rank: nothing is allocated, locked or named for them.
void RankSequence::read_uses(std::span<const Operand> operands, const TaskSpec* spec) {
  uses_.clear();
  reduced_.reset();
  in_family_ = false;
  for (const Operand& operand : operands) {
    if (operand.mode == AccessMode::scratch || !is_shared(operand.handle)) continue;
    const comm::DatumId id = datum(operand.handle);
    AccessMode mode = operand.mode;
    if (ownership_.is_gone(id)) [[unlikely]]
      throw_gone("submit", id);
    if (mode == AccessMode::reduction) [[unlikely]] {
      if (!reductions_.contains(id.value)) {
        throw UsageError(name_of_task(spec) + " reduces into handle " + name_of(id) +
                         ", which has no reduction; call set_reduction before");
      }
      const bool is_elsewhere = reduced_ && ownership_.owner(*reduced_) != ownership_.owner(id);
      if (is_elsewhere && !reduction_tree_) {
        throw UsageError(name_of_task(spec) + " reduces into handles " + name_of(*reduced_) +
                         " and " + name_of(id) + " of two ranks; submit a task for each");
      }
      reduced_ = id;
      // It begins with the neutral element where there is no content.
      if (!reduction_tree_) mode = ownership_.unwritten(id) ? AccessMode::W : AccessMode::RW;
    }
    if (ownership_.was_in_family(id)) [[unlikely]] {
      in_family_ = true;
      if (writes(mode)) require_may_write(id);
    }
    if (reads(mode) && ownership_.unwritten(id)) [[unlikely]] {
      require_written(id, "reads", name_of_task(spec));
    }
    uses_.push_back({id, mode});
  }
  if (in_family_) [[unlikely]]
    require_apart();
}

// --- what is compared with other ranks

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

void RankSequence::require_written(comm::DatumId id, const char* what,
                                   const std::string& name) const {
  const std::optional<comm::DatumId> lacks = ownership_.unwritten(id);
  if (!lacks) return;
  throw UsageError(name + " " + what + " handle " + name_of(id) + ", " +
                   (*lacks == id ? "which nobody has written"
                                 : "whose part " + name_of(*lacks) +
                                       " nobody has written, or it was invalidated") +
                   "; submit a task that writes it first");
}

void RankSequence::require_may_write(comm::DatumId id) const {
  if (!ownership_.is_read_only(id)) return;
  throw UsageError(
      "handle " + name_of(id) +
      " would be written, but it is a part that may only be read; partition the whole with "
      "PartAccess::writable");
}

void RankSequence::require_apart() const {
  for (const comm::Use& part : uses_) {
    for (const comm::Use& whole : uses_) {
      if (!writes(part.mode) && !writes(whole.mode)) continue;
      if (!ownership_.is_within(part.datum, whole.datum)) continue;
      throw UsageError("a task uses handle " + name_of(whole.datum) + " and its part " +
                       name_of(part.datum) + " at once, and writes; name one of them");
    }
  }
}

void RankSequence::throw_gone(const char* call, comm::DatumId id) const {
  throw UsageError(std::string(call) + ": datum " + std::to_string(id.value) +
                   " was unregistered, or its partition was taken back; name data that are there");
}

// Without a tree tasks that reduce into data do so where the data live.
RankId RankSequence::place(std::optional<RankId> rank, const TaskSpec* spec) const {
  if (rank && rank->value >= ranks()) refuse_rank(*rank, ranks(), name_of_task(spec));
  if (!reduced_ || reduction_tree_) return rank ? *rank : ownership_.place(uses_);
  const RankId owner = ownership_.owner(*reduced_);
  if (rank && *rank != owner) {
    throw UsageError(name_of_task(spec) + " reduces into handle " + name_of(*reduced_) +
                     " of rank " + std::to_string(owner.value) + " on rank " +
                     std::to_string(rank->value) +
                     "; leave TaskSpec::rank out, for with the option reduction_tree off tasks "
                     "reduce into data where they live");
  }
  return owner;
}

// All ranks know where a task runs, and only that rank when it has ended.
void RankSequence::require_after(const TaskSpec& spec, RankId on) const {
  for (const TaskId before : spec.after) {
    const std::uint64_t rank = kFirstElsewhere - before.value;
    const RankId its = rank < ranks() ? RankId{static_cast<std::uint32_t>(rank)} : here();
    if (its == on) continue;
    throw UsageError(name_of_task(&spec) + ", on rank " + std::to_string(on.value) +
                     ", is declared after a task of rank " + std::to_string(its.value) +
                     "; let it read data that the task writes, or run it there (TaskSpec::rank)");
  }
}

// Of what the task at hand is to receive.
engine::Destination RankSequence::destination() {
  engine::Arrivals& arrivals = application_.transfers.arrivals();
  if (!arrivals.any()) return {};
  for (const comm::Use& use : uses_) {
    if (!writes(use.mode)) continue;
    return arrivals.next(application_.declared.used(application_.declared.name(use.datum.value)));
  }
  return arrivals.next({});
}

void RankSequence::submit(const comm::Transfer& transfer, int priority,
                          const engine::Destination& to) {
  const std::uint32_t number = transfer.datum.value;
  const Handle local = application_.declared.local(application_.declared.name(number), "submit");
  // For data of this rank there was room when they were registered.
  if (transfer.from == here() && ownership_.owner(transfer.datum) != here()) {
    runtime_.provide(ownership_.bytes(transfer.datum), name_of(transfer.datum));
  }
  if (transfer.from != here()) return submit_receive(transfer, local, priority, to);
  const bool takes_place = application_.submissions.submitter() == nullptr;
  const std::uint64_t id = progress_.add(transfer, local.impl()->layout, priority, takes_place);
  application_.transfers.submit_send(local, id, priority);
}

void RankSequence::submit_receive(const comm::Transfer& transfer, Handle into, int priority,
                                  const engine::Destination& to) {
  const bool takes_place = application_.submissions.submitter() == nullptr;
  const std::uint64_t id = progress_.add(transfer, into.impl()->layout, priority, takes_place);
  application_.transfers.submit_receive(into, id, to);
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

// Most tasks are for one other rank alone, which is found without looking at them twice.
std::optional<RankId> RankSequence::passes(std::span<const Operand> operands) const {
  std::optional<RankId> on;
  for (const Operand& operand : operands) {
    const bool is_plain =
        operand.mode != AccessMode::reduction && operand.mode != AccessMode::scratch;
    if (!is_plain || !is_shared(operand.handle)) return std::nullopt;
    const std::optional<RankId> owner = ownership_.passes(datum(operand.handle), operand.mode);
    if (!owner) return std::nullopt;
    if (!writes(operand.mode)) continue;
    if (on && *on != *owner) return std::nullopt;
    on = owner;
  }
  return on;
}

RankId RankSequence::takes(const TaskSpec& spec) {
  if (!compares_ && !spec.rank && spec.after.empty()) {
    if (const auto on = passes(spec.operands.span())) return *on;
  }
  read_uses(spec.operands.span(), &spec);
  record([&] {
    calls_.submits(
        spec.codelet != nullptr ? std::string_view(spec.codelet->name) : std::string_view(), uses_,
        spec.rank);
  });
  const RankId on = place(spec.rank, &spec);
  if (!spec.after.empty()) [[unlikely]]
    require_after(spec, on);
  priority_ = spec.priority;
  if (!reductions_.empty()) [[unlikely]] {
    end_reductions();
    begin_reductions(on);
  }
  const comm::Ownership::Effects effects = ownership_.run(uses_, on);
  if (effects.before.empty() && effects.stale.empty() && effects.after.empty()) [[likely]] {
    after_.clear();
    return on;
  }
  here_alone([&] {
    for (const comm::Transfer& transfer : effects.before) {
      const bool is_for_it = on == here() && transfer.from != here();
      submit(transfer, priority_, is_for_it ? destination() : engine::Destination{});
    }
    invalidate(effects.stale);
    if (on != here()) return submit(effects.after, priority_);
    after_.assign(effects.after.begin(), effects.after.end());
  });
  return on;
}

void RankSequence::submitted() {
  here_alone([&] { submit(after_, priority_); });
  after_.clear();
}

bool RankSequence::concerns(std::span<const Operand> operands, std::optional<RankId> rank) {
  stop_comparing();  // ranks may leave out what does not concern them
  if (!rank && passes(operands)) return false;
  read_uses(operands, nullptr);
  return ownership_.concerns(uses_, place(rank, nullptr));
}

void RankSequence::access(Handle handle, AccessMode mode) {
  if (!is_shared(handle, "acquire")) return;
  if (mode == AccessMode::scratch || mode == AccessMode::reduction) return;  // which is refused
  const comm::DatumId id = datum(handle);
  if (writes(mode)) require_may_write(id);
  if (reads(mode)) require_written(id, "reads", "acquire");
  record([&] { calls_.accesses(id, mode); });
  end_reduction(id, 0);
  const comm::Ownership::Effects effects = ownership_.run_everywhere(id, mode);
  here_alone([&] {
    submit(effects.before, 0);
    invalidate(effects.stale);
  });
}

void RankSequence::close() {
  record([&] { calls_.waits(); });
  if (progress_.any_is_limited()) here_alone([&] { invalidate(ownership_.drop_copies()); });
}

// An error, which whoever sees it first tells the other ranks: a wait that found none would let this rank go on.
void RankSequence::cancel() {
  application_.engine.errors().cancel(
      std::make_exception_ptr(RankError("cancel() has ended the run on all ranks")));
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
