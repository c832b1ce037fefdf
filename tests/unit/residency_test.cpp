// Where data are: reservations, copies, evictions, driven by hand and by chance. The tests play the
// engine and the drivers: they start what Residency lists, in any order that a real driver could.
#include "memory/residency.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graph/dependencies.hpp"
#include "support/random_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kPage{4096};
constexpr NodeId kDisk{1};
constexpr NodeId kDevice{2};
constexpr NodeId kOther{3};
constexpr AccessMode kR = AccessMode::R;
constexpr AccessMode kW = AccessMode::W;
constexpr AccessMode kRW = AccessMode::RW;

class FakeSource final : public MemorySource {
 public:
  std::byte* reserve(NodeId node, Bytes /*bytes*/) override {
    return reinterpret_cast<std::byte*>((std::uintptr_t{node.value} + 1) << 40);
  }
  std::byte* allocate(NodeId /*node*/, Bytes bytes) override {
    allocated += bytes;
    return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 50);
  }
  void release(NodeId /*node*/, std::byte* /*address*/, Bytes bytes) override {
    allocated -= bytes;
  }
  void relocate(NodeId /*node*/, std::byte* to, const std::byte* from, Bytes bytes) override {
    EXPECT_LT(to, from);
    moved += bytes;
  }
  Bytes allocated;
  Bytes moved;
};

struct Pages {
  std::uint64_t ram = 4;
  std::uint64_t device = 4;
};

MachineDescription machine(Pages pages, std::uint32_t devices, bool peers, std::uint32_t copies = 4,
                           std::optional<Bytes> disk = {}) {
  MachineDescription m;
  m.nodes = {{kRam, "ram", NodeKind::ram, kPage * pages.ram},
             {kDisk, "disk", NodeKind::disk, disk}};
  const auto join = [&](NodeId a, NodeId b) {
    m.links.push_back({a, b, BytesPerSecond{0}, Time{0}, copies});
    m.links.push_back({b, a, BytesPerSecond{0}, Time{0}, copies});
  };
  join(kRam, kDisk);
  for (std::uint32_t i = 0; i < devices; ++i) {
    const NodeId node{2 + i};
    m.nodes.push_back({node, "device" + std::to_string(i), NodeKind::device, kPage * pages.device});
    join(kRam, node);
    for (std::uint32_t j = 0; peers && j < i; ++j) join(NodeId{2 + j}, node);
  }
  return m;
}

class Memory {
 public:
  explicit Memory(const MachineDescription& m, bool external = false)
      : residency(m, source_, external) {
    residency.reserve();
  }
  // Copies may be in course: nobody asks for anything any more.
  ~Memory() {
    for (graph::Handle& handle : handles_) {
      if (handle.residency != nullptr) residency.forget(handle);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  graph::Handle& data(const std::string& name, std::uint64_t pages = 1) {
    graph::Handle& handle = handles_.emplace_back();
    handle.name = name;
    handle.layout = {pages * kPage.value, 1, pages * kPage.value, 1};
    residency.add(handle);
    return handle;
  }
  graph::Handle& on_disk(const std::string& name, std::uint64_t pages = 1) {
    graph::Handle& handle = handles_.emplace_back();
    handle.name = name;
    handle.layout = {pages * kPage.value, 1, pages * kPage.value, 1};
    handle.home.kind = graph::HomeKind::file;
    handle.home.file = 7;
    handle.written = true;
    residency.add(handle);
    return handle;
  }

  // A task, or what of one matters here: its operands and their reservation.
  struct Use {
    graph::Task task;
    Request request;
    RequestState state() const { return request.state.load(); }
  };
  Use& make(NodeId node, const std::vector<std::pair<graph::Handle*, AccessMode>>& operands) {
    Use& use = *uses_.emplace_back(std::make_unique<Use>());
    use.task.codelet = &codelet_;
    use.task.access_count = static_cast<std::uint16_t>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      use.task.inline_accesses[i] = graph::Access(*operands[i].first, operands[i].second, i);
    }
    use.request.node = node;
    use.request.operands = use.task.accesses();
    return use;
  }
  Use& ask(NodeId node, const std::vector<std::pair<graph::Handle*, AccessMode>>& operands) {
    Use& use = make(node, operands);
    residency.request(use.request, actions);
    collect();
    return use;
  }
  void end(Use& use) {
    residency.written(use.task, use.request.node, actions);
    residency.unpin(use.task, use.request.node, actions);
    use.request.state.store(RequestState::idle);
    collect();
  }
  // Asks, copies, runs, ends.
  void run(NodeId node, const std::vector<std::pair<graph::Handle*, AccessMode>>& operands) {
    Use& use = ask(node, operands);
    finish_all();
    ASSERT_EQ(use.state(), RequestState::ready) << residency.describe();
    end(use);
    finish_all();
  }
  bool prefetch(graph::Handle& handle, NodeId node) {
    const bool coming = residency.prefetch(handle, node, actions);
    collect();
    return coming;
  }

  // --- copies in course, in the order they were started: "a ram->disk"
  std::vector<std::string> copying() const {
    std::vector<std::string> names;
    for (const Copy& copy : copies) names.push_back(describe(copy));
    return names;
  }
  static std::string describe(const Copy& copy) {
    constexpr const char* nodes[] = {"ram", "disk", "device", "other", "third"};
    return copy.handle->name + " " + nodes[copy.from.node.value] + "->" + nodes[copy.to.node.value];
  }
  void finish(std::size_t index = 0, std::exception_ptr error = nullptr) {
    const Copy copy = copies.at(index);
    copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(index));
    residency.copy_done(copy.id, std::move(error), actions);
    collect();
  }
  void finish_all() {
    while (!copies.empty()) finish();
  }
  bool valid(graph::Handle& handle, NodeId node) const { return residency.valid_on(handle, node); }
  Bytes resident(NodeId node) const {
    Statistics s;
    residency.statistics(s);
    return s.nodes[node.value].resident;
  }
  std::uint64_t evictions(NodeId node) const {
    Statistics s;
    residency.statistics(s);
    return s.nodes[node.value].evictions;
  }
  // What Residency has put into `actions`; queries are left for the test to answer.
  void collect() {
    for (const Copy& copy : actions.copies) copies.push_back(copy);
    for (const VictimQuery& query : actions.queries) queries.push_back(query);
    actions = {};
    residency.check();
  }

