// What blocks are made of: tasks that should run in the same visit of a datum to a memory.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

enum class Family : std::uint8_t {
  writers,  // the tasks that write one datum: its owner
  readers,  // the tasks whose most read input is the same version of a datum
  tasks,    // each alone
};

struct Units {
  Lists tasks;                       // by unit, in the order of the plan graph
  std::vector<Number> unit;          // by task
  std::vector<Number> owner;         // by unit: a datum; kNone: it has none
  Lists data;                        // by unit, each once
  Lists users;                       // by datum: units, each once
  Lists successors;                  // by unit; one may stand there several times
  std::vector<Number> predecessors;  // by unit: how often it stands there

  std::size_t count() const { return owner.size(); }
};

// Numbered by their first task. Units that would wait for each other fall apart into tasks.
Units units_of(const PlanGraph& graph, Family family);

}  // namespace vicinal::sched::orders::horizon
