#include "graphfiles/graph_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graph/bottom_level.hpp"
#include "support/graph_text.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {
namespace {

using Seconds = std::array<double, kProcessorKinds>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::vicinal::testing;

// --- our own format ------------------------------------------------------------------------------
constexpr std::string_view kOwn = R"json({
  "format": "vicinal-graph-1", "name": "two tiles", "precision": "float",
  "data": {
    "B": {"bytes": 3686400, "home": "ram"},
    "A": {"bytes": 4.0e3, "home": "disk"},
    "C": {"bytes": 0, "reduction": {"neutral": "gemm", "combine": "trsm"}}
  },
  "kernels": {
    "trsm": {"seconds": {"gpu": 1.409e-4, "cpu": 0.03}, "flops": 1.77e9, "cores_only": true},
    "gemm": {"synchronous": true}
  },
  "tasks": [
    {"kernel": "gemm", "accesses": [["A", "R"], ["C", "W"]], "priority": -12},
    {"kernel": "trsm", "accesses": [["C", "R"], ["B", "R"], ["C", "W"]], "name": "trsm(1,0)"},
    {"kernel": "gemm", "accesses": []}
  ]
})json";

TEST(GraphJson, KeepsTheOrderAndEveryValueOfTheFile) {
  const graph::Graph graph = parse_graph_json(kOwn, "g.json");
  EXPECT_EQ(graph.application().name, "two tiles");
  EXPECT_EQ(graph.application().precision, "float");
  EXPECT_THAT(data_names(graph), ElementsAre("B", "A", "C"));
  EXPECT_EQ(graph.data()[0].bytes.value, 3686400U);
  EXPECT_EQ(graph.data()[1].bytes.value, 4000U);  // whole, though written with a point
  EXPECT_EQ(graph.data()[2].bytes.value, 0U);
  EXPECT_EQ(graph.data()[0].home, NodeKind::ram);
  EXPECT_EQ(graph.data()[1].home, NodeKind::disk);
  EXPECT_FALSE(graph.data()[2].home);
  ASSERT_EQ(graph.kernels().size(), 2U);
  EXPECT_EQ(graph.kernels()[0].seconds, (Seconds{0.03, 0, 1.409e-4}));  // cpu, emulated, gpu
  EXPECT_EQ(graph.kernels()[0].flops, 1.77e9);
  EXPECT_FALSE(graph.kernels()[0].synchronous);
  EXPECT_TRUE(graph.kernels()[1].synchronous);
  EXPECT_TRUE(graph.kernels()[0].cores_only);
  EXPECT_FALSE(graph.kernels()[1].cores_only);
  ASSERT_EQ(graph.tasks().size(), 3U);
  EXPECT_EQ(graph.tasks()[0].kernel, 1U);
  EXPECT_EQ(graph.tasks()[0].priority, -12);
  EXPECT_EQ(accesses(graph, 0), "A R, C W");
  EXPECT_EQ(accesses(graph, 1), "C RW, B R");  // R and W of one task are RW, where the first stood
  EXPECT_EQ(graph.task_name(1), "trsm(1,0)");
  EXPECT_EQ(accesses(graph, 2), "");
}

TEST(GraphJson, TasksMayStandBeforeWhatTheyName) {
  const graph::Graph graph = parse_graph_json(
      R"({"tasks": [{"accesses": [["y", "R"], ["x", "W"]], "kernel": "b"}],
          "kernels": {"a": {}, "b": {}}, "data": {"x": {"bytes": 1}, "y": {"home": "ram", "bytes": 2}}})",
      "g.json");
  EXPECT_THAT(data_names(graph), ElementsAre("x", "y"));
  EXPECT_EQ(graph.tasks()[0].kernel, 1U);
  EXPECT_EQ(accesses(graph, 0), "y R, x W");
}

TEST(GraphJson, ADatumWrittenFirstKeepsTheHomeItIsGiven) {
  const graph::Graph graph = parse_graph_json(
      R"({"data": {"x": {"bytes": 1, "home": "disk"}}, "kernels": {"k": {}},
          "tasks": [{"kernel": "k", "accesses": [["x", "W"]]}]})",
      "g.json");
  EXPECT_EQ(graph.data()[0].home, NodeKind::disk);
}

