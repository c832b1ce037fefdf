// Residency driven by hand, with data that have addresses and no content. A test plays the engine (it
// asks for room, ends tasks, answers for the policy) and the drivers (it ends what Residency lists as
// copies to start, in any order that a real driver could).
//
//   FakeMemory memory({.ram = 2, .devices = 1});
//   auto [a, b] = memory.data("a", "b");
//   memory.run(kRam, {{&a, kW}});
//   auto& task = memory.ask(kDevice, {{&a, kR}, {&b, kW}});
//   EXPECT_EQ(memory.copying(), Names{"a ram->device"});
//   memory.finish();
//   EXPECT_EQ(task.state(), RequestState::ready);
//   memory.end(task);
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/task.hpp"
#include "memory/residency.hpp"
#include "support/access_modes.hpp"
#include "support/small_runs.hpp"

namespace vicinal::testing {

inline constexpr NodeId kDisk{1};
inline constexpr NodeId kDevice{2};
inline constexpr NodeId kOther{3};

using Names = std::vector<std::string>;

// RAM, linked with a disk and with each device. Limits in pages.
struct FakeMachine {
  std::uint64_t ram = 4;
  std::uint64_t device = 4;  // of each
  std::uint32_t devices = 0;
  bool peers = false;                      // devices are linked with each other
  std::uint32_t copies = 4;                // on a link at once
  std::optional<std::uint64_t> disk = {};  // 0: there is RAM only
  bool external_victims = false;           // the test answers for the policy
  bool in_order = true;                    // uses come in the order in which they are named
  memory::Rules rules = {};

  MachineDescription description() const {
    MachineDescription m;
    m.nodes = {{kRam, "ram", NodeKind::ram, kPage * ram}};
    if (disk == 0U) return m;
    const auto join = [&](NodeId a, NodeId b) {
      m.links.push_back({a, b, BytesPerSecond{0}, Time{0}, copies});
      m.links.push_back({b, a, BytesPerSecond{0}, Time{0}, copies});
    };
    std::optional<Bytes> limit;
    if (disk) limit = kPage * *disk;
    m.nodes.push_back({kDisk, "disk", NodeKind::disk, limit});
    join(kRam, kDisk);
    for (std::uint32_t i = 0; i < devices; ++i) {
      const NodeId node{2 + i};
      m.nodes.push_back({node, "device" + std::to_string(i), NodeKind::device, kPage * device});
      join(kRam, node);
      for (std::uint32_t j = 0; peers && j < i; ++j) join(NodeId{2 + j}, node);
    }
    return m;
  }
};

// Addresses that nobody may look at.
class FakeSource final : public memory::MemorySource {
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

class FakeMemory {
 public:
  using Operands = std::vector<std::pair<graph::Handle*, AccessMode>>;
  // A task, or what of one matters here: its operands and their reservation.
  struct Use {
    graph::Task task;
    memory::Request request;
    memory::RequestState state() const { return request.state.load(); }
  };

  explicit FakeMemory(const FakeMachine& machine = {})
      : residency(machine.description(), source,
                  machine.external_victims ? memory::VictimChooser::policy
                                           : memory::VictimChooser::memory,
                  machine.in_order ? memory::UseOrder::as_announced : memory::UseOrder::any,
                  machine.rules),
        nodes_(machine.description().nodes.size()) {
    residency.reserve();
  }
  // Copies may be in flight: nobody asks for anything any more.
  ~FakeMemory() {
    for (graph::Handle& handle : handles_) {
      if (handle.replicas != nullptr) residency.forget(handle);
    }
  }
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;

  // --- data: written by nobody yet, or regions of a file. Several at once have a page each.
  graph::Handle& data(const std::string& name, std::uint64_t pages = 1) {
    graph::Handle& handle = make_handle(name, pages);
    residency.add(handle);
    return handle;
  }
  graph::Handle& on_disk(const std::string& name, std::uint64_t pages = 1) {
    graph::Handle& handle = make_handle(name, pages);
    handle.home.kind = graph::HomeKind::file;
    handle.home.file = 7;
    handle.content = graph::Content::written;
    residency.add(handle);
    return handle;
  }
  // The application's.
  graph::Handle& in_buffer(const std::string& name, std::uint64_t pages = 1) {
    graph::Handle& handle = make_handle(name, pages);
    handle.home.kind = graph::HomeKind::buffer;
    handle.content = graph::Content::written;
    residency.add(handle);
    return handle;
  }
  template <std::convertible_to<std::string>... Name>
  requires(sizeof...(Name) > 1) auto data(const Name&... names) {
    return std::tuple<HandleNamed<Name>...>{data(names)...};
  }
  template <std::convertible_to<std::string>... Name>
  requires(sizeof...(Name) > 1) auto on_disk(const Name&... names) {
    return std::tuple<HandleNamed<Name>...>{on_disk(names)...};
  }

