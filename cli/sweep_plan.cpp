#include "sweep_plan.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr std::size_t kMostRuns = 1'000'000;
constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint32_t>::max();

// Options of which several values may be given.
enum Varied : std::size_t { kMemory, kTiles, kGpus };
struct VariedOption {
  const char* name;
  bool is_bytes;
};
constexpr std::array<VariedOption, kVariedOptions> kVaried{
    {{"memory", true}, {"tiles", false}, {"gpus", false}}};

std::string option_of(std::size_t varied) {
  return fmt::format("--{}", kVaried[varied].name);
}

std::string given_text(const SimulateArguments& arguments, std::size_t varied) {
  if (varied == kMemory) return arguments.machine.memory();
  if (varied == kGpus) return arguments.machine.gpus();
  return arguments.command.get_option("--tiles")->count() > 0 ? arguments.graph.tiles() : "";
}

void set_value(SimulateArguments& arguments, std::size_t varied, const std::string& text) {
  if (text.empty()) return;
  if (varied == kMemory) arguments.machine.set_memory(text);
  if (varied == kTiles) arguments.graph.set_tiles(text);
  if (varied == kGpus) arguments.machine.set_gpus(text);
}

std::uint64_t number_of(std::size_t varied, const std::string& text) {
  const std::string option = option_of(varied);
  return kVaried[varied].is_bytes
             ? reports::parse_bytes(option, text).value
             : reports::parse_count(option, text, varied == kGpus ? 0 : 1, kMostCount);
}

std::vector<SweepSeeds> seeds_of(const SimulateArguments& arguments, const Options& options) {
  const std::size_t count = arguments.sweep.number_of_seeds();
  const std::vector<std::string> listed = listed_values("--vary-seed", arguments.vary_seed);
  if (listed.size() > 1 && count > 1) {
    throw UsageError("--seeds: --vary-seed lists seeds; leave one of them out");
  }
  std::vector<SweepSeeds> seeds;
  for (const std::string& text : listed) {
    const std::uint64_t vary_seed = parse_vary_seed(text);
    for (std::size_t s = 0; s < count; ++s) {
      seeds.push_back({options.seed + s, vary_seed + s});
    }
  }
  return seeds;
}

void refuse_what_is_of_one_run(const SimulateArguments& arguments, const Options& options) {
  const auto refuse = [](std::string_view option, std::string_view what) {
    throw UsageError(
        fmt::format("{}: there is no {} of a sweep (several values of an option, --seeds, --csv, "
                    "--processes); leave it out",
                    option, what));
  };
  if (!arguments.against.empty()) refuse("--against", "comparison");
  if (!arguments.files.page.empty()) refuse("--report", "page");
  if (!options.trace.empty()) refuse("--trace", "recording");
}

// Memory outermost, policies innermost: what the runs of a block share is made once.
void add_points(SweepPlan& plan) {
  const std::vector<SweepSeeds> seeds = seeds_of(plan.arguments, plan.options);
  std::size_t runs = seeds.size() * plan.policies.size();
  for (const auto& values : plan.values) runs = std::min(runs, kMostRuns + 1) * values.size();
  if (runs > kMostRuns) {
    throw UsageError(
        fmt::format("--seeds: {} runs and more are too many; make the lists shorter", kMostRuns));
  }
  for (std::size_t m = 0; m < plan.values[kMemory].size(); ++m) {
    for (std::size_t t = 0; t < plan.values[kTiles].size(); ++t) {
      for (std::size_t g = 0; g < plan.values[kGpus].size(); ++g) {
        for (const SweepSeeds& seed : seeds) plan.points.push_back({{m, t, g}, seed});
      }
    }
  }
}

void add_axes(SweepPlan& plan) {
  for (std::size_t v = 0; v < kVaried.size(); ++v) {
    if (plan.values[v].size() < 2) continue;
    reports::SweepAxis axis{.name = kVaried[v].name, .is_bytes = kVaried[v].is_bytes, .values = {}};
    for (const std::string& text : plan.values[v]) axis.values.push_back(number_of(v, text));
    plan.sweep.axes.push_back(std::move(axis));
  }
}

