// Perfetto: a track per worker, link and thread of the application, counters of memory in use and of ready tasks,
// arrows from copies and tasks to the tasks that wait for them.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "exporters/exporters.hpp"
#include "exporters/perfetto_packets.hpp"
#include "exporters/timeline.hpp"
#include "exporters/words.hpp"

namespace vicinal::exporters {

namespace {

using analysis::CopyOfRun;
using analysis::kUnknown;
using analysis::RecordedRun;
using analysis::TaskOfRun;

// Numbers of arrows, by the number of what they leave or come to.
class Ends {
 public:
  void add(std::uint32_t what, std::uint64_t arrow) { ends_.emplace_back(what, arrow); }
  void sort() { std::sort(ends_.begin(), ends_.end()); }
  template <typename Visit>
  void each(std::uint32_t what, const Visit& visit) const {
    auto at = std::lower_bound(ends_.begin(), ends_.end(), std::pair(what, std::uint64_t{0}));
    for (; at != ends_.end() && at->first == what; ++at) visit(at->second);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ends_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const RecordedRun& run, Sink sink) : run_(run), timeline_(run), packets_(sink) {
    number_arrows();
  }

  void write() {
    const std::uint64_t root = packets_.track(title_of_run(run_), 0);
    add_tracks(root);
    know_codelets();
    write_facts(root);
    for (std::size_t i = 0; i < timeline_.tasks.size(); ++i) {
      for (const Slice& slice : timeline_.tasks[i].slices) write_task(task_tracks_[i], slice);
    }
    for (std::size_t i = 0; i < timeline_.copies.size(); ++i) {
      for (const Slice& slice : timeline_.copies[i].slices) write_copy(copy_tracks_[i], slice);
    }
    write_messages();
    write_memory();
    for (const Level& level : timeline_.ready) packets_.level(ready_, level.time, level.value);
    write_application();
    packets_.finish();
  }

 private:
  void number_arrows();
  void add_tracks(std::uint64_t root);
  void add_tracks_of(std::uint32_t rank, std::uint64_t root);
  void know_codelets();
  void write_facts(std::uint64_t track);
  void write_task(std::uint64_t track, const Slice& slice);
  void write_copy(std::uint64_t track, const Slice& slice);
  void write_messages();
  void write_message(const Row& row, std::uint64_t track, const Slice& slice);
  void write_memory();
  void write_application();
  static void say_time(TrackEvent& event, Argument argument, std::int64_t time) {
    if (time != kUnknown) event.say(argument, time);
  }