TEST(GraphJson, WrittenAndReadAgainItIsTheSameGraph) {
  graph::Graph graph = parse_graph_json(kOwn, "g.json");
  const auto datum = graph.add_datum({.bytes = {7}}, "quoted \" \\ \n \xC3\xA9");
  const auto kernel = graph.add_kernel({.name = "third", .flops = 1.0 / 3});
  graph.add_task(kernel, std::array<graph::Graph::Access, 1>{{{datum, AccessMode::W}}});
  const graph::Graph again = parse_graph_json(written(graph), "again");
  EXPECT_EQ(written(again), written(graph));
  EXPECT_EQ(data_names(again), data_names(graph));
  EXPECT_EQ(again.kernels()[2].flops, 1.0 / 3);  // to the last bit
  EXPECT_EQ(again.kernels()[0].seconds, graph.kernels()[0].seconds);
  EXPECT_EQ(task_names(again), task_names(graph));
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    EXPECT_EQ(accesses(again, t), accesses(graph, t));
    EXPECT_EQ(again.tasks()[t].priority, graph.tasks()[t].priority);
  }
}

TEST(GraphJson, ModesThatCommuteAndScratchAreWrittenAndRead) {
  const graph::Graph graph = parse_graph_json(
      R"({"data": {"x": {"bytes": 8, "home": "ram"}, "s": {"bytes": 64}}, "kernels": {"k": {}},
          "tasks": [{"kernel": "k", "accesses": [["x", "commute"], ["s", "scratch"]]},
                    {"kernel": "k", "accesses": [["x", "commute"], ["s", "scratch"], ["x", "R"]]}]})",
      "g.json");
  const graph::Graph again = parse_graph_json(written(graph), "again");
  EXPECT_EQ(again.accesses()[0].mode, AccessMode::commute);
  EXPECT_EQ(again.accesses()[1].mode, AccessMode::scratch);
  EXPECT_EQ(again.accesses()[2].mode, AccessMode::RW);  // named twice
  EXPECT_EQ(written(again), written(graph));
}

