#include "graph/kept_plan.hpp"

#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

std::string written(const KeptPlan& plan) {
  std::string text;
  write_plan(plan, [&](std::string_view piece) { text += piece; });
  return text;
}

void expect_same(const KeptPlan& read, const KeptPlan& plan) {
  EXPECT_EQ(read.application, plan.application);
  EXPECT_EQ(read.machine, plan.machine);
  EXPECT_EQ(read.policy, plan.policy);
  EXPECT_NEAR(read.seconds, plan.seconds, 1e-9 * plan.seconds);
  EXPECT_EQ(read.nodes, plan.nodes);
  ASSERT_EQ(read.tasks.size(), plan.tasks.size());
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    EXPECT_EQ(read.tasks[t].name, plan.tasks[t].name) << "task " << t;
    EXPECT_EQ(read.tasks[t].node, plan.tasks[t].node) << "task " << t;
    EXPECT_EQ(read.tasks[t].number, plan.tasks[t].number) << "task " << t;
  }
}

TEST(KeptPlan, IsReadAsItWasWritten) {
  const KeptPlan plan{.origin = "somewhere else",
                      .application = "a \"quoted\" one",
                      .machine = R"(back\slash)",
                      .policy = "größte Mühe \xF0\x9F\x90\x8C",
                      .seconds = 0.123456789,
                      .nodes = {"ram", "gpu0", "gpu \"1\"\\"},
                      .tasks = {{"gemm(3,1,0)", 1, 0},
                                {"two\nlines\tand a tabulator", 2, 0},
                                {R"("], ["x", 0)", 0, 0},
                                {R"(\n\u0041\)", 0, std::numeric_limits<std::uint32_t>::max() - 1},
                                {"Überlauf", 1, 7},
                                {"Überlauf", 2, 6},
                                {" ", 0, 0}}};
  const KeptPlan read = parse_plan(written(plan), "the file");
  expect_same(read, plan);
  EXPECT_EQ(read.origin, "the file");
}

TEST(KeptPlan, OfRandomNamesAndNumbersIsReadAsItWasWritten) {
  testing::for_each_seed(50, [](base::Random& random, std::uint64_t /*seed*/) {
    constexpr std::string_view kPieces[] = {
        "a", "\"", "\\", "\n", "\t", "/", "[", "],", "{", ":", "ß", "€", "\xF0\x9F\x90\x8C", "0"};
    const auto text = [&](std::uint64_t least) {
      std::string name;
      for (std::uint64_t i = least + random.below(6); i > 0; --i) {
        name += kPieces[random.below(std::size(kPieces))];
      }
      return name;
    };
    KeptPlan plan{.application = text(0), .machine = text(0), .policy = text(0)};
    plan.seconds = static_cast<double>(random.below(1'000'000)) * 1e-3;
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      plan.nodes.push_back(fmt::format("{}{}", text(0), n));
    }
    const std::uint64_t tasks = plan.nodes.empty() ? 0 : random.below(30);
    for (std::uint32_t t = 0; t < tasks; ++t) {
      const auto node = static_cast<std::uint32_t>(random.below(plan.nodes.size()));
      plan.tasks.push_back({text(1), node, t});
    }
    expect_same(parse_plan(written(plan), "p"), plan);
  });
}

TEST(KeptPlan, NeedsOnlyFormatNodesAndTasks) {
  const KeptPlan plan =
      parse_plan(R"({"format": "vicinal-plan-1", "nodes": [], "tasks": [], "more": 1})", "p");
  EXPECT_EQ(plan.application, "");
  EXPECT_EQ(plan.machine, "");
  EXPECT_EQ(plan.policy, "");
  EXPECT_EQ(plan.seconds, 0);
  EXPECT_TRUE(plan.nodes.empty());
  EXPECT_TRUE(plan.tasks.empty());
}

// What a terminal cannot show is replaced, in the names of tasks also when it was written by hand.
TEST(KeptPlan, ShowsNoControlCharacters) {
  const std::string replaced = "a\xEF\xBF\xBDz";
  KeptPlan plan{.application = "a\x1Bz", .nodes = {"ram"}, .tasks = {{"a\xFFz", 0, 0}}};
  const KeptPlan read = parse_plan(written(plan), "p");
  EXPECT_EQ(read.application, replaced);
  EXPECT_EQ(read.tasks[0].name, replaced);
  const KeptPlan by_hand = parse_plan(
      R"({"format": "vicinal-plan-1", "nodes": ["ram"], "tasks": [["a\u001bz", 0]]})", "p");
  EXPECT_EQ(by_hand.tasks[0].name, replaced);
}

// With these members behind the format.
std::string text_with(std::string_view members) {
  return fmt::format(R"({{"format": "vicinal-plan-1", {}}})", members);
}