void add_runs(SweepPlan& plan) {
  const Asked common = asked_columns(plan.arguments, plan.options);
  for (const SweepPoint& point : plan.points) {
    std::vector<std::size_t> at;
    Asked asked = common;
    for (std::size_t v = 0; v < kVaried.size(); ++v) {
      if (plan.values[v].size() > 1) at.push_back(point.at[v]);
      const std::string& text = plan.values[v][point.at[v]];
      if (text.empty()) continue;
      const auto column = std::ranges::find(asked, kVaried[v].name, &Asked::value_type::first);
      column->second = fmt::format("{}", number_of(v, text));
    }
    asked.emplace_back("vary_seed", fmt::format("{}", point.seeds.vary_seed));
    asked.emplace_back("seed", fmt::format("{}", point.seeds.seed));
    for (const std::string& policy : plan.policies) {
      plan.asked.push_back(asked);
      plan.asked.back().emplace_back("policy", policy);
      plan.keys.push_back(csv_values(plan.asked.back()));
      plan.sweep.runs.push_back({.at = at,
                                 .policy = policy,
                                 .seed = point.seeds.seed,
                                 .vary_seed = point.seeds.vary_seed,
                                 .measures = {}});
    }
  }
}

}  // namespace

void set_point(SweepPlan& plan, const SweepPoint& point) {
  for (std::size_t v = 0; v < kVaried.size(); ++v) {
    set_value(plan.arguments, v, plan.values[v][point.at[v]]);
  }
}

SweepPlan make_plan(SimulateArguments& arguments) {
  SweepPlan plan{.arguments = arguments,
                 .options = arguments.runtime.parse(),
                 .policies = arguments.runtime.policies(),
                 .values = {},
                 .points = {},
                 .asked = {},
                 .keys = {},
                 .sweep = {}};
  refuse_what_is_of_one_run(arguments, plan.options);
  static_cast<void>(arguments.sweep.number_of_processes());
  static_cast<void>(varied_share(arguments));
  for (std::size_t v = 0; v < kVaried.size(); ++v) {
    plan.values[v] = listed_values(option_of(v), given_text(arguments, v));
  }
  add_axes(plan);
  add_points(plan);
  add_runs(plan);
  return plan;
}

void add_facts(SweepPlan& plan, const std::string& command) {
  const SweepPoint& first = plan.points.front();
  set_point(plan, first);
  const SimulateArguments& arguments = plan.arguments;
  const graph::Graph graph = arguments.graph.graph(first.seeds.seed);
  plan.sweep.command = command;
  plan.sweep.application = graph.application().name;
  plan.sweep.parameters = arguments.graph.facts(graph);
  for (auto& asked : asked_facts(arguments, plan.options)) {
    plan.sweep.parameters.push_back(std::move(asked));
  }
  if (!arguments.sweep.seeds.empty()) {
    plan.sweep.parameters.emplace_back("seeds", std::uint64_t{arguments.sweep.number_of_seeds()});
  }
  plan.sweep.machine = arguments.machine.facts(arguments.machine.machine(), "");
  // What is not the same for all of them is in the table.
  const auto varies = [&](std::size_t v) { return plan.values[v].size() > 1; };
  std::erase_if(plan.sweep.parameters, [&](const auto& fact) {
    return varies(kTiles) && (fact.first == "tiles" || fact.first == "tasks" ||
                              fact.first == "data" || fact.first == "data_bytes");
  });
  std::erase_if(plan.sweep.machine, [&](const auto& fact) {
    return (varies(kMemory) && fact.first == "memory") ||
           (varies(kGpus) && fact.first.ends_with("_workers"));
  });
}

// Before any run: that each of them can be.
void require_machines(SweepPlan& plan) {
  for (const SweepPoint& point : plan.points) {
    if (point.seeds.seed != plan.points.front().seeds.seed ||
        point.seeds.vary_seed != plan.points.front().seeds.vary_seed) {
      continue;
    }
    set_point(plan, point);
    static_cast<void>(plan.arguments.machine.machine());
  }
}

std::string name_of(const SweepPlan& plan, std::size_t run) {
  const reports::SweepRun& asked = plan.sweep.runs[run];
  std::string name = asked.policy;
  for (std::size_t a = 0; a < plan.sweep.axes.size(); ++a) {
    const reports::SweepAxis& axis = plan.sweep.axes[a];
    const std::uint64_t value = axis.values[asked.at[a]];
    name += fmt::format(", {} {}", axis.name,
                        axis.is_bytes ? reports::format_bytes({value}) : fmt::format("{}", value));
  }
  return name + fmt::format(", seed {}, vary-seed {}", asked.seed, asked.vary_seed);
}

}  // namespace vicinal::cli
