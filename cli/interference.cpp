// vicinal interference: computation and transfers, alone and side by side, on this machine.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/interference/measure.hpp"
#include "calibration/interference/sentences.hpp"
#include "calibration/interference/session.hpp"
#include "command_files.hpp"
#include "interference_kernels.hpp"
#include "job_progress.hpp"
#include "output_file.hpp"
#include "reports/aligned.hpp"
#include "reports/draw_picture.hpp"
#include "reports/row_file.hpp"
#include "reports/terminal.hpp"
#include "reports/wrapped.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"
#include "vicinal/options.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

struct InterferenceArguments {
  std::string experiment = "all";
  bool list = false;
  bool quick = false;
  std::string output = "interference";
  std::string disk;
};

void list_experiments() {
  for (const interference::Experiment& experiment : interference::experiments()) {
    fmt::print("{:<18}{:<7}{}\n", experiment.name, experiment.section, experiment.question);
  }
}

std::vector<const interference::Experiment*> chosen_experiments(
    const InterferenceArguments& arguments) {
  std::vector<const interference::Experiment*> experiments;
  if (arguments.experiment == "all") {
    for (const interference::Experiment& experiment : interference::experiments())
      experiments.push_back(&experiment);
  } else {
    experiments.push_back(&interference::experiment_named(arguments.experiment));
  }
  return experiments;
}

std::string microseconds_text(double seconds) {
  return seconds <= 0 ? "-" : fmt::format("{:.4g} us", 1e6 * seconds);
}

std::string text_of_change(const interference::Difference& difference) {
  if (!difference.is_measured()) return "-";
  return fmt::format("{:+.1f} %{}", 100 * difference.change,
                     difference.is_seen() ? "" : " (noise)");
}

std::string table_of_points(const std::vector<interference::Row>& rows) {
  std::vector<reports::Cells> cells{{"kernel", "beside", "cores", "bytes", "repeats",
                                     "kernel alone", "beside", "change", "transfer alone", "beside",
                                     "change"}};
  for (const interference::Row& row : rows) {
    const interference::Point& point = row.point;
    cells.push_back(
        {point.kernel, point.transfer, fmt::format("{}{}", point.cores, row.shares ? "*" : ""),
         fmt::format("{}", point.bytes), fmt::format("{}", point.repeats),
         microseconds_text(row.computation.alone), microseconds_text(row.computation.beside),
         text_of_change(row.computation), microseconds_text(row.transfer.alone),
         microseconds_text(row.transfer.beside), text_of_change(row.transfer)});
  }
  return reports::aligned(cells, 2);
}

class InterferenceRun {
 public:
  InterferenceRun(const InterferenceArguments& arguments, interference::ThisMachine& machine,
                  Session& session)
      : arguments_(arguments),
        machine_(machine),
        session_(session),
        effort_(arguments.quick ? interference::Effort::quick : interference::Effort::usual),
        experiments_(chosen_experiments(arguments)) {}

  int all() {
    auto kernels = kernels_of_applications();
    for (const auto& [name, kernel] : kernels) machine_.facts.kernels.push_back(name);
    std::vector<interference::Point> points;
    for (const interference::Experiment* experiment : experiments_) {
      for (interference::Point& point :
           interference::points_of(*experiment, machine_.facts, effort_)) {
        points.push_back(std::move(point));
      }
    }
    reports::RowFile file(path("rows.csv"), format_of(points));
    if (file.found() == reports::RowFile::Found::rows)
      fmt::print(stderr, "vicinal: going on with {}\n", path("rows.csv"));
    if (file.found() == reports::RowFile::Found::other) {
      fmt::print(stderr, "vicinal: {} is not gone on with: {}; all is measured anew\n",
                 path("rows.csv"), file.difference());
    }
    file.write();
    measure(points, file, std::move(kernels));
    tell(points, file);
    return failures_ == 0 ? kSuccess : kFailure;
  }

 private:
  std::string path(const std::string& file) const {
    return (std::filesystem::path(arguments_.output) / file).string();
  }

  reports::RowFile::Format format_of(const std::vector<interference::Point>& points) const {
    reports::RowFile::Format format;
    const interference::MachineFacts& facts = machine_.facts;
    format.head = fmt::format("# vicinal {}, interference, {}, {} cores, {} ranks\n{}\n", version(),
                              arguments_.quick ? "quick" : "usual", facts.cores.size(), facts.ranks,
                              interference::csv_header());
    for (const interference::Point& point : points)
      format.keys.push_back(interference::key_of(point));
    format.is_whole = [](std::string_view rest) {
      return interference::row_of({}, rest).has_value();
    };
    return format;
  }

