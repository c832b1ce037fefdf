// A recorded run that nobody ran: a tile Cholesky factorisation on accelerators with little memory, made up by a list
// scheduler of a page's length. What it says is consistent: tasks wait for their operands, copies for their links.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/recorded_run.hpp"

namespace vicinal::support {

struct SyntheticRun {
  std::uint32_t tiles = 10;  // of a side: about tiles^3 / 6 tasks
  std::uint32_t gpus = 2;
  std::uint32_t tiles_in_memory = 30;  // of each GPU
  std::int64_t gemm_ns = 400'000;
  std::string matrix = "A";   // name of the data
  std::string gemm = "gemm";  // name of the codelet
  bool own_names = true;      // "gemm(3,2,1)"
};

class SyntheticScheduler {
 public:
  explicit SyntheticScheduler(const SyntheticRun& asked) : asked_(asked) {}

  analysis::RecordedRun run() {
    describe();
    submit_all();
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
      if (missing_[t] == 0) ready.push({0, t});
    }
    while (!ready.empty()) {
      const auto [time, task] = ready.top();
      ready.pop();
      place(task, time);
      for (const std::uint32_t next : successors_[task]) {
        analysis::TaskOfRun& waiting = run_.tasks[next];
        if (run_.tasks[task].ended >= ready_at_[next]) waiting.releasing = run_.tasks[task].worker;
        ready_at_[next] = std::max(ready_at_[next], run_.tasks[task].ended);
        if (--missing_[next] == 0) ready.push({ready_at_[next], next});
      }
    }
    std::ranges::stable_sort(run_.copies, {}, &analysis::CopyOfRun::started);
    std::ranges::stable_sort(run_.room, {}, &analysis::RoomChange::time);
    for (const analysis::TaskOfRun& task : run_.tasks) run_.end = std::max(run_.end, task.ended);
    return std::move(run_);
  }

 private:
  using Entry = std::pair<std::int64_t, std::uint32_t>;
  static constexpr std::uint64_t kTileBytes = 8U << 20;
  static constexpr std::int64_t kCopyNs = 700'000;
  struct Replica {
    bool valid = false;
    std::int64_t since = 0;  // it is there from then on
    std::int64_t used = 0;
  };