TEST(KeptPlan, IsRefusedWithThePlaceAndWhatIsWrongThere) {
  struct Refused {
    std::string text;
    std::vector<std::string> parts;
  };
  const auto tasks = [](std::string_view list) {
    return text_with(fmt::format(R"("nodes": ["ram", "gpu0"], "tasks": [["a", 0], {}])", list));
  };
  const std::vector<Refused> all{
      {"", {"parse error"}},
      {"hello", {"parse error", "line 1"}},
      {R"({"format": "vicinal-plan-1", "nodes": ["ram"], "tas)", {"parse error", "line 1"}},
      {"[]", {"vicinal-plan-1", "vicinal plan makes one"}},
      {"{}", {"vicinal-plan-1", "vicinal plan makes one"}},
      {R"({"format": 1})", {"vicinal-plan-1"}},
      {R"({"format": "vicinal-graph-1", "nodes": [], "tasks": []})", {"vicinal-plan-1"}},
      {text_with(R"("tasks": [])"), {"nodes", "list"}},
      {text_with(R"("nodes": "ram", "tasks": [])"), {"nodes", "list"}},
      {text_with(R"("nodes": ["ram", 1], "tasks": [])"), {"nodes[1]", "text"}},
      {text_with(R"("nodes": ["ram", "x", "ram"], "tasks": [])"), {"nodes[2]", "twice"}},
      {text_with(R"("nodes": [])"), {"tasks", "list"}},
      {text_with(R"("nodes": [], "tasks": {})"), {"tasks", "list"}},
      {text_with(R"("nodes": [], "tasks": [["a", 0]])"), {"tasks[0]", "below 0"}},
      {text_with(R"("application": 3, "nodes": [], "tasks": [])"), {"application", "text"}},
      {text_with(R"("machine": null, "nodes": [], "tasks": [])"), {"machine", "text"}},
      {text_with(R"("policy": [], "nodes": [], "tasks": [])"), {"policy", "text"}},
      {text_with(R"("seconds": "3", "nodes": [], "tasks": [])"), {"seconds", "number"}},
      {tasks(R"({"name": "b", "node": 0})"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"("b")"), {"tasks[1]", R"(["name", node])"}},
      {tasks("[]"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"(["b"])"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"(["b", 0, 0, 0])"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"([1, 0])"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"(["", 0])"), {"tasks[1]", R"(["name", node])"}},
      {tasks(R"(["b", 2])"), {"tasks[1]", "node", "below 2"}},
      {tasks(R"(["b", -1])"), {"tasks[1]", "node", "below 2"}},
      {tasks(R"(["b", 0.5])"), {"tasks[1]", "node", "whole number"}},
      {tasks(R"(["b", "ram"])"), {"tasks[1]", "node", "whole number"}},
      {tasks(R"(["b", 18446744073709551617])"), {"tasks[1]", "node", "below 2"}},
      {tasks(R"(["b", 0, -1])"), {"tasks[1]", "task's number"}},
      {tasks(R"(["b", 0, "1"])"), {"tasks[1]", "task's number"}},
      {tasks(R"(["b", 0, 4294967295])"), {"tasks[1]", "task's number", "below 4294967295"}},
      {tasks(R"(["a", 1])"), {"tasks[1]", "task a ", "twice"}},
      {tasks(R"(["a", 1, 0])"), {"tasks[1]", "task a ", "twice"}},
  };
  for (const Refused& each : all) {
    const std::string message =
        message_of<UsageError>([&] { static_cast<void>(parse_plan(each.text, "my.plan")); });
    EXPECT_TRUE(message.starts_with("plan my.plan: ")) << each.text << ": " << message;
    for (const std::string& part : each.parts) {
      EXPECT_THAT(message, HasSubstr(part)) << each.text;
    }
  }
}

TEST(KeptPlan, CutOffIsRefusedWhereverItEnds) {
  const KeptPlan plan{.nodes = {"ram"}, .tasks = {{"a", 0, 0}, {"b", 0, 12}}};
  const std::string whole = written(plan);
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    EXPECT_THAT(message_of<UsageError>([&] {
                  static_cast<void>(parse_plan(std::string_view(whole).substr(0, size), "p"));
                }),
                HasSubstr("plan p: "))
        << size << " bytes";
  }
}

TEST(KeptPlan, InAFileIsRead) {
  const TemporaryFolder folder;
  const KeptPlan plan{.nodes = {"ram"}, .tasks = {{"a", 0, 0}}};
  std::ofstream(folder.file("a.plan")) << written(plan);
  const KeptPlan read = read_plan(folder.file("a.plan"));
  expect_same(read, plan);
  EXPECT_EQ(read.origin, folder.file("a.plan"));
}

TEST(KeptPlan, WhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path(), folder.file("missing.plan")}) {
    const std::string message = message_of<UsageError>([&] { static_cast<void>(read_plan(path)); });
    EXPECT_THAT(message, AllOf(HasSubstr("plan " + path), HasSubstr("; "))) << path;
  }
}

}  // namespace
}  // namespace vicinal::graph
