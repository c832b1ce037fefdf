// For a policy with two gears (sched/policy.hpp): the tasks that were submitted and have not ended, in the order of
// their submission, and the graph on which the policy plans. The graph grows by what was submitted since it grew last,
// in slices, while others submit and run tasks.
//
// Two locks: whoever submits has `order`; whoever makes the graph grow has the policy's, and takes `order` to copy what
// is new. What a task names is copied when it is submitted, as it may have ended when it enters the graph: it is left
// out then. A handle that a task in the graph names is not forgotten, as that takes the policy's lock, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/known_graph.hpp"
#include "graph/task_pool.hpp"
#include "sched/policy.hpp"

namespace vicinal::engine {

class SubmissionLog {
 public:
  explicit SubmissionLog(const graph::TaskPool& pool) : pool_(pool) {}

  // Held from `prepare` until `append`, if the task is accepted.
  std::mutex& order() { return order_; }
  // Of a task that nobody else knows. Takes memory for what `append` does.
  void prepare(const graph::Task& task, std::span<const TaskId> after);
  void append();
  // A hint: how many have not been in the graph since the policy began to plan.
  std::size_t fresh() const { return fresh_.load(std::memory_order_seq_cst); }
  // Whoever gets it has the duty to grow the graph; until `let_go`.
  bool claim_growth() { return !growing_.exchange(true, std::memory_order_seq_cst); }
  void let_go() { growing_.store(false, std::memory_order_seq_cst); }

  // --- under the policy's lock
  // So many more enter the graph, and the policy plans. True: there are more.
  bool grow(sched::Policy& policy, std::size_t most);
  // The policy plans no more: when it does again all are new to it.
  void begin_anew();
  // The policy is told that the task has ended.
  void ended(const graph::Task& task);
  void forget(graph::Handle& handle) { known_.forget(handle); }

 private:
  using Named = KnownGraph::Access;
  struct Entry {
    graph::Task* task = nullptr;
    TaskId id;
    TaskFacts facts;
    const std::string* name = nullptr;  // of names_
    std::size_t accesses =
        0;  // how many of the lists are its own, behind those of the entries before it
    std::size_t after = 0;
  };
  struct List {
    std::vector<Entry> entries;
    std::vector<Named> accesses;
    std::vector<TaskId> after;
  };
  struct InGraph {
    KnownGraph::Number number = 0;
    TaskId id;
  };

  const std::string& name_of(const graph::Task& task);
  void drop_ended();
  bool take_next(std::size_t most, List& into);
  static bool is_still_to_run(const Entry& entry);
  void add(const Entry& entry, std::span<const Named> accesses, std::span<const TaskId> after);
  void drop_dead();

  const graph::TaskPool& pool_;
  std::mutex order_;
  List list_;           // under it
  List next_;           // one entry
  std::size_t at_ = 0;  // so many of the entries, accesses and predecessors have been taken
  std::size_t access_at_ = 0;
  std::size_t after_at_ = 0;
  std::size_t drop_at_ = 0;                   // when the list is so long what has ended is dropped
  std::set<std::string, std::less<>> names_;  // of codelets, which may be gone
  std::unordered_map<const Codelet*, const std::string*> names_by_codelet_;
  std::atomic<std::size_t> fresh_{0};
  std::atomic<bool> growing_{false};

  // Under the policy's lock.
  KnownGraph known_;
  std::unordered_map<const graph::Task*, InGraph>
      numbers_;  // of tasks that are pushed, and have not ended
  std::uint64_t first_ = 0;
  std::size_t planned_ = 0;
  std::size_t dropped_to_ = 0;  // tasks of the graph when ended ones were dropped last
  List taken_;
};

}  // namespace vicinal::engine
