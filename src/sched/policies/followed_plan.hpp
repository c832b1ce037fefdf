// A plan from a file, as a policy follows it: which place it gives to a task of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/kept_plan.hpp"
#include "graph/task.hpp"
#include "sched/nodes.hpp"

namespace vicinal::sched {

class FollowedPlan {
 public:
  struct Place {
    std::uint32_t rank = 0;  // in the order of the plan, of all nodes
    NodeIndex node = 0;
  };

  explicit FollowedPlan(std::shared_ptr<const graph::KeptPlan> plan);
  ~FollowedPlan();  // warns of tasks that never came, unless an error ends the run
  FollowedPlan(const FollowedPlan&) = delete;
  FollowedPlan& operator=(const FollowedPlan&) = delete;
  // Nodes are found by their names.
  void start(const Nodes& nodes);
  // Called once for each task, in the order of submission. None: the plan does not have it, or puts it where nobody here
  // can run it; nor tasks that the runtime adds by itself.
  std::optional<Place> place_of(const graph::Task& task);
  // Says once what tasks it does not have, if there was one.
  void warn() const;

 private:
  struct Name {
    // By number, rising.
    struct Known {
      std::uint32_t number = 0;
      std::uint32_t rank = 0;
    };
    std::vector<Known> known;
    std::size_t next = 0;  // of these, the first one that may still come
    std::uint32_t met = 0;
  };

  std::uint32_t next_rank(std::string_view name);
  bool plans_others_like(const graph::Task& task) const;

  std::shared_ptr<const graph::KeptPlan> plan_;
  std::unordered_map<std::string_view, Name> names_;  // of plan_
  std::unordered_set<std::string_view> stems_;        // base::stem of these
  const Nodes* nodes_ = nullptr;
  std::vector<NodeIndex> node_here_;  // by node of the plan; kNoNode: there is none
  std::uint64_t found_ = 0;
  std::string first_missing_;  // the first task that it does not have
};

}  // namespace vicinal::sched
