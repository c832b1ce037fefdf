#include "reports/report.hpp"

#include <algorithm>

namespace vicinal::reports {

namespace {

// Distance from the disk.
int height(NodeKind kind) {
  switch (kind) {
    case NodeKind::disk:
      return 0;
    case NodeKind::ram:
      return 1;
    case NodeKind::device:
      return 2;
  }
  return 2;
}

NodeRecord node_record(const NodeDescription& node, const NodeStatistics& before,
                       const NodeStatistics& after) {
  return {.name = node.name,
          .kind = node.kind,
          .limit = node.limit,
          .peak = after.peak,
          .bytes_in = after.bytes_in - before.bytes_in,
          .bytes_out = after.bytes_out - before.bytes_out,
          .evictions = after.evictions - before.evictions,
          .write_backs = after.write_backs - before.write_backs};
}

// The links of `after` may be more than those of `before`: one that was never used may be left out.
LinkStatistics link_before(const Statistics& before, const LinkStatistics& link) {
  const auto found = std::find_if(
      before.links.begin(), before.links.end(),
      [&](const LinkStatistics& other) { return other.from == link.from && other.to == link.to; });
  return found == before.links.end() ? LinkStatistics{} : *found;
}

void add_link(RunRecord& record, const MachineDescription& machine, const Statistics& before,
              const LinkStatistics& link) {
  const NodeDescription& from = machine.nodes[link.from.value];
  const NodeDescription& to = machine.nodes[link.to.value];
  const LinkStatistics earlier = link_before(before, link);
  const Bytes bytes = link.bytes - earlier.bytes;
  record.links.push_back({from.name + "->" + to.name, bytes, link.copies - earlier.copies});
  const bool towards_disk = height(to.kind) < height(from.kind);
  if (towards_disk && from.limit) record.bytes_out += bytes;
  if (!towards_disk && to.limit) record.bytes_in += bytes;
}

// Of all workers together.
double idle_seconds(const Statistics& before, const Statistics& after) {
  double idle = 0;
  for (std::size_t w = 0; w < after.workers.size(); ++w) {
    const Time busy = after.workers[w].busy - before.workers[w].busy;
    idle += std::max(0.0, (after.now - before.now - busy).seconds());
  }
  return idle;
}

double awaiting_seconds(const Statistics& before, const Statistics& after) {
  double sum = 0;
  for (std::size_t w = 0; w < after.workers.size(); ++w) {
    sum += std::max(0.0, (after.workers[w].awaiting - before.workers[w].awaiting).seconds());
  }
  return sum;
}

}  // namespace

RunRecord make_record(std::string policy, const MachineDescription& machine,
                      const Statistics& before, const Statistics& after) {
  RunRecord record;
  record.policy = std::move(policy);
  record.seconds = (after.now - before.now).seconds();
  record.tasks = after.application_tasks_done() - before.application_tasks_done();
  record.workers = static_cast<std::uint32_t>(machine.workers.size());
  record.idle_seconds = idle_seconds(before, after);
  for (std::size_t n = 0; n < machine.nodes.size(); ++n) {
    record.nodes.push_back(node_record(machine.nodes[n], before.nodes[n], after.nodes[n]));
  }
  for (const WorkerDescription& worker : machine.workers) {
    record.nodes[worker.node.value].tasks +=
        after.workers[worker.id.value].tasks - before.workers[worker.id.value].tasks;
  }
  for (const LinkStatistics& link : after.links) add_link(record, machine, before, link);
  return record;
}

RankRecord rank_record(const RunRecord& record, const Statistics& before, const Statistics& after) {
  RankRecord rank{.seconds = record.seconds,
                  .idle_seconds = record.idle_seconds,
                  .awaiting_seconds = awaiting_seconds(before, after),
                  .ended_seconds = 0,
                  .tasks = record.tasks,
                  .workers = record.workers,
                  .sent = after.sent - before.sent,
                  .received = after.received - before.received,
                  .messages = after.messages - before.messages,
                  .forwarded = after.forwarded - before.forwarded,
                  .broadcasts = after.broadcasts - before.broadcasts,
                  .late_sends = after.late_sends - before.late_sends,
                  .versions_to_several = after.versions_to_several - before.versions_to_several,
                  .versions_in_time = after.versions_in_time - before.versions_in_time,
                  .broadcasts_missed = after.broadcasts_missed - before.broadcasts_missed,
                  .partial_results = after.partial_results - before.partial_results,
                  .partial_results_passed_on =
                      after.partial_results_passed_on - before.partial_results_passed_on,
                  .placed_on_arrival = after.placed_on_arrival - before.placed_on_arrival,
                  .rank_latency = after.rank_latency,
                  .rank_bandwidth = after.rank_bandwidth.value,
                  .peak = {},
                  .bytes_in = record.bytes_in,
                  .bytes_out = record.bytes_out};
  for (const NodeRecord& node : record.nodes) {
    if (node.kind == NodeKind::ram) rank.peak = node.peak;
  }
  return rank;
}

// Who ends before the others is idle until they have ended.
void join_ranks(RunRecord& record, std::vector<RankRecord> ranks) {
  record.seconds = std::ranges::max(ranks, {}, &RankRecord::seconds).seconds;
  record.idle_seconds = 0;
  record.tasks = 0;
  record.workers = 0;
  record.bytes_in = {};
  record.bytes_out = {};
  for (RankRecord& rank : ranks) {
    rank.ended_seconds = (record.seconds - rank.seconds) * rank.workers;
    rank.idle_seconds += rank.ended_seconds;
    record.idle_seconds += rank.idle_seconds;
    record.tasks += rank.tasks;
    record.workers += rank.workers;
    record.bytes_in += rank.bytes_in;
    record.bytes_out += rank.bytes_out;
  }
  record.ranks = std::move(ranks);
}

}  // namespace vicinal::reports
