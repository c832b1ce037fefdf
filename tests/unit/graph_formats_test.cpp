// DOT, DAX, STG and StarPU's tasks.rec.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/graph_format.hpp"
#include "support/graph_samples.hpp"
#include "support/graph_text.hpp"
#include "support/random_runs.hpp"

namespace vicinal::graphfiles {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace ::vicinal::testing;

const graph::Graph::Kernel& kernel_of(const graph::Graph& graph, std::size_t task) {
  return graph.kernels()[graph.tasks()[task].kernel];
}
double cpu_seconds(const graph::Graph& graph, std::size_t task) {
  return kernel_of(graph, task).seconds[static_cast<std::size_t>(ProcessorKind::cpu)];
}
double gpu_seconds(const graph::Graph& graph, std::size_t task) {
  return kernel_of(graph, task).seconds[static_cast<std::size_t>(ProcessorKind::gpu)];
}

void expect_refusals(Parse parse, const std::vector<Refused>& cases) {
  for (const Refused& refused : cases) {
    EXPECT_THAT(refusal(parse, refused.text), HasSubstr(refused.message)) << refused.text;
  }
}

// --- DOT -----------------------------------------------------------------------------------------
TEST(DotGraph, NodesAreTasksAndEdgesCarryData) {
  const graph::Graph graph = parse_dot(graph_sample("pipeline.dot"), "g");
  EXPECT_EQ(graph.application().name, "a pipeline");
  EXPECT_THAT(task_names(graph),
              ElementsAre("load", "filter_1", "filter_2", "join", "write out", "the \"end\""));
  EXPECT_EQ(accesses(graph, 0), "load -> filter_1 W, load -> filter_2 W");
  EXPECT_EQ(accesses(graph, 1), "load -> filter_1 R, filter_1 -> join W");
  EXPECT_EQ(accesses(graph, 3), "filter_1 -> join R, filter_2 -> join R, end of join W");
  EXPECT_EQ(accesses(graph, 5), "end of write out R");
  EXPECT_EQ(graph.data()[0].bytes, 2_MiB);  // of the subgraph's edges
  EXPECT_EQ(graph.data()[2].bytes.value, 1000U);
  EXPECT_EQ(kernel_of(graph, 0).name, "load");  // of a label the first line
  EXPECT_EQ(kernel_of(graph, 1).name, "filter");
  EXPECT_EQ(graph.tasks()[1].kernel, graph.tasks()[2].kernel);
  EXPECT_EQ(cpu_seconds(graph, 0), 0.5);
  EXPECT_EQ(cpu_seconds(graph, 1), 2);  // of all nodes
  EXPECT_EQ(gpu_seconds(graph, 4), 1e-3);
  EXPECT_EQ(graph.tasks()[0].priority, 7);
}

TEST(DotGraph, AStrictGraphHasOneEdgeBetweenTwoNodes) {
  const graph::Graph graph = parse_dot(graph_sample("simgrid.dot"), "g");
  EXPECT_THAT(task_names(graph), ElementsAre("root", "1", "2", "end"));
  EXPECT_DOUBLE_EQ(kernel_of(graph, 1).flops, 10000000129.452715);
  EXPECT_EQ(cpu_seconds(graph, 1), 0);  // a machine's speed says it
  EXPECT_EQ(cpu_seconds(graph, 0), 1e-9);
  EXPECT_EQ(accesses(graph, 3), "1 -> end R, end of 2 R");
  EXPECT_EQ(graph.data()[0].bytes.value, 10002U);  // rounded up
  EXPECT_EQ(graph.data()[2].bytes.value, 2000U);   // the last one said it
}

TEST(DotGraph, ParallelEdgesCarryTheirOwnData) {
  const graph::Graph graph =
      parse_dot("digraph { a -> b [bytes=1]; a -> b [weight=2]; a -> c -> b }", "g");
  EXPECT_EQ(accesses(graph, 2), "a -> b R, a -> b #2 R, end of c R");
}

TEST(DotGraph, SubgraphsAreAllTheirNodes) {
  const graph::Graph graph = parse_dot(
      "digraph { subgraph one { a b; {c} } -> subgraph two { d [time=1] } ; subgraph one -> e }",
      "g");
  EXPECT_THAT(task_names(graph), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(accesses(graph, 3), "end of a R, end of b R, end of c R");
  EXPECT_EQ(accesses(graph, 4), "end of a R, end of b R, end of c R");
}

TEST(DotGraph, SaysWhereAndWhatIsWrong) {
  std::string deep = "digraph ";
  for (int i = 0; i < 200; ++i) deep += "{";
  std::string many = "digraph {";
  for (int i = 0; i < 5000; ++i) many += fmt::format("n{};", i);
  expect_refusals(
      parse_dot,
      {{"graph { a -- b }", "line 1, column 1: an undirected graph does not say"},
       {"digraph { a -- b }", "line 1, column 13: -- does not say which task comes first"},
       {"digraph { a -> b", "the file ends, and the graph's end is missing: }"},
       {"digraph { a -> }", "column 16: expected a node, found \"}\""},
       {"digraph { a [time=x] }",
        "column 19: time: expected a number of seconds from 0 to 1000000000, found \"x\""},
       {"digraph { a [time=-1] }", "expected a number of seconds"},
       {"digraph { a [size=1e30] }", "size: expected a number of operations"},
       {"digraph { a -> b [bytes=\"3 MiX\"] }", "bytes: "},
       {"digraph { a -> b [bytes=nan] }", "bytes: "},
       {"digraph { a [time=1 }", "column 21: expected an attribute or ], found \"}\""},
       {"digraph { \"a }", "column 11: the text does not end"},
       {"digraph { a [label=<b] }", "the label in <> does not end"},
       {"digraph { /* a }", "the comment does not end"},
       {"digraph { a & b }", "\"&\" is nothing of DOT"},
       {"digraph { a -> b -> a }",
        "nodes: tasks that wait for each other: \"a\" -> \"b\" -> \"a\""},
       {"digraph { a -> a [bytes=5] }", "wait for each other: \"a\" -> \"a\""},
       {"digraph { a } digraph { b }", "the graph has ended: a file holds one"},
       {"digraph { node = 5 }", "expected [ behind node"},
       {"digraph { }", "g.json: the graph has no task"},
       {deep, "more than 100 braces inside each other"},
       {many + "subgraph all {" + many.substr(9) + "} -> subgraph all }",
        "more than 20000000 edges"}});
}

// --- DAX -----------------------------------------------------------------------------------------
TEST(Dax, JobsOfVersion2AreReadWithTheirFiles) {
  Notes notes;
  const graph::Graph graph = parse_dax(graph_sample("workflow-2.dax"), "g", notes);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(graph.application().name, "diamond");
  EXPECT_THAT(task_names(graph), ElementsAre("ID00001", "ID00002", "ID00003", "ID00004"));
  EXPECT_EQ(accesses(graph, 0), "f.a R, f.b1 W, f.b2 W");
  EXPECT_EQ(accesses(graph, 3), "f.c1 R, f.c2 R, state RW");
  EXPECT_EQ(graph.data()[0].bytes.value, 304U);
  EXPECT_EQ(graph.data()[2].bytes.value, 1000U);
  EXPECT_EQ(kernel_of(graph, 0).name, "prepare");
  EXPECT_EQ(graph.tasks()[1].kernel, graph.tasks()[2].kernel);
  EXPECT_EQ(cpu_seconds(graph, 1), 10.59);
  EXPECT_EQ(cpu_seconds(graph, 3), 1e-9);
}

TEST(Dax, Version3HasPrefixesProfilesAndWorkflowsInside) {
  Notes notes;
  const graph::Graph graph = parse_dax(graph_sample("workflow-3.dax"), "g", notes);
  EXPECT_EQ(graph.application().name, "split & merge");
  EXPECT_THAT(task_names(graph), ElementsAre("split", "inner", "merge"));
  EXPECT_EQ(cpu_seconds(graph, 0), 60);
  EXPECT_EQ(graph.data()[0].bytes.value, 2048U);
  EXPECT_EQ(accesses(graph, 2), "part.a R, end of inner R");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no runtime is given for \"inner\" and 1 more")));
}

