#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphfiles/graph_file.hpp"
#include "support/graph_text.hpp"

namespace vicinal::graphfiles {
namespace {

using KindSeconds = std::array<double, kProcessorKinds>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::vicinal::testing;

TEST(WfFormat, TasksComeInAnOrderThatTheirFilesAllow) {
  const graph::Graph graph = parse_wfformat(kWorkflow, "wf.json");
  EXPECT_EQ(graph.application().name, "blast-small");
  EXPECT_THAT(task_names(graph),
              ElementsAre("split_ID0000001", "search_ID0000002", "search_ID0000003",
                          "cat_ID0000004", "audit_ID0000005"));
  EXPECT_EQ(accesses(graph, 0), "fasta R, chunk1 W, chunk2 W");
  EXPECT_EQ(accesses(graph, 1), "chunk1 R, database R, found1 W");
  // What follows without a file follows by a datum of no bytes.
  EXPECT_EQ(accesses(graph, 3), "found1 R, found2 R, all W, end of cat_ID0000004 W");
  EXPECT_EQ(accesses(graph, 4), "end of cat_ID0000004 R");
  EXPECT_EQ(graph.data().back().bytes.value, 0U);
  EXPECT_FALSE(graph.data().back().home);
}

TEST(WfFormat, FilesThatATaskWritesHaveNoHomeTheOthersLieInRam) {
  const graph::Graph graph = parse_wfformat(kWorkflow, "wf.json");
  std::vector<std::string> with_home;
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    if (graph.data()[d].home) with_home.emplace_back(graph.data_name(d));
  }
  EXPECT_THAT(with_home, ElementsAre("fasta", "database", "unused"));
  EXPECT_EQ(graph.data()[3].bytes.value, 4000U);
}

TEST(WfFormat, EachCategoryAndTimeIsAKernel) {
  const graph::Graph graph = parse_wfformat(kWorkflow, "wf.json");
  std::vector<std::string> names;
  for (const graph::Graph::Kernel& kernel : graph.kernels()) names.push_back(kernel.name);
  EXPECT_THAT(names, ElementsAre("split", "search", "search#2", "cat", "audit"));
  EXPECT_EQ(graph.kernels()[1].seconds, (KindSeconds{3.25, 0, 3.25}));  // cpu, emulated, gpu
  EXPECT_EQ(graph.kernels()[2].seconds, (KindSeconds{4, 0, 4}));
  EXPECT_EQ(graph.kernels()[4].seconds, (KindSeconds{1e-9, 0, 1e-9}));  // 0 would mean: not known
}

TEST(WfFormat, ExportedInOurFormatItIsTheSameGraph) {
  const graph::Graph graph = parse_wfformat(kWorkflow, "wf.json");
  EXPECT_EQ(written(parse_graph_json(written(graph), "again")), written(graph));
}

// Tasks given as JSON, files a, b and c, and 1 s for every task named t1, t2, ...
std::string workflow(const std::string& tasks, int count) {
  std::string executed;
  for (int t = 1; t <= count; ++t) {
    executed += fmt::format(R"({}{{"id": "t{}", "runtimeInSeconds": 1}})", t == 1 ? "" : ",", t);
  }
  return fmt::format(
      R"({{"schemaVersion": "1.5", "workflow": {{"specification": {{"tasks": [{}], "files": [
          {{"id": "a", "sizeInBytes": 1}}, {{"id": "b", "sizeInBytes": 1}}, {{"id": "c", "sizeInBytes": 1}}]}},
          "execution": {{"tasks": [{}]}}}}}})",
      tasks, executed);
}
std::string step(int t, const std::string& more, const std::string& parents = "",
                 const std::string& children = "") {
  return fmt::format(R"({{"name": "t", "id": "t{}", "parents": [{}], "children": [{}]{}}})", t,
                     parents, children, more);
}

TEST(WfFormat, AFileIsOrderEnoughWhereNoParentsAreNamed) {
  const graph::Graph graph = parse_wfformat(
      workflow(step(1, R"(, "inputFiles": ["a"])") + "," + step(2, R"(, "outputFiles": ["a"])"), 2),
      "wf");
  EXPECT_THAT(task_names(graph), ElementsAre("t2", "t1"));
}

TEST(WfFormat, AFileOfTwoWritersIsWrittenInTheOrderOfTheParentsThenOfTheFile) {
  const std::string writes_a = R"(, "outputFiles": ["a"])";
  const std::string changes_a = R"(, "inputFiles": ["a"], "outputFiles": ["a"])";
  const graph::Graph graph = parse_wfformat(
      workflow(step(1, changes_a, "\"t3\"") + "," + step(2, writes_a) + "," + step(3, writes_a), 3),
      "wf");
  EXPECT_THAT(task_names(graph), ElementsAre("t2", "t3", "t1"));
  EXPECT_EQ(accesses(graph, 2), "a RW");
  EXPECT_FALSE(graph.data()[0].home);
}

