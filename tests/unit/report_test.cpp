#include "reports/report.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/dense_bounds.hpp"

namespace vicinal::reports {
namespace {

constexpr NodeId kDisk{1};
constexpr NodeId kDevice{2};

MachineDescription machine_with(std::optional<Bytes> ram, std::optional<Bytes> device) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, ram},
                   {kDisk, "disk", NodeKind::disk, Bytes{1}},  // limits nothing that is counted
                   {kDevice, "device0", NodeKind::device, device}};
  machine.workers = {{{0}, ProcessorKind::cpu, kRam}, {{1}, ProcessorKind::emulated, kDevice}};
  return machine;
}

Statistics empty_statistics() {
  Statistics statistics;
  statistics.nodes.resize(3);
  statistics.workers.resize(2);
  return statistics;
}

TEST(Report, CountsWhatHappenedBetweenTwoReadings) {
  const MachineDescription machine = machine_with(Bytes{1000}, {});
  Statistics before = empty_statistics();
  before.now = {1'000'000'000};
  before.tasks_done = 5;
  before.nodes[0] = {.bytes_in = {100},
                     .bytes_out = {10},
                     .peak = {900},
                     .resident = {},
                     .evictions = 2,
                     .write_backs = 1};
  before.links = {{kDisk, kRam, {100}, 1}};
  Statistics after = before;
  after.now = {3'500'000'000};
  after.tasks_done = 12;
  after.nodes[0] = {.bytes_in = {400},
                    .bytes_out = {60},
                    .peak = {950},
                    .resident = {},
                    .evictions = 7,
                    .write_backs = 4};
  after.links = {{kRam, kDisk, {50}, 2}, {kDisk, kRam, {400}, 4}};

  const RunRecord run = make_record("lws", machine, before, after);

  EXPECT_DOUBLE_EQ(run.seconds, 2.5);
  EXPECT_EQ(run.tasks, 7U);
  EXPECT_EQ(run.nodes[0].bytes_in, Bytes{300});
  EXPECT_EQ(run.nodes[0].bytes_out, Bytes{50});
  EXPECT_EQ(run.nodes[0].peak, Bytes{950});  // not a difference
  EXPECT_EQ(run.nodes[0].evictions, 5U);
  EXPECT_EQ(run.nodes[0].write_backs, 3U);
  ASSERT_EQ(run.links.size(), 2U);
  EXPECT_EQ(run.links[0].name, "ram->disk");
  EXPECT_EQ(run.links[0].bytes, Bytes{50});  // was not there before
  EXPECT_EQ(run.links[1].bytes, Bytes{300});
  EXPECT_EQ(run.links[1].copies, 3U);
  EXPECT_EQ(run.bytes_in, Bytes{300});
  EXPECT_EQ(run.bytes_out, Bytes{50});
}

TEST(Report, LoadsAndWriteBacksAreThoseOfLimitedMemoriesOnly) {
  const Statistics before = empty_statistics();
  Statistics after = before;
  after.links = {{kDisk, kRam, {1}, 1},
                 {kRam, kDisk, {10}, 1},
                 {kRam, kDevice, {100}, 1},
                 {kDevice, kRam, {1000}, 1}};
  // Only RAM: what comes from the device is no load, what goes there no write-back.
  const RunRecord ram = make_record("lws", machine_with(Bytes{1}, {}), before, after);
  EXPECT_EQ(ram.bytes_in, Bytes{1});
  EXPECT_EQ(ram.bytes_out, Bytes{10});
  const RunRecord device = make_record("lws", machine_with({}, Bytes{1}), before, after);
  EXPECT_EQ(device.bytes_in, Bytes{100});
  EXPECT_EQ(device.bytes_out, Bytes{1000});
  const RunRecord both = make_record("lws", machine_with(Bytes{1}, Bytes{1}), before, after);
  EXPECT_EQ(both.bytes_in, Bytes{101});
  EXPECT_EQ(both.bytes_out, Bytes{1010});
}

TEST(Report, IdleTimeIsWhatNoWorkerWasBusy) {
  const MachineDescription machine = machine_with({}, {});
  const Statistics before = empty_statistics();
  Statistics after = before;
  after.now = {2'000'000'000};
  after.workers[0].busy = {1'500'000'000};
  // Worker 0: 2 - 1.5 s; worker 1: 2 s.
  EXPECT_DOUBLE_EQ(make_record("lws", machine, before, after).idle_seconds, 2.5);
}

// The run of docs/report.md.
Report documented_report() {
  RunRecord run;
  run.policy = "lws";
  run.seconds = 2.5;
  run.flops = 9e9;
  run.verified = true;
  run.residual = 4.1e-16;
  run.tolerance = 1e-14;
  run.tasks = 56;
  run.workers = 2;
  run.idle_seconds = 4.0;
  run.bytes_in = {90'000'000};
  run.bytes_out = {36'000'000};
  run.nodes = {{"ram",
                NodeKind::ram,
                Bytes{12'582'912},
                {12'582'912},
                {90'000'000},
                {36'000'000},
                51,
                18,
                56},
               {"disk", NodeKind::disk, {}, {42'000'000}, {36'000'000}, {90'000'000}, 0, 0}};
  run.links = {{"disk->ram", {90'000'000}, 45}, {"ram->disk", {36'000'000}, 18}};
  run.bounds = {.work_seconds = 0.5,
                .path_seconds = 0.25,
                .transfer_seconds = 0,
                .compulsory_in = {30'000'000},
                .proved_in = {20'000'000},
                .formula_in = {36'000'000},
                .compulsory_out = {29'417'088}};
  return {.command =
              "vicinal run cholesky --size 3000 --tile 500 --memory 12MiB --disk /scratch "
              "--check --policy lws",
          .application = "cholesky",
          .parameters = {{"size", std::uint64_t{3000}},
                         {"tile", std::uint64_t{500}},
                         {"tiles", std::uint64_t{6}},
                         {"precision", std::string("double")},
                         {"matrix_bytes", Bytes{42'000'000}},
                         {"priorities", std::string("bottom-level")},
                         {"seed", std::uint64_t{1}}},
          .machine = {{"vicinal", std::string("0.2.0")},
                      {"blas", std::string("OpenBLAS 0.3.21 SkylakeX")},
                      {"memory", Bytes{12'582'912}},
                      {"disk", std::string("/scratch")}},
          .runs = {run}};
}

std::string documentation() {
  std::ifstream file(VICINAL_SOURCE_DIR "/docs/report.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Equal, numbers within rounding of their text.
void expect_same(const nlohmann::json& actual, const nlohmann::json& expected,
                 const std::string& where) {
  SCOPED_TRACE(where);
  if (expected.is_object()) {
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [name, value] : expected.items()) {
      ASSERT_TRUE(actual.contains(name)) << name;
      expect_same(actual[name], value, where + "/" + name);
    }
  } else if (expected.is_array()) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expect_same(actual[i], expected[i], where);
  } else if (expected.is_number_float()) {
    ASSERT_TRUE(actual.is_number());
    EXPECT_NEAR(actual.get<double>(), expected.get<double>(), 1e-6 * expected.get<double>());
  } else {
    EXPECT_EQ(actual, expected);
  }
}

TEST(Report, JsonIsTheOneInTheDocumentation) {
  const std::string page = documentation();
  const auto begin = page.find("```json\n") + 8;
  const auto end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const auto expected = nlohmann::json::parse(page.substr(begin, end - begin));
  expect_same(nlohmann::json::parse(report_json(documented_report())), expected, "");
}

TEST(Report, EveryFieldOfTheJsonIsExplainedInTheDocumentation) {
  const std::string page = documentation();
  const auto json = nlohmann::json::parse(report_json(documented_report()));
  const auto explained = [&](const std::string& name) {
    return page.substr(page.find("| field of a run |")).find("`" + name + "`") != std::string::npos;
  };
  for (const auto& [name, value] : json["runs"][0].items()) {
    EXPECT_TRUE(name == "bounds" || explained(name)) << name;
  }
  for (const auto& [name, value] : json["runs"][0]["bounds"].items()) {
    EXPECT_TRUE(explained(name)) << name;
  }
  for (const auto& [name, value] : json["runs"][0]["nodes"]["ram"].items()) {
    EXPECT_TRUE(explained(name)) << name;
  }
}

TEST(Report, JsonSaysNullForWhatIsNotKnown) {
  Report report{.application = "cholesky", .parameters = {}, .machine = {}, .runs = {RunRecord{}}};
  const auto run = nlohmann::json::parse(report_json(report))["runs"][0];
  for (const char* name :
       {"verified", "residual", "seconds_ratio", "bytes_ratio", "bytes_out_ratio"}) {
    EXPECT_TRUE(run[name].is_null()) << name;
  }
}

TEST(Report, AFailedRunIsAnErrorAndNotVerified) {
  Report report = documented_report();
  RunRecord failed;
  failed.policy = "prio";
  failed.error = "disk full";
  report.runs.push_back(failed);
  const auto run = nlohmann::json::parse(report_json(report))["runs"][1];
  EXPECT_EQ(run["error"], "disk full");
  EXPECT_EQ(run["verified"], false);
  EXPECT_FALSE(run.contains("seconds"));
  const std::string text = report_text(report);
  EXPECT_NE(text.find("prio failed: disk full"), std::string::npos) << text;
}

TEST(Report, TextHasARowPerMeasureAndAColumnPerRun) {
  Report report = documented_report();
  report.runs.push_back(report.runs[0]);
  report.runs[1].policy = "darts";
  report.runs[1].verified = false;
  const std::string text = report_text(report, true);
  std::istringstream lines(text);
  std::string line;
  bool check_row = false;
  bool peak_row = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("check")) {
      check_row = true;
      EXPECT_LT(line.find("passed"), line.find("FAILED")) << line;
    }
    if (line.starts_with("ram peak, of 12 MiB")) peak_row = true;
    EXPECT_LE(line.size(), 160U) << line;
  }
  EXPECT_TRUE(check_row && peak_row) << text;
  // 2.5 s against a bound of 0.5 s.
  EXPECT_NE(text.find("500 ms (5.00x)"), std::string::npos) << text;
}

TEST(Report, ManyPoliciesAreShownInBlocks) {
  Report report = documented_report();
  for (int i = 0; i < 6; ++i) report.runs.push_back(report.runs[0]);
  const std::string text = report_table(report);
  // 7 runs: 5 and 2.
  const auto first = text.find("\npolicy");
  EXPECT_NE(text.find("\npolicy", first + 1), std::string::npos);
}

// The block of the page that begins with this line.
std::string documented_block(const std::string& first_line) {
  const std::string page = documentation();
  const auto begin = page.find("```text\n" + first_line);
  if (begin == std::string::npos) return "no block begins with " + first_line;
  return page.substr(begin + 8, page.find("```", begin + 8) - begin - 8);
}

// Three policies, of which one fails: that of docs/report.md.
Report documented_ranking() {
  Report report = documented_report();
  RunRecord& darts = report.runs.emplace_back(report.runs[0]);
  darts.policy = "darts";
  darts.seconds = 0.75;
  darts.idle_seconds = 0.45;
  darts.bytes_in = {36'000'000};
  darts.bytes_out = {30'000'000};
  RunRecord failed;
  failed.policy = "prio";
  failed.error = "disk full: no room for tile(5,2); make room, or raise disk_space\nmore of it";
  report.runs.push_back(failed);
  return report;
}

TEST(Report, TheShortTextIsTheOneInTheDocumentation) {
  const std::string text = report_text(documented_ranking());
  EXPECT_EQ(documented_block("cholesky: "), text);
  // The long one has the same at its beginning, and errors in full.
  const std::string verbose = report_text(documented_ranking(), true);
  EXPECT_TRUE(verbose.starts_with(text)) << verbose;
  EXPECT_NE(verbose.find("\nmore of it"), std::string::npos) << verbose;
}

TEST(Report, OnANarrowTerminalColumnsAreLeftOutAndNamed) {
  const std::string wide = report_text(documented_ranking(), false, 200);
  EXPECT_EQ(wide.find("not in"), std::string::npos) << wide;
  for (const std::size_t columns : {100U, 80U, 60U, 40U}) {
    std::istringstream lines(report_text(documented_ranking(), false, columns));
    bool has_failure = false;
    for (std::string line; std::getline(lines, line);) {
      has_failure = has_failure || line.starts_with("prio failed");
      if (has_failure) continue;  // an error stays one line
      EXPECT_LE(line.size(), columns) << line;
    }
  }
  const std::string narrow = report_text(documented_ranking(), false, 60);
  EXPECT_NE(narrow.find("not in 60 columns: idle, GFlop/s, check\n"), std::string::npos) << narrow;
}

TEST(Report, TheShortTextRanksTheRunsByTimeBesideTheirBounds) {
  const std::string text = report_text(documented_ranking());
  EXPECT_LT(text.find("\ndarts"), text.find("\nlws"));
  EXPECT_LT(text.find("\nlws"), text.find("\nprio failed: disk full"));
  // 0.75 and 2.5 s against 0.5 s; 36 and 90 MB against 30 MB.
  for (const char* ratio : {"1.50x", "5.00x", "1.20x", "3.00x"}) {
    EXPECT_NE(text.find(ratio), std::string::npos) << ratio << "\n" << text;
  }
  EXPECT_NE(text.find("\nbound "), std::string::npos) << text;
  EXPECT_EQ(text.find("more of it"), std::string::npos) << "only the first line of an error";
}

TEST(Report, TheShortTextHasAtMost25LinesWhateverRan) {
  for (const int count : {1, 10, 13, 14, 40}) {
    for (const int failed : {0, 1, 15}) {
      Report report = documented_report();
      for (int i = 1; i < count; ++i) report.runs.push_back(report.runs[0]);
      RunRecord failure;
      failure.policy = "prio";
      failure.error = "disk full\nand more";
      for (int i = 0; i < failed; ++i) report.runs.push_back(failure);
      const std::string text = report_text(report);
      EXPECT_LE(std::ranges::count(text, '\n'), 25) << text;
      EXPECT_EQ(text.find("slower ones") != std::string::npos, count > 12) << text;
      EXPECT_EQ(text.find("prio failed") != std::string::npos, failed > 0) << text;
    }
  }
}

// One run of 2 workers beside a bound of 1 s and 1 MB.
std::string hint_of(double seconds, double idle_seconds, std::uint64_t tasks, Bytes loaded,
                    std::string_view by = "work", std::vector<std::string> more = {}) {
  RunRecord run;
  run.policy = "lws";
  run.seconds = seconds;
  run.idle_seconds = idle_seconds;
  run.tasks = tasks;
  run.workers = 2;
  run.bytes_in = loaded;
  (by == "work"   ? run.bounds.work_seconds
   : by == "path" ? run.bounds.path_seconds
                  : run.bounds.transfer_seconds) = by == "nothing" ? 0 : 1;
  run.bounds.compulsory_in = {1'000'000};
  Report report{.application = "graph", .parameters = {}, .machine = {}, .runs = {run}};
  for (std::string& policy : more) {
    report.runs.push_back(run);
    report.runs.back().policy = std::move(policy);
  }
  const std::string text = report_text(report);
  const std::size_t at = text.find("hint: ");
  EXPECT_TRUE(at == std::string::npos || text.find("hint: ", at + 1) == std::string::npos) << text;
  return at == std::string::npos ? "" : text.substr(at + 6, text.find('\n', at) - at - 6);
}

TEST(Report, EndsWithOneHintThatTheRunGives) {
  constexpr Bytes kLittle{1'000'000};
  constexpr Bytes kMuch{2'000'000};
  EXPECT_EQ(hint_of(1.05, 0, 100, kMuch),
            "no schedule gains more than 5 % here: more workers or faster kernels would");
  EXPECT_TRUE(
      hint_of(1.05, 0, 100, kLittle, "path").ends_with("shorter tasks on the longest path would"));
  EXPECT_TRUE(
      hint_of(1.05, 0, 100, kLittle, "links").ends_with("faster links or more memory would"));
  EXPECT_TRUE(hint_of(2, 2, 15, kMuch).starts_with("15 tasks are few for 2 workers"));
  EXPECT_NE(hint_of(2, 2, 16, kMuch).find("--policy darts,dmdas"), std::string::npos);
  EXPECT_TRUE(hint_of(2, 2, 16, kMuch, "work", {"dmdas"}).starts_with("raise --memory"));
  EXPECT_NE(hint_of(2, 2, 16, kLittle).find("vicinal explain"), std::string::npos);
  // 2 workers were busy for 2 x 2 - 0.1 s with work of 2 s, whatever they loaded meanwhile: none of them waited.
  for (const Bytes loaded : {kLittle, kMuch}) {
    EXPECT_TRUE(hint_of(2, 0.1, 16, loaded).starts_with("the kernels took 1.9x")) << loaded.value;
  }
  EXPECT_EQ(hint_of(1.4, 0.1, 16, kMuch), "");  // 1.35x: kernels on cold tiles
  EXPECT_EQ(hint_of(2, 0.1, 16, kMuch, "nothing"), "");
  // A tenth of the time is worth less loads.
  EXPECT_NE(hint_of(1.4, 0.28, 16, kMuch).find("--policy darts,dmdas"), std::string::npos);
  EXPECT_NE(hint_of(2, 2, 16, kLittle, "nothing").find("vicinal explain"), std::string::npos);
}

TEST(Report, WhatNoRunHasIsLeftOut) {
  RunRecord run;
  run.policy = "lws";
  run.seconds = 2;
  run.tasks = 5;
  run.workers = 1;
  run.nodes = {{"ram", NodeKind::ram, {}, {100}, {}, {}, 0, 0}};
  run.links = {{"ram->gpu0", {}, 0}};
  run.simulation = SimulationCost{1, 0.5};
  const Report report{.application = "graph", .parameters = {}, .machine = {}, .runs = {run}};
  for (const bool verbose : {false, true}) {
    const std::string text = report_text(report, verbose);
    for (const char* absent :
         {"GFlop/s", "residual", "check", "ram->gpu0", "longest path", "bound ", "loads"}) {
      EXPECT_EQ(text.find(absent), std::string::npos) << absent << "\n" << text;
    }
    EXPECT_NE(text.find("2 s"), std::string::npos) << text;
  }
  EXPECT_NE(report_text(report, true).find("simulated in"), std::string::npos);
}

TEST(CholeskyBounds, OfAMatrixOfFourTilesInOneTileLess) {
  // N = 40, b = 10, all kernels 1 s: 4 potrf, 6 trsm, 6 syrk, 4 gemm: 20 s of work for 2 workers.
  // Along the diagonal 4 + 3 (1 + 1) = 10 s, along the last row 2 + 3 + 2 + 1 = 8 s.
  MachineDescription machine = machine_with(Bytes{6000}, {});
  machine.workers = {{{0}, ProcessorKind::cpu, kRam}, {{1}, ProcessorKind::cpu, kRam}};
  Statistics before = empty_statistics();
  before.nodes[0].resident = {5000};
  const CholeskyWork work{.order = 40,
                          .tile = 10,
                          .element = {8},
                          .matrix = {8000},
                          .flops = 40.0 * 40 * 40 / 3,
                          .potrf = 1,
                          .trsm = 1,
                          .syrk = 1,
                          .gemm = 1};
  const RunBounds bounds = cholesky_bounds(work, machine, before);
  EXPECT_NEAR(bounds.work_seconds, 10, 1e-6);
  EXPECT_NEAR(bounds.path_seconds, 10, 1e-6);
  EXPECT_EQ(bounds.compulsory_in, Bytes{3000});   // 8000 - 5000 that are there
  EXPECT_EQ(bounds.compulsory_out, Bytes{2000});  // 8000 - 6000 that fit
  // 40^3 / (3 sqrt(2) sqrt(750)) = 550.8 elements of 8 bytes.
  EXPECT_EQ(bounds.formula_in, Bytes{4406});
  EXPECT_EQ(bounds.transfer_seconds, 0);  // no bandwidth is known
}

TEST(CholeskyBounds, ThereAreNoneOnBytesIfSomeWorkerHasNoLimit) {
  const MachineDescription machine = machine_with({}, Bytes{1000});
  const CholeskyWork work{.order = 40,
                          .tile = 10,
                          .element = {8},
                          .matrix = {8000},
                          .flops = 0,
                          .potrf = 0,
                          .trsm = 0,
                          .syrk = 0,
                          .gemm = 0};
  const RunBounds bounds = cholesky_bounds(work, machine, empty_statistics());
  EXPECT_EQ(bounds.bytes_in(), Bytes{0});
  EXPECT_EQ(bounds.bytes_out(), Bytes{0});
}

// Four tasks of 1 s read A and write a result each.
graph::Graph four_results() {
  graph::Graph graph;
  const auto kernel = graph.add_kernel({.name = "copy"});
  const auto a = graph.add_datum({.bytes = {5000}, .home = NodeKind::ram}, "A");
  for (const char* name : {"C0", "C1", "C2", "C3"}) {
    const auto c = graph.add_datum({.bytes = {4000}}, name);
    graph.add_task(kernel,
                   std::array<graph::Graph::Access, 2>{{{a, AccessMode::R}, {c, AccessMode::W}}});
  }
  return graph;
}

TEST(BoundsOfFilledData, SubtractWhatIsThereAndKeepResultsWithoutAHome) {
  MachineDescription machine = machine_with(Bytes{10'000}, {});
  machine.nodes.pop_back();  // the device
  machine.workers = {{{0}, ProcessorKind::cpu, kRam}, {{1}, ProcessorKind::cpu, kRam}};
  machine.links = {{.from = kDisk, .to = kRam, .bandwidth = {1000}, .latency = {}},
                   {.from = kRam, .to = kDisk, .bandwidth = {1000}, .latency = {}}};
  Statistics before = empty_statistics();
  before.nodes[0].resident = {2000};
  const RunBounds bounds = bounds_of_filled(four_results(), machine, {{1, 1, 0}}, before);
  EXPECT_NEAR(bounds.work_seconds, 2, 1e-6);  // 4 s for 2 workers
  EXPECT_NEAR(bounds.path_seconds, 1, 1e-6);
  EXPECT_EQ(bounds.compulsory_in, Bytes{3000});   // A, less the 2000 that are there
  EXPECT_NEAR(bounds.transfer_seconds, 3, 1e-6);  // at 1000 bytes per second
  EXPECT_EQ(bounds.compulsory_out, Bytes{6000});  // 16000 bytes of results, 10000 fit
}

TEST(BoundsOfFilledData, AreNoneOnBytesIfSomeWorkerHasNoLimit) {
  MachineDescription machine = machine_with({}, Bytes{10'000});
  machine.links = {{.from = kDisk, .to = kRam, .bandwidth = {1000}, .latency = {}},
                   {.from = kRam, .to = kDisk, .bandwidth = {1000}, .latency = {}},
                   {.from = kRam, .to = kDevice, .bandwidth = {1000}, .latency = {}},
                   {.from = kDevice, .to = kRam, .bandwidth = {1000}, .latency = {}}};
  const RunBounds bounds =
      bounds_of_filled(four_results(), machine, {{1, 1, 0}}, empty_statistics());
  EXPECT_NEAR(bounds.work_seconds, 2, 1e-6);
  EXPECT_EQ(bounds.bytes_in(), Bytes{0});
  EXPECT_EQ(bounds.bytes_out(), Bytes{0});
  EXPECT_EQ(bounds.transfer_seconds, 0);
}

}  // namespace
}  // namespace vicinal::reports