  // --- tasks
  Use& make(NodeId node, const Operands& operands) {
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
  bool try_pin(Use& use) {
    const bool pinned = residency.try_pin(use.task, use.request.node, actions);
    collect();
    return pinned;
  }
  void request(Use& use) {
    residency.request(use.request, actions);
    collect();
  }
  Use& ask(NodeId node, const Operands& operands) {
    Use& use = make(node, operands);
    request(use);
    return use;
  }
  void withdraw(Use& use) {
    residency.withdraw(use.request, actions);
    collect();
  }
  void end(Use& use) {
    residency.written(use.task, use.request.node, actions);
    residency.unpin(use.task, use.request.node, actions);
    use.request.state.store(memory::RequestState::idle);
    collect();
  }
  // Asks, copies, runs, ends.
  void run(NodeId node, const Operands& operands) {
    run_and_end(node, operands);
    finish_all();
  }
  // And no task in the graph uses the operands; copies that this begins are in flight.
  void run_last(NodeId node, const Operands& operands) { note_unused(run_and_end(node, operands)); }
  // Of the operands it uses those that no task in the graph uses.
  void note_unused(Use& use) {
    residency.note_unused(use.task, actions);
    collect();
  }
  void wont_use(graph::Handle& handle) {
    residency.wont_use(handle, actions);
    collect();
  }
  bool prefetch(graph::Handle& handle, NodeId node) {
    const bool coming = residency.prefetch(handle, node, actions);
    collect();
    return coming;
  }
  // A planned copy in place of the victim.
  bool load(graph::Handle& handle, NodeId node, graph::Handle* victim) {
    const bool coming = residency.load(handle, node, victim, actions);
    collect();
    return coming;
  }
  // Who may go by the oldest question, least recently used first.
  std::vector<memory::Candidate> candidates() {
    memory::Residency::Search search(residency, queries.front());
    const std::span<const memory::Candidate> all = search.all();
    return {all.begin(), all.end()};
  }
  // For the policy, whose oldest question it is.
  void answer(graph::Handle* victim) {
    const memory::VictimQuery query = queries.front();
    queries.pop_front();
    if (residency.answer(query, victim, actions)) queries.push_front(query);
    collect();
  }

  // --- copies in flight, in the order they were started: "a ram->disk"
  Names copying() const {
    Names names;
    for (const memory::Copy& copy : copies) names.push_back(describe(copy));
    return names;
  }
  static std::string describe(const memory::Copy& copy) {
    constexpr const char* nodes[] = {"ram", "disk", "device", "other", "third"};
    return copy.handle->name + " " + nodes[copy.from.node.value] + "->" + nodes[copy.to.node.value];
  }
  void finish(std::size_t index = 0, std::exception_ptr error = nullptr) {
    const memory::Copy copy = copies.at(index);
    copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(index));
    residency.copy_done(copy.id, std::move(error), actions);
    collect();
  }
  // Those that start meanwhile, too. What was copied.
  Names finish_all() {
    Names done;
    while (!copies.empty() && done.size() < kTooMany) {
      done.push_back(describe(copies.front()));
      finish();
    }
    EXPECT_LT(done.size(), kTooMany) << residency.describe();
    return done;
  }

  // --- looking
  bool valid(graph::Handle& handle, NodeId node) const { return residency.valid_on(handle, node); }
  NodeStatistics statistics(NodeId node) const {
    Statistics s;
    residency.statistics(s);
    return s.nodes[node.value];
  }
  Bytes resident(NodeId node) const { return statistics(node).resident; }

  // Takes what Residency has put into `actions`.
  void collect() {
    for (const memory::Copy& copy : actions.copies) copies.push_back(copy);
    for (const memory::VictimQuery& query : actions.queries) queries.push_back(query);
    actions = {};
    residency.check();
    for (const graph::Handle& handle : handles_) {
      if (handle.replicas == nullptr) continue;
      for (std::uint32_t n = 0; n < nodes_; ++n) {
        EXPECT_EQ((residency.on_nodes(handle) >> n & 1) != 0, residency.on_node(handle, NodeId{n}))
            << handle.name << " on node " << n;
      }
    }
  }

  FakeSource source;
  memory::Residency residency;
  memory::Actions actions;
  std::vector<memory::Copy> copies;
  std::deque<memory::VictimQuery> queries;

 private:
  static constexpr std::size_t kTooMany = 100;
  template <typename Name>
  using HandleNamed = graph::Handle&;

  Use& run_and_end(NodeId node, const Operands& operands) {
    Use& use = ask(node, operands);
    finish_all();
    EXPECT_EQ(use.state(), memory::RequestState::ready) << residency.describe();
    end(use);
    return use;
  }
  graph::Handle& make_handle(const std::string& name, std::uint64_t pages) {
    graph::Handle& handle = handles_.emplace_back();
    handle.name = name;
    handle.layout = {pages * kPage.value, 1, pages * kPage.value, 1};
    return handle;
  }

  std::size_t nodes_;
  Codelet codelet_{.name = "task"};
  std::deque<graph::Handle> handles_;
  std::vector<std::unique_ptr<Use>> uses_;
};

}  // namespace vicinal::testing
