// Runs that follow a plan from a file: the order and the places of the plan, real and simulated; plans that contradict the
// run; and policies that follow none.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/recorded_plan.hpp"
#include "analysis/recorded_run.hpp"
#include "base/random.hpp"
#include "graph/kept_plan.hpp"
#include "graph/kernel_times.hpp"
#include "graphs/linalg_graphs.hpp"
#include "graphs/task_names.hpp"
#include "play/play.hpp"
#include "sched/default_policy.hpp"
#include "sched/policy.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::followed_plan {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using graph::KeptPlan;

// A file that plans are written to, one after the other.
class PlanFile {
 public:
  const std::string& write(const KeptPlan& plan) {
    std::ofstream file(path_);
    graph::write_plan(plan, [&](std::string_view piece) { file << piece; });
    return path_;
  }
  std::string beside(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("a.plan");
};

template <typename T>
void shuffle(std::vector<T>& list, base::Random& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

std::vector<std::uint32_t> permutation(std::uint32_t count, base::Random& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(order, random);
  return order;
}

// Waits for no pause: tasks are planned when all have been submitted.
Options following(const std::string& plan, const std::string& policy, std::uint32_t workers) {
  Options options = small_options(workers);
  options.policy = policy;
  options.plan = plan;
  options.plan_pause = 0;
  return options;
}

// --- real runs, one worker

struct Note {
  std::vector<std::uint32_t>* order = nullptr;
  std::uint32_t number = 0;
};
const Codelet kNoteOrder{.name = "note", .cpu = [](KernelContext& k) {
                           const auto note = k.parameter<Note>();
                           note.order->push_back(note.number);
                         }};

enum class Named : std::uint8_t { all, none, some };

std::string name_for(std::uint32_t number, Named named) {
  const bool has = named == Named::all || (named == Named::some && number % 3 == 0);
  return has ? fmt::format("task({}, \"{}\")", number, number / 7) : "";
}

// The order in which one worker runs 150 independent tasks.
std::vector<std::uint32_t> order_of_run(const Options& options, std::uint32_t tasks, Named named) {
  std::vector<std::uint32_t> order;
  std::vector<std::int64_t> values(tasks);
  Runtime runtime(options);
  const Watchdog watchdog(&runtime, "a followed plan");
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const Handle datum = runtime.register_buffer(&values[i], Bytes{8}, "");
    runtime.submit({.codelet = &kNoteOrder,
                    .operands = {RW(datum)},
                    .parameters = Note{&order, i},
                    .name = name_for(i, named)});
  }
  runtime.wait();
  return order;
}

TEST(FollowedPlan, IndependentTasksRunInItsOrder) {
  constexpr std::uint32_t kTasks = 150;
  PlanFile file;
  for_each_seed(5, [&](base::Random& random, std::uint64_t /*seed*/) {
    for (const Named named : {Named::all, Named::none, Named::some}) {
      const std::vector<std::uint32_t> order = permutation(kTasks, random);
      KeptPlan plan{.nodes = {"ram"}};
      for (const std::uint32_t number : order) {
        const std::string name = name_for(number, named);
        plan.tasks.push_back(name.empty() ? KeptPlan::Task{"note", 0, number}
                                          : KeptPlan::Task{name, 0, 0});
      }
      for (const char* const policy : {"horizon", "default"}) {
        const Options options = following(file.write(plan), policy, 1);
        EXPECT_EQ(order_of_run(options, kTasks, named), order) << policy;
      }
    }
  });
}

// They have no times and no data: what the plan lacks comes first, in the order of submission.
TEST(FollowedPlan, TasksThatItLacksRunBeforeItsOwn) {
  PlanFile file;
  KeptPlan plan{.nodes = {"ram"}};
  for (std::uint32_t number = 10; number-- > 5;) plan.tasks.push_back({"note", 0, number});
  const std::vector<std::uint32_t> order =
      order_of_run(following(file.write(plan), "horizon", 1), 10, Named::none);
  std::vector<std::uint32_t> first(order.begin(), order.begin() + 5);
  std::ranges::sort(first);
  EXPECT_THAT(first, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(std::vector(order.begin() + 5, order.end()),
            (std::vector<std::uint32_t>{9, 8, 7, 6, 5}));
}

// What each node begins, in this order.
using Sequences = std::map<std::string, std::vector<std::pair<std::string, std::uint32_t>>>;
Sequences sequences_of(const KeptPlan& plan) {
  Sequences sequences;
  for (const auto& task : plan.tasks) {
    sequences[plan.nodes[task.node]].emplace_back(task.name, task.number);
  }
  return sequences;
}

// --- policies

TEST(FollowedPlan, PoliciesThatFollowNoneSaySoAndNameTheOnesThatDo) {
  PlanFile file;
  const std::string path = file.write({.nodes = {"ram"}, .tasks = {{"note", 0, 0}}});
  std::size_t refused = 0;
  for (const sched::PolicyEntry& policy : sched::policies()) {
    if (policy.name == "horizon") continue;
    const std::string message = message_of<UsageError>(
        [&] { const Runtime runtime(following(path, std::string(policy.name), 1)); });
    EXPECT_THAT(message, AllOf(HasSubstr("option plan: policy " + std::string(policy.name)),
                               HasSubstr("choose default or horizon")));
    ++refused;
  }
  EXPECT_GT(refused, 10U);
}

TEST(FollowedPlan, TheAutomaticPolicyIsTheOneThatFollowsIt) {
  Options options = small_options();
  EXPECT_NE(sched::default_policy(options, nullptr).policy, "horizon");
  options.plan = "a.plan";
  EXPECT_EQ(sched::default_policy(options, nullptr).policy, "horizon");
  options.accelerators = 2;
  EXPECT_EQ(sched::default_policy(options, nullptr).policy, "horizon");
}

TEST(FollowedPlan, AFileThatIsNoneIsRefusedByTheRuntime) {
  const PlanFile file;
  std::ofstream(file.beside("text")) << "no plan";
  for (const std::string& path : {file.beside("text"), file.beside("missing")}) {
    EXPECT_THAT(
        message_of<UsageError>([&] { const Runtime runtime(following(path, "horizon", 1)); }),
        HasSubstr("plan " + path));
  }
}

// --- simulated runs on two accelerators

struct PlannedPlay {
  KeptPlan plan;
  std::uint64_t loaded = 0;
  std::uint64_t tasks = 0;
};

class OnTwoAccelerators : public ::testing::Test {
 protected:
  // Of single precision: tiles of 3.5 MiB.
  static graph::Graph cholesky() { return named(graphs::cholesky({.tiles = 12, .tile = 960})); }
  static graph::Graph lu() { return named(graphs::lu({.tiles = 9, .tile = 960})); }

  PlannedPlay play(const graph::Graph& graph, const std::string& policy,
                   const std::string& plan = {}) {
    const Watchdog watchdog("a simulated run under " + policy + " " + plan);
    Options options;
    options.policy = policy;
    options.plan = plan;
    options.trace = file_.beside(fmt::format("{}.vtrace", ++plays_));
    options.trace_events = "tasks,submission";
    const play::Played played = play::play(graph, machine_, options);
    const analysis::RecordedRun recorded(trace::Reader(options.trace));
    PlannedPlay result{.plan = analysis::plan_of(recorded, "the run")};
    for (std::size_t node = 1; node < played.last.nodes.size(); ++node) {
      result.loaded += played.last.nodes[node].bytes_in.value;
    }
    result.tasks = played.after.tasks_done;
    return result;
  }

  const std::string& write(const KeptPlan& plan) { return file_.write(plan); }

  const machine::MachineModel machine_ =
      machine::load_machine("v100p", {.gpus = 2, .gpu_memory = 100_MiB});

 private:
  static graph::Graph named(graph::Graph graph) {
    graphs::name_tasks(graph);
    return graph;
  }
  PlanFile file_;
  int plays_ = 0;
};

TEST_F(OnTwoAccelerators, ARecordedRunIsFollowedExactlyAndWithNoMoreBytes) {
  for (const graph::Graph& graph : {cholesky(), lu()}) {
    ASSERT_TRUE(graph.has_task_names());
    for (const char* const policy : {"darts", "lws", "dmdas", "heft", "horizon"}) {
      SCOPED_TRACE(graph.application().name + " under " + policy);
      const PlannedPlay recorded = play(graph, policy);
      ASSERT_EQ(recorded.plan.tasks.size(), graph.tasks().size());
      const PlannedPlay followed = play(graph, "default", write(recorded.plan));
      EXPECT_EQ(followed.plan.policy, "horizon");
      EXPECT_EQ(followed.tasks, graph.tasks().size());
      EXPECT_EQ(sequences_of(followed.plan), sequences_of(recorded.plan));
      EXPECT_LE(static_cast<double>(followed.loaded), 1.1 * static_cast<double>(recorded.loaded));
    }
  }
}

TEST_F(OnTwoAccelerators, ARunWithOtherTimesKeepsPlacesAndOrder) {
  const graph::Graph graph = cholesky();
  const PlannedPlay recorded = play(graph, "darts");
  ASSERT_EQ(recorded.plan.tasks.size(), graph.tasks().size());
  const std::string& path = write(recorded.plan);
  for_each_seed(10, [&](base::Random& random, std::uint64_t seed) {
    const double share = 0.95 * random.uniform();
    const graph::Graph varied = graph::with_varied_times(graph, machine_, share, seed);
    const PlannedPlay followed = play(varied, "horizon", path);
    EXPECT_EQ(followed.tasks, graph.tasks().size());
    EXPECT_EQ(sequences_of(followed.plan), sequences_of(recorded.plan));
  });
}

// --- plans that contradict the run

// A task reads some data and writes one.
struct SmallTask {
  std::vector<std::size_t> read = {};
  std::size_t written = 0;
  std::uint32_t codelet = 0;
  std::string name = {};
};

struct SmallProgram {
  std::size_t data = 0;
  std::vector<SmallTask> tasks = {};
};

std::int64_t mixed(std::int64_t value, std::int64_t with) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(value) ^ 0x9e3779b97f4a7c15U) *
                                       0x100000001b3U +
                                   static_cast<std::uint64_t>(with));
}

