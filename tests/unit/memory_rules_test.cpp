// Rules of another runtime for a full memory: what each changes, and that no run hangs under any of them.
#include <array>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"
#include "graphs/synthetic_graphs.hpp"
#include "memory/rules.hpp"
#include "play/play.hpp"
#include "support/fake_memory.hpp"
#include "support/told_run.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

FakeMachine machine(std::string_view rules) {
  return {.ram = 8, .device = 3, .devices = 1, .rules = parse_rules(rules)};
}

TEST(MemoryRules, AreReadByTheirNames) {
  EXPECT_FALSE(parse_rules("").any());
  EXPECT_TRUE(parse_rules("clean").lru && parse_rules("prefetch").lru && parse_rules("owner").lru);
  EXPECT_FALSE(parse_rules("lru").clean);
  const Rules all = parse_rules("starpu");
  EXPECT_TRUE(all.lru && all.clean && all.prefetch);
  EXPECT_TRUE(all.owner && all.hint && all.pipeline && all.peer);
  EXPECT_FALSE(all.unified || all.saved);  // nobody's rule for a full memory, and another runtime's
  const Rules xkaapi = parse_rules("xkaapi");
  EXPECT_TRUE(xkaapi.lru && xkaapi.saved);
  EXPECT_FALSE(xkaapi.clean || xkaapi.prefetch || xkaapi.owner || xkaapi.hint || xkaapi.pipeline ||
               xkaapi.peer);
  EXPECT_TRUE(parse_rules("unified").lru);
  EXPECT_THAT([] { parse_rules("owner,hin"); },
              ThrowsMessage<UsageError>(
                  HasSubstr("no rule \"hin\"; there are starpu, xkaapi, lru, clean")));
}

// a was written on the device, then b and c came, which are on the disk, too.
TEST(MemoryRules, WhatIsSavedElsewhereGoesFirst) {
  for (const bool clean : {false, true}) {
    FakeMemory memory(machine(clean ? "clean" : "lru"));
    auto& a = memory.data("a");
    auto [b, c, d] = memory.on_disk("b", "c", "d");
    memory.run(kDevice, {{&a, kW}});
    memory.run(kDevice, {{&b, kR}});
    memory.run(kDevice, {{&c, kR}});
    memory.run(kDevice, {{&d, kR}});
    EXPECT_EQ(memory.valid(a, kDevice), clean);
    EXPECT_EQ(memory.valid(b, kDevice), !clean);
    EXPECT_TRUE(memory.valid(c, kDevice));
  }
}

TEST(MemoryRules, WhereNothingIsSavedTwiceTheSizeGoes) {
  for (const bool clean : {false, true}) {
    FakeMemory memory(machine(clean ? "clean" : "lru"));
    auto [a, b, c, d] = memory.data("a", "b", "c", "d");
    for (auto* handle : {&a, &b, &c, &d}) memory.run(kDevice, {{handle, kW}});
    EXPECT_TRUE(memory.valid(a, kRam) && !memory.valid(a, kDevice));
    EXPECT_EQ(memory.valid(b, kRam), clean);
    EXPECT_TRUE(memory.valid(c, kDevice) && !memory.valid(c, kRam));
  }
}

// As above, but what comes is larger than what is saved: with "clean" two of any kind would go, which are written.
TEST(MemoryRules, WhatIsSavedElsewhereGoesFirstWhateverItsSize) {
  FakeMemory memory({.ram = 8, .device = 4, .devices = 1, .rules = parse_rules("xkaapi")});
  auto [a, e] = memory.data("a", "e");
  auto [b, c] = memory.on_disk("b", "c");
  memory.run(kDevice, {{&a, kW}});
  memory.run(kDevice, {{&e, kW}});
  memory.run(kDevice, {{&b, kR}});
  memory.run(kDevice, {{&c, kR}});
  auto& large = memory.data("large", 2);
  memory.run(kDevice, {{&large, kW}});
  EXPECT_TRUE(memory.valid(a, kDevice) && memory.valid(e, kDevice));
  EXPECT_FALSE(memory.valid(b, kDevice) || memory.valid(c, kDevice));
  // Nothing is saved any more: the oldest is, and goes.
  auto& d = memory.on_disk("d");
  memory.run(kDevice, {{&d, kR}});
  EXPECT_FALSE(memory.valid(a, kDevice));
  EXPECT_TRUE(memory.valid(a, kRam) && memory.valid(e, kDevice) && memory.valid(large, kDevice));
}