  FakeSource source_;
  Residency residency;
  Actions actions;
  std::vector<Copy> copies;
  std::deque<VictimQuery> queries;

 private:
  Codelet codelet_{.name = "task"};
  std::deque<graph::Handle> handles_;
  std::vector<std::unique_ptr<Use>> uses_;
};

using Names = std::vector<std::string>;

// --- reservations -----------------------------------------------------------------------------

TEST(Residency, AReservationHoldsNothingUntilItHasEverything) {
  Memory memory(machine({.ram = 3}, 0, false));
  auto& a = memory.data("a", 2);
  auto& b = memory.data("b");
  auto& c = memory.data("c");
  auto& first = memory.ask(kRam, {{&a, kW}});
  EXPECT_EQ(first.state(), RequestState::ready);
  auto& second = memory.ask(kRam, {{&b, kW}, {&c, kW}});  // 2 pages, 1 is free
  EXPECT_EQ(second.state(), RequestState::queued);
  EXPECT_EQ(memory.resident(kRam), kPage * 2);  // not b alone
  memory.end(first);
  EXPECT_EQ(memory.copying(), Names{"a ram->disk"});
  EXPECT_EQ(second.state(), RequestState::queued);
  memory.finish();
  EXPECT_EQ(second.state(), RequestState::ready);
}

TEST(Residency, NothingOvertakesTheFirstInTheQueue) {
  Memory memory(machine({.ram = 3}, 0, false));
  auto& a = memory.data("a", 2);
  auto& b = memory.data("b", 2);
  auto& c = memory.data("c");
  auto& first = memory.ask(kRam, {{&a, kW}});
  auto& second = memory.ask(kRam, {{&b, kW}});
  auto& third = memory.ask(kRam, {{&c, kW}});  // there would be room
  EXPECT_EQ(second.state(), RequestState::queued);
  EXPECT_EQ(third.state(), RequestState::queued);
  memory.end(first);
  memory.finish_all();
  EXPECT_EQ(second.state(), RequestState::ready);
  EXPECT_EQ(third.state(), RequestState::ready);
}

TEST(Residency, AWithdrawnReservationLetsTheNextOneThrough) {
  Memory memory(machine({.ram = 3}, 0, false));
  auto& a = memory.data("a", 2);
  auto& b = memory.data("b", 2);
  auto& c = memory.data("c");
  memory.ask(kRam, {{&a, kW}});
  auto& second = memory.ask(kRam, {{&b, kW}});
  auto& third = memory.ask(kRam, {{&c, kW}});
  memory.residency.withdraw(second.request, memory.actions);
  memory.collect();
  EXPECT_EQ(second.state(), RequestState::idle);
  EXPECT_EQ(third.state(), RequestState::ready);
  memory.residency.withdraw(third.request, memory.actions);  // held: given back
  memory.collect();
  EXPECT_EQ(memory.resident(kRam), kPage * 2);
}