  void measure(const std::vector<interference::Point>& points, reports::RowFile& file,
               std::map<std::string, interference::PreparedKernel> kernels) {
    const interference::MeasureSettings settings{.slot_seconds = arguments_.quick ? 0.006 : 0.03,
                                                 .rounds = arguments_.quick ? 21U : 25U,
                                                 .memory = arguments_.quick ? 32_MiB : 128_MiB,
                                                 .disk = arguments_.disk,
                                                 .kernels = std::move(kernels)};
    interference::Bench bench(machine_.facts, settings, machine_.transport.get());
    const auto done = static_cast<std::size_t>(std::count_if(
        points.begin(), points.end(),
        [&](const interference::Point& point) { return file.has(interference::key_of(point)); }));
    JobProgress progress("interference", "points", done, points.size());
    const Signals::AtInterrupt at_interrupt(session_.signals, [&] {
      reports::clear_line();
      fmt::print(stderr, "vicinal: interrupted; the same command goes on with {}\n",
                 path("rows.csv"));
    });
    for (const interference::Point& point : points) {
      const std::string key = interference::key_of(point);
      if (file.has(key)) continue;
      try {
        file.append(key, interference::rest_of(bench.measure(point)));
      } catch (const Error& error) {
        fmt::print(stderr, "vicinal: {}: {}\n", key, error.what());
        ++failures_;
      }
      progress.ended(fmt::format("{}, {}", point.experiment, point.kernel));
    }
  }

  void tell(const std::vector<interference::Point>& points, reports::RowFile& file) {
    std::vector<interference::Row> rows;
    for (const interference::Point& point : points) {
      const auto rest = file.rest(interference::key_of(point));
      if (!rest) continue;
      if (const auto row = interference::row_of(point, *rest)) rows.push_back(*row);
    }
    std::string text;
    for (const interference::Experiment* experiment : experiments_) {
      std::vector<interference::Row> own;
      for (const interference::Row& row : rows) {
        if (row.point.experiment == experiment->name) own.push_back(row);
      }
      const std::string section =
          experiment->section.empty() ? "" : fmt::format(" ({})", experiment->section);
      text += fmt::format(
          "{}{}: {}\n  {}\n", experiment->name, section, experiment->question,
          reports::wrapped(interference::sentence_of(*experiment, own, machine_.facts), 98, 2));
      if (!own.empty()) text += "\n" + table_of_points(own);
      text += "\n";
      draw(*experiment, own);
    }
    text += notes();
    write_text(path("report.txt"), text);
    if (const std::string sweeps = interference::model_csv(rows); !sweeps.empty())
      write_text(path("contention.csv"), sweeps);
    fmt::print("{}", text);
  }

  std::string notes() const {
    const interference::MachineFacts& facts = machine_.facts;
    std::string text = "*: a core of the computation is the transfer's, too.\n";
    if (!facts.no_counters.empty())
      text += fmt::format("Hardware counters cannot be read: {}.\n", facts.no_counters);
    if (facts.ranks < 2)
      text +=
          "Transfers are copies in memory; for messages: mpirun --bind-to none -n 2 vicinal "
          "interference.\n";
    if (!facts.has_disk) text += "The disk is left out; --disk DIR names a folder on it.\n";
    return text;
  }

  void draw(const interference::Experiment& experiment,
            const std::vector<interference::Row>& rows) const {
    const std::string json = interference::picture_json(experiment, rows);
    if (json.empty()) return;
    const std::string stem = path(std::string(experiment.name));
    write_text(stem + ".json", json);
    const std::string missing = reports::draw_picture(stem + ".json", stem);
    if (!missing.empty()) fmt::print(stderr, "vicinal: {}\n", missing);
  }

  const InterferenceArguments& arguments_;
  interference::ThisMachine& machine_;
  Session& session_;
  const interference::Effort effort_;
  const std::vector<const interference::Experiment*> experiments_;
  int failures_ = 0;
};

int interfere(const InterferenceArguments& arguments, Session& session) {
  if (arguments.list) {
    list_experiments();
    return kSuccess;
  }
  static_cast<void>(chosen_experiments(arguments));
  interference::ThisMachine machine =
      interference::open_this_machine(arguments.disk, Options::from_environment().mpi);
  if (!interference::leads(machine)) {
    interference::answer(machine);
    return kSuccess;
  }
  const interference::EndOfAnswers end(machine);
  std::error_code failed;
  std::filesystem::create_directories(arguments.output, failed);
  if (failed) {
    throw UsageError(fmt::format("--output: cannot make the folder {}: {}; give another one",
                                 arguments.output, failed.message()));
  }
  CommandFiles files;
  const std::filesystem::path folder = arguments.output;
  for (const char* const name : {"rows.csv", "report.txt", "contention.csv"})
    files.writes("--output", (folder / name).string());
  files.require();
  return InterferenceRun(arguments, machine, session).all();
}

}  // namespace

void add_interference(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "interference",
      "Measures computation and transfers on this machine, alone and side by side.");
  auto arguments = std::make_shared<InterferenceArguments>();
  command->add_option("experiment", arguments->experiment, "One that --list names, or all.")
      ->type_name("EXPERIMENT [all]");
  command->add_flag("--list", arguments->list, "Names the experiments.");
  command->add_flag("--quick", arguments->quick,
                    "Fewer points and shorter ones: within a few minutes.");
  command->add_option("-o,--output", arguments->output, "Folder for rows, report and pictures.")
      ->type_name("DIR [interference]");
  command->add_option("--disk", arguments->disk, "Folder on the disk that is measured.")
      ->type_name("DIR");
  command->footer(
      "Started by mpirun --bind-to none -n 2 it measures messages. A run that was stopped goes on "
      "where it was.");
  command->callback([arguments, &session] { session.status = interfere(*arguments, session); });
}

}  // namespace vicinal::cli
