#include "engine/run_times.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace vicinal::engine {

machine::Footprint footprint_of(const graph::Task& task) {
  machine::Footprint footprint;
  const auto is_reduced = [&](const graph::Access& access) {  // also while it names a private copy
    return task.reduces() &&
           std::ranges::any_of(task.extension->reduced, [&](const graph::ReducedOperand& operand) {
             return &task.accesses()[operand.access] == &access;
           });
  };
  for (const graph::Access& access : task.accesses()) {
    footprint.add(access.handle->bytes(), is_reduced(access) ? AccessMode::RW : access.mode);
  }
  return footprint;
}

// What takes the place of another hands its runs on first.
RunTimer::Slot& RunTimer::slot_of(const graph::Task& task) {
  const machine::Footprint footprint = footprint_of(task);
  const std::string& codelet = task.codelet->name;
  const auto address = reinterpret_cast<std::uintptr_t>(task.codelet);
  const std::uint64_t mixed = (footprint.hash() ^ address) * 0x9e3779b97f4a7c15ULL;
  Slot& slot = slots_[(mixed >> 32) % kSlots];
  if (slot.footprint == footprint && slot.codelet == codelet) return slot;
  hand_on(slot);
  slot = Slot{};
  slot.codelet = codelet;
  slot.footprint = footprint;
  return slot;
}

void RunTimer::begin(const graph::Task& task, const std::function<Time()>& now) {
  timed_ = nullptr;
  Slot& slot = slot_of(task);
  if (slot.skip > 0) {
    --slot.skip;
    return;
  }
  timed_ = &slot;
  began_ = now();
}

void RunTimer::end(const std::function<Time()>& now) {
  if (timed_ == nullptr) return;
  keep(*std::exchange(timed_, nullptr), now() - began_);
}

// The slot is looked up anew: others may have begun since.
void RunTimer::note(const graph::Task& task, Time run_time) {
  timed_ = nullptr;
  keep(slot_of(task), run_time);
}

void RunTimer::keep(Slot& slot, Time run_time) {
  slot.runs[slot.kept++] = run_time;
  if (slot.kept >= slot.hand_on_at) hand_on(slot);
  if (slot.even) slot.skip = kSparsely - 1;
}

void RunTimer::hand_on(Slot& slot) {
  if (slot.kept == 0) return;
  const std::span<const Time> runs(slot.runs.data(), slot.kept);
  slot.kept = 0;  // also if that throws: there is no room for more
  slot.even = model_->add(slot.codelet, kind_, slot.footprint, runs);
  slot.hand_on_at = std::min<std::uint32_t>(2 * slot.hand_on_at, kMostKept);
}

void RunTimer::flush() {
  for (Slot& slot : slots_) hand_on(slot);
}

}  // namespace vicinal::engine
