#include "analysis/recorded_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
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
      : data_(&data), written_(data.size()), parts_(data.size()) {
    for (std::uint32_t d = 0; d < data.size(); ++d) {
      written_[d] = data[d].home != kNobody;
      if (data[d].part_of != kNobody) parts_[data[d].part_of].push_back(d);
    }
  }
  void write(std::uint32_t datum) { written_[datum] = true; }
  bool has(std::uint32_t datum) const {
    for (std::uint32_t d = datum; d != kNobody; d = (*data_)[d].part_of) {
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

  const std::vector<DatumOfRun>* data_;
  std::vector<bool> written_;
  std::vector<std::vector<std::uint32_t>> parts_;
};

// How long tasks of a codelet ran, by kind of processor.
struct Measured {
  std::array<double, kProcessorKinds> seconds{};
  std::array<std::uint64_t, kProcessorKinds> tasks{};
};

// What stands in the graph: a task of the run, or what holds the operands of one that was divided before and behind the
// tasks inside.
struct Placed {
  enum class Role : std::uint8_t { whole, begin, end };
  std::uint32_t task = 0;
  Role role = Role::whole;
};

class Builder {
 public:
  Builder(const RecordedRun& run, const std::string& origin, std::span<const KernelTime> times)
      : run_(run), origin_(origin), times_(times), data_(run.data), contents_(data_) {}

  Graph build(TaskTimes task_times) {
    require_recorded();
    know_reductions();
    know_divided();
    know_divisions();
    contents_ = Contents(data_);
    find_tasks();
    find_successors();
    add_data();
    add_kernels();
    add_tasks();
    add_application();
    require_times_used();
    if (task_times == TaskTimes::own) give_own_times();
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

  // --- what is no task of the graph, or not as it was submitted ------------------------------------
  // Private copies of a datum are recorded as parts of it, and are the runtime's own.
  void know_reductions() {
    private_.resize(data_.size());
    for (std::uint32_t r = 0; r < run_.reductions.size(); ++r) {
      reduction_of_.insert_or_assign(run_.reductions[r].datum, r);
    }
    for (std::uint32_t d = 0; d < data_.size(); ++d) {
      if (data_[d].part_of == kNobody || !reduction_of_.contains(data_[d].part_of)) continue;
      private_[d] = true;
      data_[d].part_of = kNobody;
    }
  }

  // The parts that a recursive task has made become data of their own, which a task before those inside fills and one behind
  // them reads: several may divide the same datum in different ways.
  void know_divided() {
    constexpr int kDeepest = 64;
    std::unordered_map<std::uint32_t, int> depth;
    for (const analysis::TaskInside& each : run_.inside) {
      const auto outer = depth.find(each.outer);
      depth[each.task] = outer == depth.end() ? 1 : outer->second + 1;
      if (depth[each.task] > kDeepest) refuse("tasks are divided deeper than a graph can say");
      inside_[each.outer].push_back(each.task);
      is_inside_.insert(each.task);
    }
    for (const auto& [outer, tasks] : inside_) {
      for (const std::uint32_t task : tasks) {
        for (const analysis::AccessOfTask& access : run_.accesses_of(run_.tasks[task])) {
          const std::uint32_t whole = run_.data[access.datum].part_of;
          if (whole == kNobody || !is_operand(whole, outer)) continue;
          std::vector<std::uint32_t>& parts = parts_of_task_[{outer, whole}];
          if (std::ranges::find(parts, access.datum) == parts.end()) parts.push_back(access.datum);
          make_own(access.datum);
        }
      }
    }
  }

  bool is_operand(std::uint32_t datum, std::uint32_t task) const {
    return std::ranges::any_of(run_.accesses_of(run_.tasks[task]),
                               [datum](const auto& access) { return access.datum == datum; });
  }

  void make_own(std::uint32_t datum) {
    data_[datum].part_of = kNobody;
    data_[datum].home = kNobody;
  }

  // A graph divides a datum once. Where it was divided in several ways the parts are data of their own, and the runtime's
  // tasks that pass content between the whole and its parts are tasks of the graph.
  void know_divisions() {
    std::vector<std::uint64_t> of_parts(data_.size());
    for (const DatumOfRun& datum : data_) {
      if (datum.part_of != kNobody) of_parts[datum.part_of] += datum.bytes;
    }
    for (std::uint32_t d = 0; d < data_.size(); ++d) {
      const std::uint32_t whole = data_[d].part_of;
      if (whole == kNobody || of_parts[whole] <= data_[whole].bytes) continue;
      make_own(d);
      passing_.insert(d);
    }
  }

  // Of what the application did beside tasks, and before the recording began, the graph says nothing.
  bool is_of_graph(const TaskOfRun& task) const {
    if (task.submitted == analysis::kUnknown) return false;
    const auto accesses = run_.accesses_of(task);
    const auto any = [&](const auto& has) {
      return std::ranges::any_of(accesses, [&](const auto& access) { return has(access.datum); });
    };
    if (any([&](std::uint32_t datum) { return bool{private_[datum]}; })) return false;
    if (task.kind == analysis::KindOfTask::repartition) {
      return any([&](std::uint32_t datum) { return passing_.contains(datum); });
    }
    return task.kind == analysis::KindOfTask::compute && !moves_content(task);
  }

  // On a datum and a part of it there are only the runtime's own tasks, which copy between the two.
  bool moves_content(const TaskOfRun& task) const {
    const auto accesses = run_.accesses_of(task);
    return accesses.size() == 2 && (data_[accesses[0].datum].part_of == accesses[1].datum ||
                                    data_[accesses[1].datum].part_of == accesses[0].datum);
  }

  // The runtime's task behind those that reduce into a datum: it has the datum alone, and the codelet that combines. Of
  // several ranks each has one.
  bool combines(const TaskOfRun& task) {
    const auto accesses = run_.accesses_of(task);
    if (accesses.size() != 1) return false;
    const std::uint32_t datum = accesses[0].datum;
    const std::uint32_t rank = run_.rank_of_worker(task.worker);
    const auto combined = combined_.find(datum);
    const bool is_of_another_rank =
        combined != combined_.end() &&
        std::ranges::find(combined->second, rank) == combined->second.end();
    if (!open_.contains(datum) && !is_of_another_rank) return false;
    const CodeletOfRun& combine = run_.reductions[reduction_of_.at(datum)].combine;
    if (task.name != combine.name) return false;
    open_.erase(datum);
    combined_[datum].push_back(rank);
    return true;
  }

  // --- tasks ---------------------------------------------------------------------------------------
  void find_tasks() {
    for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
      if (is_inside_.contains(t) || !is_of_graph(run_.tasks[t])) continue;
      if (combines(run_.tasks[t])) {
        own_combinations_.insert(t);
        continue;
      }
      place(t);
    }
    if (tasks_.empty()) refuse("no task was submitted while it was recorded");
  }

  void place(std::uint32_t t) {
    const TaskOfRun& task = run_.tasks[t];
    if (const auto divided = inside_.find(t); divided != inside_.end()) {
      add_placed({t, Placed::Role::begin});
      for (const std::uint32_t task_inside : divided->second) {
        if (is_of_graph(run_.tasks[task_inside])) place(task_inside);
      }
      return add_placed({t, Placed::Role::end});
    }
    if (task.ended != analysis::kUnknown && task.outcome == Outcome::done &&
        task.started == analysis::kUnknown && task.kind == analysis::KindOfTask::compute) {
      refuse(
          fmt::format("task {} was divided into others while it ran (recursive), and which these "
                      "are is not recorded; record again with this version",
                      run_.name_of(t)));
    }
    add_placed({t, Placed::Role::whole});
  }

  void add_placed(Placed placed) {
    std::vector<analysis::AccessOfTask> accesses = accesses_of(placed);
    for (const analysis::AccessOfTask& access : accesses) note_access(placed.task, access);
    tasks_.push_back(placed);
    accesses_.push_back(std::move(accesses));
  }

  // What holds the operands reads what is divided and writes its parts; behind the tasks inside the parts are read, and
  // what the task was to write is written.
  std::vector<analysis::AccessOfTask> accesses_of(Placed placed) const {
    const auto own = run_.accesses_of(run_.tasks[placed.task]);
    if (placed.role == Placed::Role::whole) return {own.begin(), own.end()};
    const bool begins = placed.role == Placed::Role::begin;
    std::vector<analysis::AccessOfTask> accesses;
    for (const analysis::AccessOfTask& access : own) {
      const auto found = parts_of_task_.find({placed.task, access.datum});
      if (found == parts_of_task_.end()) {
        if (begins) accesses.push_back(access);
        continue;
      }
      if (!begins && !writes(access.mode)) continue;
      const AccessMode whole =
          begins ? (reads(access.mode) ? AccessMode::R : AccessMode::W)
                 : (covers(found->second, access.datum) ? AccessMode::W : AccessMode::RW);
      accesses.push_back({access.datum, whole});
      for (const std::uint32_t part : found->second) {
        accesses.push_back({part, begins ? AccessMode::W : AccessMode::R});
      }
    }
    if (accesses.size() > graph::kMostAccesses) {
      refuse(fmt::format("task {} was divided into more parts than a task of a graph can name",
                         run_.name_of(placed.task)));
    }
    return accesses;
  }

  bool covers(const std::vector<std::uint32_t>& parts, std::uint32_t whole) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t part : parts) bytes += data_[part].bytes;
    return bytes >= data_[whole].bytes;
  }

  // What tasks read and none has written, the application has: its content is there from the start.
  void note_access(std::uint32_t task, const AccessOfTask& access) {
    combined_.erase(access.datum);
    if (access.mode == AccessMode::reduction) {
      if (!reduction_of_.contains(access.datum)) {
        refuse(
            fmt::format("task {} reduces into {}, and by which kernels is not recorded; record "
                        "again with this version",
                        run_.name_of(task), run_.name_of_datum(access.datum)));
      }
      open_.insert(access.datum);
      contents_.write(access.datum);
      return;
    }
    open_.erase(access.datum);
    if (reads(access.mode) && !contents_.has(access.datum)) {
      std::uint32_t whole = access.datum;
      while (data_[whole].part_of != kNobody) whole = data_[whole].part_of;
      contents_.write(whole);
      filled_.insert(whole);
    }
    if (leaves_content(access.mode)) contents_.write(access.datum);
  }

  // Tasks that others follow whatever their data: they get a datum of no bytes that these read.
  void find_successors() {
    std::unordered_set<std::uint32_t> in_graph;
    for (const Placed& placed : tasks_) in_graph.insert(placed.task);
    for (const analysis::Dependency& each : run_.dependencies) {
      if (!in_graph.contains(each.before) || !in_graph.contains(each.task)) continue;
      followed_.try_emplace(each.before);
      follows_[each.task].push_back(each.before);
    }
  }

  // --- data ----------------------------------------------------------------------------------------
  // In the order of registration, but parts of a datum one behind the other.
  void add_data() {
    numbers_.resize(data_.size());
    for (std::uint32_t d = 0; d < data_.size(); ++d) {
      if (data_[d].part_of == kNobody && !private_[d]) add_datum(d);
    }
    for (std::uint32_t d = 0; d < data_.size(); ++d) add_parts(d);
    for (auto& [before, number] : followed_) {
      number = graph_.add_datum({}, names_of_data_.unique("end of " + run_.name_of(before)));
    }
  }

  void add_datum(std::uint32_t d) {
    const DatumOfRun& datum = data_[d];
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
    for (const std::uint32_t part : parts) add_datum(part);
    graph_.add_partition({.whole = numbers_[whole],
                          .first = numbers_[parts.front()],
                          .count = static_cast<Graph::Number>(parts.size())});
  }

  // --- kernels -------------------------------------------------------------------------------------
  // A kernel for each codelet as it was described. One of the same name that says something else is another.
  std::size_t number_of(const CodeletOfRun& codelet) {
    auto& same_name = known_[codelet.name];
    auto found =
        std::ranges::find(same_name, codelet, &decltype(known_)::mapped_type::value_type::first);
    if (found == same_name.end()) {
      same_name.emplace_back(codelet, codelets_.size());
      found = std::prev(same_name.end());
      codelets_.push_back(codelet);
      measured_.emplace_back();
    }
    return found->second;
  }

  CodeletOfRun codelet_of(const TaskOfRun& task) const {
    return task.codelet != kNobody ? run_.codelets[task.codelet] : CodeletOfRun{.name = task.name};
  }

  void add_kernels() {
    for (const Placed& placed : tasks_) {
      const TaskOfRun& task = run_.tasks[placed.task];
      const bool has_kernel =
          placed.role == Placed::Role::whole && task.kind == analysis::KindOfTask::compute;
      kernels_.push_back(has_kernel ? static_cast<Graph::Number>(number_of(codelet_of(task)))
                                    : kPassing);
      if (has_kernel) measure(task, measured_[kernels_.back()]);
    }
    std::vector<std::pair<Graph::Number, Graph::Number>> of_reductions;
    for (const analysis::ReductionOfRun& each : run_.reductions) {
      const std::size_t neutral = number_of(each.neutral);
      of_reductions.emplace_back(neutral, number_of(each.combine));
    }
    measure_combinations();
    Names names;
    std::array<bool, kProcessorKinds> timed{};
    std::vector<Graph::Kernel> kernels;
    for (std::size_t k = 0; k < codelets_.size(); ++k) {
      kernels.push_back(
          kernel_of(codelets_[k], measured_[k], names.unique(run_.names[codelets_[k].name])));
      for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
        timed[kind] = timed[kind] || kernels.back().seconds[kind] > 0;
      }
    }
    // What sets a neutral element runs as a part of the first task that adds to it, and was not measured by itself; nor was
    // a codelet whose tasks all failed, or were cancelled.
    if (std::ranges::count(timed, true) == 0) timed[0] = true;
    for (Graph::Kernel& kernel : kernels) {
      if (kernel.seconds != std::array<double, kProcessorKinds>{} || kernel.flops > 0) continue;
      for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
        if (timed[kind]) kernel.seconds[kind] = 1e-9;
      }
    }
    for (Graph::Kernel& kernel : kernels) graph_.add_kernel(std::move(kernel));
    add_passing_kernel(names, timed);
    for (std::size_t r = 0; r < of_reductions.size(); ++r) {
      const std::uint32_t datum = run_.reductions[r].datum;
      if (reduction_of_.at(datum) != r) continue;
      graph_.add_reduction({.datum = numbers_[datum],
                            .neutral = of_reductions[r].first,
                            .combine = of_reductions[r].second});
    }
  }

  // Of what passes content between a datum and its parts: in RAM, where it takes no time.
  void add_passing_kernel(Names& names, const std::array<bool, kProcessorKinds>& timed) {
    if (std::ranges::find(kernels_, kPassing) == kernels_.end()) return;
    Graph::Kernel kernel{.name = names.unique("repartition")};
    const auto cpu = static_cast<std::size_t>(ProcessorKind::cpu);
    const bool has_cores = std::ranges::any_of(
        run_.facts.machine.workers,
        [](const WorkerDescription& worker) { return worker.kind == ProcessorKind::cpu; });
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (kind == cpu || (!has_cores && timed[kind])) kernel.seconds[kind] = 1e-9;
    }
    kernel.cores_only = has_cores;
    const Graph::Number number = graph_.add_kernel(std::move(kernel));
    std::ranges::replace(kernels_, kPassing, number);
  }

  void measure(const TaskOfRun& task, Measured& of_kernel) const {
    const auto& workers = run_.facts.machine.workers;
    if (!task.ran() || task.outcome != Outcome::done || task.worker >= workers.size()) return;
    const auto kind = static_cast<std::size_t>(workers[task.worker].kind);
    of_kernel.seconds[kind] += static_cast<double>(task.ended - task.started) * 1e-9;
    ++of_kernel.tasks[kind];
  }

  // Those of the runtime's own.
  void measure_combinations() {
    if (run_.reductions.empty()) return;
    for (std::uint32_t t = 0; t < run_.tasks.size(); ++t) {
      const TaskOfRun& task = run_.tasks[t];
      const auto accesses = run_.accesses_of(task);
      const bool is_own =
          own_combinations_.contains(t) ||
          (accesses.size() == 2 && private_[accesses[0].datum] && private_[accesses[1].datum]);
      if (is_own) measure(task, measured_[number_of(codelet_of(task))]);
    }
  }

  // In simulation the time that was given holds; else the mean of those measured. What the user says goes before both.
  Graph::Kernel kernel_of(const CodeletOfRun& codelet, const Measured& measured, std::string name) {
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
    for (const KernelTime& time : times_) {
      const bool is_meant = time.codelet == run_.names[codelet.name] || time.codelet == kernel.name;
      if (!is_meant) continue;
      kernel.seconds[static_cast<std::size_t>(time.kind)] = time.seconds;
      if (time.kind != ProcessorKind::cpu) kernel.cores_only = false;
      used_times_.insert(time.codelet);
    }
    return kernel;
  }

  void require_times_used() const {
    std::vector<std::string_view> names;
    for (const CodeletOfRun& codelet : codelets_) names.push_back(run_.names[codelet.name]);
    for (const KernelTime& time : times_) {
      if (used_times_.contains(time.codelet)) continue;
      std::ranges::sort(names);
      names.erase(std::unique(names.begin(), names.end()), names.end());
      constexpr std::size_t kMostCompared = 1000;
      const std::string_view nearest =
          names.size() > kMostCompared ? "" : base::nearest(time.codelet, names);
      refuse(fmt::format("there is no codelet \"{}\" in it{}; there are {}",
                         base::legible_name(time.codelet),
                         nearest.empty() ? "" : fmt::format(": did you mean \"{}\"?", nearest),
                         base::legible_name(fmt::format("{}", fmt::join(names, ", ")))));
    }
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
      const TaskOfRun& task = run_.tasks[tasks_[i].task];
      accesses.clear();
      for (const analysis::AccessOfTask& access : accesses_[i]) {
        accesses.push_back({numbers_[access.datum], access.mode});
      }
      if (const auto own = followed_.find(tasks_[i].task);
          own != followed_.end() && tasks_[i].role != Placed::Role::begin) {
        accesses.push_back({own->second, AccessMode::W});
      }
      if (const auto others = follows_.find(tasks_[i].task);
          others != follows_.end() && tasks_[i].role != Placed::Role::end) {
        for (const std::uint32_t before : others->second) {
          accesses.push_back({followed_.at(before), AccessMode::R});
        }
      }
      graph_.add_task(kernels_[i], accesses, task.priority, name_of(tasks_[i]));
    }
  }

  void give_own_times() {
    std::vector<Graph::Kernel> own;
    own.reserve(tasks_.size() + 2 * graph_.reductions().size());
    const auto add = [&](Graph::Number number) -> Graph::Kernel& {
      Graph::Kernel& kernel = own.emplace_back(graph_.kernels()[number]);
      if (number < codelets_.size()) kernel.name = run_.names[codelets_[number].name];
      return kernel;
    };
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const double ratio = ratio_to_mean(tasks_[i], kernels_[i]);
      for (double& seconds : add(kernels_[i]).seconds) seconds *= ratio;
    }
    for (const Graph::Reduction& reduction : graph_.reductions()) {
      add(reduction.neutral);
      add(reduction.combine);
    }
    graph_.set_kernels(std::move(own));
  }

  // 1 where it did not run, and in simulation, where the codelet says how long each task takes.
  double ratio_to_mean(const Placed& placed, Graph::Number kernel) const {
    if (run_.facts.simulated || kernel >= codelets_.size()) return 1;
    Measured own;
    measure(run_.tasks[placed.task], own);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (own.tasks[kind] == 0) continue;
      const Measured& all = measured_[kernel];
      const double mean = all.seconds[kind] / static_cast<double>(all.tasks[kind]);
      return mean > 0 ? std::max(1e-9, own.seconds[kind]) / mean : 1;
    }
    return 1;
  }

  std::string name_of(Placed placed) const {
    const TaskOfRun& task = run_.tasks[placed.task];
    if (placed.role == Placed::Role::begin) return run_.name_of(placed.task) + " is divided";
    if (placed.role == Placed::Role::end) return run_.name_of(placed.task) + " is whole";
    return task.own_name == kNobody ? std::string() : run_.names[task.own_name];
  }

  void add_application() {
    graph_.application().name = run_.facts.application;
    for (const auto& [name, value] : run_.facts.told) {
      if (name == "parameter.precision") graph_.application().precision = value;
    }
  }

  static constexpr Graph::Number kPassing = static_cast<Graph::Number>(-1);

  const RecordedRun& run_;
  const std::string& origin_;
  const std::span<const KernelTime> times_;
  std::vector<DatumOfRun> data_;  // of the run, as the graph has them
  Contents contents_;
  std::vector<bool> private_;                                      // by datum: a private copy
  std::unordered_map<std::uint32_t, std::uint32_t> reduction_of_;  // by datum
  std::unordered_set<std::uint32_t>
      open_;  // data that tasks have reduced into, and that nobody has accessed since
  // By datum that nobody has accessed since a combination: the ranks that have combined.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> combined_;
  std::unordered_set<std::uint32_t> own_combinations_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> inside_;  // by the task that was divided
  std::unordered_set<std::uint32_t> is_inside_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> parts_of_task_;
  std::unordered_set<std::uint32_t> passing_;  // parts of data that were divided in several ways
  std::vector<Placed> tasks_;                  // of the graph, in its order
  std::vector<std::vector<analysis::AccessOfTask>> accesses_;  // of each of these
  std::vector<Graph::Number> kernels_;                         // likewise
  std::vector<Graph::Number> numbers_;                         // by datum of the run
  std::unordered_set<std::uint32_t> filled_;         // data of the run, by the application
  std::map<std::uint32_t, Graph::Number> followed_;  // by task of the run: its datum of no bytes
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> follows_;
  std::map<std::uint32_t, std::vector<std::pair<CodeletOfRun, std::size_t>>> known_;  // by name
  std::vector<CodeletOfRun> codelets_;
  std::vector<Measured> measured_;
  std::unordered_set<std::string> used_times_;
  Names names_of_data_;
  Graph graph_;
};

}  // namespace

graph::Graph graph_of(const RecordedRun& run, const std::string& origin,
                      std::span<const KernelTime> times, TaskTimes task_times) {
  return Builder(run, origin, times).build(task_times);
}

}  // namespace vicinal::analysis
