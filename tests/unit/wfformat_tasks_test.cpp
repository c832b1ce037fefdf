// WfFormat up to 1.4: workflow.tasks, or workflow.jobs, with their files.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphfiles/graph_file.hpp"
#include "support/graph_samples.hpp"
#include "support/graph_text.hpp"

namespace vicinal::graphfiles {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace ::vicinal::testing;

std::string home_of(const graph::Graph& graph, std::size_t datum) {
  return graph.data()[datum].home ? "ram" : "none";
}

TEST(WfFormatTasks, JobsOfVersion10AreReadWithTheirFiles) {
  Notes notes;
  const graph::Graph graph = parse_wfformat(graph_sample("wfformat-1.0.json"), "wf", notes);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(graph.application().name, "count");
  EXPECT_THAT(task_names(graph),
              ElementsAre("split_ID0000001", "count_ID0000002", "count_ID0000003", "add_ID0000004",
                          "clean_ID0000005"));
  EXPECT_EQ(accesses(graph, 0), "text R, half1 W, half2 W");
  EXPECT_EQ(accesses(graph, 3), "sum1 R, sum2 R, end of add_ID0000004 W");
  EXPECT_EQ(accesses(graph, 4), "end of add_ID0000004 R");
  EXPECT_EQ(graph.kernels()[graph.tasks()[1].kernel].name, "count");
  EXPECT_EQ(graph.kernels()[graph.tasks()[2].kernel].name, "count#2");
  EXPECT_EQ(graph.kernels()[graph.tasks()[0].kernel].seconds[0], 1.5);
  EXPECT_EQ(graph.kernels()[graph.tasks()[3].kernel].seconds[0], 1e-9);
  EXPECT_EQ(home_of(graph, 0), "ram");
  EXPECT_EQ(home_of(graph, 1), "none");
}

TEST(WfFormatTasks, WhatIsLeftOutOrNamesNothingIsToldNotRefused) {
  Notes notes;
  const graph::Graph graph = parse_wfformat(graph_sample("wfformat-1.3.json"), "wf", notes);
  EXPECT_THAT(task_names(graph), ElementsAre("make_ID000001", "use_ID000002", "later_ID000003"));
  EXPECT_EQ(accesses(graph, 0), "made W, end of make_ID000001 W");
  EXPECT_EQ(accesses(graph, 1), "made R, made.log W");
  EXPECT_EQ(accesses(graph, 2), "end of make_ID000001 R");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no runtime is given for \"later_ID000003\""),
                                 HasSubstr("left out: \"gone_ID000009\"")));
}

// TRIM 1 -> ALIGN 3 and TRIM 2 -> ALIGN 4 by their files; INDEX, of which there is one, before both ALIGN.
TEST(WfFormatTasks, NamesOfSeveralTasksMeanThoseThatExchangeFiles) {
  Notes notes;
  const graph::Graph graph = parse_wfformat(graph_sample("wfformat-1.4.json"), "wf", notes);
  EXPECT_THAT(task_names(graph),
              ElementsAre("TRIM_1", "TRIM_2", "INDEX", "ALIGN_3", "ALIGN_4", "REPORT"));
  EXPECT_EQ(accesses(graph, 3), "/b1/trimmed R, /c1/log W, end of INDEX R");
  EXPECT_EQ(accesses(graph, 4), "/b2/trimmed R, /c2/log W, end of INDEX R");
  EXPECT_EQ(accesses(graph, 5), "/c1/log R, /c2/log R, end of TRIM_1 R, end of TRIM_2 R");
  // One program says 10 bytes, another 0.
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    if (graph.data_name(d) != "/c2/log") continue;
    EXPECT_EQ(graph.data()[d].bytes.value, 10U);
  }
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no runtime is given for \"ALIGN\"")));
}

// A workflow of tasks given as JSON.
std::string tasks_of(const std::string& tasks) {
  return fmt::format(R"({{"schemaVersion": "1.4", "workflow": {{"tasks": [{}]}}}})", tasks);
}
std::string task_of(const std::string& name, const std::string& more) {
  return fmt::format(R"({{"name": "{}", "runtime": 1{}}})", name, more);
}

// Of two kinds that exchange nothing all follow all, but never in a circle: B names A as its child, too.
TEST(WfFormatTasks, AGuessThatWouldCloseACircleCountsForNothing) {
  const graph::Graph graph =
      parse_wfformat(tasks_of(task_of("A", R"(, "id": "1", "children": ["B"])") + "," +
                              task_of("A", R"(, "id": "2", "children": ["B"])") + "," +
                              task_of("B", R"(, "id": "3", "children": ["A", "B"])") + "," +
                              task_of("B", R"(, "id": "4", "parents": ["A"])")),
                     "wf");
  EXPECT_THAT(task_names(graph), ElementsAre("A_1", "A_2", "B_3", "B_4"));
  EXPECT_EQ(accesses(graph, 2), "end of A_1 R, end of A_2 R, end of B_3 W");
}