std::string adag(const std::string& inside) {
  return "<adag>" + inside + "</adag>";
}

TEST(Dax, SaysWhereAndWhatIsWrong) {
  const std::string job = R"(<job id="a" name="j" runtime="1"/>)";
  std::string deep = "<adag>";
  for (int i = 0; i < 100; ++i) deep += "<a>";
  std::string wide = "<adag ";
  for (int i = 0; i < 200; ++i) wide += fmt::format("a{}='' ", i);
  expect_refusals(
      parse_dax,
      {{"<svg/>", "line 1, column 1: expected <adag>, found <svg>"},
       {"", "there is no element in it"},
       {"<adag>", "the file ends, and <adag> is still open"},
       {"<adag", "<adag does not end"},
       {"<adag></job>", "</job> stands where <adag> is open"},
       {adag(job) + "<adag/>", "a file holds one outermost element"},
       {"<!DOCTYPE a [<!ENTITY b \"c\">]>" + adag(job),
        "a document type, or an entity, is not read"},
       {adag("&lol;"), "there is no entity \"lol\""},
       {adag("&#0;"), "there is no entity \"#0\""},
       {adag("&#xD800;"), "there is no entity"},
       {adag("a & b"), "& stands alone"},
       {adag(job + job), "the job \"a\" stands twice"},
       {adag("<job name='j'/>"), "<job> has no id"},
       {adag("<job id='a' id='b'/>"), "\"id\" stands twice"},
       {adag("<job id='a' runtime='fast'/>"),
        "runtime: expected a number of seconds from 0 to 1000000000, found \"fast\""},
       {adag("<job id='a' runtime='-1'/>"), "runtime: expected a number of seconds"},
       {adag("<job id='a'><uses link='input'/></job>"), "<uses> has no name"},
       {adag("<job id='a'><uses name='f' link='up'/></job>"),
        "link: expected input, output or inout, found \"up\""},
       {adag("<job id='a'><uses name='f' size='-5'/></job>"), "size: expected a number of bytes"},
       {adag(job + "<child ref='a'><parent ref='b'/></child>"),
        "there is no job \"b\": did you mean \"a\"?"},
       {adag(job + "<child ref='a'><parent ref='a'/></child>"),
        "jobs: tasks that wait for each other"},
       {adag(""), "the graph has no task"},
       {deep, "more than 64 elements inside each other"},
       {wide, "more than 100 attributes"}});
}

