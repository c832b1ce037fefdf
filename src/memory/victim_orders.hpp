// In which order replicas leave one memory node.
//
// All that have room are listed. Those that the look-ahead does not claim are in one more order each (see
// VictimClass): by how long ago they were used, by when a task that waits with the policy will read them, or as
// unused. A use only stamps a replica; an order is put right when it is looked at.
//
// Under the node's lock, but for `next_uses`, which has its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/function_ref.hpp"
#include "base/sure_memory.hpp"
#include "memory/next_uses.hpp"
#include "memory/recency.hpp"
#include "memory/replica.hpp"
#include "memory/resident_list.hpp"
#include "memory/victim.hpp"

namespace vicinal::memory {

class VictimOrders {
 public:
  using Goes = base::FunctionRef<bool(const Replica&)>;

  // Once, before anything else.
  // `notes_unused`: what no submitted task uses goes first.
  void set_up(UseOrder order, bool notes_unused);

  // --- room
  void add(Replica& replica);
  void remove(Replica& replica);
  // Of all that have room. nullptr: there is none.
  Replica* oldest() const { return residents_.oldest(); }
  Replica* newer_than(const Replica& replica) const { return residents_.newer_than(replica); }
  // Where it stands now among those that waiting tasks read; nothing if none does.
  Awaited awaited_place(Replica& replica);
  // After it they are in the order of their use, least recent first; else in no order that counts.
  void refresh();

  // --- what is known of the next use has changed
  // Where it belongs, unless it is in an order.
  void put(Replica& replica);
  // In none, until it is put again.
  void leave(Replica& replica);
  void put_again(Replica& replica) {
    leave(replica);
    put(replica);
  }
  // No task that was submitted uses it.
  void put_unused(Replica& replica);
  // By somebody whose task is not submitted yet.
  void wanted_again(Replica& replica) {
    if (is_known_unused(replica)) put_again(replica);
  }
  // First to go, once no submitted task uses it.
  void put_first(Replica& replica);

  // --- victims: one that `goes` says yes to, or nullptr
  // The least recently used one of what no submitted task uses, and whose content is elsewhere, too; or nowhere else.
  Replica* saved(const Goes& goes) { return first_unused(VictimClass::saved, goes); }
  Replica* unsaved(const Goes& goes) { return first_unused(VictimClass::unsaved, goes); }
  // The least recently used one that nobody is known to use; else one of those that tasks wait with the policy to
  // read.
  Replica* least_needed(const Goes& goes);
  // The least recently used one, whoever claims it.
  Replica* least_recent(const Goes& goes);
  // The least recently used one that is not claimed.
  Replica* least_recent_unclaimed(const Goes& goes);

  bool any_unsaved() const { return unsaved_.size() > 0; }                            // any thread
  Bytes saved_bytes() const { return saved_bytes_.load(std::memory_order_relaxed); }  // any thread
  // Throws std::logic_error if an order does not hold what the replicas say; `node` is for the message.
  void check(const std::string& node) const;

  NextUses next_uses;

 private:
  void put_aside(Replica& replica);
  Replica* awaited_victim(const Goes& goes);
  Replica* first_unused(VictimClass among, const Goes& goes);
  void count_saved(const Replica& replica, bool more);

  bool in_order_ = true;
  bool notes_unused_ = false;
  ResidentList residents_;
  Recency recency_;
  base::SureMap<Awaited, Replica*> awaited_;  // some have been named again since
  Recency unsaved_;
  Recency saved_;
  std::atomic<Bytes> saved_bytes_{};    // of the replicas in saved_
  base::SureVector<Replica*> touched_;  // refresh's, a member to keep its room
};

}  // namespace vicinal::memory
