// vicinal bounds: what no schedule of a graph on a machine can beat.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "graph_options.hpp"
#include "output_file.hpp"
#include "report_output.hpp"
#include "reports/bounds_report.hpp"
#include "reports/catalogue.hpp"
#include "reports/page/page.hpp"
#include "session.hpp"

namespace vicinal::cli {

namespace {

struct BoundsArguments {
  explicit BoundsArguments(CLI::App& command) : graph(command), machine(command) {}
  GraphOptions graph;
  MachineOptions machine;
  std::string seed = "1";
  std::string json;
  std::string page;
};

void print_bounds(const BoundsArguments& arguments) {
  CommandFiles files;
  arguments.graph.add_to(files);
  arguments.machine.add_to(files);
  ReportFiles{.json = arguments.json, .page = arguments.page, .plot = {}, .recordings = {}}.add_to(
      files);
  files.require();
  const graph::Graph graph =
      arguments.graph.graph(reports::parse_count("--seed", arguments.seed, 0, INT64_MAX));
  const machine::MachineModel machine = arguments.machine.machine();
  const bounds::GraphBounds bounds =
      bounds::graph_bounds(graph, machine.description, graph::kernel_seconds(graph, machine));
  const bool taken = arguments.json == "-" || arguments.page == "-";
  fmt::print(taken ? stderr : stdout, "{}", reports::bounds_text(bounds));
  if (!arguments.json.empty()) write_text(arguments.json, reports::bounds_json(bounds));
  if (!arguments.page.empty()) {
    reports::PageRequest request;
    request.bounds = &bounds;
    write_text(arguments.page, reports::page(request));
  }
}

}  // namespace

void add_bounds(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand(
      "bounds", "Lower bounds on the time of a graph on a machine, and on the bytes it moves.");
  auto arguments = std::make_shared<BoundsArguments>(*command);
  CLI::Option* const seed =
      command->add_option("--seed", arguments->seed, "Of graphs made at random.")
          ->type_name("INTEGER [1]")
          ->group("Graph");
  arguments->graph.add_parameter("seed", seed);
  command->add_option("--json", arguments->json, "Also write them as JSON; -: to the output.")
      ->type_name("FILE");
  command->add_option("--report", arguments->page, kReportSentence)->type_name("FILE");
  command->callback([arguments] { print_bounds(*arguments); });
}

}  // namespace vicinal::cli