TEST(GraphJson, ScratchHasNoContent) {
  const auto parse = [](const char* accesses) {
    return parse_graph_json(
        std::string(
            R"({"data": {"x": {"bytes": 8, "home": "ram"}, "s": {"bytes": 64}}, "kernels": {"k": {}},
                "tasks": [{"kernel": "k", "accesses": )") +
            accesses + "}]}",
        "g.json");
  };
  EXPECT_THROW(parse(R"([["x", "scratch"]])"), UsageError);
  EXPECT_THROW(parse(R"([["s", "scratch"], ["s", "W"]])"), UsageError);
  EXPECT_NO_THROW(parse(R"([["s", "scratch"], ["s", "scratch"]])"));
}

TEST(GraphJson, TwoDataOfOneNameAreNotWritten) {
  graph::Graph graph = parse_graph_json(kOwn, "g.json");
  graph.add_datum({}, graph.data_name(1));
  EXPECT_THROW(written(graph), UsageError);
}

TEST(GraphJson, DependenciesWithoutDataAreNotWritten) {
  graph::Graph graph = parse_graph_json(kOwn, "g.json");
  graph.add_task(0, {}, 0, {}, std::array<graph::Graph::Number, 1>{0});
  EXPECT_THROW(written(graph), UsageError);
}

// A graph of one task around the part that is wrong.
std::string own(std::string_view datum, std::string_view kernel, std::string_view tasks) {
  return fmt::format(R"({{"data": {{"tile_a": {}}}, "kernels": {{"gemm": {}}}, "tasks": {}}})",
                     datum, kernel, tasks);
}
std::string with_datum(std::string_view datum) {
  return own(datum, "{}", R"([{"kernel": "gemm", "accesses": []}])");
}
std::string with_kernel(std::string_view kernel) {
  return own(R"({"bytes": 1})", kernel, R"([{"kernel": "gemm", "accesses": []}])");
}
std::string with_tasks(std::string_view tasks) {
  return own(R"({"bytes": 1, "home": "ram"})", "{}", tasks);
}

TEST(GraphJson, SaysWhereAndWhatIsWrong) {
  const std::vector<Refused> cases{
      {"", "g.json: line 1, column 1: syntax error"},
      {"{\"data\": {},\n  \"tasks\": ]}",
       "g.json: line 2, column 12: syntax error while parsing value"},
      {R"({"tasks": []} x)", "line 1, column 15"},
      {"{\"name\": \"\xff\"}", "ill-formed UTF-8"},
      {"{\"name\": 1e999}", "line 1, column 14: number overflow"},
      {"[]", "the file: expected an object, found a list"},
      {"{}", "the graph: \"tasks\" is missing"},
      {R"({"taks": []})", "the graph: unknown key \"taks\": did you mean \"tasks\"?"},
      {R"({"name": "a", "name": "b"})", "the graph: \"name\" stands twice"},
      {R"({"name": null})", "name: expected a string, found null"},
      {R"({"format": "other"})", "format: expected \"vicinal-graph-1\", found \"other\""},
      {R"({"precision": "half"})", "precision: expected \"float\" or \"double\""},
      {R"({"data": {"a": {"bytes": 1}, "a": {"bytes": 1}}})", "data: \"a\" stands twice"},
      {R"({"kernels": {"a": {}, "a": {}}})", "kernels: \"a\" stands twice"},
      {R"({"data": []})", "data: expected an object, found a list"},
      {with_datum("3"), "data[\"tile_a\"]: expected an object, found a number"},
      {with_datum("{}"), "data[\"tile_a\"]: \"bytes\" is missing"},
      {with_datum(R"({"bytes": -1})"), "data[\"tile_a\"].bytes: expected a whole number from 0"},
      {with_datum(R"({"bytes": 0.5})"), "expected a whole number"},
      {with_datum(R"({"bytes": 1e300})"), "expected a whole number"},
      {with_datum(R"({"bytes": 18446744073709551615})"), "expected a whole number"},
      {with_datum(R"({"bytes": "4 MiB"})"), "bytes: expected a number, found a string"},
      {with_datum(R"({"bytes": 1, "home": "gpu"})"),
       "home: expected \"ram\" or \"disk\", found \"gpu\""},
      {with_datum(R"({"byte": 1})"),
       "data[\"tile_a\"]: unknown key \"byte\": did you mean \"bytes\"?"},
      {with_kernel(R"({"seconds": 1})"), "kernels[\"gemm\"].seconds: expected an object"},
      {with_kernel(R"({"seconds": {"gpus": 1}})"),
       "kernels[\"gemm\"].seconds: unknown key \"gpus\": did you mean \"gpu\"?"},
      {with_kernel(R"({"seconds": {"gpu": -1}})"),
       "kernels[\"gemm\"].seconds.gpu: expected a number from 0 to 1000000000, found -1"},
      {with_kernel(R"({"seconds": {"gpu": 1e10}})"), "expected a number from 0"},
      {with_kernel(R"({"seconds": {"gpu": NaN}})"), "syntax error"},
      {with_kernel(R"({"seconds": {"gpu": 1}, "flops": 1e200})"),
       "flops: expected a number from 0"},
      {with_kernel(R"({"synchronous": 1})"), "synchronous: expected true or false, found a number"},
      {with_tasks("[]"), "g.json: the graph has no task"},
      {with_tasks("[[]]"), "tasks[0]: expected an object, found a list"},
      {with_tasks("[{}]"), "tasks[0]: \"kernel\" is missing"},
      {with_tasks(R"([{"kernel": "gemm"}])"), "tasks[0]: \"accesses\" is missing"},
      {with_tasks(R"([{"kernel": "gem", "accesses": []}])"),
       "tasks[0].kernel: there is no kernel \"gem\": did you mean \"gemm\"?"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [["tile_a", "R"], ["tile_b", "R"]]}])"),
       "tasks[0].accesses[1]: there is no datum \"tile_b\": did you mean \"tile_a\"?"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [["tile_a", "X"]]}])"),
       "tasks[0].accesses[0]: expected the mode \"R\", \"W\", \"RW\", \"commute\", \"scratch\" or "
       "\"reduction\", found \"X\""},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [["tile_a"]]}])"),
       "tasks[0].accesses[0]: expected [datum, mode]"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [["tile_a", "R", "R"]]}])"),
       "expected [datum, mode]"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": ["tile_a"]}])"),
       "tasks[0].accesses[0]: expected a list, found a string"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [[1, "R"]]}])"),
       "tasks[0].accesses[0]: expected a string, found a number"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": [], "priority": 2147483648}])"),
       "tasks[0].priority: expected a whole number from -2147483648 to 2147483647"},
      {with_tasks(R"([{"kernel": "gemm", "accesses": []}, {"kernel": "gemm", "access": []}])"),
       "tasks[1]: unknown key \"access\": did you mean \"accesses\"?"},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(refusal(parse_graph_json, refused.text), HasSubstr(refused.message))
        << refused.text;
  }
}

