// What is learned of run times: outliers, evenness, the law of sizes, the file, and the way of a task's
// time from the worker to the policy.
#include "machine/performance_model.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/lifecycle.hpp"
#include "engine/run_times.hpp"
#include "graph/handle.hpp"
#include "support/queue_policy.hpp"
#include "support/random_runs.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::machine {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::TemporaryFolder;
using Reading = PerformanceModel::Reading;
constexpr ProcessorKind kCpu = ProcessorKind::cpu;

RunHistory history_of(std::initializer_list<std::int64_t> runs) {
  RunHistory history;
  for (const std::int64_t ns : runs) history.add(Time{ns});
  return history;
}

Footprint footprint(std::uint64_t bytes, AccessMode mode = AccessMode::RW) {
  Footprint result;
  result.add(Bytes{bytes}, mode);
  return result;
}

void add(PerformanceModel& model, std::uint64_t bytes, std::int64_t ns, int times = 1) {
  const Time run{ns};
  for (int i = 0; i < times; ++i) model.add("f", kCpu, footprint(bytes), {&run, 1});
}

// --- one footprint

TEST(RunHistory, ExpectsTheMeanOfItsRuns) {
  EXPECT_EQ(history_of({}).expected(), Time{0});
  EXPECT_EQ(history_of({100}).expected(), Time{100});
  EXPECT_EQ(history_of({100, 200}).expected(), Time{150});
  EXPECT_EQ(history_of({0}).expected(), Time{1});  // 0 would mean unknown
}

// Median 100: 401 is beyond four times it, 24 below a quarter; 400 and 25 count:
// (100 + 100 + 100 + 400 + 25) / 5 = 145.
TEST(RunHistory, LeavesOutWhatIsFourTimesOffTheMedian) {
  EXPECT_EQ(history_of({100, 100, 401, 100, 24}).expected(), Time{100});
  EXPECT_EQ(history_of({100, 100, 400, 100, 25}).expected(), Time{145});
  // A first run that found cold caches is left out as soon as there is another: the lower of two is
  // taken for their median.
  EXPECT_EQ(history_of({1'000'000, 100}).expected(), Time{100});
}