TEST(Residency, TasksPinWhatIsThereWithoutAReservation) {
  Memory memory(machine({}, 0, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  memory.run(kRam, {{&a, kW}});
  auto& one = memory.make(kRam, {{&a, kR}});
  auto& two = memory.make(kRam, {{&a, kR}});
  auto& writer = memory.make(kRam, {{&a, kRW}});
  auto& both = memory.make(kRam, {{&a, kR}, {&b, kR}});
  EXPECT_TRUE(memory.residency.try_pin(one.task, kRam, memory.actions));
  EXPECT_TRUE(memory.residency.try_pin(two.task, kRam, memory.actions));
  EXPECT_FALSE(memory.residency.try_pin(writer.task, kRam, memory.actions));
  EXPECT_FALSE(memory.residency.try_pin(both.task, kRam, memory.actions));  // b is not here
  memory.end(one);
  memory.end(two);
  EXPECT_TRUE(memory.residency.try_pin(writer.task, kRam, memory.actions));
}

// --- eviction ---------------------------------------------------------------------------------

TEST(Residency, TheLeastRecentlyUsedLeavesFirstAndWhatTheUserGaveUpBeforeIt) {
  Memory memory(machine({.ram = 3}, 0, false));
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& c = memory.on_disk("c");
  auto& d = memory.on_disk("d");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kR}});
  memory.run(kRam, {{&a, kR}});  // now b is the oldest
  memory.run(kRam, {{&d, kR}});
  EXPECT_FALSE(memory.valid(b, kRam));
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.residency.wont_use(d);  // the youngest
  memory.run(kRam, {{&b, kR}});
  EXPECT_FALSE(memory.valid(d, kRam));
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(Residency, WhatWaitingTasksWillUseIsEvictedLast) {
  Memory memory(machine({.ram = 2}, 0, false));
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& c = memory.on_disk("c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  auto& waiting = memory.make(kRam, {{&a, kR}});
  EXPECT_EQ(memory.residency.claim(waiting.task, kRam), kPage);
  EXPECT_TRUE(memory.prefetch(c, kRam));  // b goes, although a is older
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kRam));
  memory.finish_all();
  auto& other = memory.make(kRam, {{&c, kR}});
  memory.residency.claim(other.task, kRam);
  EXPECT_FALSE(memory.prefetch(b, kRam));  // nothing that nobody wants
  auto& firm = memory.ask(kRam, {{&b, kR}});
  memory.finish_all();
  EXPECT_EQ(firm.state(), RequestState::ready);
  EXPECT_EQ(memory.residency.unclaim(waiting.task, kRam), kPage);
}

