#include "exporters/timeline.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

namespace vicinal::exporters {

namespace {

using analysis::CopyOfRun;
using analysis::kNobody;
using analysis::kUnknown;
using analysis::MarkOfRun;
using analysis::RecordedRun;
using analysis::TaskOfRun;

Slice slice(std::int64_t from, std::int64_t to, std::uint32_t what, std::int64_t end) {
  const std::int64_t begin = std::max<std::int64_t>(from, 0);
  return {begin, std::max(to == kUnknown ? end : to, begin), what};
}

// The slices of an owner, each on the first row that is free.
void add_rows(std::uint32_t owner, std::vector<Slice> slices, std::vector<Row>& rows) {
  const std::size_t first = rows.size();
  rows.push_back({owner, 0, {}});
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  for (const Slice& next : slices) {
    std::size_t at = first;
    while (at < rows.size() && !rows[at].slices.empty() && rows[at].slices.back().to > next.from) {
      ++at;
    }
    if (at == rows.size()) rows.push_back({owner, static_cast<std::uint32_t>(at - first), {}});
    rows[at].slices.push_back(next);
  }
}

void add_rows(std::vector<std::vector<Slice>> by_owner, std::vector<Row>& rows) {
  for (std::size_t owner = 0; owner < by_owner.size(); ++owner) {
    add_rows(static_cast<std::uint32_t>(owner), std::move(by_owner[owner]), rows);
  }
}

void count(std::uint32_t number, std::uint32_t& numbers) {
  if (number != kNobody) numbers = std::max(numbers, number + 1);
}

void find_tasks(const RecordedRun& run, Timeline& timeline) {
  timeline.workers = static_cast<std::uint32_t>(run.facts.machine.workers.size());
  for (const TaskOfRun& task : run.tasks) count(task.worker, timeline.workers);
  std::vector<std::vector<Slice>> by_worker(timeline.workers);
  for (std::uint32_t i = 0; i < run.tasks.size(); ++i) {
    const TaskOfRun& task = run.tasks[i];
    if (!has_slice(task)) continue;
    by_worker[task.worker].push_back(slice(task.started, task.ended, i, timeline.end));
  }
  add_rows(std::move(by_worker), timeline.tasks);
}

void find_copies(const RecordedRun& run, Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> numbers;
  const auto number_of = [&](std::uint32_t from, std::uint32_t to) {
    const auto [at, is_new] = numbers.try_emplace({from, to}, timeline.links.size());
    if (is_new) timeline.links.push_back({from, to});
    return at->second;
  };
  for (const LinkDescription& link : run.facts.machine.links) {
    number_of(link.from.value, link.to.value);
  }
  std::vector<std::vector<Slice>> by_link(timeline.links.size());
  for (std::uint32_t i = 0; i < run.copies.size(); ++i) {
    const CopyOfRun& copy = run.copies[i];
    if (!has_slice(copy)) continue;
    const std::size_t link = number_of(copy.from, copy.to);
    if (link >= by_link.size()) by_link.resize(link + 1);
    by_link[link].push_back(slice(copy.started, copy.ended, i, timeline.end));
  }
  add_rows(std::move(by_link), timeline.copies);
}

void find_regions(const RecordedRun& run, Timeline& timeline) {
  std::map<std::uint32_t, std::vector<Slice>> by_thread;
  for (std::uint32_t i = 0; i < run.marks.size(); ++i) {
    const MarkOfRun& mark = run.marks[i];
    if (mark.is_region) {
      by_thread[mark.lane].push_back(slice(mark.from, mark.to, i, timeline.end));
    }
  }
  for (auto& [thread, slices] : by_thread) add_rows(thread, std::move(slices), timeline.regions);
}

// What is received is drawn behind the beginning of what is sent, also where it was expected before, or clocks are
// wrong by more than it took: arrows go forward.
void find_messages(const RecordedRun& run, Timeline& timeline) {
  std::vector<std::vector<Slice>> by_rank(run.ranks.size());
  for (std::uint32_t i = 0; i < run.messages.size() && !by_rank.empty(); ++i) {
    const analysis::MessageOfRun& message = run.messages[i];
    const bool is_sent = message.departs != kUnknown && message.from < by_rank.size();
    if (is_sent) {
      by_rank[message.from].push_back(slice(message.departs, message.left, i, timeline.end));
    }
    const std::int64_t known = message.expected != kUnknown ? message.expected : message.arrived;
    if (known == kUnknown || message.to >= by_rank.size() || message.to == message.from) continue;
    const std::int64_t from = is_sent ? std::max(known, message.departs + 1) : known;
    by_rank[message.to].push_back(slice(from, message.arrived, i, timeline.end));
  }
  add_rows(std::move(by_rank), timeline.messages);
}

void find_used(const RecordedRun& run, Timeline& timeline) {
  timeline.nodes = static_cast<std::uint32_t>(run.facts.machine.nodes.size());
  for (const analysis::RoomChange& change : run.room) count(change.node, timeline.nodes);
  for (const CopyOfRun& copy : run.copies) {
    count(copy.from, timeline.nodes);
    count(copy.to, timeline.nodes);
  }
  timeline.used.resize(timeline.nodes);
  for (const analysis::RoomChange& change : run.room) {
    using Kind = analysis::RoomChange::Kind;
    if (change.kind != Kind::taken && change.kind != Kind::freed) continue;
    if (change.node >= timeline.nodes) continue;
    timeline.used[change.node].push_back(
        {std::max<std::int64_t>(change.time, 0), static_cast<std::int64_t>(change.used)});
  }
}

void find_ready(const RecordedRun& run, Timeline& timeline) {
  std::vector<Level> steps;
  for (const TaskOfRun& task : run.tasks) {
    if (task.ready == kUnknown) continue;
    const std::int64_t left = task.started != kUnknown ? task.started : task.ended;
    steps.push_back({std::max<std::int64_t>(task.ready, 0), 1});
    if (left != kUnknown) steps.push_back({std::max(left, steps.back().time), -1});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Level& a, const Level& b) { return a.time < b.time; });
  std::int64_t value = 0;
  for (const Level& step : steps) {
    value += step.value;
    // One level for each time: how many there are after all that happens then.
    if (!timeline.ready.empty() && timeline.ready.back().time == step.time) {
      timeline.ready.back().value = value;
    } else {
      timeline.ready.push_back({step.time, value});
    }
  }
}

}  // namespace