// --- STG -----------------------------------------------------------------------------------------
TEST(Stg, AUnitOfTimeIsAMillisecond) {
  const graph::Graph graph = parse_stg(graph_sample("plain.stg"), "g");
  EXPECT_THAT(task_names(graph), ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_DOUBLE_EQ(cpu_seconds(graph, 2), 8e-3);
  EXPECT_EQ(cpu_seconds(graph, 0), 1e-9);
  EXPECT_EQ(accesses(graph, 3), "end of 1 R, end of 2 R, end of 3 W");
  EXPECT_EQ(accesses(graph, 5), "end of 3 R, end of 4 R");
}

TEST(Stg, AUnitOfCommunicationIsAMegabyte) {
  const graph::Graph graph = parse_stg(graph_sample("costs.stg"), "g");
  EXPECT_EQ(accesses(graph, 1), "1 -> 2 W, 1 -> 3 W, end of 0 R");
  EXPECT_EQ(accesses(graph, 3), "1 -> 3 R, end of 2 R");
  EXPECT_EQ(graph.data()[0].bytes.value, 25'000'000U);
  EXPECT_EQ(graph.data()[1].bytes.value, 2'500'000U);
}

TEST(Stg, SaysWhereAndWhatIsWrong) {
  expect_refusals(
      parse_stg,
      {{"", "expected the number of tasks, alone on a line"},
       {"0 0 0\n", "line 1: expected the number of tasks, alone"},
       {"2\n0 0 0\n", "line 2: the file says 2 tasks, and has 1: it is cut off"},
       {"1\n0 0\n", "line 2: expected a task"},
       {"1\n1 0 0\n", "line 2: expected task 0, found 1"},
       {"1\n0 x 0\n", "line 2: expected a number, found \"x\""},
       {"1\n0 -5 0\n", "time: expected a number from 0"},
       {"1\n0 nan 0\n", "expected a number, found \"nan\""},
       {"1\n0 5 1.5\n", "predecessors: expected a whole number"},
       {"2\n0 5 0\n1 5 3 0\n", "line 3: task 1 has 3 predecessors, and 1 numbers stand behind"},
       {"2\n0 5 0\n1 5 1\n", "task 1 has 1 predecessors, and only 0 stand there"},
       {"2\n0 5 0\n1 5 1 7\n", "line 3: there is no task 7, which task 1 follows"},
       {"2\n0 5 1 1\n1 5 1 0\n", "tasks: tasks that wait for each other"},
       {"2\n0 5 0\n1 5 1 0 1e30\n", "cost: expected a number"},
       {"2\n0 5 0\n1 5 2 0 4 0 5\n", "task 1 follows task 0 twice"}});
}

// --- StarPU --------------------------------------------------------------------------------------
TEST(StarpuTasks, AreSubmittedInStarpusOrder) {
  Notes notes;
  const graph::Graph graph = parse_starpu_tasks(graph_sample("tasks.rec"), "g", notes);
  EXPECT_THAT(task_names(graph), ElementsAre("potrf 1", "fill 2", "gemm 3", "gemm 4", "check 5"));
  EXPECT_EQ(accesses(graph, 0), "2a RW");
  EXPECT_EQ(accesses(graph, 1), "2b W, end of fill 2 W");
  EXPECT_EQ(accesses(graph, 2), "2a R, 2b RW, 2c scratch, end of gemm 3 W");
  EXPECT_EQ(accesses(graph, 3), "2a R, 2d commute, 2c scratch, end of gemm 3 R, end of gemm 4 W");
  EXPECT_EQ(accesses(graph, 4), "end of fill 2 R, end of gemm 4 R");
  EXPECT_EQ(graph.data()[0].bytes.value, 4096U);
  EXPECT_EQ(graph.tasks()[2].priority, -4);
  // Milliseconds; those of memory node 0 ran on cores.
  EXPECT_DOUBLE_EQ(cpu_seconds(graph, 0), 4e-3);
  EXPECT_EQ(gpu_seconds(graph, 0), 0);
  EXPECT_DOUBLE_EQ(cpu_seconds(graph, 2), 10e-3);
  EXPECT_DOUBLE_EQ(gpu_seconds(graph, 2), 0.5e-3);
  EXPECT_DOUBLE_EQ(kernel_of(graph, 2).flops, 1.769e6);
  EXPECT_EQ(cpu_seconds(graph, 4), 1e-9);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the tasks of 1 codelets")));
  std::vector<std::string> with_home;
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    if (graph.data()[d].home) with_home.emplace_back(graph.data_name(d));
  }
  EXPECT_THAT(with_home, ElementsAre("2a", "2d"));
}