struct Run {
  std::atomic<int>* runs = nullptr;
  std::int64_t number = 0;
};
// What the last operand becomes follows from what the others are, and from the number of the task.
void mix_kernel(KernelContext& k) {
  const auto run = k.parameter<Run>();
  ++*run.runs;
  std::int64_t value = run.number;
  const std::size_t last = k.operands() - 1;
  for (std::size_t i = 0; i < last; ++i) value = mixed(value, *k.data<std::int64_t>(i));
  for_each_element(k.operand(last), [&](std::int64_t& x) { x = value; });
}
// Anywhere, on cores alone, on accelerators alone.
const std::array<Codelet, 3> kMix{
    Codelet{
        .name = "anywhere", .cpu = mix_kernel, .kernels = {{ProcessorKind::emulated, mix_kernel}}},
    Codelet{.name = "on_cores", .cpu = mix_kernel},
    Codelet{.name = "on_devices", .kernels = {{ProcessorKind::emulated, mix_kernel}}}};

constexpr std::uint32_t kOnDevices = 2;

// Its data, when all tasks have ended. `runs`: by task.
std::vector<Handle> run_program(Runtime& runtime, const SmallProgram& program,
                                std::deque<std::atomic<int>>& runs) {
  std::vector<Handle> data;
  for (std::size_t d = 0; d < program.data; ++d) {
    data.push_back(runtime.register_empty(kPage, fmt::format("d{}", d)));
  }
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    const SmallTask& task = program.tasks[t];
    std::vector<Operand> operands;
    for (const std::size_t read : task.read) operands.push_back(R(data[read]));
    operands.push_back(W(data[task.written]));
    runtime.submit({.codelet = &kMix[task.codelet],
                    .operands = operands,
                    .parameters = Run{&runs[t], static_cast<std::int64_t>(t)},
                    .name = task.name});
  }
  runtime.wait();
  return data;
}

