// Comparisons of policies in a program of one's own: graphs from files and generators, machines, bounds, simulated runs,
// and their table, JSON and picture.
//
//   namespace vc = vicinal;
//   const vc::graph::Graph graph = vc::graphs::make_graph({.application = "cholesky", .tiles = 20});
//   const vc::machine::MachineModel machine = vc::machine::load_machine("v100", {.gpus = 2});
//   const vc::reports::RunBounds bounds = vc::reports::play_bounds(graph, machine);
//   vc::reports::Report report{.application = "cholesky", .runs = {}};
//   for (const auto& policy : vc::sched::policies()) {
//     report.runs.push_back(vc::reports::play_record(graph, machine, {.policy = std::string(policy.name)}, bounds));
//   }
//   std::fputs(vc::reports::report_text(report).c_str(), stdout);
//   vc::reports::draw_report(report, "comparison.svg");
//
// Link vicinal::tools, which brings vicinal::vicinal. docs/write-a-policy.md has the program around this. What these
// headers declare may change with each minor version, unlike the rest of the public interface.
#pragma once

#include "bounds/graph_bounds.hpp"
#include "graph/kernel_times.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphs/make_graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "reports/bounds_report.hpp"
#include "reports/draw_picture.hpp"
#include "reports/play_record.hpp"
#include "reports/report.hpp"
#include "reports/sweep.hpp"
#include "vicinal/policy.hpp"