TEST(MemoryRules, PrefetchesEvictWhatNoTaskWasPromised) {
  FakeMemory memory(machine("clean,prefetch"));
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  for (auto* handle : {&a, &b, &c}) memory.run(kDevice, {{handle, kR}});
  for (auto* handle : {&a, &b, &c, &d}) memory.run(kRam, {{handle, kR}});
  auto& reader = memory.make(kDevice, {{&a, kR}});
  const std::uint64_t readers_use = memory.residency.await_uses(reader.task, kDevice);
  const auto prefetch = [&, &requested = d] {
    const bool comes =
        memory.residency.prefetch(requested, kDevice, memory.actions, PrefetchRoom::unpromised);
    memory.collect();
    memory.finish_all();
    return comes;
  };
  EXPECT_TRUE(prefetch());
  EXPECT_TRUE(memory.valid(a, kDevice));  // the oldest, but promised
  EXPECT_FALSE(memory.valid(b, kDevice));
  auto& others = memory.make(kDevice, {{&c, kR}, {&d, kR}});
  const std::uint64_t others_use = memory.residency.await_uses(others.task, kDevice);
  memory.run(kDevice, {{&b, kR}});  // who cannot do without takes the oldest
  EXPECT_FALSE(memory.valid(a, kDevice));
  memory.residency.forget_uses(reader.task, readers_use, kDevice);
  memory.residency.forget_uses(others.task, others_use, kDevice);
}

TEST(MemoryRules, WhatAReadyTaskWillWriteBelongsToItsNode) {
  FakeMemory memory(machine("starpu"));
  auto [a, b] = memory.data("a", "b");
  memory.run(kRam, {{&a, kW}});
  EXPECT_TRUE(memory.residency.prefetch(a, kDevice, memory.actions, PrefetchRoom::unpromised,
                                        Ownership::alone));
  memory.collect();
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.residency.place_ahead(b, kDevice, kW, memory.actions));
  memory.collect();
  EXPECT_TRUE(memory.valid(b, kDevice));
  EXPECT_EQ(memory.resident(kDevice), kPage * 2);
}

TEST(MemoryRules, ACopyOnItsWayIsVoidWhenTheDatumGetsAnOwner) {
  FakeMemory memory({.ram = 8, .device = 3, .devices = 2, .rules = parse_rules("starpu")});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  EXPECT_TRUE(memory.prefetch(a, kOther));
  EXPECT_TRUE(memory.residency.place_ahead(a, kDevice, kW, memory.actions));
  memory.collect();
  memory.run(kDevice, {{&a, kW}});
  EXPECT_EQ(memory.finish_all(), Names{});
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kOther) || memory.valid(a, kRam));
}