SmallProgram random_small_program(base::Random& random) {
  SmallProgram program{.data = 4 + random.below(20)};
  for (std::size_t d = 0; d < program.data; ++d) program.tasks.push_back({.written = d});
  for (std::uint64_t more = 20 + random.below(150); more > 0; --more) {
    SmallTask task{.written = random.below(program.data)};
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      const std::size_t datum = random.below(program.data);
      if (datum != task.written) task.read.push_back(datum);
    }
    program.tasks.push_back(std::move(task));
  }
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    program.tasks[t].codelet = static_cast<std::uint32_t>(random.below(kMix.size()));
    const std::uint64_t kind = random.below(3);
    if (kind == 1) program.tasks[t].name = fmt::format("task {}", t);
    if (kind == 2) program.tasks[t].name = fmt::format("one of {}", t % 5);
  }
  return program;
}

std::vector<std::int64_t> expected_values(const SmallProgram& program) {
  std::vector<std::int64_t> values(program.data);
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    auto value = static_cast<std::int64_t>(t);
    for (const std::size_t read : program.tasks[t].read) value = mixed(value, values[read]);
    values[program.tasks[t].written] = value;
  }
  return values;
}

// The program's tasks in any order on any node, and more: some are missing, some never come, some nodes are nowhere.
KeptPlan wild_plan(const SmallProgram& program, base::Random& random) {
  KeptPlan plan{.application = "another", .nodes = {"ram", "device0", "device1", "nowhere"}};
  if (random.below(2) == 0) std::swap(plan.nodes[1], plan.nodes[2]);
  const std::uint64_t one_in = 2 + random.below(20);  // is missing, is at a node that is nowhere
  std::map<std::string, std::uint32_t> met;
  const auto add = [&](const std::string& name, std::uint32_t number) {
    const bool nowhere = random.below(one_in) == 0;
    const auto node = nowhere ? 3U : static_cast<std::uint32_t>(random.below(3));
    if (random.below(one_in) > 0) plan.tasks.push_back({name, node, number});
  };
  for (const SmallTask& task : program.tasks) {
    const std::uint32_t of_codelet = met[kMix[task.codelet].name]++;
    if (task.name.empty()) {
      add(kMix[task.codelet].name, of_codelet);
    } else {
      add(task.name, met[task.name]++);
    }
  }
  for (std::uint64_t i = random.below(50); i > 0; --i) {
    add(random.below(2) == 0 ? fmt::format("never {}", i) : kMix[i % 3].name,
        static_cast<std::uint32_t>(1'000'000 + i + (random.below(2) << 31)));
  }
  shuffle(plan.tasks, random);
  return plan;
}