TEST(StarpuTasks, TheGraphIsWrittenInOurFormat) {
  const graph::Graph graph = parse_starpu_tasks(graph_sample("tasks.rec"), "g");
  EXPECT_EQ(written(parse_graph_json(written(graph), "again")), written(graph));
}

TEST(StarpuTasks, SaysWhereAndWhatIsWrong) {
  const std::string one = "Name: a\nJobId: 1\n";
  expect_refusals(
      parse_starpu_tasks,
      {{"", "the graph has no task"},
       {"\n\nname\n", "line 3: expected \"Key: value\", found \"name\""},
       {"+ more\n", "line 1: + goes on with a value"},
       {"Name: a\nHandles: 1\nModes: R\n", "line 1: the task has no JobId"},
       {one + "\n" + one, "line 4: JobId: 1 stands twice"},
       {one + "JobId: 2\n", "line 3: JobId stands twice in a record"},
       {"JobId: x\n", "JobId: expected a whole number, found \"x\""},
       {one + "Handles: 1 2\nModes: R\n", "2 Handles, 1 Modes and 0 Sizes"},
       {one + "Handles: zz\nModes: R\n",
        "Handles: expected a whole number of base 16, found \"zz\""},
       {one + "Handles: 1\nModes: Q\n", "Modes: expected R, W, RW, RWC, S or X, found \"Q\""},
       {one + "Handles: 1\nModes: R\nSizes: -5\n", "Sizes: expected a whole number"},
       {one + "StartTime: 2\nEndTime: 1\n", "EndTime: the task ends before it starts"},
       {one + "StartTime: inf\nEndTime: 1\n", "expected a number from 0 on"},
       {one + "Priority: much\n", "Priority: expected a whole number"},
       {one + "DependsOn: two\n", "DependsOn: expected a whole number"}});
}

