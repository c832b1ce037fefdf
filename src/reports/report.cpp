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

}  // namespace vicinal::reports