TEST(GraphJson, AReadOfWhatNobodyWroteNamesTheTask) {
  const std::string text = own(R"({"bytes": 1})", "{}",
                               R"([{"kernel": "gemm", "accesses": []},
                                   {"kernel": "gemm", "accesses": [["tile_a", "R"], ["tile_a", "W"]]}])");
  EXPECT_THAT(
      refusal(parse_graph_json, text),
      HasSubstr("tasks[1] (gemm) reads \"tile_a\", which has no home and which no task before it "
                "writes. Give the datum a home"));
}

TEST(GraphJson, SumsThatNoClockAndNoMemoryHoldAreRefused) {
  // 5 tasks of 10^9 s: above 4 10^9 s. Two data of 2^60 bytes: above 2^60.
  std::string tasks = R"({"kernel": "gemm", "accesses": []})";
  for (int t = 1; t < 5; ++t) tasks += R"(, {"kernel": "gemm", "accesses": []})";
  const std::string slow =
      own(R"({"bytes": 1})", R"({"seconds": {"gpu": 1e9}})", "[" + tasks + "]");
  EXPECT_THAT(refusal(parse_graph_json, slow),
              HasSubstr("the tasks take 5e+09 s one after the other"));
  const std::string large =
      R"({"data": {"a": {"bytes": 1152921504606846976}, "b": {"bytes": 1}}, "kernels": {"k": {}},
          "tasks": [{"kernel": "k", "accesses": []}]})";
  EXPECT_THAT(refusal(parse_graph_json, large), HasSubstr("the data up to \"b\""));
}

TEST(GraphJson, ADatumThatNoHandleHoldsIsRefusedWithItsBytes) {
  // 2^50 + 1 bytes.
  const std::string large =
      R"({"data": {"a": {"bytes": 1125899906842625, "home": "ram"}}, "kernels": {"k": {}},
          "tasks": [{"kernel": "k", "accesses": [["a", "R"]]}]})";
  EXPECT_THAT(refusal(parse_graph_json, large), HasSubstr("\"a\" has 1125899906842625 bytes"));
}

TEST(GraphJson, ATaskHas8192AccessesAtMostEachDatumCountedOnce) {
  const auto graph = [](int data) {
    std::string described;
    std::string list;
    for (int d = 0; d < data; ++d) {
      described +=
          fmt::format("{}\"d{}\": {{\"bytes\": 8, \"home\": \"ram\"}}", d == 0 ? "" : ",", d);
      list += fmt::format("{0}[\"d{1}\", \"R\"], [\"d{1}\", \"W\"]", d == 0 ? "" : ",", d);
    }
    return fmt::format(
        R"({{"data": {{{}}}, "kernels": {{"k": {{}}}}, "tasks": [{{"kernel": "k", "accesses": [{}]}}]}})",
        described, list);
  };
  EXPECT_EQ(parse_graph_json(graph(8192), "g").tasks()[0].access_count, 8192U);
  EXPECT_THAT(refusal(parse_graph_json, graph(8193)),
              HasSubstr("tasks[0].accesses[16384]: a task has 8192 accesses at most"));
}

TEST(GraphJson, DeepNestingIsRefusedNotFollowed) {
  const std::string deep(1'000'000, '[');
  for (const std::string& text :
       {deep, "{\"name\": " + deep, "{\"workflow\": " + deep,
        "{\"schemaVersion\": \"1.5\", \"x\": " + deep + std::string(deep.size(), ']') + "}"}) {
    EXPECT_THROW(parse_graph(text, "deep"), UsageError);
    EXPECT_THROW(parse_wfformat(text, "deep"), UsageError);
  }
}