TEST(RunHistory, FollowsATrueChangeAfterEightRuns) {
  RunHistory history;
  for (int i = 0; i < 100; ++i) history.add(Time{1000});
  for (int i = 0; i < 7; ++i) history.add(Time{10'000});
  EXPECT_EQ(history.expected(), Time{1000});
  history.add(Time{10'000});  // eight of the last fifteen
  EXPECT_EQ(history.expected(), Time{10'000});
}

// Tasks that are alike have equal predictions: 1050 and 1090 are within a tenth of what is known.
TEST(RunHistory, KeepsWhatItSaidWhileTheMeanIsWithinATenthOfIt) {
  RunHistory history;
  for (int i = 0; i < 15; ++i) history.add(Time{1000});
  for (int i = 0; i < 15; ++i) history.add(Time{1090});
  EXPECT_EQ(history.expected(), Time{1000});
  for (int i = 0; i < 15; ++i) history.add(Time{1200});
  EXPECT_GT(history.expected(), Time{1100});
}

TEST(RunHistory, IsStableWithFifteenEvenRuns) {
  RunHistory even;
  for (int i = 0; i < 14; ++i) even.add(Time{i % 2 == 0 ? 950 : 1050});
  EXPECT_FALSE(even.stable());
  even.add(Time{1000});
  EXPECT_TRUE(even.stable());
  even.add(Time{100'000});  // an outlier does not make it uneven
  EXPECT_TRUE(even.stable());
  RunHistory uneven;  // a fifth off their mean
  for (int i = 0; i < 100; ++i) uneven.add(Time{i % 2 == 0 ? 800 : 1200});
  EXPECT_FALSE(uneven.stable());
}

TEST(RunHistory, FreshRunsComeAfterThoseStored) {
  RunHistory mine;
  const Time old[] = {Time{5}, Time{6}};
  mine.restore(2, old);
  EXPECT_EQ(mine.fresh(), 0U);
  mine.add(Time{7});
  RunHistory stored;  // by now another process has added 8
  const Time later[] = {Time{5}, Time{6}, Time{8}};
  stored.restore(3, later);
  const RunHistory both = mine.after(stored);
  ASSERT_EQ(both.count(), 4U);
  EXPECT_EQ(both.run(0), Time{5});
  EXPECT_EQ(both.run(2), Time{8});
  EXPECT_EQ(both.run(3), Time{7});
}

// --- the law of sizes

// 2e-9 s times bytes^1.5, exactly.
TEST(PowerLaw, FindsTheLawThatThePointsObey) {
  std::vector<PowerLaw::Point> points;
  for (const double bytes : {1e3, 1e4, 1e5}) points.push_back({bytes, 2e-9 * std::pow(bytes, 1.5)});
  const auto law = PowerLaw::fit(points);
  ASSERT_TRUE(law.has_value());
  EXPECT_NEAR(law->b, 1.5, 1e-12);
  EXPECT_NEAR((*law)(Bytes{20'000}).seconds(), 2e-9 * std::pow(2e4, 1.5), 1e-8);
  EXPECT_EQ((*law)(Bytes{99}), Time{0});  // more than ten times below the smallest
  EXPECT_GT((*law)(Bytes{1'000'000}), Time{0});
  EXPECT_EQ((*law)(Bytes{1'000'001}), Time{0});
}

TEST(PowerLaw, TakesThreeSizesAndNoLawByWhichLargerIsFaster) {
  const PowerLaw::Point two[] = {{1e3, 1}, {1e4, 2}, {1e4, 2.1}};
  EXPECT_FALSE(PowerLaw::fit(two).has_value());
  const PowerLaw::Point falling[] = {{1e3, 3}, {1e4, 2}, {1e5, 1}};
  EXPECT_FALSE(PowerLaw::fit(falling).has_value());
  EXPECT_FALSE(PowerLaw::fit({}).has_value());
}

// --- all of them

TEST(Footprint, TellsSizesModesAndTheirOrderApart) {
  const auto of = [](std::initializer_list<std::pair<std::uint64_t, AccessMode>> operands) {
    Footprint result;
    for (const auto& [bytes, mode] : operands) result.add(Bytes{bytes}, mode);
    return result.hash();
  };
  using enum AccessMode;
  EXPECT_EQ(of({{8, R}, {16, RW}}), of({{8, R}, {16, RW}}));
  EXPECT_NE(of({{8, R}, {16, RW}}), of({{16, R}, {8, RW}}));
  EXPECT_NE(of({{8, R}, {16, RW}}), of({{8, R}, {16, W}}));
  EXPECT_NE(of({{8, R}}), of({{8, R}, {0, R}}));
  // Stored in files: a change of this number is a new version of the file.
  EXPECT_EQ(footprint(4096).hash(), 0x574c46b8cb6376ecULL);
}

TEST(PerformanceModel, PredictsFromTheRunsOfTheFootprintThenByTheLawOfSizes) {
  PerformanceModel model;
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{0});
  add(model, 1000, 500);
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{500});
  EXPECT_EQ(model.predict("g", kCpu, footprint(1000)), Time{0});
  EXPECT_EQ(model.predict("f", ProcessorKind::emulated, footprint(1000)), Time{0});
  add(model, 2000, 1000);
  EXPECT_EQ(model.predict("f", kCpu, footprint(3000)), Time{0});  // of two sizes there is no law
  add(model, 4000, 2000);
  // Half a nanosecond a byte.
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(3000)).ns), 1500, 1);
  EXPECT_EQ(model.predict("f", kCpu, footprint(0)), Time{0});
  // The law follows what is learned: a whole nanosecond a byte, within the tenth of what is learned.
  for (const std::uint64_t bytes : {1000, 2000, 4000}) {
    add(model, bytes, static_cast<std::int64_t>(bytes), 15);
  }
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(3000)).ns), 3000, 300);
}

TEST(PerformanceModel, SaysWhenRunsAreEvenEnoughToTimeFewOfThem) {
  PerformanceModel model;
  const Time run{1000};
  for (int i = 0; i < 14; ++i) EXPECT_FALSE(model.add("f", kCpu, footprint(8), {&run, 1}));
  EXPECT_TRUE(model.add("f", kCpu, footprint(8), {&run, 1}));
}

TEST(PerformanceModel, KeepsABoundedNumberOfFootprints) {
  PerformanceModel model;
  for (std::uint64_t bytes = 1; bytes <= 5000; ++bytes) {
    add(model, bytes, static_cast<std::int64_t>(bytes));
  }
  EXPECT_EQ(model.runs("f", kCpu, footprint(1)), 1U);
  EXPECT_EQ(model.runs("f", kCpu, footprint(5000)), 0U);
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(5000)).ns), 5000, 5);
}

