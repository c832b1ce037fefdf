// What is told of recorded runs. The runs are simulated: a byte takes 1 ns on each link.
#include "reports/explain.hpp"

#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analysis/critical_path.hpp"
#include "analysis/idle.hpp"
#include "support/made_run.hpp"
#include "support/temporary_folder.hpp"
#include "support/told_run.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reports {
namespace {

using ::testing::AllOf;
using testing::codelet_of;
using ::testing::HasSubstr;
using testing::machine_of;
using ::testing::Not;
using testing::TemporaryFolder;
using PlainJson = nlohmann::json;

// Runs what `submit` submits, and reads the recording of it.
template <typename Submit>
std::unique_ptr<analysis::RecordedRun> recorded(const testing::MachineParts& parts,
                                                const std::string& policy, const Submit& submit) {
  const TemporaryFolder folder;
  Options options;
  options.policy = policy;
  {
    runtime::RuntimeImpl impl(options, runtime::MachineSetup(machine_of(parts)), nullptr);
    impl.start_trace(folder.file("run.vtrace"), "all");
    submit(impl);
    impl.wait();
    impl.stop_trace();
    impl.close();
  }
  return std::make_unique<analysis::RecordedRun>(trace::Reader(folder.file("run.vtrace")));
}

PlainJson json_of(const analysis::RecordedRun& run, const ExplainRequest& request) {
  return PlainJson::parse(explain(run, request, true).json);
}

// Four tasks of 5000 ns that read a, a, a and b, of 1000 and 2000 bytes: Decisions.OfDmdaTellTheEndOnEachWorkerAndItsParts.
// The second goes to the second device: 0 would end it at 11000, 1 at 6000, its copy of 1000 ns included.
std::unique_ptr<analysis::RecordedRun> four_readers() {
  return recorded({.accelerators = 2}, "dmda", [](runtime::RuntimeImpl& impl) {
    static const Codelet codelet = codelet_of("reads", Time{0}, Time{5000});
    const Handle a = impl.add_simulated(Bytes{1000}, kRam, "a");
    const Handle b = impl.add_simulated(Bytes{2000}, kRam, "b");
    for (const Handle& handle : {a, a, a, b}) {
      impl.submit({.codelet = &codelet, .operands = {R(handle)}});
    }
  });
}

TEST(Explain, TellsWhyATaskRanWhereItRan) {
  const auto run = four_readers();
  const std::string text = explain(*run, {.task = "1"}, false).text;
  EXPECT_THAT(text, HasSubstr("reads 1, task 1 of the run, a reads, of priority 0."));
  EXPECT_THAT(text, HasSubstr("It reads a, of 1000 B."));
  EXPECT_THAT(text, HasSubstr("reads 1 was ready and was placed on"));
  EXPECT_THAT(
      text,
      HasSubstr("The rule \"least cost\": the least sum of end and transfer; the first on ties."));
  EXPECT_THAT(text, HasSubstr("free at 6 us, transfer 0 ns, run 5 us, end 11 us, tasks 1"));
  EXPECT_THAT(text, HasSubstr("free at 0 ns, transfer 1 us, run 5 us, end 6 us, tasks 0"));
  EXPECT_THAT(text, HasSubstr("a: from ram"));
  EXPECT_THAT(text, HasSubstr("No task depends on it."));
}

TEST(Explain, GivesProgramsEveryScoreAsItIs) {
  const auto run = four_readers();
  const PlainJson task = json_of(*run, {.task = "reads 1"})["task"];
  EXPECT_EQ(task["task"], 1);
  EXPECT_EQ(task["accesses"][0]["name"], "a");
  EXPECT_EQ(task["accesses"][0]["copy"]["bytes"], 1000);
  const PlainJson& placement = task["decisions"][0];
  EXPECT_EQ(placement["kind"], "placement");
  EXPECT_EQ(placement["rule"], "least cost");
  EXPECT_EQ(placement["winner"], 1);
  ASSERT_EQ(placement["candidates"].size(), 2U);
  const PlainJson scores = {
      {"free_at_ns", 6000}, {"transfer_ns", 0}, {"run_ns", 5000}, {"end_ns", 11000}, {"tasks", 1}};
  EXPECT_EQ(placement["candidates"][0]["scores"], scores);
}

// The example of Decisions.OfMemoryTellWhoHadGoneUnusedForLongest: two of three data fit, and b was used longer ago than
// a. It is read once more at the end, when one of the others must leave: a, now.
std::unique_ptr<analysis::RecordedRun> little_memory() {
  return recorded({.accelerators = 1, .memory = Bytes{8192}}, "eager",
                  [](runtime::RuntimeImpl& impl) {
                    static const Codelet codelet = codelet_of("reads", Time{0}, Time{5000});
                    const Handle a = impl.add_simulated(Bytes{4096}, kRam, "a");
                    const Handle b = impl.add_simulated(Bytes{4096}, kRam, "b");
                    const Handle c = impl.add_simulated(Bytes{4000}, kRam, "c");
                    for (const Handle& handle : {b, a, c, b}) {
                      impl.submit({.codelet = &codelet, .operands = {R(handle)}});
                      impl.wait();
                    }
                  });
}

TEST(Explain, TellsOfAnEvictionWhoLeftForWhatAndWhatItCost) {
  const auto run = little_memory();
  const std::string text = explain(*run, {.evictions = true}, false).text;
  EXPECT_THAT(text,
              HasSubstr("2 evictions; 1 came back, and tasks waited 4.096 us for these copies."));
  EXPECT_THAT(text,
              HasSubstr("b of 4 KiB left device1, as 4 KiB were needed, by the rule \"unused "
                        "and saved\" among 2; reads 2 waited for room; it came back from ram"));
  EXPECT_THAT(text, HasSubstr("a of 4 KiB left device1"));
  EXPECT_THAT(text, HasSubstr("unused and saved: of what no submitted task uses"));
  const PlainJson evictions = json_of(*run, {.evictions = true})["evictions"];
  ASSERT_EQ(evictions.size(), 2U);
  EXPECT_EQ(evictions[0]["handle"]["name"], "b");
  EXPECT_EQ(evictions[0]["decision"]["bytes"], 4096);
  EXPECT_EQ(evictions[0]["reload"]["cost_ns"], 4096);
  EXPECT_TRUE(evictions[1]["reload"].is_null());
}

TEST(Explain, TellsTheLifeOfADatum) {
  const auto run = little_memory();
  const std::string text = explain(*run, {.handle = "b"}, false).text;
  EXPECT_THAT(text, HasSubstr("b, 4 KiB, at home in ram."));
  EXPECT_THAT(text,
              HasSubstr("It travelled 8 KiB in 2 copies, 1 of them since it had been evicted"));
  EXPECT_THAT(text, HasSubstr("copied from ram to device1, 4 KiB"));
  EXPECT_THAT(text, HasSubstr("used by reads 0 on"));
  EXPECT_THAT(text, HasSubstr("copied again from ram to device1"));
  EXPECT_THAT(text, HasSubstr("device1 needed 4 KiB of room, and b had to leave."));
  const PlainJson handle = json_of(*run, {.handle = "b"})["handle"];
  EXPECT_EQ(handle["copies"].size(), 2U);
  EXPECT_EQ(handle["uses"].size(), 2U);
}

TEST(Explain, TellsTheLongestWaits) {
  const auto run = little_memory();
  const std::string text = explain(*run, {.waits = true}, false).text;
  EXPECT_THAT(text, HasSubstr("for copies: b from ram"));
  EXPECT_THAT(text, HasSubstr("in which a worker was idle"));
  const PlainJson waits = json_of(*run, {.waits = true})["waits"];
  EXPECT_EQ(waits["tasks"][0]["cause"], "data");
  EXPECT_EQ(waits["tasks"][0]["to_ns"].get<std::int64_t>() -
                waits["tasks"][0]["from_ns"].get<std::int64_t>(),
            4096);
}

// Of everything that is asked at once; each decision is somewhere, once.
TEST(Explain, TellsEachDecisionOnce) {
  const auto run = little_memory();
  const PlainJson all = json_of(*run, {.decisions = true});
  std::vector<std::uint32_t> numbers;
  const auto note = [&](const PlainJson& decision) {
    if (!decision.is_null()) numbers.push_back(decision["decision"]);
  };
  for (const PlainJson& task : all["tasks"]) std::ranges::for_each(task["decisions"], note);
  for (const PlainJson& eviction : all["evictions"]) note(eviction["decision"]);
  for (const PlainJson& handle : all["handles"]) {
    for (const PlainJson& copy : handle["copies"]) note(copy["decision"]);
  }
  std::ranges::for_each(all["other_decisions"], note);
  std::ranges::sort(numbers);
  ASSERT_EQ(numbers.size(), run->decisions.size());
  for (std::uint32_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
}

TEST(Explain, SumsUpWithoutAQuestion) {
  const auto run = little_memory();
  const std::string text = explain(*run, {}, false).text;
  EXPECT_THAT(text, HasSubstr("4 tasks on 1 worker took"));
  EXPECT_THAT(text, HasSubstr("The critical path"));
  EXPECT_THAT(text, HasSubstr("ran tasks"));
  EXPECT_THAT(text, HasSubstr("What travelled most:\n  b: 8 KiB in 2 copies, 1 of them since"));
  EXPECT_THAT(text, HasSubstr("A faster kernel for reads: so long it runs on the critical path."));
  const PlainJson summary = json_of(*run, {})["summary"];
  std::int64_t sum = 0;
  for (const auto& [cause, time] : summary["critical_path"]["by_cause_ns"].items()) {
    sum += time.get<std::int64_t>();
  }
  EXPECT_EQ(sum, summary["critical_path"]["end_ns"]);
}

std::string refusal(const analysis::RecordedRun& run, const ExplainRequest& request) {
  try {
    explain(run, request, false);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Explain, OffersTheNearestOfWhatThereIsNot) {
  const auto run = little_memory();
  EXPECT_EQ(refusal(*run, {.task = "raeds 1"}),
            "--task: the recording has no task \"raeds 1\": did you mean reads 1?");
  EXPECT_EQ(refusal(*run, {.task = "77"}),
            "--task: the recording has no task \"77\"; give its name or a number from 0 to 3");
  EXPECT_THAT(refusal(*run, {.handle = "matrix"}), HasSubstr("a number from 0 to 2"));
  EXPECT_THAT(refusal(analysis::RecordedRun(), {.handle = "a"}), HasSubstr("submission"));
}

TEST(Explain, OfARunWithoutAnythingSaysSo) {
  const analysis::RecordedRun run;
  EXPECT_THAT(explain(run, {}, true).text, HasSubstr("Nothing was copied."));
  EXPECT_EQ(explain(run, {.evictions = true}, true).text, "Nothing was evicted.\n");
  EXPECT_THAT(explain(run, {.waits = true}, true).text, HasSubstr("No task waited"));
}

// Rows of the page that name a cause, as the tables say.
TEST(Explain, ThePageShowsTheCauses) {
  std::string rows;
  const auto add = [&](std::string_view name, std::string_view sentence) {
    rows += "| `" + std::string(name) + "` | " + std::string(sentence) + " |\n";
  };
  for (const auto& cause : analysis::path_causes()) add(cause.name, cause.sentence);
  for (const auto& cause : analysis::idle_causes()) add(cause.name, cause.sentence);
  std::ifstream page(VICINAL_SOURCE_DIR "/docs/explain.md");
  std::string shown;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) shown += line + "\n";
  }
  EXPECT_EQ(shown, rows);
}

}  // namespace
}  // namespace vicinal::reports
