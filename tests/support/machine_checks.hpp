// What the tests of machine descriptions look at: links by the names of their ends, and whether all holds together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/processor_kinds.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::testing {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inline constexpr ProcessorKind kGpu = ProcessorKind::gpu;

inline std::uint32_t link_number(const MachineDescription& machine, std::string_view from,
                                 std::string_view to) {
  for (std::uint32_t i = 0; i < machine.links.size(); ++i) {
    const auto& link = machine.links[i];
    if (machine.nodes[link.from.value].name == from && machine.nodes[link.to.value].name == to) {
      return i;
    }
  }
  ADD_FAILURE() << "no link from " << from << " to " << to;
  return 0;
}

inline const LinkDescription& link(const MachineDescription& machine, std::string_view from,
                                   std::string_view to) {
  return machine.links.at(link_number(machine, from, to));
}

inline std::vector<std::string> segments(const MachineDescription& machine, std::string_view from,
                                         std::string_view to) {
  std::vector<std::string> names;
  for (const auto number : link(machine, from, to).segments) {
    names.push_back(machine.segments.at(number).name);
  }
  return names;
}

inline std::string link_name(const MachineDescription& machine, std::uint32_t number) {
  const auto& found = machine.links.at(number);
  return machine.nodes[found.from.value].name + ">" + machine.nodes[found.to.value].name;
}

inline std::vector<std::string> serialised(const MachineDescription& machine, std::string_view from,
                                           std::string_view to) {
  std::vector<std::string> names;
  for (const auto number : link(machine, from, to).serialised) {
    names.push_back(link_name(machine, number));
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline void expect_sound(const MachineDescription& machine) {
  for (std::uint32_t i = 0; i < machine.nodes.size(); ++i) EXPECT_EQ(machine.nodes[i].id.value, i);
  EXPECT_FALSE(machine.workers.empty());
  std::set<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t i = 0; i < machine.links.size(); ++i) {
    const auto& each = machine.links[i];
    EXPECT_LT(each.from.value, machine.nodes.size());
    EXPECT_LT(each.to.value, machine.nodes.size());
    EXPECT_NE(each.from, each.to);
    EXPECT_TRUE(ends.emplace(each.from.value, each.to.value).second) << "twice: link " << i;
    EXPECT_GT(each.bandwidth.value, 0);
    for (const auto segment : each.segments) EXPECT_LT(segment, machine.segments.size());
    for (const auto other : each.serialised) {
      ASSERT_LT(other, machine.links.size());
      const auto& back = machine.links[other].serialised;
      EXPECT_EQ(std::count(back.begin(), back.end(), i), 1) << "not both ways: link " << i;
    }
  }
  for (const auto& node : machine.nodes) {
    if (node.kind == NodeKind::ram) continue;
    EXPECT_TRUE(ends.contains({0, node.id.value})) << node.name;
    EXPECT_TRUE(ends.contains({node.id.value, 0})) << node.name;
  }
}

}  // namespace vicinal::testing
