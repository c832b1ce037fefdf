#include "sweep.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job_progress.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "reports/catalogue.hpp"
#include "reports/draw_picture.hpp"
#include "reports/play_record.hpp"
#include "reports/row_file.hpp"
#include "reports/sweep.hpp"
#include "sweep_csv.hpp"
#include "vicinal/error.hpp"
#include "worker_processes.hpp"

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
constexpr std::array<VariedOption, 3> kVaried{
    {{"memory", true}, {"tiles", false}, {"gpus", false}}};

struct Seeds {
  std::uint64_t seed = 1;
  std::uint64_t vary_seed = 1;
};

// Where a run is among all combinations.
struct Point {
  std::array<std::size_t, kVaried.size()> at{};  // of each option the value, by its place
  Seeds seeds;
};

struct SweepPlan {
  SimulateArguments& arguments;
  Options options;
  std::vector<std::string> policies;
  std::array<std::vector<std::string>, kVaried.size()>
      values;                 // as text; one that is empty: as usual
  std::vector<Point> points;  // a block of runs each: by every policy
  std::vector<Asked> asked;   // by run
  std::vector<std::string> keys;
  reports::Sweep sweep;
};

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

void set_point(SweepPlan& plan, const Point& point) {
  for (std::size_t v = 0; v < kVaried.size(); ++v) {
    set_value(plan.arguments, v, plan.values[v][point.at[v]]);
  }
}

std::uint64_t number_of(std::size_t varied, const std::string& text) {
  const std::string option = option_of(varied);
  return kVaried[varied].is_bytes ? reports::parse_bytes(option, text).value
                                  : reports::parse_count(option, text, 1, kMostCount);
}