// --- all -----------------------------------------------------------------------------------------
TEST(GraphFormats, AreToldApartByTheirContent) {
  EXPECT_EQ(format_of(R"({"name": "x", "tasks": []})", "g"), GraphFormat::own);
  EXPECT_EQ(format_of(R"({"name": "x", "workflow": {"tasks": []}})", "g"), GraphFormat::wfformat);
  EXPECT_EQ(format_of("// a\n/* b */ # c\n DiGraph{}", "g.json"), GraphFormat::dot);
  EXPECT_EQ(format_of("\xEF\xBB\xBF<?xml?>", "g"), GraphFormat::dax);
  EXPECT_EQ(format_of("# a comment\n 4\n", "g"), GraphFormat::stg);
  EXPECT_EQ(format_of("# a comment\nModel: x\n", "g"), GraphFormat::starpu_tasks);
  EXPECT_EQ(format_of("graph: 1\n", "g"), GraphFormat::starpu_tasks);
  EXPECT_EQ(format_of("?", "g.dot"), GraphFormat::dot);
  EXPECT_THAT(refusal(parse_graph, "?"), HasSubstr("syntax error"));  // g.json
  try {
    format_of("hello", "g");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("g: it begins with \"hello\", which no graph file does"));
  }
}

// Cut off anywhere, or with some bytes changed, a file is a graph or an error of one line.
TEST(GraphFormats, ADamagedFileIsAGraphOrAnErrorOfOneLine) {
  for (const std::uint64_t seed : ::vicinal::testing::seeds(1)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    base::Random random(seed);
    std::size_t accepted = 0;
    const auto try_one = [&accepted](const std::string& text, const std::string& name) {
      try {
        expect_valid(parse_graph(text, name));
        ++accepted;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(name));
        EXPECT_THAT(error.what(), Not(HasSubstr("\n"))) << text;
      }
    };
    for (const std::string& name : graph_sample_names()) {
      const std::string whole = graph_sample(name);
      try_one(whole, name);
      for (int i = 0; i < 60; ++i) {
        try_one(whole.substr(0, random.below(whole.size())), name);
        std::string flipped = whole;
        for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
          const std::size_t at = random.below(flipped.size());
          flipped[at] = static_cast<char>(flipped[at] ^ (1U << random.below(8)));
        }
        try_one(flipped, name);
      }
    }
    EXPECT_GE(accepted, graph_sample_names().size());
  }
}

}  // namespace
}  // namespace vicinal::graphfiles
