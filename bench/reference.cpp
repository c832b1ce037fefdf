// The reference instances: the same tasks, durations, links and memory as another runtime was simulated
// with, and what it gave. Prints a row per instance and policy and the geometric means of the ratios.
//
// `reference --help` lists the options. Simulated times are exact: each row is the median over kernel times scaled
// by 0.996 to 1.004, as on the other side. Darts, which has rules of its own for a full memory, is left out where
// --rules asks for the other runtime's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "graphs/make_graph.hpp"
#include "help.hpp"
#include "memory/rules.hpp"
#include "play/play.hpp"
#include "vicinal/error.hpp"

namespace {

using namespace vicinal;

struct Key {
  std::string application;  // "chol", "mm2d"
  unsigned tiles = 0;
  std::string policy;
  auto operator<=>(const Key&) const = default;
};

struct Result {
  double gflops = 0;
  double loaded_mib = 0;
};

struct Reference {
  std::map<Key, Result> of;           // medians where there are, else the one run
  std::map<Key, double> working_set;  // over the memory
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) {
    std::erase(field, '\r');
    fields.push_back(field);
  }
  return fields;
}

// Rows of the file as column -> text.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    std::fprintf(stderr, "reference: %s cannot be read; give its folder with --folder\n",
                 path.c_str());
    std::exit(2);
  }
  const std::vector<std::string> names = fields_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) row[names[i]] = fields[i];
  }
  return rows;
}

// One GPU of 500 MiB, the look-ahead of the papers.
bool counts(const std::map<std::string, std::string>& row, const std::string& memory) {
  return row.at("gpus") == "1" && row.at(memory) == "500" && row.at("envset") == "p4t30";
}

