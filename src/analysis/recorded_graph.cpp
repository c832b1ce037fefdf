#include "analysis/recorded_graph.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {

namespace {

using graph::Graph;

// Names are keys in a file: "x", "x#2" for the second x.
class Names {
 public:
  std::string unique(const std::string& name) {
    std::string text = name;
    for (std::uint64_t& again = counts_[name]; !taken_.insert(text).second;) {
      text = fmt::format("{}#{}", name, (again = std::max<std::uint64_t>(again, 1) + 1));
    }
    return text;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::uint64_t> counts_;
};

// Whether a datum has a content that tasks have written, itself, as a part, or by its parts.
class Contents {
 public:
  explicit Contents(const std::vector<DatumOfRun>& data)
      : data_(data), written_(data.size()), parts_(data.size()) {
    for (std::uint32_t d = 0; d < data.size(); ++d) {
      written_[d] = data[d].home != kNobody;
      if (data[d].part_of != kNobody) parts_[data[d].part_of].push_back(d);
    }
  }
  void write(std::uint32_t datum) { written_[datum] = true; }
  bool has(std::uint32_t datum) const {
    for (std::uint32_t d = datum; d != kNobody; d = data_[d].part_of) {
      if (written_[d]) return true;
    }
    return by_parts(datum);
  }
  const std::vector<std::uint32_t>& parts(std::uint32_t datum) const { return parts_[datum]; }

 private:
  bool by_parts(std::uint32_t datum) const {
    return !parts_[datum].empty() && std::ranges::all_of(parts_[datum], [this](std::uint32_t part) {
      return written_[part] || by_parts(part);
    });
  }

  const std::vector<DatumOfRun>& data_;
  std::vector<bool> written_;
  std::vector<std::vector<std::uint32_t>> parts_;
};

// How long tasks of a codelet ran, by kind of processor.
struct Measured {
  std::array<double, kProcessorKinds> seconds{};
  std::array<std::uint64_t, kProcessorKinds> tasks{};
};

class Builder {
 public:
  Builder(const RecordedRun& run, const std::string& origin)
      : run_(run), origin_(origin), contents_(run.data) {}

  Graph build() {
    require_recorded();
    find_tasks();
    find_successors();
    add_data();
    add_kernels();
    add_tasks();
    add_application();
    graph::require_sound(graph_, origin_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UsageError(fmt::format("{}: {}", origin_, what));
  }

  void require_recorded() const {
    using trace::Category;
    for (const Category category : {Category::submission, Category::tasks}) {
      if ((run_.recorded & trace::bit(category)) != 0) continue;
      refuse(
          "the graph is not in it: it was recorded without the categories submission and tasks; "
          "record again with --trace-events all");
    }
    if (run_.events_lost > 0) {
      refuse(
          fmt::format("{} events were lost, and with them a part of the graph; record again with "
                      "a larger trace_memory, or fewer categories (trace_events tasks,submission)",
                      run_.events_lost));
    }
  }

  // Of what the application did beside tasks, and before the recording began, the graph says nothing.
  bool is_of_graph(const TaskOfRun& task) const {
    return task.kind == KindOfTask::compute && task.submitted != kUnknown && !moves_content(task);
  }

  // On a datum and a part of it there are only the runtime's own tasks, which copy between the two.
  bool moves_content(const TaskOfRun& task) const {
    const auto accesses = run_.accesses_of(task);
    return accesses.size() == 2 && (run_.data[accesses[0].datum].part_of == accesses[1].datum ||
                                    run_.data[accesses[1].datum].part_of == accesses[0].datum);
  }

  void find_tasks() {
    for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
      const TaskOfRun& task = run_.tasks[t];
      if (!is_of_graph(task)) continue;
      if (task.ended != kUnknown && task.outcome == Outcome::done && task.started == kUnknown) {
        refuse(
            fmt::format("task {} was divided into others while it ran (recursive), which a graph "
                        "cannot say; record a run without that",
                        run_.name_of(t)));
      }
      for (const AccessOfTask& access : run_.accesses_of(task)) note_access(t, access);
      tasks_.push_back(t);
    }
    if (tasks_.empty()) refuse("no task was submitted while it was recorded");
  }