TEST(WfFormatTasks, TasksAreNamedByNameOrById) {
  const graph::Graph graph = parse_wfformat(
      tasks_of(task_of("a", R"(, "id": "ID1")") + "," + task_of("b", R"(, "parents": ["ID1"])") +
               "," + task_of("c", R"(, "id": 7, "parents": ["b", "c"])")),
      "wf");
  EXPECT_EQ(accesses(graph, 1), "end of a R, end of b W");
  EXPECT_EQ(accesses(graph, 2), "end of b R");  // one is not its own parent
}

// The reader goes first: what its child writes later is another version.
TEST(WfFormatTasks, NamedParentsWinOverFiles) {
  const graph::Graph graph = parse_wfformat(
      tasks_of(task_of("reads", R"(, "files": [{"name": "f", "link": "input", "size": 3}])") + "," +
               task_of("writes",
                       R"(, "parents": ["reads"], "files": [{"name": "f", "link": "output"}])")),
      "wf");
  EXPECT_THAT(task_names(graph), ElementsAre("reads", "writes"));
  EXPECT_EQ(accesses(graph, 1), "f W");
  EXPECT_EQ(home_of(graph, 0), "ram");
}

TEST(WfFormatTasks, FilesWithoutLinkAndFilesThatAreBoth) {
  const graph::Graph graph = parse_wfformat(
      tasks_of(task_of(
          "a",
          R"(, "files": [{"name": "x", "size": null}, {"name": "y", "link": "input", "sizeInBytes": 4.0},
                                           {"name": "y", "link": "output", "size": 4}, {"name": "z", "link": "inout"}])")),
      "wf");
  EXPECT_EQ(accesses(graph, 0), "x R, y RW, z RW");
  EXPECT_EQ(graph.data()[1].bytes.value, 4U);
}

TEST(WfFormatTasks, SaysWhereAndWhatIsWrong) {
  const std::vector<Refused> cases{
      {R"({"schemaVersion": "1.4", "workflow": {}})", "workflow.tasks: is missing"},
      {R"({"schemaVersion": "1.7", "workflow": {"tasks": []}})",
       "expected \"1.0\" to \"1.6\", found \"1.7\""},
      {R"({"schemaVersion": 1.4, "workflow": {"tasks": []}})", "found no string"},
      {R"({"schemaVersion": "1.4", "workflow": {"tasks": {}}})", "workflow.tasks: expected a list"},
      {R"({"schemaVersion": "1.2", "workflow": {"jobs": [7]}})",
       "workflow.jobs[0]: expected an object"},
      {tasks_of(""), "the graph has no task"},
      {tasks_of("{}"), "workflow.tasks[0].name: is missing"},
      {tasks_of(R"({"name": "a", "runtime": -1})"), "workflow.tasks[0].runtime: expected a number"},
      {tasks_of(R"({"name": "a", "runtimeInSeconds": "1"})"),
       "workflow.tasks[0].runtimeInSeconds: expected a number"},
      {tasks_of(task_of("a", R"(, "files": 7)")), "workflow.tasks[0].files: expected a list"},
      {tasks_of(task_of("a", R"(, "files": [7])")), "files[0]: expected an object"},
      {tasks_of(task_of("a", R"(, "files": [{}])")), "files[0].name: is missing"},
      {tasks_of(task_of("a", R"(, "files": [{"name": "f", "size": -1}])")),
       "workflow.tasks[0].files[0].size: expected a whole number"},
      {tasks_of(task_of("a", R"(, "files": [{"name": "f", "link": "sideways"}])")),
       "files[0].link: expected \"input\" or \"output\""},
      {tasks_of(task_of("a", R"(, "parents": "b")")), "workflow.tasks[0].parents: expected a list"},
      {tasks_of(task_of("a", R"(, "parents": [{}])")), "parents[0]: expected a string"},
      {tasks_of(task_of("a", R"(, "id": "1")") + "," + task_of("a", R"(, "id": "1")")),
       "workflow.tasks[1].id: \"1\" stands twice"},
      {tasks_of(task_of("a", R"(, "parents": ["b"])") + "," +
                task_of("b", R"(, "parents": ["a"])")),
       "wait for each other: \"a\" -> \"b\" -> \"a\""},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(refusal(parse_wfformat, refused.text), HasSubstr(refused.message)) << refused.text;
  }
}

}  // namespace
}  // namespace vicinal::graphfiles