Reference read_reference(const std::string& folder) {
  Reference reference;
  const auto take = [&](const auto& row, const char* gflops, const char* loaded) {
    const Key key{row.at("app"), static_cast<unsigned>(std::stoul(row.at("n_tiles"))),
                  row.at("sched")};
    reference.of[key] = {std::stod(row.at(gflops)), std::stod(row.at(loaded))};
    reference.working_set[key] = std::stod(row.at("ws_over_total_mem"));
  };
  for (const auto& row : rows_of(folder + "/results.csv")) {
    if (counts(row, "mem_limit_MB") && row.at("status") == "ok") take(row, "gflops", "h2d_MB");
  }
  for (const auto& row : rows_of(folder + "/medians.csv")) {
    if (counts(row, "mem_limit_MiB")) take(row, "gflops_median", "h2d_MiB_median");
  }
  return reference;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// With its rules: four tasks launched or fetched at once, as it was configured, and no priorities under the
// policies that know none there.
Result simulate(const Key& key, unsigned runs, const std::string& rules, double vary) {
  auto machine = machine::load_machine("v100p", {.gpus = 1, .gpu_memory = Bytes{500ULL << 20}});
  graph::Graph graph =
      graphs::make_graph({.application = key.application == "chol" ? "cholesky" : "gemm2d",
                          .tiles = key.tiles,
                          .tile = 960});
  if (memory::parse_rules(rules).pipeline) {
    for (WorkerDescription& worker : machine.description.workers) worker.pipeline = 4;
  }
  if (!rules.empty() && (key.policy == "dmda" || key.policy == "dmdar")) {
    for (std::size_t t = 0; t < graph.tasks().size(); ++t) graph.set_priority(t, 0);
  }
  std::vector<double> gflops;
  std::vector<double> loaded;
  for (unsigned run = 0; run < runs; ++run) {
    const double scale = runs == 1 ? 1 : 0.996 + 0.008 * run / (runs - 1);
    const graph::Graph varied =
        vary > 0 ? graph::with_varied_times(graph, machine, vary / 100, run) : graph;
    const play::Played played =
        play::play(varied, machine, {.policy = key.policy, .memory_rules = rules}, scale);
    gflops.push_back(graph.flops() / (played.after.now - played.before.now).seconds() * 1e-9);
    double bytes = 0;
    for (const LinkStatistics& link : played.last.links) {
      if (link.from == kRam) bytes += static_cast<double>(link.bytes.value);
    }
    loaded.push_back(bytes / (1 << 20));
  }
  return {median(gflops), median(loaded)};
}

// The best median over the versions of DARTS there, for bytes and for speed.
Result best_darts(const Reference& reference, Key key) {
  Result best;
  for (const auto& [other, result] : reference.of) {
    if (other.application != key.application || other.tiles != key.tiles ||
        !other.policy.starts_with("darts")) {
      continue;
    }
    best.gflops = std::max(best.gflops, result.gflops);
    if (best.loaded_mib == 0 || result.loaded_mib < best.loaded_mib) {
      best.loaded_mib = result.loaded_mib;
    }
  }
  return best;
}

struct Mean {
  double log_bytes = 0;
  double log_speed = 0;
  unsigned count = 0;
};

void compare(const Reference& reference, unsigned runs, const std::string& rules,
             const std::vector<std::string>& policies, double vary, std::FILE* csv) {
  std::map<std::string, Mean> means;
  const std::string heading =
      "application,tiles,working_set,policy,loaded_mib,reference_mib,bytes_ratio,gflops,"
      "reference_gflops,speed_ratio\n";
  std::fputs(heading.c_str(), csv);
  for (const auto& [key, given] : reference.of) {
    const double working_set = reference.working_set.at(key);
    if (std::find(policies.begin(), policies.end(), key.policy) == policies.end()) continue;
    if (!rules.empty() && key.policy == "darts") continue;
    if (working_set < 1.2 || working_set > 3.3) continue;
    const Result theirs = key.policy == "darts" ? best_darts(reference, key) : given;
    const Result ours = simulate(key, runs, rules, vary);
    const double bytes = ours.loaded_mib / theirs.loaded_mib;
    const double speed = ours.gflops / theirs.gflops;
    std::fprintf(csv, "%s,%u,%.2f,%s,%.1f,%.1f,%.3f,%.1f,%.1f,%.3f\n", key.application.c_str(),
                 key.tiles, working_set, key.policy.c_str(), ours.loaded_mib, theirs.loaded_mib,
                 bytes, ours.gflops, theirs.gflops, speed);
    std::fflush(csv);
    for (const std::string& group : {key.policy, key.policy + " " + key.application}) {
      Mean& mean = means[group];
      mean.log_bytes += std::log(bytes);
      mean.log_speed += std::log(speed);
      ++mean.count;
    }
  }
  for (const auto& [group, mean] : means) {
    std::printf("# %-12s %2u instances, geometric means: bytes %.3f, speed %.3f\n", group.c_str(),
                mean.count, std::exp(mean.log_bytes / mean.count),
                std::exp(mean.log_speed / mean.count));
  }
}

constexpr const char* kHelp =
    R"(The reference instances beside what another runtime gave, a row each.

  reference [--folder DIR] [--runs 9] [--csv FILE] [--rules starpu] [--policies darts,...] [--vary PERCENT]

  --folder DIR   holds medians.csv and results.csv (../shared/reference)
  --runs N       the median over so many runs with kernel times scaled by 0.996 to 1.004
  --csv FILE     where the rows go (the standard output)
  --rules TEXT   that runtime's rules for a full memory (option memory_rules); without darts
  --policies A,B which policies (darts,eager,lws,dmda,dmdar,dmdas)
  --vary PERCENT each task's time up to so much longer or shorter, in another way in each run
)";

}  // namespace

int main(int argc, char** argv) {
  if (bench::helped(argc, argv, kHelp)) return 0;
  std::string folder = "../shared/reference";
  std::string csv;
  std::string rules;
  std::vector<std::string> policies{"darts", "eager", "lws", "dmda", "dmdar", "dmdas"};
  double vary = 0;
  unsigned runs = 9;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--folder") {
      folder = argv[i + 1];
    } else if (name == "--runs") {
      runs = static_cast<unsigned>(std::max(1, std::atoi(argv[i + 1])));
    } else if (name == "--rules") {
      rules = argv[i + 1];
    } else if (name == "--policies") {
      policies = fields_of(argv[i + 1]);
    } else if (name == "--vary") {
      vary = std::clamp(std::atof(argv[i + 1]), 0.0, 99.0);
    } else if (name == "--csv") {
      csv = argv[i + 1];
    } else {
      std::fprintf(
          stderr,
          "reference: %s is no option; there are --folder, --runs, --csv, --rules, --policies, "
          "--vary\n",
          name.c_str());
      return 2;
    }
  }
  try {
    memory::parse_rules(rules);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "reference: --rules: %s\n", error.what());
    return 2;
  }
  std::FILE* const out = csv.empty() ? stdout : std::fopen(csv.c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "reference: %s cannot be written\n", csv.c_str());
    return 2;
  }
  compare(read_reference(folder), runs, rules, policies, vary, out);
  if (!csv.empty()) std::fclose(out);
  return 0;
}