// --- the file

std::string file_in(const TemporaryFolder& folder) {
  return *performance_model_file(folder.path());
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PerformanceFile, BringsBackWhatWasLearnedAndAddsToIt) {
  const TemporaryFolder folder("models");
  const std::string path = file_in(folder);
  std::string why;
  {
    PerformanceModel model;
    EXPECT_EQ(model.read(path, why), Reading::absent);
    EXPECT_TRUE(model.write(path, why));  // nothing was learned
    EXPECT_FALSE(std::filesystem::exists(path));
    add(model, 1000, 500, 20);
    add(model, 2000, 900);
    EXPECT_TRUE(model.write(path, why)) << why;
  }
  PerformanceModel model;
  ASSERT_EQ(model.read(path, why), Reading::read) << why;
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{500});
  EXPECT_EQ(model.predict("f", kCpu, footprint(2000)), Time{900});
  EXPECT_EQ(model.runs("f", kCpu, footprint(1000)), 20U);
  add(model, 1000, 500);
  PerformanceModel other;  // another process, which learned meanwhile
  ASSERT_EQ(other.read(path, why), Reading::read);
  add(other, 3000, 1300);
  ASSERT_TRUE(other.write(path, why));
  ASSERT_TRUE(model.write(path, why));
  PerformanceModel both;
  ASSERT_EQ(both.read(path, why), Reading::read);
  EXPECT_EQ(both.runs("f", kCpu, footprint(1000)), 21U);
  EXPECT_EQ(both.runs("f", kCpu, footprint(2000)), 1U);
  EXPECT_EQ(both.runs("f", kCpu, footprint(3000)), 1U);
  // Replaced as a whole: nothing else is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