play::Played play(const graph::Graph& graph, std::string_view policy, const std::string& rules,
                  Bytes memory, unsigned gpus = 1) {
  Options options;
  options.policy = policy;
  options.memory_rules = rules;
  machine::MachineModel machine =
      machine::load_machine("v100p", {.gpus = gpus, .gpu_memory = memory});
  machine.description.faults = {Time{20'000}, 64_KiB};
  return play::play(graph, machine, options);
}

// Two tasks of 1000 ns, of which each reads 120 bytes. A byte takes 1 ns, a fault 10 ns and brings 50 bytes.
//   else:    both copies 0-240, which share the link; tasks 240-1240, 1240-2240
//   unified: three faults 0-30, a copy 30-150, a task 150-1150; then the same again, though two kernels could be
//            launched at once
TEST(MemoryRules, WithUnifiedMemoryATaskTakesItsDataByFaultsWhenItsTurnComes) {
  MachineDescription machine = machine_of({.accelerators = 1});
  machine.faults = {Time{10}, Bytes{50}};
  machine.workers[0].pipeline = 2;
  const Codelet reads = codelet_of("reads", Time{0}, Time{1000});
  for (const bool unified : {false, true}) {
    Options options{.policy = "eager"};
    if (unified) options.memory_rules = "unified";
    Runtime runtime(machine, options);
    for (int task = 0; task < 2; ++task) {
      const vicinal::Handle datum = runtime.register_simulated(Bytes{120});
      runtime.submit({.codelet = &reads, .operands = {R(datum)}});
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().now, Time{unified ? 2300 : 2240});
  }
}

TEST(MemoryRules, UnifiedMemoryNeedsTheCostOfAFault) {
  Options options{.memory_rules = "unified"};
  EXPECT_THAT([&] { Runtime runtime(machine_of({.accelerators = 1}), options); },
              ThrowsMessage<UsageError>(HasSubstr("[unified_memory]")));
}

TEST(MemoryRules, WhatTheApplicationWillNotUseIsSavedWhenItIsWritten) {
  const graph::Graph graph = graphs::cholesky({.tiles = 6, .tile = 960});
  const Bytes all_but_the_last{20 * 960 * 960 * 4};
  EXPECT_EQ(play(graph, "eager", "", 1_GiB).after.nodes[kRam.value].bytes_in, Bytes{0});
  EXPECT_EQ(play(graph, "eager", "hint", 1_GiB).after.nodes[kRam.value].bytes_in, all_but_the_last);
}

// What will not be used is in RAM, too; GPUs have faster links between them.
TEST(MemoryRules, CopiesComeFromWhereTheLinkIsFastest) {
  const graph::Graph graph = graphs::cholesky({.tiles = 12, .tile = 960});
  const auto from_ram = [&](const std::string& rules) {
    Options options{.policy = "lws"};
    options.memory_rules = rules;
    const play::Played played = play::play(graph, machine::load_machine("v100", {}), options);
    Bytes bytes;
    for (const LinkStatistics& link : played.after.links) {
      if (link.from == kRam) bytes += link.bytes;
    }
    return bytes;
  };
  const Bytes all{graph.data().size() * 960 * 960 * 4};
  EXPECT_GT(from_ram("hint"), all);
  EXPECT_EQ(from_ram("hint,peer"), all);
}

TEST(MemoryRules, AreRefusedWhereTheyDoNotApply) {
  const graph::Graph graph = graphs::cholesky({.tiles = 2, .tile = 960});
  EXPECT_THAT([&] { play(graph, "darts", "starpu", 1_GiB); },
              ThrowsMessage<UsageError>(HasSubstr("darts chooses what is evicted itself")));
  Options options;
  options.memory_rules = "starpu";
  EXPECT_THAT([&] { Runtime runtime(options); },
              ThrowsMessage<UsageError>(HasSubstr("only a simulated machine")));
}

// Room for little more than one task.
TEST(MemoryRules, NoRunHangsUnderThem) {
  const std::array graphs{graphs::cholesky({.tiles = 8, .tile = 960}), graphs::lu({8, 960}),
                          graphs::gemm3d({6, 960}),
                          graphs::random_dag({.tasks = 200, .bytes = 1_MiB, .seed = 7})};
  for (const graph::Graph& graph : graphs) {
    for (const char* rules :
         {"starpu", "xkaapi", "clean", "prefetch", "owner,prefetch", "pipeline,owner", "unified"}) {
      for (const char* policy :
           {"lws", "eager", "dmda", "dmdar", "dmdas", "heft", "random", "load", "directed"}) {
        for (const unsigned gpus : {1U, 2U}) {
          SCOPED_TRACE(std::string(policy) + " " + rules);
          EXPECT_GE(play(graph, policy, rules, 24_MiB, gpus).after.tasks_done,
                    graph.tasks().size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
