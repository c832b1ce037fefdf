#include "runtime/status_text.hpp"

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "vicinal/version.hpp"

namespace vicinal::runtime {

namespace {

// The value of a label, of which the form wants these escaped.
std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char letter : base::legible_name(text)) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

class StatusText {
 public:
  // A metric: its samples follow.
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    print("# HELP vicinal_{0} {2}\n# TYPE vicinal_{0} {1}\n", name, type, help);
  }
  template <typename Number>
  void sample(Number value, std::string_view labels = {}) {
    if (labels.empty()) return print("vicinal_{} {}\n", name_, value);
    print("vicinal_{}{{{}}} {}\n", name_, labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  template <typename... Values>
  void print(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }
  std::string text_;
  std::string name_;
};

void add_tasks(StatusText& to, const Statistics& s) {
  to.begin("tasks_submitted_total", "counter", "Tasks submitted, the runtime's own included.");
  to.sample(s.tasks_submitted);
  to.begin("tasks_ended_total", "counter", "Tasks that have ended, the runtime's own included.");
  to.sample(s.tasks_done, "outcome=\"done\"");
  to.sample(s.tasks_failed, "outcome=\"failed\"");
  to.sample(s.tasks_cancelled, "outcome=\"cancelled\"");
  to.begin("own_tasks_done_total", "counter", "Of these, done ones of the runtime itself.");
  to.sample(s.own_tasks_done);
  to.begin("tasks_pending", "gauge", "Tasks submitted and not ended.");
  to.sample(s.tasks_submitted - s.tasks_done - s.tasks_failed - s.tasks_cancelled);
  if (s.tasks_ready) {
    to.begin("tasks_ready", "gauge", "Tasks that wait for a worker, or for their data.");
    to.sample(*s.tasks_ready);
  }
  to.begin("tasks_running", "gauge", "Tasks given to workers and not ended.");
  to.sample(s.tasks_running);
}

void add_workers(StatusText& to, const Statistics& s, const MachineDescription& machine) {
  std::vector<std::string> labels;
  for (const WorkerDescription& worker : machine.workers) {
    labels.push_back(fmt::format("worker=\"{}\",kind=\"{}\",node=\"{}\"", worker.id.value,
                                 to_string(worker.kind),
                                 label_value(machine.nodes[worker.node.value].name)));
  }
  to.begin("worker_tasks_total", "counter", "Tasks that the worker has run.");
  for (std::size_t i = 0; i < labels.size(); ++i) to.sample(s.workers[i].tasks, labels[i]);
  to.begin("worker_running", "gauge", "Tasks given to the worker and not ended.");
  for (std::size_t i = 0; i < labels.size(); ++i) to.sample(s.workers[i].running, labels[i]);
  to.begin("worker_busy_seconds_total", "counter",
           "Time that the worker has not waited for tasks.");
  for (std::size_t i = 0; i < labels.size(); ++i) to.sample(s.workers[i].busy.seconds(), labels[i]);
}

void add_nodes(StatusText& to, const Statistics& s, const MachineDescription& machine) {
  std::vector<std::string> labels;
  for (const NodeDescription& node : machine.nodes) {
    labels.push_back(fmt::format("node=\"{}\"", label_value(node.name)));
  }
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       auto value) {
    to.begin(name, type, help);
    for (std::size_t i = 0; i < labels.size(); ++i) to.sample(value(s.nodes[i]), labels[i]);
  };
  using Node = NodeStatistics;
  add("memory_bytes", "gauge", "Bytes of replicas on the memory node.",
      [](const Node& node) { return node.resident.value; });
  add("memory_peak_bytes", "gauge", "Most bytes of replicas at once, padding included.",
      [](const Node& node) { return node.peak.value; });
  to.begin("memory_limit_bytes", "gauge", "Limit on the replicas, where there is one.");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (machine.nodes[i].limit) to.sample(machine.nodes[i].limit->value, labels[i]);
  }
  add("bytes_in_total", "counter", "Bytes copied into replicas of the node.",
      [](const Node& node) { return node.bytes_in.value; });
  add("bytes_out_total", "counter", "Bytes copied out of replicas of the node.",
      [](const Node& node) { return node.bytes_out.value; });
  add("evictions_total", "counter", "Replicas that had to go for others.",
      [](const Node& node) { return node.evictions; });
  add("write_backs_total", "counter", "Of these, those that were copied to safety then.",
      [](const Node& node) { return node.write_backs; });
}

void add_links(StatusText& to, const Statistics& s, const MachineDescription& machine) {
  std::vector<std::string> labels;
  for (const LinkStatistics& link : s.links) {
    labels.push_back(fmt::format("from=\"{}\",to=\"{}\"",
                                 label_value(machine.nodes[link.from.value].name),
                                 label_value(machine.nodes[link.to.value].name)));
  }
  to.begin("link_bytes_total", "counter", "Bytes copied over the link.");
  for (std::size_t i = 0; i < labels.size(); ++i) to.sample(s.links[i].bytes.value, labels[i]);
  to.begin("link_copies_total", "counter", "Copies over the link.");
  for (std::size_t i = 0; i < labels.size(); ++i) to.sample(s.links[i].copies, labels[i]);
}

}  // namespace

std::string status_text(const Statistics& statistics, const MachineDescription& machine,
                        std::string_view policy) {
  StatusText text;
  text.begin("info", "gauge", "The library's version, and the runtime's policy.");
  text.sample(1, fmt::format("version=\"{}\",policy=\"{}\"", version(), label_value(policy)));
  text.begin("clock_seconds", "gauge", "The runtime's clock, which a simulation has of its own.");
  text.sample(statistics.now.seconds());
  add_tasks(text, statistics);
  add_workers(text, statistics, machine);
  add_nodes(text, statistics, machine);
  add_links(text, statistics, machine);
  return text.take();
}

}  // namespace vicinal::runtime