std::vector<Seeds> seeds_of(const SimulateArguments& arguments, const Options& options) {
  const std::size_t count = arguments.sweep.number_of_seeds();
  const std::vector<std::string> listed = listed_values("--vary-seed", arguments.vary_seed);
  if (listed.size() > 1 && count > 1) {
    throw UsageError("--seeds: --vary-seed lists seeds; leave one of them out");
  }
  std::vector<Seeds> seeds;
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
  const std::vector<Seeds> seeds = seeds_of(plan.arguments, plan.options);
  std::size_t runs = seeds.size() * plan.policies.size();
  for (const auto& values : plan.values) runs = std::min(runs, kMostRuns + 1) * values.size();
  if (runs > kMostRuns) {
    throw UsageError(
        fmt::format("--seeds: {} runs and more are too many; make the lists shorter", kMostRuns));
  }
  for (std::size_t m = 0; m < plan.values[kMemory].size(); ++m) {
    for (std::size_t t = 0; t < plan.values[kTiles].size(); ++t) {
      for (std::size_t g = 0; g < plan.values[kGpus].size(); ++g) {
        for (const Seeds& seed : seeds) plan.points.push_back({{m, t, g}, seed});
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
  for (const Point& point : plan.points) {
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

// --- One run ---------------------------------------------------------------------------------------

// What the runs of one point share.
struct Instance {
  machine::MachineModel machine;
  graph::Graph graph;
  reports::RunBounds bounds;
};

Instance instance_of(SweepPlan& plan, const Point& point) {
  set_point(plan, point);
  const SimulateArguments& arguments = plan.arguments;
  Instance instance;
  instance.machine = arguments.machine.machine();
  instance.graph = arguments.graph.graph(point.seeds.seed);
  if (const double share = varied_share(arguments); share > 0) {
    instance.graph = graph::with_varied_times(std::move(instance.graph), instance.machine, share,
                                              point.seeds.vary_seed);
  }
  instance.bounds = reports::play_bounds(instance.graph, instance.machine);
  return instance;
}

class Simulations {
 public:
  explicit Simulations(SweepPlan& plan) : plan_(plan) {}

  std::string measured(std::size_t run) {
    const std::size_t number = run / plan_.policies.size();
    const Point& point = plan_.points[number];
    if (number_ != number || !instance_) instance_ = instance_of(plan_, point);
    number_ = number;
    const std::string& asked = plan_.policies[run % plan_.policies.size()];
    Options options = plan_.options;
    options.seed = point.seeds.seed;
    const auto automatic =
        reports::automatic_policy(asked, options, &instance_->machine.description);
    options.policy = automatic ? automatic->name : asked;
    const machine::MachineModel machine =
        counted_machine(plan_.arguments, instance_->machine, options.policy);
    return reports::sweep_fields(reports::sweep_measures(
        reports::play_record(instance_->graph, machine, options, instance_->bounds)));
  }

 private:
  SweepPlan& plan_;
  std::size_t number_ = 0;
  std::optional<Instance> instance_;
};

// "darts, memory 512 MiB, seed 3": as a message names it.
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

// --- All of them -----------------------------------------------------------------------------------

Blocks blocks_left(const SweepPlan& plan, const reports::RowFile& file) {
  Blocks blocks;
  for (std::size_t p = 0; p < plan.points.size(); ++p) {
    std::vector<std::size_t> block;
    for (std::size_t i = 0; i < plan.policies.size(); ++i) {
      const std::size_t run = p * plan.policies.size() + i;
      if (!file.has(plan.keys[run])) block.push_back(run);
    }
    if (!block.empty()) blocks.push_back(std::move(block));
  }
  return blocks;
}

void take_measures(SweepPlan& plan, const reports::RowFile& file) {
  for (std::size_t run = 0; run < plan.keys.size(); ++run) {
    const std::optional<std::string> rest = file.rest(plan.keys[run]);
    if (rest) plan.sweep.runs[run].measures = reports::parse_sweep_fields(*rest);
  }
}

// Each once, with the first run that it is of.
class Failures {
 public:
  void add(const SweepPlan& plan, const EndedJob& ended) {
    ++count_;
    const bool is_known = std::ranges::find(messages_, ended.error) != messages_.end();
    if (is_known || messages_.size() == kMostMessages) return;
    messages_.push_back(ended.error);
    lines_.push_back(fmt::format("{}: {}", name_of(plan, ended.job), ended.error));
  }
  bool any() const { return count_ > 0; }
  void tell() const {
    for (const std::string& line : lines_) {
      fmt::print(stderr, "vicinal: {}\n", reports::legible_name(line));
    }
    if (!any()) return;
    fmt::print(stderr, "vicinal: {} {} not ended well; the same command runs {} again\n", count_,
               count_ == 1 ? "run has" : "runs have", count_ == 1 ? "it" : "them");
  }

 private:
  static constexpr std::size_t kMostMessages = 5;
  std::vector<std::string> messages_;
  std::vector<std::string> lines_;
  std::size_t count_ = 0;
};

std::string csv_head(const SweepPlan& plan) {
  return csv_names(plan.asked.front()) + "," + reports::sweep_columns() + "\n";
}

void simulate_all(SweepPlan& plan, reports::RowFile& file, Failures& failures, Session& session) {
  const Blocks blocks = blocks_left(plan, file);
  std::size_t left = 0;
  for (const auto& block : blocks) left += block.size();
  if (left == 0) return;
  const std::size_t all = plan.keys.size();
  std::mutex mutex;
  JobProgress progress("sweep", "runs", all - left, all);
  const Signals::AtInterrupt at_interrupt(session.signals, [&] {
    const std::lock_guard lock(mutex);
    clear_progress();
    fmt::print(stderr, "vicinal: interrupted: {} of {} runs have ended{}\n", progress.done(), all,
               plan.arguments.sweep.csv.empty() ? "" : "; the same command goes on there");
  });
  Simulations simulations(plan);
  in_processes(
      plan.arguments.sweep.number_of_processes(), blocks,
      [&](std::size_t run) { return simulations.measured(run); },
      [&](const EndedJob& ended) {
        const std::lock_guard lock(mutex);
        if (ended.error.empty()) {
          file.append(plan.keys[ended.job], ended.text);
        } else {
          failures.add(plan, ended);
        }
        progress.ended(name_of(plan, ended.job));
      });
}

void write_outputs(const SweepPlan& plan, const reports::RowFile& file) {
  const ReportFiles& files = plan.arguments.files;
  const bool csv_printed = plan.arguments.sweep.csv == "-";
  const bool taken = files.json == "-" || csv_printed;
  fmt::print(taken ? stderr : stdout, "{}", reports::sweep_text(plan.sweep));
  if (csv_printed) {
    std::string text = csv_head(plan);
    for (const std::string& key : plan.keys) {
      if (const auto rest = file.rest(key)) text += key + "," + *rest + "\n";
    }
    write_text("-", text);
  }
  if (!files.json.empty()) write_text(files.json, reports::sweep_json(plan.sweep));
  const std::string picture = files.plot.empty() ? "" : reports::sweep_picture(plan.sweep);
  if (!picture.empty()) reports::draw_picture_of(picture, files.plot);
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
  const Point& first = plan.points.front();
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
  for (const Point& point : plan.points) {
    if (point.seeds.seed != plan.points.front().seeds.seed ||
        point.seeds.vary_seed != plan.points.front().seeds.vary_seed) {
      continue;
    }
    set_point(plan, point);
    static_cast<void>(plan.arguments.machine.machine());
  }
}

void require_files(const SweepPlan& plan) {
  const SimulateArguments& arguments = plan.arguments;
  CommandFiles files;
  arguments.load.add_to(files);
  arguments.graph.add_to(files);
  arguments.machine.add_to(files);
  files.reads("--count-scheduling", arguments.scheduling);
  arguments.files.add_to(files);
  files.writes("--csv", arguments.sweep.csv);
  files.require();
}

}  // namespace

bool is_sweep(const SimulateArguments& arguments) {
  const auto is_list = [](const std::string& text) { return text.find(',') != std::string::npos; };
  return arguments.sweep.any() || is_list(arguments.graph.tiles()) ||
         is_list(arguments.machine.memory()) || is_list(arguments.machine.gpus()) ||
         is_list(arguments.vary_seed);
}

int sweep(SimulateArguments& arguments, Session& session) {
  SweepPlan plan = make_plan(arguments);
  require_files(plan);
  require_machines(plan);
  add_facts(plan, session.command);
  const std::string& csv = arguments.sweep.csv;
  reports::RowFile file(
      csv == "-" ? "" : csv,
      {.head = csv_head(plan), .keys = plan.keys, .is_whole = [](std::string_view text) {
         return reports::parse_sweep_fields(text).has_value();
       }});
  require_own_file(file, csv, plan.asked);
  if (file.found() == reports::RowFile::Found::rows) {
    fmt::print(stderr, "vicinal: going on with {}\n", reports::legible_name(csv));
  }
  file.write();
  Failures failures;
  simulate_all(plan, file, failures, session);
  file.write();  // in the order of the combinations
  take_measures(plan, file);
  write_outputs(plan, file);
  failures.tell();
  return failures.any() ? kFailure : kSuccess;
}

}  // namespace vicinal::cli
