// Residency: the questions of a victim-choosing policy about evictable replicas.
#include <algorithm>
#include <functional>
#include <mutex>
#include <span>

#include "memory/residency.hpp"

namespace vicinal::memory {

bool Residency::any_may_go(MemoryNode& node, const Request* asks) {
  const auto goes = [&](const Replica& r) { return evictable(r, asks); };
  if (node.victims.least_recent_unclaimed(goes) != nullptr) return true;
  for (Replica* r = node.victims.oldest(); r != nullptr; r = node.victims.newer_than(*r)) {
    if (goes(*r)) return true;
  }
  return false;
}

graph::Handle* Residency::Search::least_recent(
    const std::function<bool(const graph::Handle&)>& goes) {
  MemoryNode& node = residency_.nodes_[node_.value];
  const std::lock_guard lock(node.lock);
  node.note_last_copies();
  const Request* const asks = who_asks(node, reason_);
  const auto may_go = [&](const Replica& r) {
    return residency_.evictable(r, asks) && goes(*r.handle);
  };
  const Replica* found = residency_.unused_victim(node, may_go);
  if (found == nullptr) found = node.victims.least_recent_unclaimed(may_go);
  return found != nullptr ? found->handle : nullptr;
}

bool Residency::Search::has_unclaimed(const graph::Handle& handle) {
  MemoryNode& node = residency_.nodes_[node_.value];
  const std::lock_guard lock(node.lock);
  const Replica& r = residency_.replica(handle, node_);
  return !is_claimed(r) && residency_.evictable(r, who_asks(node, reason_));
}

std::span<const Candidate> Residency::Search::all() {
  if (listed_) return all_;
  listed_ = true;
  all_.clear();
  MemoryNode& node = residency_.nodes_[node_.value];
  const std::lock_guard lock(node.lock);
  const Request* const asks = who_asks(node, reason_);
  node.victims.refresh();
  for (Replica* r = node.victims.oldest(); r != nullptr; r = node.victims.newer_than(*r)) {
    if (!residency_.evictable(*r, asks)) continue;
    const std::uint32_t claims = r->claims.load(std::memory_order_relaxed);
    all_.push_back({r->handle, !safe_elsewhere(*r), claims});
  }
  return all_;
}

graph::Handle* Residency::Search::greatest(const Score& score) {
  if (!ranked_) {
    ranked_ = true;
    for (const Candidate& candidate : all()) {
      heap_.push_back({score(candidate), heap_.size(), candidate.handle});
    }
    std::make_heap(heap_.begin(), heap_.end(), is_less);
  }
  if (heap_.empty()) return nullptr;
  std::pop_heap(heap_.begin(), heap_.end(), is_less);
  graph::Handle* const first = heap_.back().handle;
  heap_.pop_back();
  return first;
}

}  // namespace vicinal::memory
