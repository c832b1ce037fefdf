// What the subcommands share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "signals.hpp"

namespace vicinal::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;  // a check that fails, a run that fails
inline constexpr int kUsage = 2;    // a command line, a variable or a file that cannot be

struct Session {
  Signals& signals;
  std::string command = {};  // as it was typed
  int status = kSuccess;     // set by the subcommand that ran
};

// Each adds one subcommand, of the name of its file. The session outlives the parse.
void add_run(CLI::App& app, Session& session);
void add_generate(CLI::App& app, Session& session);
void add_machine(CLI::App& app, Session& session);
void add_contention(CLI::App& app, Session& session);
void add_calibrate(CLI::App& app, Session& session);
void add_interference(CLI::App& app, Session& session);
void add_policies(CLI::App& app, Session& session);
void add_options(CLI::App& app, Session& session);
void add_events(CLI::App& app, Session& session);
void add_simulate(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);
void add_replay(CLI::App& app, Session& session);
void add_bounds(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_reproduce(CLI::App& app, Session& session);
void add_export(CLI::App& app, Session& session);
void add_explain(CLI::App& app, Session& session);
void add_man(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_help(CLI::App& app, Session& session);

inline constexpr const char* kReportSentence =
    "Also make a page of it, which a browser opens; -: to the output.";
inline constexpr const char* kVerboseSentence =
    "Print all that the report holds, not its first lines alone.";

}  // namespace vicinal::cli