// Room for three data on each accelerator, and in half of the runs for few in RAM, beside a disk.
void expect_right(const SmallProgram& program, const std::string& plan, const std::string& folder,
                  base::Random& random) {
  Options options = following(plan, "horizon", 1 + static_cast<std::uint32_t>(random.below(2)));
  options.submitter_works = random.below(2) == 0;
  options.plan_pause = random.below(2) == 0 ? 0 : 0.01;
  if (random.below(3) == 0) options.window_tasks = 1 + random.below(40);
  options.accelerators = 2;
  options.accelerator_memory = kPage * (3 + random.below(4));
  if (random.below(2) == 0) {
    options.memory = kPage * (4 + random.below(4));
    options.disk = folder;
  }
  std::deque<std::atomic<int>> runs(program.tasks.size());
  Runtime runtime(options);
  const Watchdog watchdog(&runtime, "a plan that contradicts the run");
  const std::vector<Handle> data = run_program(runtime, program, runs);
  for (std::size_t t = 0; t < runs.size(); ++t) EXPECT_EQ(runs[t], 1) << "task " << t;
  const std::vector<std::int64_t> expected = expected_values(program);
  for (std::size_t d = 0; d < data.size(); ++d) {
    EXPECT_EQ(value_of(runtime, data[d]), expected[d]) << "datum " << d;
  }
}

TEST(FollowedPlan, WhatContradictsTheRunLosesNothingAndHangsNowhere) {
  PlanFile file;
  const TemporaryFolder folder;
  for_each_seed(60, [&](base::Random& random, std::uint64_t /*seed*/) {
    const SmallProgram program = random_small_program(random);
    expect_right(program, file.write(wild_plan(program, random)), folder.path(), random);
  });
}

