#include "bounds/graph_borders.hpp"

#include <algorithm>
#include <numeric>

#include "bounds/phases.hpp"
#include "bounds/transfer.hpp"
#include "graph/last_uses.hpp"

namespace vicinal::bounds {

namespace {

constexpr BorderNames kAccelerators{.in = "links into accelerators",
                                    .out = "links out of accelerators",
                                    .both = "links in and out of accelerators",
                                    .from_anywhere = "links into accelerators, also from peers",
                                    .all = "all links of accelerators"};
constexpr BorderNames kDisk{.in = "reading the disk",
                            .out = "writing the disk",
                            .both = "reading and writing the disk",
                            .from_anywhere = "reading the disk",
                            .all = "reading and writing the disk"};

void sort_link(Border& border, const MachineDescription& machine, std::size_t number) {
  const LinkDescription& link = machine.links[number];
  const bool from = border.inside[link.from.value];
  const bool to = border.inside[link.to.value];
  if (from && to && border.apart) border.peers.push_back(number);
  if (from == to) return;
  (to ? border.in : border.out).push_back(number);
  const NodeDescription& end = machine.nodes[(to ? link.to : link.from).value];
  border.limited = border.limited && end.limit.has_value();
}

// Of the memories inside.
enum class Memories : std::uint8_t { together, apart };

Border border_around(const MachineDescription& machine, BorderNames names, Memories memories,
                     bool (*inside)(NodeKind)) {
  Border border{.names = names,
                .inside = {},
                .in = {},
                .out = {},
                .peers = {},
                .apart = memories == Memories::apart};
  for (const NodeDescription& node : machine.nodes) border.inside.push_back(inside(node.kind));
  border.limited = true;
  for (std::size_t l = 0; l < machine.links.size(); ++l) sort_link(border, machine, l);
  return border;
}

// --- The graph as the border sees it -------------------------------------------------------------

// A kernel without any time may run everywhere.
bool runs(const TaskType& type, ProcessorKind kind) {
  const bool known = std::any_of(type.seconds.begin(), type.seconds.end(),
                                 [](double seconds) { return seconds > 0; });
  return !known || type.seconds[static_cast<std::size_t>(kind)] > 0;
}

Side side_of(const TaskType& type, const Border& border, const MachineDescription& machine) {
  bool inside = false;
  bool outside = false;
  for (const WorkerDescription& worker : machine.workers) {
    if (!runs(type, worker.kind)) continue;
    (border.inside[worker.node.value] ? inside : outside) = true;
  }
  if (inside == outside) return Side::either;
  return inside ? Side::inside : Side::outside;
}

// Every kernel that has tasks.
bool all_inside(std::span<const Side> sides, const BorderQuestion& question) {
  for (std::size_t k = 0; k < sides.size(); ++k) {
    if (question.types[k].count > 0 && sides[k] != Side::inside) return false;
  }
  return true;
}

// `home` in RAM is inside the border of the disk and outside that of the accelerators.
Side home_side(const graph::Graph::Datum& datum, const Border& border) {
  if (!datum.home) return Side::either;
  if (datum.home == NodeKind::disk) return Side::outside;
  return border.inside[kRam.value] ? Side::inside : Side::outside;
}

// One without a home is kept until the run has ended, wherever it fits: the application may ask for it.
// One at home in RAM has not to cross to the disk, unless it does not fit.
FinalPlace final_place(const graph::Graph::Datum& datum, Side home, FinalPlace results) {
  if (!datum.home) return FinalPlace::anywhere;
  return home == Side::inside ? FinalPlace::nowhere
                              : results;  // its home is beside what is limited
}

std::vector<DatumUse> uses_of(const Border& border, const BorderQuestion& question) {
  std::vector<DatumUse> uses;
  uses.reserve(question.graph.data().size());
  const std::vector<bool> is_temporary = graph::temporaries_of(question.graph);
  for (std::size_t d = 0; d < is_temporary.size(); ++d) {
    const graph::Graph::Datum& datum = question.graph.data()[d];
    const Side home = home_side(datum, border);
    uses.push_back({.size = datum.bytes,
                    .initially = home,
                    .finally = is_temporary[d] ? FinalPlace::nowhere
                                               : final_place(datum, home, question.results)});
  }
  return uses;
}

// --- Memories ------------------------------------------------------------------------------------

Bytes whole_data(Bytes limit, const graph::Graph& graph) {
  std::uint64_t unit = 0;
  for (const graph::Graph::Datum& datum : graph.data()) unit = std::gcd(unit, datum.bytes.value);
  return unit == 0 ? limit : Bytes{limit.value / unit * unit};
}

// What fits inside; none if one memory has no limit.
std::optional<Bytes> room_inside(const Border& border, const BorderQuestion& question) {
  Bytes room;
  for (const NodeDescription& node : question.machine.nodes) {
    if (!border.inside[node.id.value]) continue;
    if (!node.limit) return std::nullopt;
    room += whole_data(*node.limit, question.graph);
  }
  return room;
}

// Those inside from which tasks compute, with the size of the largest; one with the size of all where
// they are not told apart. None if one has no limit.
std::optional<LimitedMemory> memory_inside(const Border& border, const BorderQuestion& question) {
  if (!border.apart) {
    const auto room = room_inside(border, question);
    if (!room) return std::nullopt;
    return LimitedMemory{.each = *room, .count = 1};
  }
  std::vector<bool> computes(border.inside.size(), false);
  for (const WorkerDescription& worker : question.machine.workers) {
    computes[worker.node.value] = true;
  }
  LimitedMemory memory{.each = {}, .count = 0};
  for (const NodeDescription& node : question.machine.nodes) {
    if (!border.inside[node.id.value] || !computes[node.id.value]) continue;
    if (!node.limit) return std::nullopt;
    memory.each = std::max(memory.each, whole_data(*node.limit, question.graph));
    ++memory.count;
  }
  return memory;
}

// Of an inner task, over the workers of the memory that has most of them; 0: not known.
double inner_seconds(const Border& border, const BorderQuestion& question) {
  double least = 0;
  for (std::size_t k = 0; k < question.types.size(); ++k) {
    const std::string& name = question.graph.kernels()[k].name;
    const bool is_inner = name.find("gemm") != std::string::npos || name == "tsmqr";
    if (question.types[k].count == 0 || !is_inner) continue;
    for (const double seconds : question.types[k].seconds) {
      if (seconds > 0 && (least == 0 || seconds < least)) least = seconds;
    }
  }
  std::vector<std::uint32_t> workers(border.inside.size());
  std::uint32_t most = 1;
  for (const WorkerDescription& worker : question.machine.workers) {
    if (border.inside[worker.node.value]) most = std::max(most, ++workers[worker.node.value]);
  }
  return least / most;
}

// The formulas take all data to lie outside: what does not is subtracted.
void add_proved_loads(BorderTraffic& traffic, const Border& border, const BorderQuestion& question,
                      std::span<const DatumUse> uses) {
  const auto memory = memory_inside(border, question);
  if (!memory || memory->count == 0) return;
  Formula formula = formula_of(question.graph, *memory);
  Bytes there;
  for (const DatumUse& use : uses) {
    if (use.initially == Side::inside) there += use.size;
  }
  BytesBound& loads = formula.loads;
  loads.value = loads.value > there ? loads.value - there : Bytes{0};
  traffic.proved_in = loads;
  if (memory->count == 1) return;  // nothing is shared
  traffic.split = std::move(formula.split);
  traffic.rates = {.task_seconds = inner_seconds(border, question),
                   .tile = formula.tile,
                   .each = {},
                   .together = {},
                   .also = {},
                   .free = formula.free + there};
}

// What fits in no memory from one phase to the next comes in again.
void add_repeated_loads(BorderTraffic& traffic, const Border& border,
                        const BorderQuestion& question, std::span<const DatumUse> uses) {
  const auto room = room_inside(border, question);
  if (!room) return;
  const Bytes loads = loads_between_cuts(question.graph, uses, *room);
  if (loads <= traffic.in.value) return;
  traffic.in.value = loads;
  traffic.in.source = "counting, between tasks that all others come before or behind";
}

// --- Time ----------------------------------------------------------------------------------------

struct Carried {
  BytesBound bytes;
  std::vector<std::size_t> links;
};

// The source is that of the larger part.
Carried together(const Carried& a, const Carried& b) {
  Carried sum = a.bytes.value < b.bytes.value ? b : a;
  sum.bytes.value = a.bytes.value + b.bytes.value;
  sum.links = a.links;
  sum.links.insert(sum.links.end(), b.links.begin(), b.links.end());
  return sum;
}

void add_time(std::vector<TimeBound>& times, std::string_view name,
              const MachineDescription& machine, const Carried& carried) {
  const double rate = joint_bandwidth(machine, carried.links).value;
  const auto bytes = static_cast<double>(carried.bytes.value.value);
  if (rate <= 0 || bytes == 0) return;
  times.push_back(
      {.value = rounded_down(bytes / rate), .name = name, .source = carried.bytes.source});
}

// Into the memory inside that gets most; 0: not known.
BytesPerSecond rate_into_one(const Border& border, const MachineDescription& machine,
                             std::span<const std::size_t> links) {
  BytesPerSecond most;
  for (std::size_t n = 0; n < border.inside.size(); ++n) {
    std::vector<std::size_t> into;
    for (const std::size_t link : links) {
      if (machine.links[link].to.value == n) into.push_back(link);
    }
    if (into.empty()) continue;
    const BytesPerSecond rate = joint_bandwidth(machine, into);
    if (rate.value <= 0) return {};
    most = std::max(most, rate);
  }
  return most;
}

// The later of what these bytes take and, where the memories inside must share the tasks to be that fast, of the
// loads that this costs. `beside`: what else passes the same links.
void add_load_time(std::vector<TimeBound>& times, std::string_view name, const Border& border,
                   const MachineDescription& machine, const BorderTraffic& traffic,
                   const Carried& carried, Bytes beside) {
  add_time(times, name, machine, carried);
  if (!traffic.split) return;
  SplitRates rates = traffic.rates;
  rates.together = joint_bandwidth(machine, carried.links);
  rates.each = rate_into_one(border, machine, carried.links);
  rates.also = beside;
  const TimeBound shared{.value = split_time(*traffic.split, rates),
                         .name = name,
                         .source = source_of(traffic.split->work().kernel)};
  if (shared.value.ns == 0) return;
  if (times.empty() || times.back().name != name) {
    times.push_back(shared);
  } else if (times.back().value < shared.value) {
    times.back() = shared;
  }
}

}  // namespace

std::vector<Border> borders_of(const MachineDescription& machine) {
  std::vector<Border> borders{border_around(machine, kAccelerators, Memories::apart,
                                            [](NodeKind kind) { return kind == NodeKind::device; }),
                              border_around(machine, kDisk, Memories::together,
                                            [](NodeKind kind) { return kind != NodeKind::disk; })};
  std::erase_if(borders, [](const Border& border) { return border.in.empty(); });
  return borders;
}

BorderTraffic traffic_across(const Border& border, const BorderQuestion& question) {
  std::vector<Side> sides;
  for (const TaskType& type : question.types) {
    sides.push_back(side_of(type, border, question.machine));
  }
  const auto uses = uses_of(border, question);
  const auto crossings =
      compulsory_crossings(question.graph, sides, uses, room_inside(border, question));
  BorderTraffic traffic{.in = crossings.in, .proved_in = {}, .out = crossings.out};
  if (all_inside(sides, question)) {
    add_repeated_loads(traffic, border, question, uses);
    add_proved_loads(traffic, border, question, uses);
  }
  return traffic;
}

std::vector<TimeBound> crossing_times(const Border& border, const MachineDescription& machine,
                                      const BorderTraffic& traffic) {
  std::vector<TimeBound> times;
  // Without peers all loads come across the border.
  const bool formula = traffic.proved_in.value > traffic.in.value;
  const bool peers = !border.peers.empty();
  const Carried in{formula && !peers ? traffic.proved_in : traffic.in, border.in};
  const Carried out{traffic.out, border.out};
  BorderTraffic across = traffic;
  if (peers) across.split.reset();
  add_load_time(times, border.names.in, border, machine, across, in, {});
  add_time(times, border.names.out, machine, out);
  if (in.bytes.value.value > 0 && out.bytes.value.value > 0) {
    add_load_time(times, border.names.both, border, machine, across, together(in, out),
                  traffic.out.value);
  }
  if (!peers || (!formula && !traffic.split)) return times;
  const Carried loads =
      together({formula ? traffic.proved_in : traffic.in, border.in}, {{}, border.peers});
  add_load_time(times, border.names.from_anywhere, border, machine, traffic, loads, {});
  add_load_time(times, border.names.all, border, machine, traffic, together(loads, out),
                traffic.out.value);
  return times;
}

}  // namespace vicinal::bounds