// --- both ----------------------------------------------------------------------------------------
TEST(ReadGraph, TellsTheFormatByTheContentAndNamesTheFile) {
  const ::vicinal::testing::TemporaryFolder folder;
  const auto file = [&](const std::string& name, std::string_view text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
  };
  EXPECT_EQ(read_graph(file("own.json", kOwn)).application().name, "two tiles");
  EXPECT_EQ(read_graph(file("wf.json", kWorkflow)).application().name, "blast-small");
  const auto message = [](const std::string& path) {
    try {
      read_graph(path);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message(file("bad.json", "{")), HasSubstr("bad.json: line 1"));
  EXPECT_THAT(message(folder.file("absent.json")), HasSubstr("absent.json\": No such file"));
  EXPECT_THAT(message(folder.path()), HasSubstr("it is a folder"));
}

// a writes x and y, b and c read one of each, d reads nothing; b and c are tasks of one kernel.
std::vector<int> priorities_with(std::string_view kernels) {
  graph::Graph graph =
      parse_graph_json(fmt::format(
                           R"({{"data": {{"x": {{"bytes": 1}}, "y": {{"bytes": 1}}}}, "kernels": {},
              "tasks": [{{"kernel": "a", "accesses": [["x", "W"], ["y", "W"]]}},
                        {{"kernel": "b", "accesses": [["x", "R"]]}},
                        {{"kernel": "b", "accesses": [["y", "R"]]}},
                        {{"kernel": "d", "accesses": []}}]}})",
                           kernels),
                       "g");
  set_bottom_level_priorities(graph);
  std::vector<int> list;
  for (const graph::Graph::Task& task : graph.tasks()) list.push_back(task.priority);
  return list;
}

TEST(Priorities, AreTheRanksOfBottomLevels) {
  // Times: a 1 s, b 5 s, c 5 s, d 6 s. Bottom levels: a 1 + 5, b 5, c 5, d 6: two of 6 s, two of 5 s.
  EXPECT_THAT(priorities_with(R"({"a": {"seconds": {"cpu": 3, "gpu": 1}},
                                  "b": {"seconds": {"cpu": 5}}, "d": {"seconds": {"gpu": 6}}})"),
              ElementsAre(1, 0, 0, 1));
  // Without times operations stand for them: a 4 + 2, b 2, d 3.
  EXPECT_THAT(
      priorities_with(R"({"a": {"flops": 4e12}, "b": {"flops": 2e12}, "d": {"flops": 3e12}})"),
      ElementsAre(2, 0, 0, 1));
  // Without these all tasks count the same: a 2, the others 1.
  EXPECT_THAT(priorities_with(R"({"a": {}, "b": {}, "d": {}})"), ElementsAre(1, 0, 0, 0));
}

// One to four edits: a byte changed, parts removed, doubled or exchanged for what JSON is made of.
std::string mutated(std::string text, base::Random& random) {
  static const std::vector<std::string> kPieces{"{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "\"",
                                                "null",
                                                "-1",
                                                "1e308",
                                                "18446744073709551616",
                                                "0",
                                                "\\u0000",
                                                "\"R\"",
                                                "\"W\"",
                                                "\"reduction\"",
                                                "\"a\"",
                                                "\"ID0000001\"",
                                                "true",
                                                "-0.0",
                                                "1e-320",
                                                "9007199254740993.0"};
  for (std::uint64_t edit = random.below(4) + 1; edit > 0 && !text.empty(); --edit) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = std::min<std::size_t>(random.below(30), text.size() - at);
    switch (random.below(5)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.replace(at, length, kPieces[random.below(kPieces.size())]);
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), length));
        break;
    }
  }
  return text;
}

void expect_graph_or_error(Parse parse, const std::string& text, std::uint64_t& accepted) {
  try {
    expect_valid(parse(text, "mutant"));
    ++accepted;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mutant"));
  }
}

TEST(GraphFiles, AMutantIsAGraphOrAnError) {
  constexpr int kMutants = 3000;
  for (const std::uint64_t seed : ::vicinal::testing::seeds(1)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    base::Random random(seed);
    std::uint64_t accepted = 0;
    for (int m = 0; m < kMutants; ++m) {
      expect_graph_or_error(parse_graph_json, mutated(std::string(kOwn), random), accepted);
      expect_graph_or_error(parse_wfformat, mutated(std::string(kWorkflow), random), accepted);
      expect_graph_or_error(parse_graph, mutated(std::string(kOwn), random), accepted);
    }
    EXPECT_GT(accepted, 0U);  // else the edits are too coarse to say anything
  }
}

}  // namespace
}  // namespace vicinal::graphfiles