// Submits the program; the tasks of each accelerator, in the order in which they ran.
Sequences sequences_of_real(const SmallProgram& program, Options options,
                            const std::string& trace) {
  options.trace = trace;
  options.trace_events = "tasks,submission";
  {
    std::deque<std::atomic<int>> runs(program.tasks.size());
    Runtime runtime(options);
    const Watchdog watchdog(&runtime, "a real run under its own plan");
    run_program(runtime, program, runs);
  }
  return sequences_of(analysis::plan_of(analysis::RecordedRun(trace::Reader(trace)), "the run"));
}

TEST(FollowedPlan, ARealRunUnderItsOwnPlanRunsInTheRecordedOrder) {
  PlanFile file;
  for_each_seed(20, [&](base::Random& random, std::uint64_t seed) {
    SmallProgram program = random_small_program(random);
    for (SmallTask& task : program.tasks) task.codelet = kOnDevices;
    Options options = small_options();
    options.policy = "lws";
    options.plan_pause = 0;
    options.accelerators = 1 + random.below(3);
    options.accelerator_memory = kPage * (3 + random.below(6));
    const std::string trace = file.beside(fmt::format("{}.vtrace", seed));
    const Sequences recorded = sequences_of_real(program, options, trace);
    options.policy = "horizon";
    options.plan =
        file.write(analysis::plan_of(analysis::RecordedRun(trace::Reader(trace)), "the run"));
    EXPECT_EQ(sequences_of_real(program, options, file.beside(fmt::format("{}again.vtrace", seed))),
              recorded);
  });
}

// --- turns that cannot come

// The plan has first what waits for the application, which waits for what the plan has second.
TEST(FollowedPlan, WhatTheApplicationWaitsForRunsBeforeWhatWaitsForIt) {
  PlanFile file;
  KeptPlan plan{.nodes = {"ram"}, .tasks = {{"note", 0, 0}, {"note", 0, 1}}};
  std::vector<std::uint32_t> order;
  std::array<std::int64_t, 2> values{};
  Runtime runtime(following(file.write(plan), "horizon", 1));
  const Watchdog watchdog(&runtime, "a plan whose first task waits for the application");
  std::vector<Handle> data;
  for (std::int64_t& value : values) data.push_back(runtime.register_buffer(&value, Bytes{8}, ""));
  {
    const Acquired held = runtime.acquire(data[0], AccessMode::RW);
    for (std::uint32_t i = 0; i < 2; ++i) {
      runtime.submit(
          {.codelet = &kNoteOrder, .operands = {RW(data[i])}, .parameters = Note{&order, i}});
    }
    const Acquired second = runtime.acquire(data[1], AccessMode::R);
    EXPECT_THAT(order, ::testing::ElementsAre(1));
  }
  runtime.wait();
  EXPECT_THAT(order, ::testing::ElementsAre(1, 0));
}

// What a recursive task submits is planned last, and what the plan has behind the task waits for it.
TEST(FollowedPlan, WhatARecursiveTaskSubmitsRunsBeforeWhatWaitsForIt) {
  const Codelet leaf{.name = "leaf", .cpu = [](KernelContext& k) {
                       auto* const x = k.data<double>(0);
                       for (std::size_t i = 0; i < k.count<double>(0); ++i) x[i] += 1;
                     }};
  static const Codelet* inner = nullptr;
  inner = &leaf;
  const Codelet halves{.name = "halves", .cpu = leaf.cpu, .recursive = [](Recursion& r) {
                         const Parts parts = r.parts(0, row_blocks(2));
                         for (std::size_t i = 0; i < 2; ++i) {
                           r.submit({.codelet = inner, .operands = {RW(parts[i])}});
                         }
                       }};
  const Codelet twice{.name = "twice", .cpu = [](KernelContext& k) {
                        auto* const x = k.data<double>(0);
                        for (std::size_t i = 0; i < k.count<double>(0); ++i) x[i] *= 2;
                      }};
  PlanFile file;
  const KeptPlan plan{.nodes = {"ram"},
                      .tasks = {{"halves", 0, 0}, {"twice", 0, 0}, {"leaf", 0, 0}, {"leaf", 0, 1}}};
  std::vector<double> x(1024, 1.0);
  Runtime runtime(following(file.write(plan), "horizon", 2));
  const Watchdog watchdog(&runtime, "a plan of a recursive task");
  const Handle data = runtime.register_buffer(x.data(), Bytes{x.size() * 8}, "x");
  runtime.submit({.codelet = &halves, .operands = {RW(data)}, .recursive = Recursive::always});
  runtime.submit({.codelet = &twice, .operands = {RW(data)}});
  runtime.wait();
  EXPECT_EQ(x, std::vector<double>(1024, 4.0));
}