bool has_slice(const TaskOfRun& task) {
  return task.started != kUnknown && task.worker != kNobody;
}

bool has_slice(const CopyOfRun& copy) {
  return copy.started != kUnknown;
}

Timeline::Timeline(const RecordedRun& run) : end(std::max<std::int64_t>(run.end, 0)) {
  find_tasks(run, *this);
  find_copies(run, *this);
  find_regions(run, *this);
  find_messages(run, *this);
  find_used(run, *this);
  find_ready(run, *this);
}

std::vector<Arrow> dependency_arrows(const RecordedRun& run) {
  std::vector<Arrow> arrows;
  const std::vector<std::vector<std::uint32_t>> before = analysis::predecessors(run);
  for (std::uint32_t task = 0; task < before.size(); ++task) {
    if (!has_slice(run.tasks[task])) continue;
    for (const std::uint32_t other : before[task]) {
      if (has_slice(run.tasks[other])) arrows.push_back({other, task});
    }
  }
  return arrows;
}

std::vector<Arrow> copy_arrows(const RecordedRun& run) {
  // Copies that came to a node and whose content nobody has read yet, by datum and node.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> arrived;
  const auto key = [](std::uint32_t datum, std::uint32_t node) {
    return std::uint64_t{datum} << 32 | node;
  };
  for (std::uint32_t i = 0; i < run.copies.size(); ++i) {
    const CopyOfRun& copy = run.copies[i];
    if (copy.ended != kUnknown && !copy.failed) arrived[key(copy.datum, copy.to)].push_back(i);
  }
  std::vector<std::uint32_t> tasks;
  for (std::uint32_t i = 0; i < run.tasks.size(); ++i) {
    const bool is_known = run.tasks[i].worker < run.facts.machine.workers.size();
    if (has_slice(run.tasks[i]) && is_known) tasks.push_back(i);
  }
  std::stable_sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return run.tasks[a].started < run.tasks[b].started;
  });
  std::vector<Arrow> arrows;
  for (const std::uint32_t task : tasks) {
    const TaskOfRun& reader = run.tasks[task];
    const std::uint32_t node = run.facts.machine.workers[reader.worker].node.value;
    for (const analysis::AccessOfTask& access : run.accesses_of(reader)) {
      if (!reads(access.mode)) continue;
      const auto found = arrived.find(key(access.datum, node));
      if (found == arrived.end()) continue;
      std::vector<std::uint32_t>& copies = found->second;
      // Of several that nobody read in between, the last one brought what is read.
      const auto later = std::stable_partition(
          copies.begin(), copies.end(),
          [&](std::uint32_t copy) { return run.copies[copy].ended <= reader.started; });
      if (later != copies.begin()) arrows.push_back({*(later - 1), task});
      copies.erase(copies.begin(), later);
    }
  }
  return arrows;
}

std::string name_of_link(const RecordedRun& run, const Link& link) {
  return fmt::format("{} -> {}", run.name_of_node(link.from), run.name_of_node(link.to));
}

std::string name_of_row(std::string_view owner, const Row& row) {
  return row.place == 0 ? std::string(owner) : fmt::format("{} ({})", owner, row.place + 1);
}

}  // namespace vicinal::exporters
