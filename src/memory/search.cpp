// Residency: what a policy that chooses the victims asks about those that may go.
#include <functional>
#include <mutex>
#include <span>

#include "memory/residency.hpp"

namespace vicinal::memory {

namespace {

// Of what is left out of Recency where a policy chooses: unclaim puts it back.
bool is_claimed(const Replica& replica) {
  return replica.claims > 0;
}

void stay_out(Replica& replica) {
  set_order(replica, Order::none);
}

}  // namespace

bool Residency::any_may_go(Node& node, const Request* asks) {
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (node.recency.least(goes, is_claimed, stay_out) != nullptr) return true;
  for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
    if (goes(*r)) return true;
  }
  return false;
}

graph::Handle* Residency::Search::least_recent(
    const std::function<bool(const graph::Handle&)>& goes) {
  const std::lock_guard lock(residency_.mutex_);
  Node& node = residency_.nodes_[node_.value];
  const Request* const asks = who_asks(node, reason_);
  const auto may_go = [&](const Replica& r) {
    return residency_.evictable(r, asks) && goes(*r.handle);
  };
  const Replica* found = residency_.unused_victim(node, may_go);
  if (found == nullptr) found = node.recency.least(may_go, is_claimed, stay_out);
  return found != nullptr ? found->handle : nullptr;
}

bool Residency::Search::has_unclaimed(const graph::Handle& handle) {
  const std::lock_guard lock(residency_.mutex_);
  const Replica& r = residency_.replica(handle, node_);
  return r.claims == 0 &&
         residency_.evictable(r, who_asks(residency_.nodes_[node_.value], reason_));
}

std::span<const Candidate> Residency::Search::all() {
  const std::lock_guard lock(residency_.mutex_);
  Node& node = residency_.nodes_[node_.value];
  const Request* const asks = who_asks(node, reason_);
  residency_.refresh_order(node);
  all_.clear();
  for (Replica* r = node.residents.oldest(); r != nullptr; r = node.residents.newer_than(*r)) {
    if (!residency_.evictable(*r, asks)) continue;
    all_.push_back({r->handle, !residency_.safe_elsewhere(*r), r->claims});
  }
  return all_;
}

}  // namespace vicinal::memory
