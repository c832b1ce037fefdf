// vicinal reproduce: the figures of the papers, in simulation, with their statements beside them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command_files.hpp"
#include "graphs/make_graph.hpp"
#include "help_format.hpp"
#include "identity.hpp"
#include "output_file.hpp"
#include "reports/catalogue.hpp"
#include "reports/draw_picture.hpp"
#include "reports/wrapped.hpp"
#include "reproduce_points.hpp"
#include "reproduction/figures.hpp"
#include "reproduction/measure.hpp"
#include "reproduction/picture.hpp"
#include "reproduction/point_file.hpp"
#include "reproduction/text.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"
#include "vicinal/version.hpp"

namespace vicinal::cli {

namespace {

using reproduction::Effort;
using reproduction::Figure;
using reproduction::Results;

struct ReproduceArguments {
  std::string figure;
  bool quick = false;
  bool full = false;
  std::string output = "reproduction";
  std::string document;

  Effort effort() const {
    if (quick && full) throw UsageError("--quick and --full: give one of them, or neither");
    return quick ? Effort::quick : full ? Effort::full : Effort::usual;
  }
  std::string command(const Figure& of) const {
    return fmt::format("vicinal reproduce {}{}", of.name,
                       quick  ? " --quick"
                       : full ? " --full"
                              : "");
  }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<std::string> made_by(const Figure& figure, Effort effort) {
  return {fmt::format("vicinal {}, program {:016x}", version(), identity_of_program()),
          fmt::format("figure {}, effort {}", figure.name, reproduction::to_string(effort))};
}

void list_figures() {
  const std::size_t columns = columns_of_output();
  for (const reproduction::Paper& paper : reproduction::papers()) {
    fmt::print("{}\n", reports::wrapped(
                           fmt::format("{}: {} ({})", paper.number, paper.title, paper.authors),
                           columns - 5, 5));
    for (const Figure& figure : reproduction::figures()) {
      if (!figure.name.starts_with(paper.number)) continue;
      fmt::print("  {:<8}  {}\n", figure.name, reports::wrapped(figure.sentence, columns - 12, 12));
    }
    if (!paper.left_out.empty())
      fmt::print("  {}\n", reports::wrapped(paper.left_out, columns - 2, 2));
  }
}

// Points whose policy and graph there are; of the others a sentence each.
std::vector<reproduction::Point> possible_points(const Figure& figure, Effort effort,
                                                 std::vector<std::string>& skipped) {
  std::vector<reproduction::Point> points = reproduction::points_of(figure, effort);
  const auto skip = [&](const std::string& sentence) {
    if (std::ranges::find(skipped, sentence) == skipped.end()) skipped.push_back(sentence);
    return true;
  };
  std::erase_if(points, [&](const reproduction::Point& point) {
    try {
      reports::require_policy(point.policy);
    } catch (const UsageError&) {
      return skip(
          fmt::format("{} is left out: there is no policy {} yet.", point.series, point.policy));
    }
    if (!point.application.empty() &&
        std::ranges::find(graphs::graph_applications(), point.application,
                          &graphs::GraphApplication::name) == graphs::graph_applications().end()) {
      return skip(
          fmt::format("{} is left out: there is no graph {} yet.", point.panel, point.application));
    }
    return false;
  });
  return points;
}

Results measured_orders(const Figure& figure, Effort effort) {
  const reproduction::OrderView& view = figure.order;
  std::vector<reproduction::OrderedRun> runs;
  for (const reproduction::OrderRun& run : view.runs) {
    fmt::print(stderr, "{}: {}\n", figure.name, run.name);
    runs.push_back(reproduction::order_of(
        view, run, effort,
        graph_of("cholesky", view.tiles[static_cast<std::size_t>(effort)], view.tile, "float")));
  }
  return Results(std::move(runs));
}

void complain_of_other(const std::string& path, const reproduction::PointFile& file) {
  if (file.found() == reproduction::PointFile::Found::rows) {
    fmt::print(stderr, "vicinal: going on with {}\n", reports::legible_name(path));
  } else if (file.found() == reproduction::PointFile::Found::other) {
    fmt::print(stderr, "vicinal: {} is not gone on with: {}; all points are measured anew\n",
               reports::legible_name(path), reports::legible_name(file.difference()));
  }
}

// Figures share simulations: those of the figures before are not done again.
void append_known(const std::vector<reproduction::Point>& points,
                  const std::vector<reproduction::Row>& known, reproduction::PointFile& file) {
  const auto simulation = [](reproduction::Point point) {
    point.panel.clear();
    point.series.clear();
    return reproduction::key_of(point);
  };
  for (const reproduction::Point& point : points) {
    const auto same =
        std::ranges::find(known, simulation(point),
                          [&](const reproduction::Row& row) { return simulation(row.point); });
    if (same != known.end() && !file.has(point)) file.append({point, same->measures});
  }
}

// `known`: rows of the figures before; those of this one are added.
int reproduce(const Figure& figure, const ReproduceArguments& arguments, Session& session,
              std::vector<reproduction::Row>& known) {
  const Effort effort = arguments.effort();
  const std::string stem =
      (std::filesystem::path(arguments.output) / std::string(figure.name)).string();
  const std::string csv = stem + ".csv";
  std::vector<std::string> skipped;
  std::vector<std::string> failures;
  Results results;
  if (figure.is_order()) {
    results = measured_orders(figure, effort);
    write_text(csv, reproduction::order_csv(made_by(figure, effort), results));
  } else {
    const std::vector<reproduction::Point> points = possible_points(figure, effort, skipped);
    for (const std::string& sentence : skipped) fmt::print(stderr, "vicinal: {}\n", sentence);
    reproduction::PointFile file(csv, made_by(figure, effort), points);
    complain_of_other(csv, file);
    append_known(points, known, file);
    failures = measure_points(points, file, figure.name, session);
    results = Results(file.rows());
    known.insert(known.end(), results.rows().begin(), results.rows().end());
    write_text(csv, reproduction::csv_text(made_by(figure, effort), results.rows()));
  }
  for (const std::string& failure : failures) fmt::print(stderr, "vicinal: {}\n", failure);

  const std::string table = reproduction::table_text(figure, results);
  write_text(stem + ".txt", table);
  write_text(stem + ".json", reproduction::picture_json(figure, results));
  fmt::print("{}", table);
  const bool nothing = results.rows().empty() && results.orders().empty();
  const std::string missing = nothing ? "no picture is drawn: nothing has been measured"
                                      : reports::draw_picture(stem + ".json", stem);
  fmt::print("\nwritten: {0}.csv, {0}.txt, {0}.json{1}\n", stem,
             missing.empty() ? fmt::format(", {0}.svg, {0}.png", stem) : "");
  if (!missing.empty()) fmt::print(stderr, "vicinal: {}\n", missing);
  if (!arguments.document.empty()) {
    const reproduction::Section section{figure, results, arguments.command(figure), skipped};
    write_text(arguments.document,
               reproduction::with_section(content_of(arguments.document), section));
  }
  return failures.empty() ? kSuccess : kFailure;
}

int reproduce_those(const ReproduceArguments& arguments, Session& session) {
  if (arguments.figure.empty()) {
    list_figures();
    return kSuccess;
  }
  static_cast<void>(arguments.effort());
  std::error_code failed;
  if (std::filesystem::exists(arguments.document, failed) &&
      !std::filesystem::is_regular_file(arguments.document, failed)) {
    throw UsageError(fmt::format("--document: {} is no file; give one", arguments.document));
  }
  std::vector<const Figure*> figures;
  if (arguments.figure == "all") {
    for (const Figure& figure : reproduction::figures()) figures.push_back(&figure);
  } else {
    figures.push_back(&reproduction::figure(arguments.figure));
  }
  std::filesystem::create_directories(arguments.output, failed);
  if (failed) {
    throw UsageError(fmt::format("--output: cannot make the folder {}: {}; give another one",
                                 arguments.output, failed.message()));
  }
  CommandFiles files;
  for (const Figure* figure : figures) {
    const std::string stem =
        (std::filesystem::path(arguments.output) / std::string(figure->name)).string();
    for (const char* const suffix : {".csv", ".txt", ".json", ".svg", ".png"}) {
      files.writes("--output", stem + suffix);
    }
  }
  files.writes("--document", arguments.document);
  files.require();
  int status = kSuccess;
  std::vector<reproduction::Row> known;
  for (const Figure* figure : figures) {
    status = std::max(status, reproduce(*figure, arguments, session, known));
  }
  return status;
}

}  // namespace

void add_reproduce(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "reproduce",
      "Simulates the experiments behind a figure of a paper; alone, lists the figures.");
  auto arguments = std::make_shared<ReproduceArguments>();
  command->add_option("figure", arguments->figure, "One that is listed, or all.")
      ->type_name("FIGURE");
  command->add_flag("--quick", arguments->quick, "Fewer and smaller points: within a minute.");
  command->add_flag("--full", arguments->full, "More points, up to the paper's sizes.");
  command
      ->add_option("-o,--output", arguments->output,
                   "Folder for the CSV file, the table and the picture.")
      ->type_name("DIR [reproduction]");
  command
      ->add_option("--document", arguments->document,
                   "Page of which the section on this figure is written anew.")
      ->type_name("FILE");
  command->footer(
      "A run that was stopped goes on where it was: each point is in the CSV file when it has "
      "ended.");
  command->callback(
      [arguments, &session] { session.status = reproduce_those(*arguments, session); });
}

}  // namespace vicinal::cli
