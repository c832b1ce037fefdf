#include "sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job_progress.hpp"
#include "output_file.hpp"
#include "play/auto_policy.hpp"
#include "reports/catalogue.hpp"
#include "reports/draw_picture.hpp"
#include "reports/play_record.hpp"
#include "reports/row_file.hpp"
#include "reports/sweep.hpp"
#include "reports/terminal.hpp"
#include "runtime_options.hpp"
#include "sweep_csv.hpp"
#include "sweep_plan.hpp"
#include "vicinal/error.hpp"
#include "worker_processes.hpp"

namespace vicinal::cli {

namespace {

// --- One run ---------------------------------------------------------------------------------------

// What the runs of one point share.
struct Instance {
  machine::MachineModel machine;
  graph::Graph graph;
  reports::RunBounds bounds;
};

Instance instance_of(SweepPlan& plan, const SweepPoint& point) {
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
    const SweepPoint& point = plan_.points[number];
    if (number_ != number || !instance_) instance_ = instance_of(plan_, point);
    number_ = number;
    const std::string& asked = plan_.policies[run % plan_.policies.size()];
    Options options = plan_.options;
    options.seed = point.seeds.seed;
    // "auto" may be another one at each point.
    options.policy = policy_for(asked, options, &instance_->machine.description, [&] {
                       return play::auto_policy(instance_->graph, instance_->machine, options);
                     }).name;
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
    reports::clear_line();
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

void require_files(const SweepPlan& plan) {
  const SimulateArguments& arguments = plan.arguments;
  CommandFiles files;
  arguments.add_to(files);
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
  if (std::error_code failed; csv != "-" && std::filesystem::exists(csv, failed) &&
                              !std::filesystem::is_regular_file(csv, failed)) {
    throw UsageError(fmt::format("--csv: {} is no file; name one, or - for the output",
                                 reports::legible_name(csv)));
  }
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
