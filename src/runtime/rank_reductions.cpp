// Tasks of several ranks that reduce into one datum. Each of these ranks has a partial result, in what is a copy of the datum
// otherwise, and the runtime there combines the private copies of its tasks into it. The partial results then go up a tree
// of ranks, in which each combines what comes with its own. All ranks know from the sequence who takes part, so nothing is
// asked or told.
//
// Why it cannot hang under tight memory: no rank keeps room for others. A partial result that comes is an operand of a task of
// the rank that combines it, received as a version of any datum is, alone with its own room, and may go to the disk until that
// task has room for both. So a rank waits for those below it in the tree, which wait for tasks of their own, and never for
// room that a rank above has.
#include <utility>

#include "runtime/rank_sequence.hpp"

namespace vicinal::runtime {

// The task at hand reduces on that rank.
void RankSequence::begin_reductions(RankId on) {
  if (!reduced_ || !reduction_tree_ || on != here()) return;
  for (const comm::Use& use : uses_) {
    if (use.mode != AccessMode::reduction) continue;
    Reduced& reduced = reductions_.at(use.datum.value);
    if (reduced.is_declared) continue;
    here_alone([&] {
      const Handle name = application_.declared.name(use.datum.value);
      runtime_.declare(application_.declared.local(name, "submit"), reduced.codelets);
    });
    reduced.is_declared = true;
  }
}

// Of what the task at hand accesses otherwise.
void RankSequence::end_reductions() {
  for (const comm::Use& use : uses_) {
    if (use.mode != AccessMode::reduction) end_reduction(use.datum, priority_);
  }
}

void RankSequence::end_reduction(comm::DatumId id, int priority) {
  if (!reduction_tree_ || !ownership_.is_reduced(id)) return;
  const comm::Gathering gathering = ownership_.gather(id, *reduction_tree_);
  if (gathering.from.empty() && !gathering.to) return;
  here_alone([&] {
    const Handle local =
        application_.declared.local(application_.declared.name(id.value), "submit");
    combine_here(gathering, local, priority);
    if (!gathering.to) return;
    submit(*gathering.to, priority);
    application_.invalidations.submit(local);  // the next reduction begins anew
  });
}

// In an order that does not depend on who comes first.
void RankSequence::combine_here(const comm::Gathering& gathering, Handle local, int priority) {
  engine::Reductions& reductions = application_.reductions;
  std::size_t number = 0;
  for (const comm::Transfer& transfer : gathering.from) {
    partials_.fetch_add(1, std::memory_order_relaxed);
    if (gathering.to) partials_passed_on_.fetch_add(1, std::memory_order_relaxed);
    if (!reductions.holds_any(*local.impl())) {
      submit_receive(transfer, local, priority);  // there is nothing to combine it with
      continue;
    }
    const Handle partial =
        reductions.place_for_partial(*local.impl(), number++ % reductions.most_partials());
    submit_receive(transfer, partial, priority);
    reductions.combine_partial(local, partial, priority);
  }
}

}  // namespace vicinal::runtime