TEST(WfFormat, AFileThatItsOnlyWriterReadsTooIsThereFromTheStart) {
  const graph::Graph graph = parse_wfformat(
      workflow(step(1, R"(, "inputFiles": ["a", "a"], "outputFiles": ["a"])"), 1), "wf");
  EXPECT_EQ(accesses(graph, 0), "a RW");
  EXPECT_TRUE(graph.data()[0].home);
}

TEST(WfFormat, AnEdgeNamedAtOneEndOnlyOrAtBothIsOneDependency) {
  for (const auto& [parents, children] :
       {std::pair("\"t2\"", ""), {"", "\"t1\""}, {"\"t2\"", "\"t1\""}}) {
    const graph::Graph graph =
        parse_wfformat(workflow(step(1, "", parents) + "," + step(2, "", "", children), 2), "wf");
    EXPECT_THAT(task_names(graph), ElementsAre("t2", "t1"));
    EXPECT_EQ(accesses(graph, 0), "end of t2 W");
    EXPECT_EQ(accesses(graph, 1), "end of t2 R");
  }
}

TEST(WfFormat, ACycleIsNamed) {
  const std::string circle =
      workflow(step(1, R"(, "inputFiles": ["a"], "outputFiles": ["b"])") + "," +
                   step(2, R"(, "inputFiles": ["b"])", "", "\"t3\"") + "," +
                   step(3, R"(, "outputFiles": ["a"])") + "," + step(4, ""),
               4);
  EXPECT_THAT(refusal(parse_wfformat, circle),
              HasSubstr("tasks that wait for each other: \"t1\" -> \"t2\" -> \"t3\" -> \"t1\""));
  EXPECT_THAT(refusal(parse_wfformat, workflow(step(1, "", "\"t1\""), 1)),
              HasSubstr("wait for each other: \"t1\" -> \"t1\""));
}

TEST(WfFormat, SaysWhereAndWhatIsWrong) {
  const std::string one = workflow(step(1, ""), 1);
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<Refused> cases{
      {"{\n[", "g.json: line 2, column 1: syntax error"},
      {"{\"schemaVersion\": 1e999}", "number overflow"},
      {"[]", "the file: expected an object"},
      {"{}", "schemaVersion: is missing"},
      {changed(one, "1.5", "1.7"), "expected \"1.0\" to \"1.6\", found \"1.7\""},
      {R"({"schemaVersion": "1.5"})", "g.json: workflow: is missing"},
      {R"({"schemaVersion": "1.5", "workflow": {}})", "workflow.specification: is missing"},
      {R"({"schemaVersion": "1.5", "workflow": {"specification": {}}})",
       "workflow.specification.tasks: is missing"},
      {changed(one, "execution", "executed"),
       "workflow.execution: is missing: without it the times"},
      {changed(one, R"("execution": {"tasks")", R"("execution": {"task")"),
       "workflow.execution.tasks: is missing"},
      {workflow(step(1, "") + "," + step(2, ""), 1),
       "workflow.execution.tasks: the task \"t2\" is missing"},
      {workflow(step(1, ""), 2),
       "workflow.execution.tasks[1].id: there is no task \"t2\": did you mean \"t1\"?"},
      {changed(one, "runtimeInSeconds", "runtime"),
       "workflow.execution.tasks[0].runtimeInSeconds: is missing"},
      {changed(one, "\"runtimeInSeconds\": 1", "\"runtimeInSeconds\": -1"),
       "expected a number from 0"},
      {changed(one, "\"sizeInBytes\": 1", "\"sizeInBytes\": -1"),
       "workflow.specification.files[0].sizeInBytes: expected a whole number"},
      {changed(one, "\"id\": \"b\"", "\"id\": \"a\""),
       "workflow.specification.files[1].id: \"a\" stands twice"},
      {workflow(step(1, "") + "," + step(1, ""), 1),
       "workflow.specification.tasks[1].id: \"t1\" stands twice"},
      {workflow(step(1, R"(, "inputFiles": ["d"])"), 1),
       "workflow.specification.tasks[0].inputFiles[0]: there is no file \"d\""},
      {workflow(step(1, R"(, "inputFiles": "a")"), 1),
       "workflow.specification.tasks[0].inputFiles: expected a list"},
      {workflow(step(1, "", "\"t7\""), 1),
       "workflow.specification.tasks[0].parents[0]: there is no task \"t7\""},
      {workflow(step(1, "", "7"), 1),
       "workflow.specification.tasks[0].parents[0]: expected a string"},
      {workflow("{}", 0), "workflow.specification.tasks[0].id: is missing"},
      {workflow("7", 0), "workflow.specification.tasks[0]: expected an object"},
      {workflow("", 0), "g.json: the graph has no task"},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(refusal(parse_wfformat, refused.text), HasSubstr(refused.message)) << refused.text;
  }
}

}  // namespace
}  // namespace vicinal::graphfiles
