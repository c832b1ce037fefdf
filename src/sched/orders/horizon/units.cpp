#include "sched/orders/horizon/units.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace vicinal::sched::orders::horizon {

namespace {

// By task: the key of its unit, and the datum that owns it; kNone: the task is alone.
struct Keys {
  std::vector<std::uint64_t> key;
  std::vector<Number> owner;
};

// Of several data that a task writes, the largest.
Keys by_writers(const PlanGraph& graph) {
  Keys keys{{}, std::vector<Number>(graph.tasks(), kNone)};
  for (Number task = 0; task < graph.tasks(); ++task) {
    for (const Use& use : graph.uses_of(task)) {
      Number& owner = keys.owner[task];
      if (use.writes && (owner == kNone || graph.bytes[use.datum] > graph.bytes[owner])) {
        owner = use.datum;
      }
    }
    keys.key.push_back(keys.owner[task]);
  }
  return keys;
}

// A version is a datum between two writes, counted in the order of the plan graph.
Keys by_readers(const PlanGraph& graph) {
  std::vector<Number> version(graph.data());
  std::vector<std::vector<Number>> reads;  // by data: of each version, how many
  reads.resize(graph.data(), {0});
  std::vector<Number> of_use(graph.uses.size());
  for (Number task = 0; task < graph.tasks(); ++task) {
    for (std::size_t i = graph.first_use[task]; i < graph.first_use[task + 1]; ++i) {
      const Use& use = graph.uses[i];
      of_use[i] = version[use.datum];
      if (use.reads && !use.writes) ++reads[use.datum].back();
      if (!use.writes) continue;
      ++version[use.datum];
      reads[use.datum].push_back(0);
    }
  }
  Keys keys{std::vector<std::uint64_t>(graph.tasks(), kNone),
            std::vector<Number>(graph.tasks(), kNone)};
  for (Number task = 0; task < graph.tasks(); ++task) {
    Number most = 1;  // one reader makes no unit
    for (std::size_t i = graph.first_use[task]; i < graph.first_use[task + 1]; ++i) {
      const Use& use = graph.uses[i];
      if (!use.reads || use.writes || reads[use.datum][of_use[i]] <= most) continue;
      most = reads[use.datum][of_use[i]];
      keys.owner[task] = use.datum;
      keys.key[task] = std::uint64_t{of_use[i]} << 32 | use.datum;
    }
  }
  return keys;
}

// Numbers units by their first task.
void number_units(const std::vector<std::uint64_t>& keys, const std::vector<bool>& alone,
                  Units& units) {
  std::unordered_map<std::uint64_t, Number> numbers;
  Number count = 0;
  units.unit.resize(keys.size());
  for (Number task = 0; task < keys.size(); ++task) {
    if (alone[task]) {
      units.unit[task] = count++;
      continue;
    }
    const auto [found, is_new] = numbers.try_emplace(keys[task], count);
    if (is_new) ++count;
    units.unit[task] = found->second;
  }
  units.owner.assign(count, kNone);
}

template <typename Each>
Lists lists_of(std::size_t count, const Each& each) {
  Lists lists(count);
  each([&](Number list, Number) { lists.count(list); });
  lists.counted();
  each([&](Number list, Number item) { lists.place(list, item); });
  lists.placed();
  return lists;
}

void link_units(const PlanGraph& graph, Units& units) {
  units.successors = lists_of(units.count(), [&](const auto& call) {
    for (Number task = 0; task < graph.tasks(); ++task) {
      for (const Number after : graph.successors[task]) {
        if (units.unit[task] != units.unit[after]) call(units.unit[task], units.unit[after]);
      }
    }
  });
  units.predecessors.assign(units.count(), 0);
  for (Number unit = 0; unit < units.count(); ++unit) {
    for (const Number after : units.successors[unit]) ++units.predecessors[after];
  }
}

// By unit: it cannot be reached before itself.
std::vector<bool> in_order(const Units& units) {
  std::vector<Number> blocked = units.predecessors;
  std::vector<Number> ready;
  std::vector<bool> reached(units.count());
  for (Number unit = 0; unit < units.count(); ++unit) {
    if (blocked[unit] == 0) ready.push_back(unit);
  }
  while (!ready.empty()) {
    const Number unit = ready.back();
    ready.pop_back();
    reached[unit] = true;
    for (const Number after : units.successors[unit]) {
      if (--blocked[after] == 0) ready.push_back(after);
    }
  }
  return reached;
}

}  // namespace

Units units_of(const PlanGraph& graph, Family family) {
  const std::size_t tasks = graph.tasks();
  Keys keys{std::vector<std::uint64_t>(tasks, kNone), std::vector<Number>(tasks, kNone)};
  if (family == Family::writers) keys = by_writers(graph);
  if (family == Family::readers) keys = by_readers(graph);
  std::vector<bool> alone(tasks);
  for (Number task = 0; task < tasks; ++task) alone[task] = keys.owner[task] == kNone;
  Units units;
  // What falls apart may leave others on a cycle no longer, but none on a new one.
  for (;;) {
    number_units(keys.key, alone, units);
    link_units(graph, units);
    const std::vector<bool> reached = in_order(units);
    if (std::ranges::find(reached, false) == reached.end()) break;
    for (Number task = 0; task < tasks; ++task) {
      if (!reached[units.unit[task]]) alone[task] = true;
    }
  }
  for (Number task = 0; task < tasks; ++task) units.owner[units.unit[task]] = keys.owner[task];
  units.tasks = lists_of(units.count(), [&](const auto& call) {
    for (Number task = 0; task < tasks; ++task) call(units.unit[task], task);
  });
  std::vector<Number> seen(graph.data(), kNone);
  const auto each_datum = [&](const auto& call) {
    std::ranges::fill(seen, kNone);
    for (Number unit = 0; unit < units.count(); ++unit) {
      for (const Number task : units.tasks[unit]) {
        for (const Use& use : graph.uses_of(task)) {
          if (std::exchange(seen[use.datum], unit) != unit) call(unit, use.datum);
        }
      }
    }
  };
  units.data = lists_of(units.count(), each_datum);
  units.users = lists_of(graph.data(), [&](const auto& call) {
    each_datum([&](Number unit, Number datum) { call(datum, unit); });
  });
  return units;
}

}  // namespace vicinal::sched::orders::horizon