std::string well_formed() {
  const TemporaryFolder folder("models");
  PerformanceModel model;
  add(model, 1000, 500, 3);
  std::string why;
  EXPECT_TRUE(model.write(file_in(folder), why));
  return content(file_in(folder));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

Reading read_text(const std::string& text, std::string& why) {
  const TemporaryFolder folder("models");
  std::ofstream(file_in(folder)) << text;
  PerformanceModel model;
  const Reading reading = model.read(file_in(folder), why);
  if (reading == Reading::refused) {
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(model.runs("f", kCpu, footprint(1000)), 0U);  // nothing of it is taken over
    add(model, 1000, 500);
    EXPECT_FALSE(model.write(file_in(folder), why)) << "what is not ours is not replaced";
    EXPECT_EQ(content(file_in(folder)), text);
  }
  return reading;
}

TEST(PerformanceFile, WhatIsNotAsItIsWrittenIsRefusedAndLeftAsItIs) {
  const std::string good = well_formed();
  std::string why;
  EXPECT_EQ(read_text(good, why), Reading::read);
  const std::vector<std::string> bad = {
      "",
      "{}",
      "[1]",
      "null",
      std::string(100'000, '['),
      std::string("\0\1\2", 3),
      good.substr(0, good.size() / 2),
      replaced(good, "vicinal performance model", "another"),
      replaced(good, "\"count\":3", "\"count\":2"),
      replaced(good, "\"count\":3", "\"count\":-3"),
      replaced(good, "\"count\":3", "\"count\":1e9"),
      replaced(good, "\"kind\":\"cpu\"", "\"kind\":\"tpu\""),
      replaced(good, "[500,500,500]", "[]"),
      replaced(good, "[500,500,500]", "[500,0,500]"),
      replaced(good, "[500,500,500]", "[500,9223372036854775807,500]"),
      replaced(good, "[500,500,500]", "[500,\"500\",500]"),
      replaced(good, "\"bytes\":1000", "\"bytes\":null"),
      replaced(good, "\"footprint\":\"", "\"footprint\":\"x"),
  };
  for (const std::string& text : bad) {
    EXPECT_EQ(read_text(text, why), Reading::refused) << text.substr(0, 300);
  }
  EXPECT_EQ(read_text(replaced(good, "\"version\":1", "\"version\":2"), why), Reading::refused);
  EXPECT_THAT(why, HasSubstr("version"));
  EXPECT_EQ(read_text(replaced(good, "\"host\":\"", "\"host\":\"not-"), why), Reading::refused);
  EXPECT_THAT(why, HasSubstr("host not-"));
}

TEST(PerformanceFile, WhatCannotBeReadOrWrittenIsNoCrash) {
  const TemporaryFolder folder("models");
  std::string why;
  PerformanceModel model;
  add(model, 8, 8);
  EXPECT_EQ(model.read(folder.path(), why), Reading::refused);  // a folder
  EXPECT_FALSE(model.write("/proc/vicinal/models.json", why));
  EXPECT_FALSE(why.empty());
}

// Any change of a byte or two, or a part that is cut out or doubled: read or refused, never worse. What
// is read predicts something.
class FuzzedPerformanceFile : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FuzzedPerformanceFile, IsReadOrRefused) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  base::Random random(GetParam());
  static const std::string good = well_formed();
  for (int round = 0; round < 100; ++round) {
    std::string text = good;
    for (std::uint64_t change = 0; change <= random.below(3); ++change) {
      const std::size_t at = random.below(text.size());
      const std::size_t length = random.below(std::min<std::size_t>(text.size() - at, 40)) + 1;
      const std::uint64_t kind = random.below(4);
      if (kind == 0) text[at] = static_cast<char>(random.below(256));
      if (kind == 1) text.erase(at, std::min(length, text.size() - 1));
      if (kind == 2) text.insert(at, text.substr(at, length));
      if (kind == 3) text[at] = "0123456789-.eE\"{}[],:"[random.below(21)];
      if (text.empty()) text = "x";
    }
    std::string why;
    read_text(text, why);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FuzzedPerformanceFile,
                         ::testing::ValuesIn(vicinal::testing::seeds(5)));

// A variable of the environment, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(PerformanceFile, LiesInTheUsersCacheUnlessAFolderIsNamed) {
  const Variable home("HOME", "/home/somebody");
  {
    const Variable cache("XDG_CACHE_HOME", "/cache");
    EXPECT_THAT(*performance_model_file(""), ::testing::StartsWith("/cache/vicinal/models/"));
    EXPECT_THAT(*performance_model_file(""), ::testing::EndsWith(".json"));
    EXPECT_THAT(*performance_model_file("/models"), ::testing::StartsWith("/models/"));
  }
  const Variable cache("XDG_CACHE_HOME", nullptr);
  EXPECT_THAT(*performance_model_file(""),
              ::testing::StartsWith("/home/somebody/.cache/vicinal/models/"));
  const Variable no_home("HOME", nullptr);
  EXPECT_FALSE(performance_model_file("").has_value());
}

}  // namespace
}  // namespace vicinal::machine

