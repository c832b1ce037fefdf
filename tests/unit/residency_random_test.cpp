// Residency under random tasks, copies and answers, against what the graph promises.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graph/dependencies.hpp"
#include "support/fake_memory.hpp"
#include "support/random_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// Random tasks in the order of the graph, on random nodes at the tightest limits. The contents are
// numbers: a copy brings the number that lay at its source when it was started. Every task must find
// the number that the last writer left; no copy may touch what a running task writes, or write where
// one reads; and something must always be able to happen until all tasks have ended.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {
    machine_.devices = static_cast<std::uint32_t>(random_.below(4));
    for (std::size_t i = 0, n = 2 + random_.below(8); i < n; ++i)
      pages_.push_back(1 + random_.below(4));
    make_plan();
    faulty_ = random_.below(4) == 0;
    machine_.external_victims = random_.below(2) == 0;
    machine_.copies = 1 + static_cast<std::uint32_t>(random_.below(3));
    machine_.peers = random_.below(2) == 0;
    memory_ = std::make_unique<FakeMemory>(machine_);
    for (std::size_t d = 0; d < pages_.size(); ++d) {
      const std::string name = "h" + std::to_string(d);
      const std::uint64_t home = random_.below(4);
      data_.push_back(home == 0   ? &memory_->on_disk(name, pages_[d])
                      : home == 1 ? &memory_->in_buffer(name, pages_[d])
                                  : &memory_->data(name, pages_[d]));
      content_.emplace_back(nodes(), -1);
      latest_.push_back(home <= 1 ? 0 : -1);
      if (home == 0) content_[d][kDisk.value] = 0;
      if (home == 1) content_[d][kRam.value] = 0;
    }
  }

  void go() {
    std::size_t next = 0;
    while (ended_ < plan_.size()) {
      if (next < plan_.size() && live_.size() < 12 && random_.below(2) == 0) {
        submit(plan_[next++]);
        continue;
      }
      std::vector<std::function<void()>> possible = events();
      if (possible.empty() && next < plan_.size()) {
        submit(plan_[next++]);
        continue;
      }
      ASSERT_FALSE(possible.empty())
          << "stuck after " << ended_ << " of " << plan_.size() << " tasks\n"
          << memory_->residency.describe();
      possible[random_.below(possible.size())]();
      notice_copies();
      if (::testing::Test::HasFailure()) return;
      if (memory_->residency.broken()) break;
    }
    faulty_ = false;
    while (!memory_->copies.empty()) finish_copy(0);
    expect_last_contents();
    EXPECT_LE(memory_->statistics(kRam).peak, kPage * machine_.ram);
    for (std::uint32_t n = kDevice.value; n < nodes(); ++n)
      EXPECT_LE(memory_->statistics(NodeId{n}).peak, kPage * machine_.device);
  }

 private:
  enum class State { waiting, ready, asked, running };
  struct Planned {
    std::vector<std::pair<std::size_t, AccessMode>> accesses;
  };
  struct Live {
    FakeMemory::Use* use = nullptr;
    Planned plan;
    State state = State::waiting;
    NodeId node;
  };

  void make_plan() {
    std::vector<bool> written(pages_.size(), false);  // files are, but nobody knows yet
    machine_.ram = machine_.device = 1;
    for (std::size_t t = 0; t < 60; ++t) {
      Planned task;
      std::uint64_t sum = 0;
      for (std::size_t d = 0; d < pages_.size() && task.accesses.size() < 4; ++d) {
        if (random_.below(3) != 0) continue;
        const auto mode = static_cast<AccessMode>(1 + random_.below(3));
        task.accesses.push_back({d, written[d] ? mode : kW});
        written[d] = true;
        sum += pages_[d];
      }
      machine_.ram = std::max(machine_.ram, sum);
      machine_.device = std::max(machine_.device, sum);
      plan_.push_back(task);
    }
  }

  void submit(const Planned& plan) {
    auto live = std::make_unique<Live>();
    live->plan = plan;
    FakeMemory::Operands operands;
    for (const auto& [d, mode] : plan.accesses) operands.push_back({data_[d], mode});
    live->use = &memory_->make(kRam, operands);
    live->use->task.blocked.store(1);
    if (graph::insert(live->use->task)) live->state = State::ready;
    live_.push_back(std::move(live));
  }

  std::vector<std::function<void()>> events() {
    std::vector<std::function<void()>> possible;
    std::vector<int> asked(nodes(), 0);
    for (const auto& live : live_) {
      if (live->state == State::asked || live->state == State::running) ++asked[live->node.value];
    }
    for (const auto& entry : live_) {
      Live* live = entry.get();
      switch (live->state) {
        case State::waiting:
          break;
        case State::ready: {
          NodeId node = kRam;
          if (machine_.devices > 0 && random_.below(2) == 0) {
            node.value =
                kDevice.value + static_cast<std::uint32_t>(random_.below(machine_.devices));
          }
          if (asked[node.value] < 2) possible.push_back([this, live, node] { ask(*live, node); });
          possible.push_back([this, live, node] { prefetch(*live, node); });
          break;
        }
        case State::asked:
          if (live->use->state() == RequestState::ready) {
            possible.push_back([this, live] { start(*live); });
          }
          if (live->use->state() == RequestState::failed) {
            EXPECT_TRUE(failed_) << "without a reason";
            live->use->request.state.store(RequestState::idle);
            memory_->residency.unclaim(live->use->task, live->node);
            live->state = State::ready;
            possible.push_back([] {});
          } else if (random_.below(8) == 0) {
            possible.push_back([this, live] { withdraw(*live); });
          }
          break;
        case State::running:
          possible.push_back([this, live] { end(*live); });
          break;
      }
    }
    for (std::size_t i = 0; i < memory_->copies.size(); ++i) {
      possible.push_back([this, i] { finish_copy(i); });
    }
    if (!memory_->queries.empty()) possible.push_back([this] { answer(); });
    return possible;
  }

  void ask(Live& live, NodeId node) {
    live.node = node;
    live.use->request.node = node;
    memory_->residency.claim(live.use->task, node);
    // As the engine does: without a reservation if all is there.
    if (memory_->try_pin(*live.use)) {
      live.use->request.state.store(RequestState::ready);
    } else {
      memory_->request(*live.use);
    }
    live.state = State::asked;
  }
  void withdraw(Live& live) {
    if (live.use->state() == RequestState::failed) return;  // since it was listed
    memory_->withdraw(*live.use);
    memory_->residency.unclaim(live.use->task, live.node);
    live.state = State::ready;
  }
  // Of a task that has access in the graph, as the engine's prefetches.
  void prefetch(Live& live, NodeId node) {
    if (live.plan.accesses.empty()) return;
    const auto& [d, mode] = live.plan.accesses[random_.below(live.plan.accesses.size())];
    if (reads(mode)) memory_->prefetch(*data_[d], node);
    if (random_.below(4) == 0) memory_->wont_use(*data_[d]);
  }
  void start(Live& live) {
    live.state = State::running;
    memory_->residency.unclaim(live.use->task, live.node);
    for (const auto& [d, mode] : live.plan.accesses) {
      if (reads(mode)) {
        EXPECT_EQ(content_[d][live.node.value], latest_[d])
            << "h" << d << " on node " << live.node.value;
      }
      for (const Copy& copy : memory_->copies) check_untouched(live, d, mode, copy);
    }
  }
  void check_untouched(const Live& live, std::size_t d, AccessMode mode, const Copy& copy) {
    if (copy.handle != data_[d]) return;
    EXPECT_NE(copy.to.node, live.node)
        << FakeMemory::describe(copy) << " while a task uses it there";
    if (writes(mode)) {
      EXPECT_NE(copy.from.node, live.node)
          << FakeMemory::describe(copy) << " while a task writes it there";
    }
  }
  void end(Live& live) {
    for (const auto& [d, mode] : live.plan.accesses) {
      if (writes(mode)) latest_[d] = content_[d][live.node.value] = ++counter_;
    }
    memory_->end(*live.use);
    graph::ReadyList ready;
    graph::release(live.use->task, ready);
    memory_->note_unused(*live.use);
    while (graph::Task* task = ready.take()) {
      for (const auto& other : live_) {
        if (&other->use->task == task) other->state = State::ready;
      }
    }
    std::erase_if(live_, [&](const auto& other) { return other.get() == &live; });
    ++ended_;
  }
  // Copies that were just started take what lies at their source now.
  void notice_copies() {
    for (const Copy& copy : memory_->copies) {
      const std::size_t d = index(*copy.handle);
      if (!brought_.contains(copy.id)) brought_[copy.id] = content_[d][copy.from.node.value];
      for (const auto& live : live_) {
        if (live->state != State::running) continue;
        for (const auto& [used, mode] : live->plan.accesses)
          check_untouched(*live, used, mode, copy);
      }
    }
  }
  void finish_copy(std::size_t at) {
    notice_copies();
    const Copy copy = memory_->copies[at];
    const bool fails = faulty_ && random_.below(16) == 0;
    content_[index(*copy.handle)][copy.to.node.value] = fails ? -2 : brought_[copy.id];
    brought_.erase(copy.id);
    failed_ |= fails;
    memory_->finish(at, fails ? std::make_exception_ptr(DeviceError("injected")) : nullptr);
  }
  // Of all that no task is about to change.
  void expect_last_contents() {
    for (std::size_t d = 0; d < data_.size(); ++d) {
      bool written = false;
      for (const auto& live : live_) {
        if (live->state == State::waiting) continue;
        for (const auto& [used, mode] : live->plan.accesses) written |= used == d && mode == kW;
      }
      if (written || latest_[d] < 0) continue;
      bool found = false;
      for (std::uint32_t n = 0; n < content_[d].size(); ++n) {
        if (!memory_->valid(*data_[d], NodeId{n})) continue;
        EXPECT_EQ(content_[d][n], latest_[d]) << "h" << d << " on node " << n;
        found = true;
      }
      EXPECT_TRUE(found) << "h" << d << " is lost";
    }
  }
  void answer() {
    memory::Residency::Search search(memory_->residency, memory_->queries.front());
    const auto any = [](const graph::Handle& /*handle*/) { return true; };
    const graph::Handle* const oldest = search.least_recent(any);
    const auto candidates = search.all();
    const auto is_oldest = [&](const Candidate& one) {
      return one.claims == 0 && (oldest == nullptr || one.handle == oldest);
    };
    EXPECT_EQ(oldest != nullptr, std::ranges::any_of(candidates, is_oldest));
    for (const Candidate& one : candidates) {
      EXPECT_EQ(search.has_unclaimed(*one.handle), one.claims == 0);
    }
    const bool refuse = candidates.empty() || random_.below(4) == 0;
    memory_->answer(refuse ? nullptr : candidates[random_.below(candidates.size())].handle);
  }
  std::uint32_t nodes() const { return kDevice.value + machine_.devices; }
  std::size_t index(const graph::Handle& handle) const {
    return static_cast<std::size_t>(std::find(data_.begin(), data_.end(), &handle) - data_.begin());
  }

  base::Random random_;
  FakeMachine machine_;
  std::vector<std::uint64_t> pages_;  // of the data
  std::vector<Planned> plan_;
  std::unique_ptr<FakeMemory> memory_;
  std::vector<graph::Handle*> data_;
  std::vector<std::vector<std::int64_t>> content_;  // by datum and node
  std::vector<std::int64_t> latest_;
  std::map<CopyId, std::int64_t> brought_;  // by copy
  std::vector<std::unique_ptr<Live>> live_;
  std::int64_t counter_ = 0;
  std::size_t ended_ = 0;
  bool faulty_ = false;  // copies may fail
  bool failed_ = false;  // one has
};

TEST(Residency, RandomRunsAtTheTightestLimitsFindTheLastContentAndNeverGetStuck) {
  for_each_seed(2000, [](base::Random& /*random*/, std::uint64_t seed) { RandomRun(seed).go(); });
}

}  // namespace
}  // namespace vicinal::memory
