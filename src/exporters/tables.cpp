// Numbers of tasks, data, nodes and workers join the tables.
#include "exporters/tables.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exporters/event_tables.hpp"
#include "exporters/words.hpp"

namespace vicinal::exporters {

namespace {

using analysis::kNobody;
using analysis::kUnknown;
using analysis::RecordedRun;
using analysis::TaskOfRun;

constexpr Tables::Kind kThings = Tables::Kind::things;

std::optional<std::int64_t> time(std::int64_t ns) {
  return ns == kUnknown ? std::nullopt : std::optional(ns);
}

std::optional<std::uint32_t> number(std::uint32_t value) {
  return value == kNobody ? std::nullopt : std::optional(value);
}

std::optional<std::string> node_name(const RecordedRun& run, std::uint32_t node) {
  return node == kNobody ? std::nullopt : std::optional(run.name_of_node(node));
}

std::optional<std::string> datum_name(const RecordedRun& run, std::uint32_t datum) {
  return datum == kNobody ? std::nullopt : std::optional(title_of_datum(run, datum));
}

std::optional<std::string> worker_name(const RecordedRun& run, std::uint32_t worker) {
  return worker == kNobody ? std::nullopt : std::optional(run.name_of_worker(worker));
}

void write_run(const RecordedRun& run, Tables& tables) {
  const auto file = tables.add(kThings, "run", {text("name"), text("value")});
  const analysis::RunFacts& facts = run.facts;
  file->row("command", facts.command);
  file->row("application", facts.application);
  file->row("vicinal", facts.version);
  file->row("policy", facts.policy);
  file->row("simulated", facts.simulated);
  file->row("complete", run.complete);
  file->row("events_lost", run.events_lost);
  file->row("end_ns", run.end);
  for (const auto& [name, value] : facts.options) file->row("option." + name, value);
  for (const auto& [name, value] : facts.told) file->row(name, value);
  file->close();
}

void write_machine(const RecordedRun& run, Tables& tables) {
  const MachineDescription& machine = run.facts.machine;
  const auto nodes =
      tables.add(kThings, "nodes", {"node", text("name"), text("kind"), "limit_bytes"});
  for (const NodeDescription& node : machine.nodes) {
    constexpr std::string_view kinds[] = {"ram", "disk", "device"};
    std::optional<std::uint64_t> limit;
    if (node.limit) limit = node.limit->value;
    nodes->row(node.id.value, run.name_of_node(node.id.value),
               kinds[static_cast<std::size_t>(node.kind)], limit);
  }
  nodes->close();
  const auto workers = tables.add(
      kThings, "workers", {"worker", text("name"), text("kind"), "node", text("node_name")});
  for (const WorkerDescription& worker : machine.workers) {
    workers->row(worker.id.value, run.name_of_worker(worker.id.value),
                 vicinal::to_string(worker.kind), worker.node.value,
                 run.name_of_node(worker.node.value));
  }
  workers->close();
  const auto links = tables.add(kThings, "links",
                                {"from",
                                 text("from_name"),
                                 "to",
                                 text("to_name"),
                                 {"bandwidth_bytes_per_s", Column::Type::real},
                                 "latency_ns"});
  for (const LinkDescription& link : machine.links) {
    std::optional<double> bandwidth;
    if (link.bandwidth.value > 0) bandwidth = link.bandwidth.value;
    links->row(link.from.value, run.name_of_node(link.from.value), link.to.value,
               run.name_of_node(link.to.value), bandwidth, link.latency.ns);
  }
  links->close();
}

std::optional<std::string> own_name(const RecordedRun& run, const TaskOfRun& task) {
  return task.own_name < run.names.size() ? std::optional(run.names[task.own_name]) : std::nullopt;
}

void write_tasks(const RecordedRun& run, Tables& tables) {
  const auto file =
      tables.add(kThings, "tasks",
                 {"task", "id", text("codelet"), text("name"), "priority", text("kind"),
                  text("outcome"), "worker", text("worker_name"), "releasing_worker",
                  "submitted_ns", "ready_ns", "scheduled_ns", "operands_wanted_ns",
                  "room_granted_ns", "operands_ready_ns", "started_ns", "ended_ns", "moved"});
  for (std::uint32_t i = 0; i < run.tasks.size(); ++i) {
    const TaskOfRun& task = run.tasks[i];
    // One that is on its way when the recording ends has no outcome yet.
    std::optional<std::string_view> outcome;
    if (task.ended != kUnknown) outcome = to_string(task.outcome);
    file->row(i, task.id, codelet_of(run, task), own_name(run, task), task.priority,
              to_string(task.kind), outcome, number(task.worker), worker_name(run, task.worker),
              number(task.releasing), time(task.submitted), time(task.ready), time(task.scheduled),
              time(task.wanted), time(task.granted), time(task.operands), time(task.started),
              time(task.ended), task.moved);
  }
  file->close();
  const auto accesses = tables.add(kThings, "accesses", {"task", "operand", "datum", text("mode")});
  for (std::uint32_t i = 0; i < run.tasks.size(); ++i) {
    std::uint32_t operand = 0;
    for (const analysis::AccessOfTask& access : run.accesses_of(run.tasks[i])) {
      accesses->row(i, operand++, number(access.datum), vicinal::to_string(access.mode));
    }
  }
  accesses->close();
  const auto dependencies = tables.add(kThings, "dependencies", {"task", "after"});
  const std::vector<std::vector<std::uint32_t>> before = analysis::predecessors(run);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const std::uint32_t other : before[i]) dependencies->row(i, other);
  }
  dependencies->close();
}