TEST(Residency, DirtyDataOfADeviceGoToRamAndFromThereToDisk) {
  Memory memory(machine({.ram = 1, .device = 1}, 1, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& c = memory.data("c");
  memory.run(kDevice, {{&a, kW}});
  auto& second = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
  memory.finish();
  EXPECT_EQ(second.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.end(second);
  auto& third = memory.ask(kDevice, {{&c, kW}});  // b needs the room of a in RAM
  EXPECT_EQ(memory.copying(), Names{"a ram->disk"});
  memory.finish();
  EXPECT_EQ(memory.copying(), Names{"b device->ram"});
  EXPECT_EQ(third.state(), RequestState::queued);
  memory.finish();
  EXPECT_EQ(third.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(Residency, AVictimThatSomebodyWantsIsKept) {
  Memory memory(machine({.ram = 2, .device = 2}, 1, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& c = memory.data("c", 2);
  memory.run(kDevice, {{&a, kW}});
  memory.run(kDevice, {{&b, kW}});
  auto& large = memory.ask(kDevice, {{&c, kW}});  // both must go
  EXPECT_EQ(memory.copying(), (Names{"a device->ram", "b device->ram"}));
  memory.residency.withdraw(large.request, memory.actions);
  auto& reader = memory.ask(kDevice, {{&a, kR}});
  EXPECT_EQ(reader.state(), RequestState::ready);  // it has not left yet
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kDevice));  // kept, and clean
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kDevice));
}

TEST(Residency, AnEvictionThatWaitsIsDroppedIfItsVictimIsWrittenMeanwhile) {
  // RAM is held, so a's way to safety queues there; then a task on the device takes a back and writes
  // it. When RAM is free nobody may copy from under the writer's hands.
  Memory memory(machine({.ram = 1, .device = 1}, 1, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& r = memory.data("r");
  auto& holder = memory.ask(kRam, {{&r, kW}});
  memory.run(kDevice, {{&a, kW}});
  auto& other = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_EQ(other.state(), RequestState::queued);
  memory.residency.withdraw(other.request, memory.actions);
  auto& writer = memory.ask(kDevice, {{&a, kRW}});
  EXPECT_EQ(writer.state(), RequestState::ready);
  memory.end(holder);  // RAM can be had; r leaves if somebody needs it
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(writer);
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
}

TEST(Residency, AnEvictionNeverWritesWhereATaskOverwritesTheSameData) {
  // A task in RAM that overwrites a is before a's eviction in RAM's queue, and runs when that has its
  // turn: the old content must not come into its hands; it is dead.
  Memory memory(machine({.ram = 2, .device = 1}, 1, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& r = memory.data("r", 2);
  memory.run(kDevice, {{&a, kW}});
  auto& holder = memory.ask(kRam, {{&r, kW}});
  auto& writer = memory.ask(kRam, {{&a, kW}});    // queued
  auto& other = memory.ask(kDevice, {{&b, kW}});  // evicts a, queued behind
  memory.end(holder);
  while (writer.state() != RequestState::ready) {
    ASSERT_FALSE(memory.copies.empty());
    ASSERT_NE(memory.copying()[0], "a device->ram");
    memory.finish();
  }
  memory.finish_all();
  EXPECT_EQ(other.state(), RequestState::ready);
  EXPECT_EQ(memory.valid(a, kDevice), false);
  memory.end(writer);
  EXPECT_TRUE(memory.valid(a, kRam));
}

TEST(Residency, RoomInPiecesIsEmptiedAndTheOperandsPlacedAnew) {
  // RAM: a x c y, one page each. A task wants a, c and two pages for d: x and y go, but what is free
  // is in two pieces. Its own operands leave, too, and all are placed anew.
  Memory memory(machine({.ram = 4}, 0, false));
  auto& a = memory.data("a");
  auto& x = memory.data("x");
  auto& c = memory.data("c");
  auto& y = memory.data("y");
  auto& d = memory.data("d", 2);
  for (auto* handle : {&a, &x, &c, &y}) memory.run(kRam, {{handle, kW}});
  auto& task = memory.ask(kRam, {{&a, kRW}, {&c, kR}, {&d, kW}});
  std::set<std::string> done;
  for (int left = 20; left > 0 && !memory.copies.empty(); --left) {
    done.insert(memory.copying()[0]);
    memory.finish();
  }
  EXPECT_EQ(task.state(), RequestState::ready) << memory.residency.describe();
  EXPECT_EQ(done, (std::set<std::string>{"x ram->disk", "y ram->disk", "a ram->disk", "c ram->disk",
                                         "a disk->ram", "c disk->ram"}));
  memory.end(task);
  EXPECT_EQ(memory.resident(kRam), kPage * 4);
}

TEST(Residency, RoomInPiecesWithNothingBehindItIsPushedTogether) {
  // RAM: a x c y, one page each, then a and c are void. Two pages for d are there, but in two pieces.
  MachineDescription m;
  m.nodes = {{kRam, "ram", NodeKind::ram, kPage * 4}};
  Memory memory(m);
  auto& a = memory.data("a");
  auto& x = memory.data("x");
  auto& c = memory.data("c");
  auto& y = memory.data("y");
  auto& d = memory.data("d", 2);
  for (auto* handle : {&a, &x, &c, &y}) memory.run(kRam, {{handle, kW}});
  for (auto* handle : {&a, &c}) memory.residency.invalidate(*handle, memory.actions);
  memory.collect();
  auto& reader = memory.ask(kRam, {{&y, kR}});
  auto& task = memory.ask(kRam, {{&x, kR}, {&d, kW}});
  EXPECT_EQ(task.state(), RequestState::queued);  // y is in use and stays where it is
  memory.end(reader);
  EXPECT_EQ(task.state(), RequestState::ready) << memory.residency.describe();
  EXPECT_EQ(memory.source_.moved, kPage * 2);
  memory.end(task);
  for (auto* handle : {&x, &y, &d}) EXPECT_TRUE(memory.valid(*handle, kRam)) << handle->name;
  auto& never = memory.ask(kRam, {{&a, kW}});
  EXPECT_EQ(never.state(), RequestState::failed);  // nothing is lost for it
}

TEST(Residency, AFullDiskFailsTheReservationAndKeepsTheContent) {
  Memory memory(machine({.ram = 1}, 0, false, 4, kPage));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& c = memory.data("c");
  memory.run(kRam, {{&a, kW}});
  memory.run(kRam, {{&b, kW}});  // a is on disk now
  auto& third = memory.ask(kRam, {{&c, kW}});
  EXPECT_EQ(third.state(), RequestState::failed);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kRam));
  ASSERT_TRUE(memory.residency.broken());
  try {
    std::rethrow_exception(third.request.error);
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("disk full"));
    EXPECT_THAT(error.what(), HasSubstr("b"));
  }
}

// --- copies -----------------------------------------------------------------------------------

TEST(Residency, DataOnDiskComeToADeviceThroughRam) {
  Memory memory(machine({.ram = 1, .device = 2}, 1, false));
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& task = memory.ask(kDevice, {{&a, kR}, {&b, kR}});
  // One page of RAM: one after the other.
  const Names expected{"a disk->ram", "a ram->device", "b disk->ram", "b ram->device"};
  Names done;
  while (!memory.copies.empty()) {
    done.push_back(memory.copying()[0]);
    memory.finish();
  }
  EXPECT_EQ(done, expected);
  EXPECT_EQ(task.state(), RequestState::ready);
}

TEST(Residency, AFailedReadOnTheWayThroughRamFailsTheReservation) {
  Memory memory(machine({.ram = 2, .device = 2}, 1, false));
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& task = memory.ask(kDevice, {{&a, kR}, {&b, kR}});
  memory.finish(0, std::make_exception_ptr(DeviceError("reading a failed")));
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::failed);
  EXPECT_TRUE(task.request.error != nullptr);
  EXPECT_FALSE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(a, kDisk));
  memory.run(kDevice, {{&a, kR}, {&b, kR}});  // the next one tries again
}

TEST(Residency, AWayThroughRamThatIsFullForGoodFailsTheReservation) {
  Memory memory(machine({.ram = 1, .device = 1}, 1, false, 4, kPage));
  auto& a = memory.on_disk("a");
  auto& b = memory.data("b");
  auto& c = memory.data("c");
  memory.run(kRam, {{&b, kW}});
  memory.run(kRam, {{&c, kW}});  // b has the only page of the disk
  auto& task = memory.ask(kDevice, {{&a, kR}});
  EXPECT_EQ(task.state(), RequestState::failed);
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kDisk));
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(Residency, ACopyThatEndsAfterAWriteIsVoid) {
  Memory memory(machine({}, 2, true));
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  EXPECT_TRUE(memory.prefetch(a, kOther));  // from RAM, in course
  auto& writer = memory.ask(kDevice, {{&a, kRW}});
  EXPECT_EQ(writer.state(), RequestState::ready);  // nobody reads the device's replica
  memory.end(writer);
  EXPECT_FALSE(memory.valid(a, kRam));
  memory.finish();
  EXPECT_FALSE(memory.valid(a, kOther));
  EXPECT_EQ(memory.resident(kOther).value, 0U);
}

// What was started for a task that was cancelled goes on, and knows nothing of the graph.
TEST(Residency, ACopyThroughRamThatNobodyWaitsForDoesNotPassForATaskThatOverwritesTheData) {
  Memory memory(machine({.ram = 4, .device = 1}, 2, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  memory.run(kOther, {{&a, kW}});
  auto& cancelled = memory.ask(kDevice, {{&a, kRW}});
  memory.finish();  // other->ram
  ASSERT_EQ(memory.copying(), Names{"a ram->device"});
  memory.residency.withdraw(cancelled.request, memory.actions);
  memory.collect();
  auto& writer = memory.ask(kOther, {{&a, kW}});
  ASSERT_EQ(writer.state(), RequestState::ready);
  memory.end(writer);
  // Its only replica leaves, while RAM still holds what was there before.
  auto& next = memory.ask(kOther, {{&b, kW}});
  memory.finish_all();
  ASSERT_EQ(next.state(), RequestState::ready) << memory.residency.describe();
  memory.end(next);
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.run(kRam, {{&a, kR}});
}

TEST(Residency, AWayThroughRamThatStillWaitsIsGivenUpWithTheTaskItWasFor) {
  Memory memory(machine({.ram = 1, .device = 1}, 2, false));
  auto& a = memory.data("a");
  auto& r = memory.data("r");
  memory.run(kOther, {{&a, kW}});
  auto& holder = memory.ask(kRam, {{&r, kW}});
  auto& cancelled = memory.ask(kDevice, {{&a, kR}});  // through RAM, which is full
  memory.residency.withdraw(cancelled.request, memory.actions);
  memory.collect();
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  auto& writer = memory.ask(kOther, {{&a, kRW}});
  ASSERT_EQ(writer.state(), RequestState::ready);
  memory.end(holder);  // room in RAM; but what lies on `other` is being written
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(writer);
}

TEST(Residency, NobodyJoinsACopyOfOlderContent) {
  Memory memory(machine({}, 2, true));
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  memory.prefetch(a, kOther);
  memory.run(kDevice, {});  // nothing, finishes nothing of a
  auto& again = memory.ask(kDevice, {{&a, kRW}});
  if (again.state() == RequestState::ready) memory.end(again);
  auto& reader = memory.ask(kOther, {{&a, kR}});
  memory.finish_all();
  EXPECT_EQ(reader.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kOther));
}

TEST(Residency, EarlyCopiesGiveWayToAReservation) {
  // One copy at a time on the link: the second early copy waits, and its room is taken back.
  Memory memory(machine({.ram = 4, .device = 2}, 1, false, 1));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& c = memory.data("c");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kW}});
  EXPECT_TRUE(memory.prefetch(a, kDevice));
  EXPECT_TRUE(memory.prefetch(b, kDevice));
  EXPECT_EQ(memory.copying(), Names{"a ram->device"});
  EXPECT_EQ(memory.resident(kDevice), kPage * 2);
  auto& task = memory.ask(kDevice, {{&c, kR}});
  EXPECT_EQ(memory.resident(kDevice), kPage * 2);  // a and c
  EXPECT_FALSE(memory.residency.on_node(b, kDevice));
  EXPECT_FALSE(memory.prefetch(b, kDevice));
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
}