  // What tasks read and none has written, the application has: its content is there from the start.
  void note_access(std::uint32_t task, const AccessOfTask& access) {
    if (access.mode == AccessMode::reduction) {
      refuse(
          fmt::format("task {} reduces into {}, and a recording does not say by which kernels; "
                      "a graph of it cannot be written",
                      run_.name_of(task), run_.name_of_datum(access.datum)));
    }
    if (reads(access.mode) && !contents_.has(access.datum)) {
      std::uint32_t whole = access.datum;
      while (run_.data[whole].part_of != kNobody) whole = run_.data[whole].part_of;
      contents_.write(whole);
      filled_.insert(whole);
    }
    if (leaves_content(access.mode)) contents_.write(access.datum);
  }

  // Tasks that others follow whatever their data: they get a datum of no bytes that these read.
  void find_successors() {
    for (const Dependency& each : run_.dependencies) {
      if (!is_of_graph(run_.tasks[each.before]) || !is_of_graph(run_.tasks[each.task])) continue;
      followed_.try_emplace(each.before);
      follows_[each.task].push_back(each.before);
    }
  }

  // In the order of registration, but parts of a datum one behind the other.
  void add_data() {
    numbers_.resize(run_.data.size());
    for (std::uint32_t d = 0; d < run_.data.size(); ++d) {
      if (run_.data[d].part_of == kNobody) add_datum(d);
    }
    for (std::uint32_t d = 0; d < run_.data.size(); ++d) add_parts(d);
    for (auto& [before, number] : followed_) {
      number = graph_.add_datum({}, names_of_data_.unique("end of " + run_.name_of(before)));
    }
  }

  void add_datum(std::uint32_t d) {
    const DatumOfRun& datum = run_.data[d];
    std::optional<NodeKind> home;
    if (datum.home != kNobody) {
      const bool is_disk = datum.home < run_.facts.machine.nodes.size() &&
                           run_.facts.machine.nodes[datum.home].kind == NodeKind::disk;
      home = is_disk ? NodeKind::disk : NodeKind::ram;
    } else if (filled_.contains(d)) {
      home = NodeKind::ram;
    }
    const Bytes bytes{datum.bytes};
    // A part has no home of its own.
    numbers_[d] = graph_.add_datum({bytes, datum.part_of == kNobody ? home : std::nullopt},
                                   names_of_data_.unique(run_.name_of_datum(d)));
  }

  // Wholes come first: a datum is registered before its parts.
  void add_parts(std::uint32_t whole) {
    const std::vector<std::uint32_t>& parts = contents_.parts(whole);
    if (parts.empty()) return;
    std::uint64_t left = run_.data[whole].bytes;
    for (const std::uint32_t part : parts) {
      if (run_.data[part].bytes > left) {
        refuse(
            fmt::format("{} was in parts in several ways, or more than once, and a graph has one; "
                        "record a run that divides it once",
                        run_.name_of_datum(whole)));
      }
      left -= run_.data[part].bytes;
      add_datum(part);
    }
    graph_.add_partition({.whole = numbers_[whole],
                          .first = numbers_[parts.front()],
                          .count = static_cast<Graph::Number>(parts.size())});
  }

  // A kernel for each codelet as it was described. One of the same name that says something else is another.
  void add_kernels() {
    std::map<std::uint32_t, std::vector<std::pair<CodeletOfRun, Graph::Number>>> known;  // by name
    std::vector<CodeletOfRun> codelets;
    std::vector<Measured> measured;
    for (const std::uint32_t t : tasks_) {
      const TaskOfRun& task = run_.tasks[t];
      const CodeletOfRun codelet =
          task.codelet != kNobody ? run_.codelets[task.codelet] : CodeletOfRun{.name = task.name};
      auto& same_name = known[task.name];
      auto found =
          std::ranges::find(same_name, codelet, &decltype(known)::mapped_type::value_type::first);
      if (found == same_name.end()) {
        same_name.emplace_back(codelet, static_cast<Graph::Number>(codelets.size()));
        found = std::prev(same_name.end());
        codelets.push_back(codelet);
        measured.emplace_back();
      }
      kernels_.push_back(found->second);
      measure(task, measured[found->second]);
    }
    Names names;
    for (std::size_t k = 0; k < codelets.size(); ++k) {
      graph_.add_kernel(
          kernel_of(codelets[k], measured[k], names.unique(run_.names[codelets[k].name])));
    }
  }