  const RecordedRun& run_;
  Timeline timeline_;
  PacketWriter packets_;
  Ends from_tasks_;
  Ends to_tasks_;
  Ends from_copies_;
  // Tracks, as the rows of the timeline.
  std::vector<std::uint64_t> task_tracks_;
  std::vector<std::uint64_t> copy_tracks_;
  std::vector<std::uint64_t> region_tracks_;
  std::vector<std::uint64_t> message_tracks_;
  std::vector<std::uint64_t> used_;  // by node
  std::vector<std::uint64_t> evictions_;
  std::uint64_t ready_ = 0;
  std::uint64_t marks_ = 0;
  std::uint64_t arrows_ = 0;
};

void PerfettoWriter::number_arrows() {
  for (const Arrow& arrow : dependency_arrows(run_)) {
    from_tasks_.add(arrow.from, ++arrows_);
    to_tasks_.add(arrow.to, arrows_);
  }
  for (const Arrow& arrow : copy_arrows(run_)) {
    from_copies_.add(arrow.from, ++arrows_);
    to_tasks_.add(arrow.to, arrows_);
  }
  for (Ends* ends : {&from_tasks_, &to_tasks_, &from_copies_}) ends->sort();
}

// The page shows what lies directly below the run, and of groups their names: workers and memory are seen at once. Of
// several ranks each is a process of its own.
void PerfettoWriter::add_tracks(std::uint64_t root) {
  ready_ = packets_.counter("ready tasks", root, PacketWriter::Unit::count,
                            "tasks whose predecessors have ended, and that have not started");
  task_tracks_.resize(timeline_.tasks.size());
  used_.resize(timeline_.nodes);
  copy_tracks_.resize(timeline_.copies.size());
  evictions_.resize(timeline_.nodes);
  message_tracks_.resize(timeline_.messages.size());
  for (std::uint32_t rank = 0; rank < run_.ranks.size(); ++rank) {
    const std::string name = fmt::format("rank {}", rank);
    add_tracks_of(rank, packets_.process(name, static_cast<std::int32_t>(rank) + 1));
  }
  if (run_.ranks.empty()) add_tracks_of(analysis::kNobody, root);
  const std::uint64_t application = packets_.track("application", root);
  marks_ = packets_.track("marks", application);
  for (const Row& row : timeline_.regions) {
    const std::string name = fmt::format("regions of thread {}", row.owner);
    region_tracks_.push_back(packets_.track(name_of_row(name, row), application));
  }
}

void PerfettoWriter::add_tracks_of(std::uint32_t rank, std::uint64_t root) {
  for (std::size_t i = 0; i < timeline_.tasks.size(); ++i) {
    const Row& row = timeline_.tasks[i];
    if (run_.rank_of_worker(row.owner) != rank) continue;
    const std::string name = base::legible(run_.name_of_worker(row.owner));
    task_tracks_[i] = packets_.track(name_of_row(name, row), root);
  }
  for (std::uint32_t node = 0; node < timeline_.nodes; ++node) {
    if (run_.rank_of_node(node) != rank) continue;
    std::optional<Bytes> limit;
    if (node < run_.facts.machine.nodes.size()) limit = run_.facts.machine.nodes[node].limit;
    used_[node] = packets_.counter(
        fmt::format("{} in use", base::legible(run_.name_of_node(node))), root,
        PacketWriter::Unit::bytes,
        limit ? fmt::format("bytes of all replicas; the limit is {}", base::format_bytes(*limit))
              : "bytes of all replicas");
  }
  const std::uint64_t links = packets_.track("links", root);
  for (std::size_t i = 0; i < timeline_.copies.size(); ++i) {
    const Row& row = timeline_.copies[i];
    const Link& link = timeline_.links[row.owner];
    if (run_.rank_of_node(link.from) != rank) continue;
    const std::string name = base::legible(name_of_link(run_, link));
    copy_tracks_[i] = packets_.track(name_of_row(name, row), links);
  }
  const std::uint64_t evictions = packets_.track("evictions", root);
  for (std::uint32_t node = 0; node < timeline_.nodes; ++node) {
    if (run_.rank_of_node(node) != rank) continue;
    const std::string name = fmt::format("from {}", base::legible(run_.name_of_node(node)));
    evictions_[node] = packets_.track(name, evictions);
  }
  for (std::size_t i = 0; i < timeline_.messages.size(); ++i) {
    const Row& row = timeline_.messages[i];
    if (row.owner == rank) message_tracks_[i] = packets_.track(name_of_row("messages", row), root);
  }
}

void PerfettoWriter::know_codelets() {
  std::vector<bool> is_used(run_.names.size());
  for (const TaskOfRun& task : run_.tasks) {
    if (task.name < is_used.size()) is_used[task.name] = true;
  }
  std::vector<std::pair<std::uint64_t, std::string>> names;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) names.emplace_back(i + 1, base::legible(run_.names[i]));
  }
  packets_.know(names);
}

void PerfettoWriter::write_facts(std::uint64_t track) {
  TrackEvent event;
  event.name("what ran");
  const analysis::RunFacts& facts = run_.facts;
  const auto say = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) event.say(base::legible(name), base::legible(value));
  };
  say("command", facts.command);
  say("application", facts.application);
  say("vicinal", facts.version);
  say("policy", facts.policy);
  say("simulated", facts.simulated ? "yes" : "no");
  say("complete", run_.complete ? "yes" : "no");
  say("events_lost", fmt::format("{}", run_.events_lost));
  for (const auto& [name, value] : facts.options) say("option." + name, value);
  for (const auto& [name, value] : facts.told) say(name, value);
  packets_.instant(track, 0, EventCategory::application, event);
}

void PerfettoWriter::write_task(std::uint64_t track, const Slice& slice) {
  const TaskOfRun& task = run_.tasks[slice.what];
  TrackEvent event;
  if (task.own_name < run_.names.size() || task.name >= run_.names.size()) {
    event.name(title_of(run_, task));
  } else {
    event.known_name(std::uint64_t{task.name} + 1);
  }
  event.say(Argument::task, std::uint64_t{slice.what});
  event.say(Argument::codelet, codelet_of(run_, task));
  event.say(Argument::priority, std::int64_t{task.priority});
  if (task.kind != analysis::KindOfTask::compute) event.say(Argument::kind, to_string(task.kind));
  event.say(Argument::outcome, task.ran() ? to_string(task.outcome) : "not ended");
  const std::vector<std::string> operands = operands_of(run_, task);
  if (!operands.empty()) event.say(Argument::operands, operands);
  if (task.releasing != analysis::kNobody) {
    event.say(Argument::released_by, base::legible(run_.name_of_worker(task.releasing)));
  }
  say_time(event, Argument::submitted, task.submitted);
  say_time(event, Argument::ready, task.ready);
  say_time(event, Argument::scheduled, task.scheduled);
  say_time(event, Argument::operands_wanted, task.wanted);
  say_time(event, Argument::room_granted, task.granted);
  say_time(event, Argument::operands_ready, task.operands);
  from_tasks_.each(slice.what, [&](std::uint64_t arrow) { event.leaves(arrow); });
  to_tasks_.each(slice.what, [&](std::uint64_t arrow) { event.comes(arrow); });
  packets_.begin(track, slice.from, EventCategory::task, event);
  packets_.end(track, slice.to);
}

