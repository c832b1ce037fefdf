// vicinal explain: why what happened in a recorded run happened.
#include "reports/explain.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command_files.hpp"
#include "output_file.hpp"
#include "session.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

struct ExplainArguments {
  std::vector<std::string> traces;
  std::string json;
  reports::ExplainRequest request;
};

void explain(const ExplainArguments& arguments) {
  const auto& [traces, json, request] = arguments;
  if (traces.empty()) {
    throw UsageError("say which recording: vicinal explain TRACE; run --trace FILE makes one");
  }
  CommandFiles files;
  for (const std::string& trace : traces) files.reads("the recording", trace);
  files.writes("--json", json);
  files.require();
  const reports::Explanation explanation = reports::explain(traces, request, !json.empty());
  fmt::print(json == "-" ? stderr : stdout, "{}", explanation.text);
  if (!json.empty()) write_text(json, explanation.json);
}

}  // namespace

void add_explain(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand(
      "explain", "Says why tasks ran where and when they did, and what kept a recorded run.");
  auto arguments = std::make_shared<ExplainArguments>();
  command
      ->add_option("trace", arguments->traces,
                   "The recording (run --trace FILE makes one), or those of all ranks of a run; "
                   "of two runs what differs.")
      ->type_name("TRACE");
  command->add_option("--task", arguments->request.task, "Why there, why then: a number or a name.")
      ->type_name("TASK");
  command
      ->add_option("--handle", arguments->request.handle,
                   "What became of a piece of data: its copies, evictions, users.")
      ->type_name("NAME");
  command->add_option("--codelet", arguments->request.codelet, "All tasks of a codelet.")
      ->type_name("NAME");
  command
      ->add_option("--worker", arguments->request.worker, "What a worker did: a number or a name.")
      ->type_name("WORKER");
  command->add_option("--at", arguments->request.at, "What happened at a moment: \"12.5 ms\".")
      ->type_name("TIME");
  command->add_flag("--evictions", arguments->request.evictions,
                    "The evictions, with the rule and the cost of each.");
  command->add_flag("--waits", arguments->request.waits,
                    "The longest waits of tasks and workers, and for what.");
  command->add_flag("--decisions", arguments->request.decisions,
                    "Every choice with its candidates and their scores.");
  command->add_option("--json", arguments->json, "Also write it as JSON; -: to the output.")
      ->type_name("FILE");
  command->footer("Without a question: a summary, and what would have helped most.");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace vicinal::cli