// The file has a name of its own: what has been said of it once is not said again.
TEST(FollowedPlan, OfAnotherRunIsWarnedOf) {
  PlanFile file;
  const std::string path = file.write({.application = "another",
                                       .nodes = {"ram", "gpu7"},
                                       .tasks = {{"note", 0, 1}, {"note", 1, 0}, {"gone", 0, 0}}});
  ::testing::internal::CaptureStderr();
  order_of_run(following(path, "default", 1), 2, Named::none);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("plan " + path), HasSubstr("task note"), HasSubstr("another"),
                          HasSubstr("ram, gpu7"), HasSubstr("of its 3 tasks 2 did not come")));
}

TEST(FollowedPlan, OfTheRunItselfIsNotWarnedOf) {
  PlanFile file;
  const std::string path =
      file.write({.nodes = {"ram"}, .tasks = {{"note", 0, 1}, {"note", 0, 0}}});
  ::testing::internal::CaptureStderr();
  const std::vector<std::uint32_t> order =
      order_of_run(following(path, "default", 1), 2, Named::none);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(order, ::testing::ElementsAre(1, 0));
}

// Two accelerators, where the runtime combines what tasks have reduced: it adds tasks, which no plan has.
TEST(FollowedPlan, OfARunThatReducesIsFollowedWithoutAWarning) {
  PlanFile file;
  const Codelet zero{.name = "zero", .expected = {Time{0}, Time{1000}}};
  const Codelet sum{.name = "sum", .expected = {Time{0}, Time{1000}}};
  const Codelet part{.name = "part", .expected = {Time{0}, Time{10'000}}};
  const auto play = [&](const std::string& policy, const std::string& plan) {
    Options options;
    options.policy = policy;
    options.plan = plan;
    options.trace = file.beside(policy + ".vtrace");
    options.trace_events = "tasks,submission";
    MachineDescription machine;
    machine.nodes.push_back({kRam, "ram", NodeKind::ram, {}});
    for (std::uint32_t d = 0; d < 2; ++d) {
      const NodeId node{d + 1};
      machine.nodes.push_back({node, fmt::format("gpu{}", d), NodeKind::device, 1_GiB});
      machine.links.push_back({kRam, node, BytesPerSecond{1e9}, Time{0}, 1});
      machine.links.push_back({node, kRam, BytesPerSecond{1e9}, Time{0}, 1});
      machine.workers.push_back({WorkerId{d}, ProcessorKind::emulated, node});
    }
    {
      Runtime runtime(machine, options);
      const Handle total = runtime.register_simulated(Bytes{8}, kRam, "total");
      runtime.set_reduction(total, {.neutral = &zero, .combine = &sum});
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20; ++i) {
          const Handle x = runtime.register_simulated(1_MiB, kRam, "x");
          runtime.submit({.codelet = &part, .operands = {R(x), {total, AccessMode::reduction}}});
        }
        runtime.submit({.codelet = &part, .operands = {RW(total)}});
      }
      runtime.wait();
    }
    const analysis::RecordedRun recorded(trace::Reader(options.trace));
    return analysis::plan_of(recorded, "the run");
  };
  const KeptPlan recorded = play("lws", {});
  EXPECT_EQ(recorded.tasks.size(), 63U);
  ::testing::internal::CaptureStderr();
  const KeptPlan followed = play("default", file.write(recorded));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(followed.tasks.size(), 63U);
}

}  // namespace
}  // namespace vicinal::followed_plan
