#include "sched/policies/followed_plan.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "base/legible.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace vicinal::sched {

namespace {
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
}

FollowedPlan::FollowedPlan(std::shared_ptr<const graph::KeptPlan> plan) : plan_(std::move(plan)) {
  for (std::size_t rank = 0; rank < plan_->tasks.size(); ++rank) {
    const graph::KeptPlan::Task& task = plan_->tasks[rank];
    names_[task.name].known.push_back({task.number, static_cast<std::uint32_t>(rank)});
    stems_.insert(base::stem(task.name));
  }
  stems_.erase("");
  for (auto& [name, tasks] : names_) std::ranges::sort(tasks.known, {}, &Name::Known::number);
}

FollowedPlan::~FollowedPlan() {
  if (found_ == plan_->tasks.size() || nodes_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) return;  // an error ends the run
  const std::string origin = base::legible_name(plan_->origin);
  base::process_log().warn_once(
      "rest of plan " + origin,
      "plan " + origin + ": of its " + std::to_string(plan_->tasks.size()) + " tasks " +
          std::to_string(plan_->tasks.size() - found_) +
          " did not come, or had to run elsewhere: the run is not the one that was planned");
}

void FollowedPlan::start(const Nodes& nodes) {
  nodes_ = &nodes;
  for (const std::string& name : plan_->nodes) {
    const auto named = std::ranges::find(nodes.machine().nodes, name, &NodeDescription::name);
    node_here_.push_back(named == nodes.machine().nodes.end() ? kNoNode : nodes.find(named->id));
  }
}

std::uint32_t FollowedPlan::next_rank(std::string_view name) {
  const auto named = names_.find(name);
  if (named == names_.end()) return kNowhere;
  Name& tasks = named->second;
  const std::uint32_t number = tasks.met++;
  if (tasks.next == tasks.known.size() || tasks.known[tasks.next].number != number) return kNowhere;
  return tasks.known[tasks.next++].rank;
}

// Of other codelets there may be any number of tasks before and behind what was planned.
bool FollowedPlan::plans_others_like(const graph::Task& task) const {
  if (names_.contains(base::legible(task.codelet->name))) return true;
  return task.name() != task.codelet->name && stems_.contains(base::stem(task.name()));
}

std::optional<FollowedPlan::Place> FollowedPlan::place_of(const graph::Task& task) {
  if (task.is_own()) return std::nullopt;
  const std::string codelet = base::legible(task.codelet->name);
  const std::uint32_t of_codelet = next_rank(codelet);
  const bool has_name = task.name() != task.codelet->name;
  const std::uint32_t of_name = has_name ? next_rank(base::legible(task.name())) : kNowhere;
  const std::uint32_t rank = of_name != kNowhere ? of_name : of_codelet;
  if (rank != kNowhere) {
    const NodeIndex node = node_here_[plan_->tasks[rank].node];
    if (node != kNoNode && nodes_->able_worker(task, node)) {
      ++found_;
      return Place{rank, node};
    }
  }
  if (first_missing_.empty() && plans_others_like(task)) first_missing_ = task.name();
  return std::nullopt;
}

void FollowedPlan::warn() const {
  if (first_missing_.empty()) return;
  const std::string origin = base::legible_name(plan_->origin);
  std::string nodes;
  for (const std::string& name : plan_->nodes) nodes += (nodes.empty() ? "" : ", ") + name;
  base::process_log().warn_once(
      "plan " + origin, "plan " + origin + " does not say where task " +
                            base::legible_name(first_missing_) +
                            " runs here: such tasks are planned anew (the plan is of " +
                            (plan_->application.empty() ? std::string("a run")
                                                        : base::legible_name(plan_->application)) +
                            " on a machine with the nodes " + base::legible_name(nodes) + ")");
}

}  // namespace vicinal::sched
