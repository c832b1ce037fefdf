// Replicas that may go, as a test lists them: least recently used first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/victim.hpp"

namespace vicinal::testing {

class FakeCandidates final : public memory::Candidates {
 public:
  explicit FakeCandidates(std::vector<memory::Candidate> all) : all_(std::move(all)) {}
  explicit FakeCandidates(const std::vector<graph::Handle*>& handles) {
    for (graph::Handle* handle : handles) all_.push_back({.handle = handle});
  }

  graph::Handle* least_recent(const std::function<bool(const graph::Handle&)>& goes) override {
    for (const memory::Candidate& candidate : all_) {
      if (candidate.claims == 0 && goes(*candidate.handle)) return candidate.handle;
    }
    return nullptr;
  }
  bool has_unclaimed(const graph::Handle& handle) override {
    return least_recent([&](const graph::Handle& other) { return &other == &handle; }) != nullptr;
  }
  std::span<const memory::Candidate> all() override { return all_; }
  graph::Handle* greatest(const Score& score) override {
    if (!ranked_) ranking_ = all_;
    ranked_ = true;
    const auto best =
        std::ranges::max_element(ranking_, {}, [&](const auto& one) { return score(one); });
    if (best == ranking_.end()) return nullptr;
    graph::Handle* const handle = best->handle;
    ranking_.erase(best);
    return handle;
  }
  bool ranked() const override { return ranked_; }

 private:
  std::vector<memory::Candidate> ranking_;
  bool ranked_ = false;
  std::vector<memory::Candidate> all_;
};

}  // namespace vicinal::testing