namespace vicinal::engine {
namespace {

using machine::PerformanceModel;

// A clock that stands unless it is moved, and counts who looks at it.
struct FakeClock {
  std::int64_t ns = 0;
  int looks = 0;
  std::function<Time()> now = [this] {
    ++looks;
    return Time{ns};
  };
};

struct TimedTask {
  explicit TimedTask(const Codelet& codelet, std::uint64_t bytes) {
    handle.layout = {.column_bytes = bytes, .columns = 1, .stride_bytes = bytes};
    task.codelet = &codelet;
    task.inline_accesses[0] = graph::Access(handle, AccessMode::RW, 0, false);
    task.access_count = 1;
  }
  graph::Handle handle;
  graph::Task task;
};

TEST(RunTimer, TimesEachRunAtFirstAndOneInSixteenWhenTheyAreEven) {
  PerformanceModel model;
  FakeClock clock;
  RunTimer timer(model, ProcessorKind::cpu);
  const Codelet codelet{.name = "f"};
  TimedTask timed(codelet, 64);
  const auto run = [&](std::int64_t ns, bool failed = false) {
    timer.begin(timed.task, clock.now);
    clock.ns += ns;
    if (!failed) timer.end(clock.now);
  };
  const auto known = [&] { return model.runs("f", ProcessorKind::cpu, footprint_of(timed.task)); };
  run(500);
  EXPECT_EQ(known(), 1U);  // the first is handed on at once
  run(9'000, true);        // a failed one says nothing
  for (int i = 0; i < 14; ++i) run(500);
  EXPECT_EQ(known(), 15U);  // handed on by 1, 2, 4 and 8
  EXPECT_EQ(model.predict("f", ProcessorKind::cpu, footprint_of(timed.task)), Time{500});
  clock.looks = 0;
  for (int i = 0; i < 160; ++i) run(500);
  EXPECT_EQ(clock.looks, 20);  // ten runs, begin and end
  timer.flush();
  EXPECT_EQ(known(), 25U);
}

TEST(RunTimer, KeepsFootprintsApartAlsoWhereTheyMeetInASlot) {
  PerformanceModel model;
  FakeClock clock;
  RunTimer timer(model, ProcessorKind::emulated);
  const Codelet codelet{.name = "f"};
  std::deque<TimedTask> tasks;
  for (std::uint64_t i = 1; i <= 300; ++i) tasks.emplace_back(codelet, i * 64);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      timer.begin(tasks[i].task, clock.now);
      clock.ns += static_cast<std::int64_t>(i + 1) * 1000;
      timer.end(clock.now);
    }
  }
  timer.flush();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto footprint = footprint_of(tasks[i].task);
    EXPECT_EQ(model.runs("f", ProcessorKind::emulated, footprint), 3U);
    EXPECT_EQ(model.predict("f", ProcessorKind::emulated, footprint),
              Time{static_cast<std::int64_t>(i + 1) * 1000});
  }
}

TEST(RunTimer, KeepsWhatADriverHasMeasuredWithTheTaskThatEndedNotWithTheLastThatBegan) {
  PerformanceModel model;
  FakeClock clock;
  RunTimer timer(model, ProcessorKind::gpu);
  const Codelet codelet{.name = "f"};
  TimedTask small(codelet, 64);
  TimedTask large(codelet, 4096);
  timer.begin(small.task, clock.now);
  timer.begin(large.task, clock.now);  // queued behind it
  timer.note(small.task, Time{100});
  timer.note(large.task, Time{9000});
  const auto predicted = [&](const TimedTask& timed) {
    return model.predict("f", ProcessorKind::gpu, footprint_of(timed.task));
  };
  EXPECT_EQ(predicted(small), Time{100});
  EXPECT_EQ(predicted(large), Time{9000});
}

// A policy that asks how long each task it is given will take.
class AskingPolicy final : public sched::QueuePolicy {
 public:
  AskingPolicy(bool asks, std::vector<std::int64_t>& answers) : asks_(asks), answers_(answers) {}
  sched::PolicyTraits traits() const override { return {.wants_run_times = asks_}; }
  void start(sched::PolicyContext& context) override { context_ = &context; }
  void push(graph::Task& task, WorkerId releasing) override {
    answers_.push_back(context_->run_time(task, WorkerId{0}).ns);
    QueuePolicy::push(task, releasing);
  }