void PerfettoWriter::write_copy(std::uint64_t track, const Slice& slice) {
  const CopyOfRun& copy = run_.copies[slice.what];
  TrackEvent event;
  const std::string datum = title_of_datum(run_, copy.datum);
  event.name(datum);
  event.say(Argument::copy, std::uint64_t{slice.what});
  event.say(Argument::datum, datum);
  event.say(Argument::bytes, copy.bytes);
  event.say(Argument::from, base::legible(run_.name_of_node(copy.from)));
  event.say(Argument::to, base::legible(run_.name_of_node(copy.to)));
  event.say(Argument::cause, to_string(copy.cause));
  event.say(Argument::urgent, copy.urgent);
  event.say(Argument::failed, copy.failed);
  say_time(event, Argument::wanted, copy.wanted);
  from_copies_.each(slice.what, [&](std::uint64_t arrow) { event.leaves(arrow); });
  packets_.begin(track, slice.from, EventCategory::copy, event);
  packets_.end(track, slice.to);
}

void PerfettoWriter::write_messages() {
  for (std::size_t i = 0; i < timeline_.messages.size(); ++i) {
    for (const Slice& slice : timeline_.messages[i].slices) {
      write_message(timeline_.messages[i], message_tracks_[i], slice);
    }
  }
}

// The arrow of a message has its number behind those of the other arrows.
void PerfettoWriter::write_message(const Row& row, std::uint64_t track, const Slice& slice) {
  const analysis::MessageOfRun& message = run_.messages[slice.what];
  const bool is_sent = message.from == row.owner;
  TrackEvent event;
  const std::string datum = title_of_datum(run_, is_sent ? message.sent : message.received);
  event.name(datum);
  event.say(Argument::message, std::uint64_t{slice.what});
  event.say(Argument::direction, std::string_view(is_sent ? "sent" : "received"));
  event.say(Argument::datum, datum);
  event.say(Argument::bytes, message.bytes);
  event.say(Argument::from, fmt::format("rank {}", message.from));
  event.say(Argument::to, fmt::format("rank {}", message.to));
  if (!is_sent) say_time(event, Argument::expected, message.expected);
  const std::uint64_t arrow = arrows_ + 1 + slice.what;
  if (is_sent) {
    event.leaves(arrow);
  } else if (message.departs != kUnknown) {
    event.comes(arrow);
  }
  packets_.begin(track, slice.from, EventCategory::message, event);
  packets_.end(track, slice.to);
}

void PerfettoWriter::write_memory() {
  for (std::uint32_t node = 0; node < timeline_.nodes; ++node) {
    for (const Level& level : timeline_.used[node]) {
      packets_.level(used_[node], level.time, level.value);
    }
  }
  for (const analysis::RoomChange& change : run_.room) {
    if (change.kind != analysis::RoomChange::Kind::evicted) continue;
    if (change.node >= timeline_.nodes) continue;
    TrackEvent event;
    const std::string datum = title_of_datum(run_, change.datum);
    event.name(datum);
    event.say(Argument::datum, datum);
    event.say(Argument::saved_first, change.saved_first);
    packets_.instant(evictions_[change.node], std::max<std::int64_t>(change.time, 0),
                     EventCategory::memory, event);
  }
}

void PerfettoWriter::write_application() {
  for (std::size_t i = 0; i < timeline_.regions.size(); ++i) {
    for (const Slice& slice : timeline_.regions[i].slices) {
      TrackEvent event;
      event.name(base::legible(run_.marks[slice.what].text));
      packets_.begin(region_tracks_[i], slice.from, EventCategory::application, event);
      packets_.end(region_tracks_[i], slice.to);
    }
  }
  for (const analysis::MarkOfRun& mark : run_.marks) {
    if (mark.is_region) continue;
    TrackEvent event;
    event.name(base::legible(mark.text));
    packets_.instant(marks_, std::max<std::int64_t>(mark.from, 0), EventCategory::application,
                     event);
  }
}

}  // namespace

void write_perfetto(const Recording& recording, Sink sink) {
  PerfettoWriter(recording.run, sink).write();
}

}  // namespace vicinal::exporters
