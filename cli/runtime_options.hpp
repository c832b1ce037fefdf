// The options of the runtime on a command line: every row of option_table() as --name-with-dashes.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_files.hpp"
#include "play/auto_policy.hpp"
#include "reports/catalogue.hpp"
#include "reports/report.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::cli {

// Under which the options stand in the help.
inline constexpr const char* kRuntimeGroup = "Runtime (VICINAL_* variables set the same)";

// Of one of `count` runs, each by another policy: so its recording, if one is asked for, goes to a file of its own,
// "run.darts.vtrace" for "run.vtrace".
Options with_policy(Options options, const std::string& policy, std::size_t count);

// Files of the recordings of runs by these policies; empty where none is asked for. `ranks`: each of them has its own.
std::vector<std::string> recordings(const Options& options,
                                    const std::vector<std::string>& policies,
                                    const Ranks& ranks = {});

// "recording: run.vtrace, 1.2 MiB; vicinal report run.vtrace -o run.html", a line. Empty where `file` is.
std::string recording_line(const std::string& file, Bytes bytes);

// Those that runs use.
struct Policies {
  std::vector<std::string> names;
  std::string
      why;  // "darts, as memory is limited": what "default" or "auto" stands for; empty: nobody asked for it
};

// By the name that was asked for: "default" is what the machine, or else the options describe, "auto" what `simulated` finds
// best, or as "default" where nothing is simulated; `why` of another name is empty.
reports::ChosenPolicy policy_for(const std::string& asked, const Options& options,
                                 const MachineDescription* machine,
                                 const std::function<play::AutoPolicy()>& simulated);

class RuntimeOptions {
 public:
  // Adds the options to the command, or those of these names; this object must outlive the parse.
  explicit RuntimeOptions(CLI::App& command, std::span<const std::string_view> only = {});
  RuntimeOptions(const RuntimeOptions&) = delete;
  RuntimeOptions& operator=(const RuntimeOptions&) = delete;

  // The command has the option of this name.
  bool has(const std::string& name) const { return options_.contains(name); }
  // What was given on the command line, or empty.
  std::string text(const std::string& name) const;
  // The policies that were asked for, by --policy or else by VICINAL_POLICY: one, several with commas between
  // them, or "all". Throws UsageError that begins with the name of that.
  std::vector<std::string> policies() const;
  // The same, each as policy_for() has it.
  Policies chosen_policies(const Options& options, const MachineDescription* machine = nullptr,
                           const std::function<play::AutoPolicy()>& simulated = {}) const;
  // The environment, changed by what was given; `policy` is the first of policies(). Throws UsageError that begins
  // with the option's name.
  Options parse() const;
  // The same for a command that works on files, which needs a folder for the disk node: if none was
  // given, the folder of the first of the files that is not empty.
  Options parse(std::initializer_list<std::string> files) const;
  // What was asked for, for a report: options that are not as usual, but the policy and what is recorded.
  reports::Facts changed(const Options& options) const;
  // Recordings, one per policy as of recordings(), and libraries that are loaded.
  void add_files(CommandFiles& files, const Options& options,
                 const std::vector<std::string>& policies, const Ranks& ranks = {}) const;

 private:
  std::map<std::string, std::string> texts_;  // stable addresses, for CLI11 to write to
  std::map<std::string, CLI::Option*> options_;
};

}  // namespace vicinal::cli