 private:
  const bool asks_;
  std::vector<std::int64_t>& answers_;
  sched::PolicyContext* context_ = nullptr;
};

// One worker on RAM whose tasks take as long as the clock is told.
class FakeDriver final : public Driver {
 public:
  // `measured`: what it says of each run.
  FakeDriver(FakeClock& clock, std::optional<Time> measured) : clock_(clock), measured_(measured) {}
  void start(Completions& completions) override { completions_ = &completions; }
  std::byte* reserve(NodeId, Bytes) override { return nullptr; }
  std::byte* allocate(NodeId, Bytes) override { return nullptr; }
  void release(NodeId, std::byte*, Bytes) override {}
  void start_copy(const memory::Copy&) override {}
  void start_task(graph::Task& task, WorkerId worker) override {
    clock_.ns += 7000;
    completions_->task_done(task, worker, nullptr, measured_);
  }
  void wake(WorkerId) override {}
  void stop() override {}

 private:
  FakeClock& clock_;
  const std::optional<Time> measured_;
  Completions* completions_ = nullptr;
};

// What the policy is told of `count` tasks, each submitted when the last has ended.
std::vector<std::int64_t> answers_of(PerformanceModel* model, const Codelet& codelet, bool asks,
                                     FakeClock& clock, std::optional<Time> measured = {}) {
  std::vector<std::int64_t> answers;
  EngineConfig config;
  config.machine = {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt}},
                    .links = {},
                    .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}}};
  config.policy = std::make_unique<AskingPolicy>(asks, answers);
  config.now = clock.now;
  config.notify_waiters = [] {};
  config.models = model;
  Engine engine(std::move(config));
  FakeDriver driver(clock, measured);
  engine.attach({&driver}, {&driver});
  driver.start(engine);
  clock.looks = 0;
  for (int i = 0; i < 3; ++i) {
    graph::Task& task = engine.new_task(kNoWorker);
    task.codelet = &codelet;
    engine.submit(task, {}, kNoWorker);
    while (engine.advance(WorkerId{0})) {
    }
  }
  engine.hand_on_run_times();
  return answers;
}

using ::testing::ElementsAre;

TEST(LearnedRunTimes, ReachThePolicyFromTheSecondTaskOnAndTheNextRunFromItsFirst) {
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{.name = "f", .cpu = [](KernelContext&) {}};
  EXPECT_THAT(answers_of(&model, codelet, true, clock), ElementsAre(0, 7000, 7000));
  EXPECT_THAT(answers_of(&model, codelet, true, clock), ElementsAre(7000, 7000, 7000));
}

TEST(LearnedRunTimes, AreThoseThatTheDriverHasMeasuredIfItSays) {
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{.name = "f", .cpu = [](KernelContext&) {}};
  // Not the 7000 ns between start_task and task_done.
  EXPECT_THAT(answers_of(&model, codelet, true, clock, Time{1234}), ElementsAre(0, 1234, 1234));
}

TEST(LearnedRunTimes, GiveWayToWhatTheCodeletSays) {
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{
      .name = "f", .cpu = [](KernelContext&) {}, .expected = {Time{123}, Time{}, Time{}}};
  EXPECT_THAT(answers_of(&model, codelet, true, clock), ElementsAre(123, 123, 123));
}

TEST(LearnedRunTimes, AreNotLookedForUnlessThePolicyAsks) {
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{.name = "f", .cpu = [](KernelContext&) {}};
  EXPECT_THAT(answers_of(&model, codelet, false, clock), ElementsAre(0, 0, 0));
  const int without = clock.looks;
  EXPECT_THAT(answers_of(nullptr, codelet, true, clock), ElementsAre(0, 0, 0));
  EXPECT_EQ(clock.looks, without);
  answers_of(&model, codelet, true, clock);
  EXPECT_EQ(clock.looks, without + 6);  // twice for each of three tasks
}

}  // namespace
}  // namespace vicinal::engine