TEST(Residency, AnEarlyCopyTakesNoRoomThatSomebodyWaitsFor) {
  Memory memory(machine({.ram = 2}, 0, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b", 2);
  auto& c = memory.on_disk("c");
  auto& holder = memory.ask(kRam, {{&a, kW}});
  auto& waiting = memory.ask(kRam, {{&b, kW}});
  EXPECT_EQ(waiting.state(), RequestState::queued);
  EXPECT_FALSE(memory.prefetch(c, kRam));  // although a page is free
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(holder);
  memory.finish_all();
  EXPECT_EQ(waiting.state(), RequestState::ready);
}

TEST(Residency, OutputsOnlyWrittenAreNotCopiedIn) {
  Memory memory(machine({}, 1, false));
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  auto& writer = memory.ask(kDevice, {{&a, kW}});
  EXPECT_EQ(writer.state(), RequestState::ready);
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_TRUE(memory.valid(a, kRam));  // until it is done
  memory.end(writer);
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_EQ(memory.resident(kRam).value, 0U);
}

TEST(Residency, InvalidatedContentGivesItsRoomBack) {
  Memory memory(machine({}, 1, false));
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  memory.residency.invalidate(a, memory.actions);
  memory.collect();
  EXPECT_EQ(memory.resident(kRam).value, 0U);
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  auto& reader = memory.ask(kRam, {{&a, kR}});
  EXPECT_EQ(reader.state(), RequestState::failed);
}

TEST(Residency, AHandleIsRemovedWhenItsLastCopyHasEnded) {
  Memory memory(machine({}, 1, false));
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.prefetch(a, kDevice);
  EXPECT_FALSE(memory.residency.remove(a, memory.actions));
  memory.finish_all();
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.residency.forget(a);
  EXPECT_EQ(memory.resident(kRam).value, 0U);
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
}

TEST(Residency, AHandleWhoseEvictionWaitsCanBeRemoved) {
  Memory memory(machine({.ram = 1, .device = 1}, 1, false));
  auto& a = memory.data("a");
  auto& b = memory.data("b");
  auto& r = memory.data("r");
  memory.ask(kRam, {{&r, kW}});
  memory.run(kDevice, {{&a, kW}});
  auto& other = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(other.state(), RequestState::queued);
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.collect();
  memory.residency.forget(a);
  EXPECT_EQ(other.state(), RequestState::ready);
}

// --- victims chosen from outside --------------------------------------------------------------

TEST(Residency, TheChoiceOfVictimsIsAskedAndOverruledOnlyForFirmReservations) {
  Memory memory(machine({.ram = 2}, 0, false), true);
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& c = memory.on_disk("c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  EXPECT_FALSE(memory.prefetch(c, kRam));
  ASSERT_EQ(memory.queries.size(), 1U);
  EXPECT_EQ(memory.queries[0].reason, EvictionReason::prefetch);
  ASSERT_EQ(memory.queries[0].candidates.size(), 2U);
  EXPECT_EQ(memory.queries[0].candidates[0].handle, &a);  // least recently used first
  memory.residency.answer(memory.queries[0], nullptr, memory.actions);
  memory.queries.clear();
  memory.collect();
  EXPECT_EQ(memory.evictions(kRam), 0U);  // a refusal counts for a prefetch
  auto& task = memory.ask(kRam, {{&c, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  EXPECT_EQ(memory.queries[0].reason, EvictionReason::firm);
  memory.residency.answer(memory.queries[0], &b, memory.actions);
  memory.collect();
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kRam));
  memory.end(task);
  memory.queries.clear();
  auto& next = memory.ask(kRam, {{&b, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  memory.residency.answer(memory.queries[0], nullptr, memory.actions);  // refused: the oldest goes
  memory.collect();
  memory.finish_all();
  EXPECT_EQ(next.state(), RequestState::ready);
  EXPECT_FALSE(memory.valid(a, kRam));
}

TEST(Residency, AChosenVictimThatIsPinnedMeanwhileIsAskedForAgain) {
  Memory memory(machine({.ram = 2}, 0, false), true);
  auto& a = memory.on_disk("a");
  auto& b = memory.on_disk("b");
  auto& c = memory.on_disk("c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  auto& task = memory.ask(kRam, {{&c, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  const VictimQuery query = memory.queries[0];
  memory.queries.clear();
  auto& user = memory.make(kRam, {{&a, kR}});
  EXPECT_TRUE(memory.residency.try_pin(user.task, kRam, memory.actions));
  memory.residency.answer(query, &a, memory.actions);
  memory.collect();
  ASSERT_EQ(memory.queries.size(), 1U);
  ASSERT_EQ(memory.queries[0].candidates.size(), 1U);
  EXPECT_EQ(memory.queries[0].candidates[0].handle, &b);
  memory.residency.answer(memory.queries[0], &b, memory.actions);
  memory.collect();
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
}

// --- by chance --------------------------------------------------------------------------------

// Random tasks in the order of the graph, on random nodes at the tightest limits. The contents are
// numbers: a copy brings the number that lay at its source when it was started. Every task must find
// the number that the last writer left; no copy may touch what a running task writes, or write where
// one reads; and something must always be able to happen until all tasks have ended.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {
    devices_ = static_cast<std::uint32_t>(random_.below(4));
    for (std::size_t i = 0, n = 2 + random_.below(8); i < n; ++i)
      pages_.push_back(1 + random_.below(4));
    make_plan();
    faulty_ = random_.below(4) == 0;
    const bool external = random_.below(2) == 0;
    memory_ = std::make_unique<Memory>(machine(limits_, devices_, random_.below(2) == 0,
                                               1 + static_cast<std::uint32_t>(random_.below(3))),
                                       external);
    for (std::size_t d = 0; d < pages_.size(); ++d) {
      const bool file = random_.below(3) == 0;
      const std::string name = "h" + std::to_string(d);
      data_.push_back(file ? &memory_->on_disk(name, pages_[d]) : &memory_->data(name, pages_[d]));
      content_.emplace_back(2 + devices_, -1);
      latest_.push_back(file ? 0 : -1);
      if (file) content_[d][kDisk.value] = 0;
    }
  }

  void go() {
    std::size_t next = 0;
    while (ended_ < plan_.size()) {
      if (next < plan_.size() && live_.size() < 12 && random_.below(2) == 0) {
        submit(plan_[next++]);
        continue;
      }
      std::vector<std::function<void()>> possible = events();
      if (possible.empty() && next < plan_.size()) {
        submit(plan_[next++]);
        continue;
      }
      ASSERT_FALSE(possible.empty())
          << "stuck after " << ended_ << " of " << plan_.size() << " tasks\n"
          << memory_->residency.describe();
      possible[random_.below(possible.size())]();
      notice_copies();
      if (::testing::Test::HasFailure()) return;
      if (memory_->residency.broken()) break;
    }
    faulty_ = false;
    while (!memory_->copies.empty()) finish_copy(0);
    expect_last_contents();
    Statistics s;
    memory_->residency.statistics(s);
    EXPECT_LE(s.nodes[0].peak, kPage * limits_.ram);
    for (std::uint32_t n = 2; n < 2 + devices_; ++n)
      EXPECT_LE(s.nodes[n].peak, kPage * limits_.device);
  }

 private:
  enum class State { waiting, ready, asked, running };
  struct Planned {
    std::vector<std::pair<std::size_t, AccessMode>> accesses;
  };
  struct Live {
    Memory::Use* use = nullptr;
    Planned plan;
    State state = State::waiting;
    NodeId node;
  };

  void make_plan() {
    std::vector<bool> written(pages_.size(), false);  // files are, but nobody knows yet
    limits_ = {.ram = 1, .device = 1};
    for (std::size_t t = 0; t < 60; ++t) {
      Planned task;
      std::uint64_t sum = 0;
      for (std::size_t d = 0; d < pages_.size() && task.accesses.size() < 4; ++d) {
        if (random_.below(3) != 0) continue;
        const auto mode = static_cast<AccessMode>(1 + random_.below(3));
        task.accesses.push_back({d, written[d] ? mode : kW});
        written[d] = true;
        sum += pages_[d];
      }
      limits_.ram = std::max(limits_.ram, sum);
      limits_.device = std::max(limits_.device, sum);
      plan_.push_back(task);
    }
  }

  void submit(const Planned& plan) {
    auto live = std::make_unique<Live>();
    live->plan = plan;
    std::vector<std::pair<graph::Handle*, AccessMode>> operands;
    for (const auto& [d, mode] : plan.accesses) operands.push_back({data_[d], mode});
    live->use = &memory_->make(kRam, operands);
    live->use->task.blocked.store(1);
    if (graph::insert(live->use->task)) live->state = State::ready;
    live_.push_back(std::move(live));
  }

  std::vector<std::function<void()>> events() {
    std::vector<std::function<void()>> possible;
    std::vector<int> asked(2 + devices_, 0);
    for (const auto& live : live_) {
      if (live->state == State::asked || live->state == State::running) ++asked[live->node.value];
    }
    for (const auto& entry : live_) {
      Live* live = entry.get();
      switch (live->state) {
        case State::waiting:
          break;
        case State::ready: {
          NodeId node = kRam;
          if (devices_ > 0 && random_.below(2) == 0) {
            node = NodeId{2 + static_cast<std::uint32_t>(random_.below(devices_))};
          }
          if (asked[node.value] < 2) possible.push_back([this, live, node] { ask(*live, node); });
          possible.push_back([this, live, node] { prefetch(*live, node); });
          break;
        }
        case State::asked:
          if (live->use->state() == RequestState::ready) {
            possible.push_back([this, live] { start(*live); });
          }
          if (live->use->state() == RequestState::failed) {
            EXPECT_TRUE(failed_) << "without a reason";
            live->use->request.state.store(RequestState::idle);
            live->state = State::ready;
            possible.push_back([] {});
          } else if (random_.below(8) == 0) {
            possible.push_back([this, live] { withdraw(*live); });
          }
          break;
        case State::running:
          possible.push_back([this, live] { end(*live); });
          break;
      }
    }
    for (std::size_t i = 0; i < memory_->copies.size(); ++i) {
      possible.push_back([this, i] { finish_copy(i); });
    }
    if (!memory_->queries.empty()) possible.push_back([this] { answer(); });
    return possible;
  }

  void ask(Live& live, NodeId node) {
    live.node = node;
    live.use->request.node = node;
    live.use->request.operands = live.use->task.accesses();
    // As the engine does: without a reservation if all is there.
    if (memory_->residency.try_pin(live.use->task, node, memory_->actions)) {
      live.use->request.state.store(RequestState::ready);
    } else {
      memory_->residency.request(live.use->request, memory_->actions);
    }
    live.state = State::asked;
    memory_->collect();
  }
  void withdraw(Live& live) {
    if (live.use->state() == RequestState::failed) return;  // since it was listed
    memory_->residency.withdraw(live.use->request, memory_->actions);
    live.state = State::ready;
    memory_->collect();
  }
  // Of a task that has access in the graph, as the engine's early copies.
  void prefetch(Live& live, NodeId node) {
    if (live.plan.accesses.empty()) return;
    const auto& [d, mode] = live.plan.accesses[random_.below(live.plan.accesses.size())];
    if (reads(mode)) memory_->prefetch(*data_[d], node);
    if (random_.below(4) == 0) memory_->residency.wont_use(*data_[d]);
  }
  void start(Live& live) {
    live.state = State::running;
    for (const auto& [d, mode] : live.plan.accesses) {
      if (reads(mode)) {
        EXPECT_EQ(content_[d][live.node.value], latest_[d])
            << "h" << d << " on node " << live.node.value;
      }
      for (const Copy& copy : memory_->copies) check_untouched(live, d, mode, copy);
    }
  }
  void check_untouched(const Live& live, std::size_t d, AccessMode mode, const Copy& copy) {
    if (copy.handle != data_[d]) return;
    EXPECT_NE(copy.to.node, live.node) << Memory::describe(copy) << " while a task uses it there";
    if (writes(mode)) {
      EXPECT_NE(copy.from.node, live.node)
          << Memory::describe(copy) << " while a task writes it there";
    }
  }
  void end(Live& live) {
    for (const auto& [d, mode] : live.plan.accesses) {
      if (writes(mode)) latest_[d] = content_[d][live.node.value] = ++counter_;
    }
    memory_->end(*live.use);
    graph::ReadyList ready;
    graph::release(live.use->task, ready);
    while (graph::Task* task = ready.take()) {
      for (const auto& other : live_) {
        if (&other->use->task == task) other->state = State::ready;
      }
    }
    std::erase_if(live_, [&](const auto& other) { return other.get() == &live; });
    ++ended_;
  }
  // Copies that were just started take what lies at their source now.
  void notice_copies() {
    for (const Copy& copy : memory_->copies) {
      const std::size_t d = index(*copy.handle);
      if (!brought_.contains(copy.id)) brought_[copy.id] = content_[d][copy.from.node.value];
      for (const auto& live : live_) {
        if (live->state != State::running) continue;
        for (const auto& [used, mode] : live->plan.accesses)
          check_untouched(*live, used, mode, copy);
      }
    }
  }
  void finish_copy(std::size_t at) {
    notice_copies();
    const Copy copy = memory_->copies[at];
    const bool fails = faulty_ && random_.below(16) == 0;
    content_[index(*copy.handle)][copy.to.node.value] = fails ? -2 : brought_[copy.id];
    brought_.erase(copy.id);
    failed_ |= fails;
    memory_->finish(at, fails ? std::make_exception_ptr(DeviceError("injected")) : nullptr);
  }
  // Of all that no task is about to change.
  void expect_last_contents() {
    for (std::size_t d = 0; d < data_.size(); ++d) {
      bool written = false;
      for (const auto& live : live_) {
        if (live->state == State::waiting) continue;
        for (const auto& [used, mode] : live->plan.accesses) written |= used == d && mode == kW;
      }
      if (written || latest_[d] < 0) continue;
      bool found = false;
      for (std::uint32_t n = 0; n < content_[d].size(); ++n) {
        if (!memory_->valid(*data_[d], NodeId{n})) continue;
        EXPECT_EQ(content_[d][n], latest_[d]) << "h" << d << " on node " << n;
        found = true;
      }
      EXPECT_TRUE(found) << "h" << d << " is lost";
    }
  }
  void answer() {
    const VictimQuery query = memory_->queries.front();
    memory_->queries.pop_front();
    graph::Handle* victim = nullptr;
    if (random_.below(4) != 0)
      victim = query.candidates[random_.below(query.candidates.size())].handle;
    memory_->residency.answer(query, victim, memory_->actions);
    memory_->collect();
  }
  std::size_t index(const graph::Handle& handle) const {
    return static_cast<std::size_t>(std::find(data_.begin(), data_.end(), &handle) - data_.begin());
  }

  base::Random random_;
  std::uint32_t devices_ = 0;
  std::vector<std::uint64_t> pages_;
  Pages limits_;
  std::vector<Planned> plan_;
  std::unique_ptr<Memory> memory_;
  std::vector<graph::Handle*> data_;
  std::vector<std::vector<std::int64_t>> content_;  // by datum and node
  std::vector<std::int64_t> latest_;
  std::map<std::uint64_t, std::int64_t> brought_;  // by copy
  std::vector<std::unique_ptr<Live>> live_;
  std::int64_t counter_ = 0;
  std::size_t ended_ = 0;
  bool faulty_ = false;  // copies may fail
  bool failed_ = false;  // one has
};

TEST(Residency, RandomRunsAtTheTightestLimitsFindTheLastContentAndNeverGetStuck) {
  for (const std::uint64_t seed : vicinal::testing::seeds(2000)) {
    SCOPED_TRACE("TEST_SEED_VICINAL=" + std::to_string(seed));
    RandomRun(seed).go();
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace vicinal::memory
