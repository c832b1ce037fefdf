#include "runtime_options.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "vicinal/error.hpp"
#include "vicinal/trace.hpp"

namespace vicinal::cli {

namespace {

constexpr std::string_view kMachine = "machine";

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string own_file(const std::string& file, const Ranks& ranks) {
  return ranks.count() > 1 ? file_of_rank(file, ranks.rank()) : file;
}

}  // namespace

reports::ChosenPolicy policy_for(const std::string& asked, const Options& options,
                                 const MachineDescription* machine,
                                 const std::function<play::AutoPolicy()>& simulated) {
  if (asked == "auto" && simulated) {
    const play::AutoPolicy best = simulated();
    return {best.policy, best.why};
  }
  const auto usual = reports::default_policy(asked, options, machine);
  if (!usual) return {asked, {}};
  return {usual->name, "as " + usual->why};
}

RuntimeOptions::RuntimeOptions(CLI::App& command, std::span<const std::string_view> only) {
  for (const OptionDescription& description : option_table()) {
    if (!only.empty() && std::ranges::find(only, description.name) == only.end()) continue;
    if (description.name == kMachine) continue;  // of programs: here it is simulate that has one
    const std::string name(description.name);
    CLI::Option* option =
        command.add_option(flag_of(name), texts_[name], std::string(description.sentence));
    if (description.type == "boolean") option->expected(0, 1);
    std::string kind(description.type);
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    option->type_name(kind + (description.default_value.empty()
                                  ? std::string()
                                  : fmt::format(" [{}]", description.default_value)));
    option->group(kRuntimeGroup);
    options_[name] = option;
  }
}

std::string RuntimeOptions::text(const std::string& name) const {
  return texts_.at(name);
}

std::vector<std::string> RuntimeOptions::policies() const {
  const CLI::Option* const option = options_.at("policy");
  const bool given = option->count() > 0;
  const std::string asked = given ? text("policy") : Options::from_environment().policy;
  std::vector<std::string> names;
  if (asked == "all") {
    for (const auto& policy : reports::policies()) names.emplace_back(policy.name);
    return names;
  }
  for (std::size_t at = 0; at <= asked.size();) {
    const std::size_t end = std::min(asked.find(',', at), asked.size());
    names.push_back(asked.substr(at, end - at));
    at = end + 1;
    try {
      reports::require_policy(names.back());
    } catch (const UsageError& error) {
      throw UsageError(fmt::format(
          "{}: {}", given ? "--policy" : "environment variable VICINAL_POLICY", error.what()));
    }
  }
  return names;
}

Policies RuntimeOptions::chosen_policies(const Options& options, const MachineDescription* machine,
                                         const std::function<play::AutoPolicy()>& simulated) const {
  Policies chosen;
  for (const std::string& name : policies()) {
    const reports::ChosenPolicy policy = policy_for(name, options, machine, simulated);
    if (!policy.why.empty()) chosen.why = fmt::format("{}, {}", policy.name, policy.why);
    chosen.names.push_back(policy.name);
  }
  return chosen;
}

Options RuntimeOptions::parse() const {
  Options options = Options::from_environment();
  // What would be simulated has no results to look at, and no time of this machine.
  if (!options.machine.empty() && options_.contains("workers")) {
    throw UsageError(
        "environment variable VICINAL_MACHINE: this command runs on the machine that is there; "
        "unset it, or use vicinal simulate --machine");
  }
  options.machine.clear();
  if (options_.contains("policy")) options.policy = policies().front();
  for (const auto& [name, option] : options_) {
    if (option->count() == 0 || name == "policy") continue;
    const std::string& text = texts_.at(name);
    try {
      // --bind alone, which CLI11 leaves empty, means --bind true.
      options.set(name, text.empty() && option->get_expected_min() == 0 ? "true" : text);
    } catch (const UsageError& error) {
      // Options::set begins with the option's name; here it has dashes.
      std::string_view message = error.what();
      const std::string prefix = fmt::format("option {}: ", name);
      if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
      throw UsageError(fmt::format("{}: {}", flag_of(name), message));
    }
  }
  return options;
}

Options RuntimeOptions::parse(std::initializer_list<std::string> files) const {
  Options options = parse();
  for (const std::string& file : files) {
    if (!options.disk.empty() || file.empty()) continue;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    options.disk = folder.empty() ? "." : folder.string();
  }
  return options;
}

reports::Facts RuntimeOptions::changed(const Options& options) const {
  reports::Facts facts;
  for (const auto& [name, value] : options.changed()) {
    const bool of_outcome = name == "policy" || name.starts_with("trace");
    if (!of_outcome && options_.contains(name)) facts.emplace_back(name, value);
  }
  return facts;
}

void RuntimeOptions::add_files(CommandFiles& files, const Options& options,
                               const std::vector<std::string>& policies, const Ranks& ranks) const {
  for (const auto& [name, library] : {std::pair("--cuda-library", options.cuda_library),
                                      {"--cublas-library", options.cublas_library},
                                      {"--cusolver-library", options.cusolver_library}}) {
    if (library.find('/') != std::string::npos)
      files.reads(name, library);  // else one of the system's
  }
  const auto is_option = [this](const char* name) {
    const auto given = options_.find(name);
    return given != options_.end() && given->second->count() > 0;
  };
  files.reads(is_option("plan") ? "--plan" : "VICINAL_PLAN", options.plan);
  files.writes(is_option("status") ? "--status" : "VICINAL_STATUS",
               own_file(options.status, ranks));
  for (const std::string& file : recordings(options, policies, ranks)) {
    files.records(is_option("trace") ? "--trace" : "VICINAL_TRACE", file);
  }
}

Options with_policy(Options options, const std::string& policy, std::size_t count) {
  options.policy = policy;
  if (options.trace.empty() || count < 2) return options;
  const std::filesystem::path file(options.trace);
  const std::string name = file.stem().string() + "." + policy + file.extension().string();
  options.trace = (file.parent_path() / name).string();
  return options;
}

std::vector<std::string> recordings(const Options& options,
                                    const std::vector<std::string>& policies, const Ranks& ranks) {
  std::vector<std::string> files;
  if (options.trace.empty()) return files;
  for (const std::string& policy : policies) {
    files.push_back(own_file(with_policy(options, policy, policies.size()).trace, ranks));
  }
  return files;
}

std::string recording_line(const std::string& file, Bytes bytes) {
  if (file.empty()) return {};
  std::string page = std::filesystem::path(file).replace_extension(".html").string();
  if (page == file) page += ".html";
  return fmt::format("recording: {}, {}; vicinal report {} -o {}\n", reports::legible_name(file),
                     reports::format_bytes(bytes), reports::legible_name(file),
                     reports::legible_name(page));
}

}  // namespace vicinal::cli