  void describe() {
    analysis::RunFacts& facts = run_.facts;
    facts.command = "vicinal simulate cholesky --tiles " + std::to_string(asked_.tiles);
    facts.application = "cholesky";
    facts.version = "0.1.0";
    facts.policy = "made-up";
    facts.simulated = true;
    facts.options = {{"policy", "made-up"}, {"look_ahead", "2"}};
    run_.recorded = trace::kAllCategories;
    facts.machine.nodes.push_back({NodeId{0}, "ram", NodeKind::ram, {}, {}, {}});
    for (std::uint32_t g = 1; g <= asked_.gpus; ++g) {
      const Bytes limit{asked_.tiles_in_memory * kTileBytes};
      facts.machine.nodes.push_back(
          {NodeId{g}, fmt::format("gpu{}", g - 1), NodeKind::device, limit, {}, {}});
      facts.machine.workers.push_back({WorkerId{g - 1}, ProcessorKind::gpu, NodeId{g}, {}, {}, 1});
    }
    free_.assign(asked_.gpus, 0);
    link_free_.assign(2 * (asked_.gpus + 1), 0);
    used_.assign(asked_.gpus + 1, 0);
    run_.names = {"potrf", "trsm", "syrk", asked_.gemm};
    for (std::uint32_t i = 0; i < asked_.tiles; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        run_.data.push_back({run_.data.size(), fmt::format("{}({},{})", asked_.matrix, i, j),
                             kTileBytes, 0, analysis::kNobody});
      }
    }
    replicas_.assign(asked_.gpus + 1, std::vector<Replica>(run_.data.size()));
    for (Replica& replica : replicas_[0]) replica.valid = true;
    lru_.assign(asked_.gpus + 1, {});
    last_writer_.assign(run_.data.size(), analysis::kNobody);
    readers_.assign(run_.data.size(), {});
  }

  static std::uint32_t tile(std::uint32_t row, std::uint32_t column) {
    return row * (row + 1) / 2 + column;
  }

  void submit_all() {
    using enum AccessMode;
    for (std::uint32_t k = 0; k < asked_.tiles; ++k) {
      submit(0, fmt::format("potrf({})", k), {{{tile(k, k), RW}}});
      for (std::uint32_t i = k + 1; i < asked_.tiles; ++i) {
        submit(1, fmt::format("trsm({},{})", i, k), {{{tile(k, k), R}, {tile(i, k), RW}}});
      }
      for (std::uint32_t i = k + 1; i < asked_.tiles; ++i) {
        submit(2, fmt::format("syrk({},{})", i, k), {{{tile(i, k), R}, {tile(i, i), RW}}});
        for (std::uint32_t j = k + 1; j < i; ++j) {
          submit(3, fmt::format("{}({},{},{})", asked_.gemm, i, j, k),
                 {{{tile(i, k), R}, {tile(j, k), R}, {tile(i, j), RW}}});
        }
      }
    }
  }

  void submit(std::uint32_t codelet, std::string name,
              std::vector<analysis::AccessOfTask> accesses) {
    const auto t = static_cast<std::uint32_t>(run_.tasks.size());
    analysis::TaskOfRun task;
    task.id = t;
    task.name = codelet;
    if (asked_.own_names) {
      task.own_name = static_cast<std::uint32_t>(run_.names.size());
      run_.names.push_back(std::move(name));
    }
    task.priority =
        static_cast<std::int32_t>(asked_.tiles * asked_.tiles) - static_cast<std::int32_t>(t / 100);
    task.submitted = t * 300;
    task.first_access = static_cast<std::uint32_t>(run_.accesses.size());
    task.access_count = static_cast<std::uint32_t>(accesses.size());
    run_.tasks.push_back(task);
    missing_.push_back(0);
    ready_at_.push_back(task.submitted);
    successors_.emplace_back();
    for (const analysis::AccessOfTask& access : accesses) {
      run_.accesses.push_back(access);
      depend(t, last_writer_[access.datum]);
      if (writes(access.mode)) {
        for (const std::uint32_t reader : readers_[access.datum]) depend(t, reader);
        readers_[access.datum].clear();
        last_writer_[access.datum] = t;
      } else {
        readers_[access.datum].push_back(t);
      }
    }
  }

  void depend(std::uint32_t task, std::uint32_t before) {
    if (before == analysis::kNobody || before == task) return;
    successors_[before].push_back(task);
    ++missing_[task];
  }

  // The GPU that holds most operands, unless it is late by more than two tasks.
  std::uint32_t choose(std::uint32_t t) const {
    std::uint32_t best = 0;
    std::int64_t least = INT64_MAX;
    for (std::uint32_t w = 0; w < asked_.gpus; ++w) {
      std::int64_t cost = free_[w];
      for (const auto& access : run_.accesses_of(run_.tasks[t])) {
        if (!replicas_[w + 1][access.datum].valid) cost += kCopyNs;
      }
      if (cost < least) {
        least = cost;
        best = w;
      }
    }
    return best;
  }

  void place(std::uint32_t t, std::int64_t ready) {
    analysis::TaskOfRun& task = run_.tasks[t];
    const std::uint32_t worker = choose(t);
    const std::uint32_t node = worker + 1;
    task.worker = worker;
    task.ready = ready;
    task.scheduled = ready + 2'000;
    task.wanted = std::max(task.scheduled, free_[worker] - asked_.gemm_ns);
    task.granted = task.wanted + 500;
    task.operands = task.granted;
    for (const auto& access : run_.accesses_of(task)) {
      task.operands = std::max(task.operands, bring(access.datum, node, task.wanted, t));
    }
    task.started = std::max(task.operands, free_[worker]) + 1'000;
    constexpr std::array<double, 4> kSpeed{0.8, 0.6, 0.5, 1};
    task.ended =
        task.started +
        static_cast<std::int64_t>(kSpeed[task.name] * static_cast<double>(asked_.gemm_ns)) +
        t * 7919 % 20'011;
    free_[worker] = task.ended;
    for (const auto& access : run_.accesses_of(task)) finish(access, node, task.ended);
  }

  void finish(const analysis::AccessOfTask& access, std::uint32_t node, std::int64_t time) {
    replicas_[node][access.datum].used = time;
    if (!writes(access.mode)) return;
    for (std::uint32_t other = 0; other < replicas_.size(); ++other) {
      Replica& replica = replicas_[other][access.datum];
      if (other == node || !replica.valid) continue;
      replica.valid = false;
      run_.room.push_back(
          {time, other, access.datum, 0, analysis::RoomChange::Kind::became_void, false});
      if (other != 0) free_room(other, access.datum, time);
    }
  }

  std::int64_t bring(std::uint32_t datum, std::uint32_t node, std::int64_t wanted,
                     std::uint32_t task) {
    Replica& here = replicas_[node][datum];
    if (here.valid) return here.since;
    std::int64_t time = wanted;
    while (lru_[node].size() >= asked_.tiles_in_memory)
      time = std::max(time, evict(node, wanted, task));
    take_room(node, datum, time);
    std::uint32_t from = 0;
    while (!replicas_[from][datum].valid) ++from;
    if (from != 0) time = std::max(time, copy(datum, from, 0, time, analysis::Cause::through_ram));
    replicas_[0][datum].valid = true;
    here = {true, copy(datum, 0, node, time, analysis::Cause::task), wanted};
    return here.since;
  }

  std::int64_t copy(std::uint32_t datum, std::uint32_t from, std::uint32_t to, std::int64_t wanted,
                    analysis::Cause cause) {
    std::int64_t& free = link_free_[from == 0 ? to : asked_.gpus + 1 + from];
    const std::int64_t start = std::max(free, wanted);
    free = start + kCopyNs;
    run_.copies.push_back({datum, from, to, kTileBytes, cause, true, false, wanted, start, free});
    return free;
  }

  std::int64_t evict(std::uint32_t node, std::int64_t time, std::uint32_t task) {
    const auto used = [&](std::uint32_t datum) {
      for (const auto& access : run_.accesses_of(run_.tasks[task])) {
        if (access.datum == datum) return std::int64_t{INT64_MAX};
      }
      return replicas_[node][datum].used;
    };
    const std::uint32_t victim = *std::ranges::min_element(lru_[node], {}, used);
    const bool saved = !replicas_[0][victim].valid;
    run_.room.push_back({time, node, victim, 0, analysis::RoomChange::Kind::evicted, saved});
    std::int64_t end = time;
    if (saved) end = copy(victim, node, 0, time, analysis::Cause::eviction);
    replicas_[0][victim].valid = true;
    replicas_[node][victim].valid = false;
    free_room(node, victim, end);
    return end;
  }

  void take_room(std::uint32_t node, std::uint32_t datum, std::int64_t time) {
    lru_[node].push_back(datum);
    used_[node] += kTileBytes;
    run_.room.push_back({time, node, datum, used_[node], analysis::RoomChange::Kind::taken, false});
  }
  void free_room(std::uint32_t node, std::uint32_t datum, std::int64_t time) {
    std::erase(lru_[node], datum);
    used_[node] -= kTileBytes;
    run_.room.push_back({time, node, datum, used_[node], analysis::RoomChange::Kind::freed, false});
  }

  SyntheticRun asked_;
  analysis::RecordedRun run_;
  std::vector<std::int64_t> free_;  // of workers
  std::vector<std::int64_t> link_free_;
  std::vector<std::vector<Replica>> replicas_;   // by node, datum
  std::vector<std::vector<std::uint32_t>> lru_;  // data on each node
  std::vector<std::uint64_t> used_;
  std::vector<std::uint32_t> missing_;
  std::vector<std::int64_t> ready_at_;
  std::vector<std::vector<std::uint32_t>> successors_;
  std::vector<std::uint32_t> last_writer_;
  std::vector<std::vector<std::uint32_t>> readers_;
};

inline analysis::RecordedRun synthetic_run(const SyntheticRun& asked = {}) {
  return SyntheticScheduler(asked).run();
}

}  // namespace vicinal::support
