#include "help_format.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/wrapped.hpp"

namespace vicinal::cli {

namespace {

using reports::wrapped;

constexpr std::size_t kLeastColumns = 40;  // narrower, words would stand one below the other
constexpr std::size_t kMostColumns = 80;

// Names of options to the left, as wide as that; less where there is little room.
std::size_t left_column(std::size_t columns) {
  return columns >= 70 ? 26 : 12;
}

// "  --size INTEGER [8192]   Order of the matrix", what is on the right wrapped; below, if the left is long.
std::string row(const std::string& left, const std::string& right) {
  const std::size_t columns = columns_of_output();
  const std::size_t indent = left_column(columns);
  std::string text = "  " + wrapped(left, columns - 2, 6);
  if (right.empty()) return text + "\n";
  if (text.size() + 2 <= indent && text.find('\n') == std::string::npos) {
    text.resize(indent, ' ');
  } else {
    text += "\n" + std::string(indent, ' ');
  }
  return text + wrapped(right, columns - indent, indent) + "\n";
}

constexpr Example kExamples[] = {
    {"run", "vicinal run cholesky --size 4096 --check", "In memory, and the result is checked."},
    {"run", "vicinal run cholesky --memory 64MiB --disk /var/tmp --policy darts,lws",
     "With half of the memory that the matrix takes, by two policies."},
    {"run", "vicinal run lu --trace run.vtrace", "Recorded, for vicinal explain and report."},
    {"generate", "vicinal generate cholesky --size 4096 -o a.tiles",
     "A matrix for vicinal run cholesky --matrix a.tiles."},
    {"simulate", "vicinal simulate cholesky --machine v100 --policy all",
     "All policies on four GPUs, ranked beside the bounds."},
    {"simulate",
     "vicinal simulate lu --memory 256MiB,512MiB,1GiB --policy darts,dmdas --vary 20 --seeds 9 "
     "--csv lu.csv --plot lu.svg --processes 2",
     "A sweep: medians and quartiles, a row per run, a picture."},
    {"simulate", "vicinal simulate --graph graph.json --load ./mine.so --policy mine,darts",
     "A graph and a policy of your own."},
    {"plan",
     "vicinal plan cholesky --tiles 16 --machine mine.toml --memory 128MiB -o cholesky.plan",
     "Time, bytes and peak memory of a run, predicted for the machine that calibrate measured."},
    {"plan",
     "vicinal run cholesky --size 8192 --memory 128MiB --disk /var/tmp --plan cholesky.plan",
     "The run that does so."},
    {"replay", "vicinal replay run.vtrace --policy darts,lws",
     "What other policies would have made of the recorded run."},
    {"replay",
     "vicinal replay run.vtrace --machine v100 --gpus 2 --memory 1GiB --time gemm@gpu=1e-3",
     "The same tasks on two GPUs."},
    {"bounds", "vicinal bounds cholesky --tiles 30 --machine v100 --gpus 1 --memory 500MiB",
     "What no schedule can beat, and why."},
    {"report", "vicinal report run.vtrace -o run.html", "A page of a recording."},
    {"report", "vicinal report before.vtrace after.vtrace -o both.html",
     "Two recordings side by side."},
    {"reproduce", "vicinal reproduce", "Lists the figures by paper."},
    {"reproduce", "vicinal reproduce 000-6 --quick", "A figure with few points."},
    {"export", "vicinal export run.vtrace --format perfetto -o run.json",
     "For ui.perfetto.dev in a browser."},
    {"explain", "vicinal explain run.vtrace",
     "What the time went into, and what would have helped."},
    {"machine", "vicinal machine --list", "The machines that are shipped."},
    {"machine", "vicinal machine --memory 8GiB --disk /var/tmp", "What a run would have."},
    {"calibrate", "vicinal calibrate -o mine.toml", "This computer, for --machine mine.toml."},
    {"contention", "vicinal contention henri --cores 16 --comp-node 1 --comm-node 1",
     "Sixteen cores and a receive, all data on the other socket."},
    {"contention", "vicinal contention --measured sweeps.csv --fit contention.toml",
     "The parameters of a machine that was measured."},
    {"interference", "vicinal interference --quick --disk /var/tmp",
     "What computing and copying cost each other here, in minutes."},
    {"policies", "vicinal policies", "All policies and their settings."},
    {"policies", "vicinal policies --load ./mine.so", "With those of a shared object."},
    {"options", "vicinal options --markdown", "The page docs/options.md."},
    {"events", "vicinal events --markdown", "The page docs/trace.md."},
    {"man", "vicinal man > vicinal.1", "For man -l vicinal.1."},
    {"completion", "source <(vicinal completion bash)", "For the shell that runs."},
    {"help", "vicinal help simulate", "What a command does, its options, examples."},
    {"vicinal", "vicinal run cholesky --size 4096 --check", "Computes, and reports what it did."},
    {"vicinal", "vicinal simulate cholesky --policy all", "Compares policies on four GPUs."},
    {"vicinal", "vicinal help simulate", "Says what a command can do."},
};

}  // namespace

std::vector<Example> examples_of(std::string_view command) {
  std::vector<Example> examples;
  std::ranges::copy_if(kExamples, std::back_inserter(examples),
                       [&](const Example& example) { return example.command == command; });
  return examples;
}

std::size_t columns_of_table(bool of_errors) {
  winsize size{};
  const int file = of_errors ? STDERR_FILENO : STDOUT_FILENO;
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
  return std::max<std::size_t>(size.ws_col, kLeastColumns);
}

std::size_t columns_of_output() {
  const std::size_t columns = columns_of_table();
  return columns == 0 ? kMostColumns : std::min(columns, kMostColumns);
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option),
             make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  const std::size_t columns = columns_of_output();
  constexpr std::size_t kIndent = 16;
  return fmt::format("  {:<{}}{}\n", command->get_name(), kIndent - 2,
                     wrapped(command->get_description(), columns - kIndent, kIndent));
}

std::string HelpFormat::make_description(const CLI::App* command) const {
  return wrapped(command->get_description(), columns_of_output(), 0) + "\n";
}

std::string HelpFormat::make_footer(const CLI::App* command) const {
  const std::size_t columns = columns_of_output();
  std::string text = command->get_footer();
  if (!text.empty()) text = wrapped(text, columns, 0) + "\n";
  const std::string name =
      command->get_parent() == nullptr ? std::string("vicinal") : command->get_name();
  const std::vector<Example> examples = examples_of(name);
  if (examples.empty()) return text;
  text += text.empty() ? "Examples:\n" : "\nExamples:\n";
  for (const Example& example : examples) {
    text += "  " + wrapped(example.line, columns - 6, 6) + "\n";
    text += "    " + wrapped(example.does, columns - 4, 4) + "\n";
  }
  return text;
}

}  // namespace vicinal::cli
