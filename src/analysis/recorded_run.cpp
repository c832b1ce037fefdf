#include "analysis/recorded_run.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "analysis/events/run_builder.hpp"

namespace vicinal::analysis {

std::string_view to_string(Cause cause) {
  constexpr std::string_view words[] = {"task",        "prefetch",    "eviction", "write-behind",
                                        "application", "through RAM", "arrival"};
  return words[static_cast<std::size_t>(cause)];
}

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view words[] = {"done", "failed", "cancelled"};
  return words[static_cast<std::size_t>(outcome)];
}

std::string_view to_string(RoomChange::Kind kind) {
  constexpr std::string_view words[] = {"taken", "freed", "evicted", "became void", "kept"};
  return words[static_cast<std::size_t>(kind)];
}

namespace {

// All of it.
std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

struct Numbered {
  std::string_view name;
  std::uint32_t number = 0;
};
// "gemm 812".
std::optional<Numbered> numbered(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto number = number_of(text.substr(space + 1));
  if (!number) return std::nullopt;
  return Numbered{text.substr(0, space), *number};
}

template <typename Items, typename Good>
std::uint32_t first_of(const Items& items, const Good& good) {
  const auto found = std::ranges::find_if(items, good);
  return found == items.end() ? kNobody : static_cast<std::uint32_t>(found - items.begin());
}

}  // namespace

RecordedRun::RecordedRun(const trace::EventSource& source, bool with_decisions) {
  RunBuilder(*this, source, with_decisions).build();
}

RecordedRun RecordedRun::without_decisions() const {
  RecordedRun copy;
  copy.facts = facts;
  copy.recorded = recorded;
  copy.complete = complete;
  copy.events_lost = events_lost;
  copy.begin = begin;
  copy.end = end;
  copy.names = names;
  copy.codelets = codelets;
  copy.tasks = tasks;
  copy.accesses = accesses;
  copy.data = data;
  copy.copies = copies;
  copy.room = room;
  copy.dependencies = dependencies;
  copy.sleeps = sleeps;
  copy.processor_times = processor_times;
  copy.marks = marks;
  copy.messages = messages;
  copy.ranks = ranks;
  copy.alone = alone;
  copy.tasks_by_id_ = tasks_by_id_;
  copy.data_by_id_ = data_by_id_;
  for (const DecisionOfRun& each : decisions) {
    if (each.decision.reason == trace::Reason::memory_saturated) copy.decisions.push_back(each);
  }
  return copy;
}

std::string RecordedRun::name_of(std::uint32_t task) const {
  if (task >= tasks.size()) return "no task";
  const TaskOfRun& it = tasks[task];
  if (it.own_name < names.size()) return names[it.own_name];
  return fmt::format("{} {}", it.name < names.size() ? names[it.name] : "task", task);
}

std::string RecordedRun::name_of_datum(std::uint32_t datum) const {
  if (datum >= data.size()) return "no datum";
  return data[datum].name.empty() ? fmt::format("datum {}", datum) : data[datum].name;
}

std::string RecordedRun::name_of_worker(std::uint32_t worker) const {
  const auto& workers = facts.machine.workers;
  if (worker == kNobody) return "the application";
  if (worker >= workers.size()) return fmt::format("worker {}", worker);
  const auto before = workers.begin() + worker;
  const std::uint32_t rank = rank_of_worker(worker);
  if (workers[worker].kind == ProcessorKind::cpu) {
    const auto first = workers.begin() + (rank == kNobody ? 0 : ranks[rank].first_worker);
    const auto place = std::count_if(
        first, before, [](const auto& each) { return each.kind == ProcessorKind::cpu; });
    return rank == kNobody ? fmt::format("core {}", place)
                           : fmt::format("rank {}: core {}", rank, place);
  }
  const NodeId node = workers[worker].node;
  const auto is_there = [&](const WorkerDescription& each) {
    return each.node == node && each.kind != ProcessorKind::cpu;
  };
  std::string name = name_of_node(node.value);
  if (std::ranges::count_if(workers, is_there) == 1) return name;
  return fmt::format("{}.{}", name, std::count_if(workers.begin(), before, is_there));
}

std::string RecordedRun::name_of_node(std::uint32_t node) const {
  if (node == kNobody) return "no node";
  const auto& nodes = facts.machine.nodes;
  if (node < nodes.size() && !nodes[node].name.empty()) return nodes[node].name;
  return node == kRam.value ? "ram" : fmt::format("node {}", node);
}

// A run that was put together by hand has no index.
std::uint32_t RecordedRun::task_of(TaskId id) const {
  if (!tasks_by_id_.empty()) return tasks_by_id_.find(id.value);
  return first_of(tasks, [&](const TaskOfRun& task) { return task.id == id.value; });
}

std::uint32_t RecordedRun::datum_of(HandleId id) const {
  if (!data_by_id_.empty()) return data_by_id_.find(id.value);
  return first_of(data, [&](const DatumOfRun& datum) { return datum.id == id.value; });
}

std::uint32_t RecordedRun::find_task(std::string_view text) const {
  const auto number = number_of(text);
  if (number && *number < tasks.size()) return *number;
  const std::uint32_t own = first_of(tasks, [&](const TaskOfRun& task) {
    return task.own_name < names.size() && names[task.own_name] == text;
  });
  if (own != kNobody) return own;
  const auto found = numbered(text);
  if (found && found->number < tasks.size() && name_of(found->number) == text) {
    return found->number;
  }
  return first_of(tasks, [&](const TaskOfRun& task) {
    return task.name < names.size() && names[task.name] == text;
  });
}

std::uint32_t RecordedRun::find_datum(std::string_view text) const {
  const auto number = number_of(text);
  if (number && *number < data.size()) return *number;
  const std::uint32_t named =
      first_of(data, [&](const DatumOfRun& datum) { return datum.name == text; });
  if (named != kNobody) return named;
  const auto found = numbered(text);
  const bool is_there = found && found->number < data.size();
  return is_there && name_of_datum(found->number) == text ? found->number : kNobody;
}

std::uint32_t RecordedRun::rank_of_node(std::uint32_t node) const {
  return first_of(ranks, [node](const trace::RankOfSource& rank) {
    return node >= rank.first_node && node - rank.first_node < rank.nodes;
  });
}

std::uint32_t RecordedRun::rank_of_worker(std::uint32_t worker) const {
  return first_of(ranks, [worker](const trace::RankOfSource& rank) {
    return worker >= rank.first_worker && worker - rank.first_worker < rank.workers;
  });
}

}  // namespace vicinal::analysis
