#include "play/auto_policy.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "play/play.hpp"
#include "sched/default_policy.hpp"

namespace vicinal::play {

namespace {

struct Candidate {
  std::string_view policy;
  double task_seconds = 0;  // to simulate a task: about the medians in docs/performance.md
};

// Those that are the best somewhere, the best in most cases first.
constexpr std::array<Candidate, 5> kCandidates{
    {{"horizon", 15e-6}, {"darts", 6e-6}, {"dmdas", 6e-6}, {"lws", 5e-6}, {"hfp", 9e-6}}};
constexpr double kOtherTaskSeconds = 10e-6;
constexpr double kRunSeconds = 0.5e-3;  // of each simulation besides

double cost_of(std::string_view policy, std::size_t tasks) {
  const auto known = std::ranges::find(kCandidates, policy, &Candidate::policy);
  const double each = known == kCandidates.end() ? kOtherTaskSeconds : known->task_seconds;
  return kRunSeconds + each * static_cast<double>(tasks);
}

double simulated_seconds(const graph::Graph& graph, const machine::MachineModel& machine,
                         Options options, std::string_view policy) {
  options.policy = policy;
  options.trace.clear();
  options.status.clear();
  options.measure_scheduling = false;
  const Played played =
      play(graph, machine, options, 1, starting_place(graph, machine.description));
  return (played.after.now - played.before.now).seconds();
}

std::string list_of(const std::vector<Trial>& trials) {
  std::string text;
  for (const Trial& trial : trials) {
    text += text.empty() ? "simulated: " : ", ";
    text += trial.policy + " " + base::format_duration(Time::from_seconds(trial.seconds));
  }
  return text;
}

}  // namespace

AutoPolicy auto_policy(const graph::Graph& graph, const machine::MachineModel& machine,
                       const Options& options, double share) {
  const sched::DefaultPolicy usual = sched::default_policy(options, &machine.description);
  AutoPolicy chosen{.policy = std::string(usual.policy), .trials = {}, .why = {}};
  const bool is_free = options.plan.empty() && options.memory_rules.empty();
  std::vector<std::string_view> candidates{usual.policy};
  for (const Candidate& candidate : kCandidates) {
    if (candidate.policy != usual.policy) candidates.push_back(candidate.policy);
  }
  const std::size_t tasks = graph.tasks().size();
  // No schedule is faster, so that the first trials may be made before any time is known.
  double seconds =
      bounds::graph_bounds(graph, machine.description, graph::kernel_seconds(graph, machine))
          .time()
          .value.seconds();
  double spent = 0;
  if (is_free && cost_of(candidates[0], tasks) + cost_of(candidates[1], tasks) <= share * seconds) {
    for (const std::string_view policy : candidates) {
      const double cost = cost_of(policy, tasks);
      if (spent + cost > share * seconds) continue;
      spent += cost;
      chosen.trials.push_back(
          {std::string(policy), simulated_seconds(graph, machine, options, policy)});
      const Trial& best = *std::ranges::min_element(chosen.trials, {}, &Trial::seconds);
      chosen.policy = best.policy;
      seconds = std::max(seconds, best.seconds);
    }
  }
  chosen.why = chosen.trials.empty() ? std::string(usual.why) : list_of(chosen.trials);
  if (is_free && chosen.trials.empty()) {
    chosen.why += ", and simulations would take too much of the run's time";
  }
  return chosen;
}

}  // namespace vicinal::play