void write_data(const RecordedRun& run, Tables& tables) {
  const auto data =
      tables.add(kThings, "data",
                 {"datum", "id", text("name"), "bytes", "home", text("home_name"), "part_of"});
  for (std::uint32_t i = 0; i < run.data.size(); ++i) {
    const analysis::DatumOfRun& datum = run.data[i];
    data->row(i, datum.id, run.name_of_datum(i), datum.bytes, number(datum.home),
              node_name(run, datum.home), number(datum.part_of));
  }
  data->close();
  const auto copies = tables.add(
      kThings, "copies",
      {"copy", "datum", text("datum_name"), "from", text("from_name"), "to", text("to_name"),
       "bytes", text("cause"), "urgent", "failed", "wanted_ns", "started_ns", "ended_ns"});
  for (std::size_t i = 0; i < run.copies.size(); ++i) {
    const analysis::CopyOfRun& copy = run.copies[i];
    copies->row(i, number(copy.datum), title_of_datum(run, copy.datum), number(copy.from),
                node_name(run, copy.from), number(copy.to), node_name(run, copy.to), copy.bytes,
                to_string(copy.cause), copy.urgent, copy.failed, time(copy.wanted),
                time(copy.started), time(copy.ended));
  }
  copies->close();
}

void write_memory(const RecordedRun& run, Tables& tables) {
  using Change = analysis::RoomChange::Kind;
  const auto file = tables.add(kThings, "memory",
                               {"time_ns", "node", text("node_name"), "datum", text("datum_name"),
                                text("change"), "used_bytes", "saved_first"});
  for (const analysis::RoomChange& change : run.room) {
    std::optional<std::uint64_t> used;
    if (change.kind == Change::taken || change.kind == Change::freed) used = change.used;
    std::optional<bool> saved_first;
    if (change.kind == Change::evicted) saved_first = change.saved_first;
    file->row(change.time, number(change.node), node_name(run, change.node), number(change.datum),
              title_of_datum(run, change.datum), to_string(change.kind), used, saved_first);
  }
  file->close();
}

void write_rest(const RecordedRun& run, Tables& tables) {
  const auto sleeps =
      tables.add(kThings, "sleeps", {"worker", text("worker_name"), "from_ns", "to_ns"});
  for (const analysis::SleepOfWorker& sleep : run.sleeps) {
    sleeps->row(number(sleep.worker), worker_name(run, sleep.worker), sleep.from, time(sleep.to));
  }
  sleeps->close();
  const auto marks =
      tables.add(kThings, "marks", {text("kind"), text("text"), "thread", "from_ns", "to_ns"});
  for (const analysis::MarkOfRun& mark : run.marks) {
    marks->row(mark.is_region ? "region" : "mark", mark.text, mark.lane, mark.from, time(mark.to));
  }
  marks->close();
}

void write_ranks(const RecordedRun& run, Tables& tables) {
  const auto ranks =
      tables.add(kThings, "ranks",
                 {"rank", "first_node", "nodes", "first_worker", "workers", "clock_comparisons",
                  "clock_offset_ns", "clock_drift_ns_per_s", "clock_error_ns"});
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::RankOfSource& of = run.ranks[rank];
    ranks->row(std::uint64_t{rank}, of.first_node, of.nodes, of.first_worker, of.workers,
               of.comparisons, of.offset_ns, of.drift, of.error_ns);
  }
  ranks->close();
  const auto messages = tables.add(
      kThings, "messages",
      {"message", "from_rank", "to_rank", "sent_datum", text("sent_datum_name"), "received_datum",
       text("received_datum_name"), "bytes", "departs_ns", "left_ns", "expected_ns", "arrived_ns"});
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const analysis::MessageOfRun& message = run.messages[i];
    messages->row(std::uint64_t{i}, number(message.from), number(message.to), number(message.sent),
                  datum_name(run, message.sent), number(message.received),
                  datum_name(run, message.received), message.bytes, time(message.departs),
                  time(message.left), time(message.expected), time(message.arrived));
  }
  messages->close();
}

}  // namespace

void write_tables(const Recording& recording, Tables& tables) {
  write_run(recording.run, tables);
  write_machine(recording.run, tables);
  write_tasks(recording.run, tables);
  write_data(recording.run, tables);
  write_memory(recording.run, tables);
  write_rest(recording.run, tables);
  if (!recording.run.ranks.empty()) write_ranks(recording.run, tables);
  if (recording.file != nullptr) write_events(*recording.file, tables);
}

}  // namespace vicinal::exporters