  void measure(const TaskOfRun& task, Measured& of_kernel) const {
    const auto& workers = run_.facts.machine.workers;
    if (!task.ran() || task.outcome != Outcome::done || task.worker >= workers.size()) return;
    const auto kind = static_cast<std::size_t>(workers[task.worker].kind);
    of_kernel.seconds[kind] += static_cast<double>(task.ended - task.started) * 1e-9;
    ++of_kernel.tasks[kind];
  }

  // In simulation the time that was given holds; else the mean of those measured.
  Graph::Kernel kernel_of(const CodeletOfRun& codelet, const Measured& measured,
                          std::string name) const {
    Graph::Kernel kernel{.name = std::move(name),
                         .flops = static_cast<double>(codelet.flops),
                         .synchronous = codelet.synchronous};
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const double given = static_cast<double>(codelet.ns[kind]) * 1e-9;
      const double mean =
          measured.tasks[kind] == 0
              ? 0
              : std::max(1e-9, measured.seconds[kind] / static_cast<double>(measured.tasks[kind]));
      const bool is_given = given > 0 && (run_.facts.simulated || mean == 0);
      kernel.seconds[kind] = is_given ? given : mean;
    }
    kernel.cores_only = run_.facts.simulated && is_for_cores(codelet);
    return kernel;
  }

  // A simulated machine runs a codelet where it has a time.
  bool is_for_cores(const CodeletOfRun& codelet) const {
    const auto ns = [&](ProcessorKind kind) { return codelet.ns[static_cast<std::size_t>(kind)]; };
    bool others = false;
    for (const WorkerDescription& worker : run_.facts.machine.workers) {
      if (worker.kind == ProcessorKind::cpu) continue;
      if (ns(worker.kind) > 0) return false;
      others = true;
    }
    return others && ns(ProcessorKind::cpu) > 0;
  }

  void add_tasks() {
    std::vector<Graph::Access> accesses;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskOfRun& task = run_.tasks[tasks_[i]];
      accesses.clear();
      for (const AccessOfTask& access : run_.accesses_of(task)) {
        accesses.push_back({numbers_[access.datum], access.mode});
      }
      if (const auto own = followed_.find(tasks_[i]); own != followed_.end()) {
        accesses.push_back({own->second, AccessMode::W});
      }
      if (const auto others = follows_.find(tasks_[i]); others != follows_.end()) {
        for (const std::uint32_t before : others->second) {
          accesses.push_back({followed_.at(before), AccessMode::R});
        }
      }
      graph_.add_task(kernels_[i], accesses, task.priority,
                      task.own_name == kNobody ? std::string_view() : run_.names[task.own_name]);
    }
  }

  void add_application() {
    graph_.application().name = run_.facts.application;
    for (const auto& [name, value] : run_.facts.told) {
      if (name == "parameter.precision") graph_.application().precision = value;
    }
  }

  const RecordedRun& run_;
  const std::string& origin_;
  Contents contents_;
  std::vector<std::uint32_t> tasks_;                 // of the run, that are in the graph
  std::vector<Graph::Number> kernels_;               // of each of these
  std::vector<Graph::Number> numbers_;               // by datum of the run
  std::unordered_set<std::uint32_t> filled_;         // data of the run, by the application
  std::map<std::uint32_t, Graph::Number> followed_;  // by task of the run: its datum of no bytes
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> follows_;
  Names names_of_data_;
  Graph graph_;
};

}  // namespace

graph::Graph graph_of(const RecordedRun& run, const std::string& origin) {
  return Builder(run, origin).build();
}

}  // namespace vicinal::analysis
