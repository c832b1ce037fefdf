// A plan from a file, as a policy follows it: which place it gives to a task of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  ~FollowedPlan();  // warns of tasks that never came
  FollowedPlan(const FollowedPlan&) = delete;
  FollowedPlan& operator=(const FollowedPlan&) = delete;
  // Nodes are found by their names.
  void start(const Nodes& nodes);
  // Called once for each task, in the order of submission. None: the plan does not have it, or puts it where nobody here
  // can run it; nor tasks that the runtime adds by itself.
  std::optional<Place> place_of(const graph::Task& task);
  // After all that are known: says once that it lacks some of them, but has others.
  void warn();

 private:
  struct Name {
    std::unordered_map<std::uint32_t, std::uint32_t> ranks;  // by number
    std::uint32_t met = 0;
  };

  std::uint32_t next_rank(std::string_view name);

  std::shared_ptr<const graph::KeptPlan> plan_;
  std::unordered_map<std::string_view, Name> names_;  // of plan_
  const Nodes* nodes_ = nullptr;
  std::vector<NodeIndex> node_here_;  // by node of the plan; kNoNode: there is none
  std::uint64_t found_ = 0;
  std::uint64_t found_now_ = 0;  // of those since warn()
  std::string first_missing_;    // likewise, the first task that it does not have
};

}  // namespace vicinal::sched
