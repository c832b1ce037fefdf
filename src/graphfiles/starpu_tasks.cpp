// StarPU's tasks.rec, which its tools make of a trace: records of lines "Key: value" with an empty line behind each, as GNU
// recutils have them; a line that begins with + goes on with the value before it. Tasks are submitted in the order that
// StarPU had, and follow each other through their handles.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "graphfiles/file_text.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/workflow.hpp"

namespace vicinal::graphfiles {

namespace starpu {

namespace {

using graph::Graph;
using Number = Graph::Number;

// Those that are read; others are passed over.
enum class Key : std::uint8_t {
  control,
  name,
  model,
  job,
  depends_on,
  order,
  memory_node,
  start,
  end,
  operations,
  footprint,
  handles,
  modes,
  sizes,
  priority,
  rank,
};
constexpr std::array<std::string_view, 16> kKeys{
    "Control",    "Name",      "Model",    "JobId",  "DependsOn", "SubmitOrder",
    "MemoryNode", "StartTime", "EndTime",  "GFlop",  "Footprint", "Handles",
    "Modes",      "Sizes",     "Priority", "MPIRank"};

struct Record {
  std::size_t line = 0;  // its first one; 0: there is none
  std::array<std::string, kKeys.size()> values{};
  const std::string& operator[](Key key) const { return values[static_cast<std::size_t>(key)]; }
};

struct StarpuTask {
  std::size_t line = 0;
  std::string job = {};
  std::uint64_t order = 0;
  std::size_t kernel = 0;
  int priority = 0;
  std::string name = {};
  std::vector<Graph::Access> accesses = {};
  std::vector<std::string> depends_on = {};
};

// How long its tasks took, by kind of processor.
struct StarpuKernel {
  std::string name;
  double flops = 0;
  std::array<double, kProcessorKinds> seconds{};
  std::array<std::uint64_t, kProcessorKinds> tasks{};
};

class StarpuReader {
 public:
  StarpuReader(std::string_view text, const std::string& origin, Notes& notes)
      : text_(text), origin_(origin), notes_(notes) {}

  Graph read() {
    while (std::optional<Record> record = next_record()) {
      const bool is_task = !(*record)[Key::job].empty() || !(*record)[Key::handles].empty();
      if (is_task && (*record)[Key::control].empty()) read_task(*record);
    }
    std::ranges::stable_sort(tasks_, {}, &StarpuTask::order);
    number_jobs();
    keep_dependencies();
    graph_.application().name = "starpu";
    add_data();
    add_kernels();
    for (const StarpuTask& task : tasks_) add_task(task);
    require_sound(graph_, origin_);
    return std::move(graph_);
  }

 private:
  struct Handle {
    std::string name;
    Bytes bytes = {};
    bool named = false;
    bool has_content_first = false;  // its first access reads it
  };

  using Modes = std::unordered_map<Number, AccessMode>;  // by datum

  std::optional<std::string_view> next_line();
  std::optional<Record> next_record();
  void read_task(const Record& record);
  void read_accesses(const Record& record, StarpuTask& task);
  AccessMode mode_of(const Record& record, std::string_view text) const;
  std::size_t kernel_of(const Record& record);
  void measure(const Record& record, StarpuKernel& kernel) const;
  void number_jobs();
  void keep_dependencies();
  bool follows_by_data(const StarpuTask& before, const Modes& after) const;
  void add_data();
  void add_kernels();
  void add_task(const StarpuTask& task);

  std::uint64_t whole(const Record& record, Key key, std::string_view text, int base = 10) const;
  double real(const Record& record, Key key) const;
  [[noreturn]] void refuse(std::size_t line, const std::string& message) const {
    refuse_at(origin_, fmt::format("line {}", line), message);
  }

  std::string_view text_;
  const std::string& origin_;
  Notes& notes_;
  std::size_t line_ = 0;
  std::vector<StarpuTask> tasks_;
  std::vector<StarpuKernel> kernels_;
  std::map<std::pair<std::string, std::string>, std::size_t> kernel_numbers_;
  std::vector<Handle> handles_;
  std::unordered_map<std::string, Number> handle_numbers_;
  std::unordered_map<std::string, std::size_t> jobs_;
  Graph graph_;
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return words;
    text.remove_prefix(first);
    words.push_back(text.substr(0, text.find_first_of(" \t")));
    text.remove_prefix(words.back().size());
  }
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// --- records -------------------------------------------------------------------------------------
std::optional<std::string_view> StarpuReader::next_line() {
  if (text_.empty()) return std::nullopt;
  ++line_;
  const std::size_t end = std::min(text_.find('\n'), text_.size());
  std::string_view line = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<Record> StarpuReader::next_record() {
  Record record;
  std::string* last = nullptr;
  std::string unread;
  while (const std::optional<std::string_view> line = next_line()) {
    if (without_spaces(*line).empty()) {
      if (record.line != 0) return record;
      continue;
    }
    if (line->starts_with('#') || line->starts_with('%')) continue;  // for people; of recutils
    if (line->starts_with('+')) {
      if (last == nullptr) refuse(line_, "+ goes on with a value, and there is none before it");
      *last += ' ';
      *last += without_spaces(line->substr(1));
      continue;
    }
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0) {
      refuse(line_, fmt::format("expected \"Key: value\", found {}", in_quotes(*line)));
    }
    if (record.line == 0) record.line = line_;
    const auto key = std::ranges::find(kKeys, line->substr(0, colon));
    last = key == kKeys.end() ? &unread
                              : &record.values[static_cast<std::size_t>(key - kKeys.begin())];
    if (key != kKeys.end() && !last->empty())
      refuse(line_, fmt::format("{} stands twice in a record", *key));
    *last = without_spaces(line->substr(colon + 1));
  }
  if (record.line == 0) return std::nullopt;
  return record;
}

std::uint64_t StarpuReader::whole(const Record& record, Key key, std::string_view text,
                                  int base) const {
  std::uint64_t number = 0;
  std::string_view digits = text;
  if (base == 16 && (digits.starts_with("0x") || digits.starts_with("0X"))) digits.remove_prefix(2);
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, base);
  if (error == std::errc() && rest == end) return number;
  refuse(record.line, fmt::format("{}: expected a whole number{}, found {}",
                                  kKeys[static_cast<std::size_t>(key)],
                                  base == 16 ? " of base 16" : "", in_quotes(text)));
}

double StarpuReader::real(const Record& record, Key key) const {
  const std::string& text = record[key];
  double number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && number >= 0 &&
      std::isfinite(number)) {
    return number;
  }
  refuse(record.line, fmt::format("{}: expected a number from 0 on, found {}",
                                  kKeys[static_cast<std::size_t>(key)], in_quotes(text)));
}

// --- tasks ---------------------------------------------------------------------------------------
// Processes of MPI have numbers and addresses of their own.
std::string of_rank(const Record& record, std::string_view name) {
  const std::string& rank = record[Key::rank];
  return rank.empty() || rank == "0" || rank == "-1" ? std::string(name)
                                                     : fmt::format("{}@{}", name, rank);
}

void StarpuReader::read_task(const Record& record) {
  if (record[Key::job].empty()) refuse(record.line, "the task has no JobId");
  StarpuTask task{.line = record.line};
  const std::uint64_t job = whole(record, Key::job, record[Key::job]);
  task.job = of_rank(record, record[Key::job]);
  task.order = record[Key::order].empty() ? job : whole(record, Key::order, record[Key::order]);
  task.kernel = kernel_of(record);
  task.name = fmt::format("{} {}", kernels_[task.kernel].name, task.job);
  if (!record[Key::priority].empty()) {
    const std::string& text = record[Key::priority];
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), task.priority);
    if (error != std::errc() || rest != text.data() + text.size()) {
      refuse(record.line, fmt::format("Priority: expected a whole number of 32 bits, found {}",
                                      in_quotes(text)));
    }
  }
  for (const std::string_view before : words_of(record[Key::depends_on])) {
    whole(record, Key::depends_on, before);
    task.depends_on.push_back(of_rank(record, before));
  }
  read_accesses(record, task);
  tasks_.push_back(std::move(task));
}

void StarpuReader::read_accesses(const Record& record, StarpuTask& task) {
  const std::vector<std::string_view> handles = words_of(record[Key::handles]);
  const std::vector<std::string_view> modes = words_of(record[Key::modes]);
  const std::vector<std::string_view> sizes = words_of(record[Key::sizes]);
  if (handles.size() != modes.size() || (!sizes.empty() && sizes.size() != handles.size())) {
    refuse(record.line,
           fmt::format("{} Handles, {} Modes and {} Sizes: there is one of each for each datum",
                       handles.size(), modes.size(), sizes.size()));
  }
  std::unordered_map<Number, std::size_t> position;
  for (std::size_t h = 0; h < handles.size(); ++h) {
    whole(record, Key::handles, handles[h], 16);
    const auto [found, is_new] = handle_numbers_.try_emplace(of_rank(record, handles[h]),
                                                             static_cast<Number>(handles_.size()));
    if (is_new) handles_.push_back({.name = found->first});
    Handle& handle = handles_[found->second];
    if (!sizes.empty())
      handle.bytes = std::max(handle.bytes, Bytes{whole(record, Key::sizes, sizes[h])});
    const AccessMode mode = mode_of(record, modes[h]);
    const auto [at, is_first] = position.try_emplace(found->second, task.accesses.size());
    if (is_first) {
      task.accesses.push_back({found->second, mode});
    } else {
      task.accesses[at->second].mode = strongest(task.accesses[at->second].mode, mode);
    }
  }
  if (task.accesses.size() > graph::kMostAccesses) {
    refuse(record.line, fmt::format("the task has {} handles; a task has {} at most",
                                    task.accesses.size(), graph::kMostAccesses));
  }
}

// Letters of R, W, S (scratch), X (reduction) and C (commute). Which codelets reduce the file does not say: tasks that
// reduce change the datum in any order.
AccessMode StarpuReader::mode_of(const Record& record, std::string_view text) const {
  if (text == "R" || text == "RC") return AccessMode::R;
  if (text == "W" || text == "WC") return AccessMode::W;
  if (text == "RW") return AccessMode::RW;
  if (text == "RWC" || text.starts_with("X") || text.starts_with("RX") || text.starts_with("RWX")) {
    return AccessMode::commute;
  }
  if (text == "S" || text == "RWS" || text == "WS") return AccessMode::scratch;
  refuse(record.line,
         fmt::format("Modes: expected R, W, RW, RWC, S or X, found {}", in_quotes(text)));
}

// Of each codelet and footprint (which sizes it works on) one.
std::size_t StarpuReader::kernel_of(const Record& record) {
  std::string name = record[Key::name].empty() ? record[Key::model] : record[Key::name];
  if (name.empty()) name = "unnamed";
  const auto [found, is_new] =
      kernel_numbers_.try_emplace({name, record[Key::footprint]}, kernels_.size());
  if (is_new) kernels_.push_back({.name = std::move(name)});
  StarpuKernel& kernel = kernels_[found->second];
  if (!record[Key::operations].empty()) {
    const double flops = real(record, Key::operations) * 1e9;
    if (flops > graph::kMostTaskFlops) refuse(record.line, "GFlop: more than a task can have");
    kernel.flops = std::max(kernel.flops, flops);
  }
  measure(record, kernel);
  return found->second;
}

// In milliseconds. Workers of memory node 0 are cores; of the others it is not said what they are.
void StarpuReader::measure(const Record& record, StarpuKernel& kernel) const {
  if (record[Key::start].empty() || record[Key::end].empty()) return;
  const double seconds = (real(record, Key::end) - real(record, Key::start)) * 1e-3;
  if (seconds < 0) refuse(record.line, "EndTime: the task ends before it starts");
  if (seconds > graph::kMostTaskSeconds) refuse(record.line, "EndTime: more than a task can take");
  const std::string& node = record[Key::memory_node];
  const bool is_core = node.empty() || whole(record, Key::memory_node, node) == 0;
  const auto kind = static_cast<std::size_t>(is_core ? ProcessorKind::cpu : ProcessorKind::gpu);
  kernel.seconds[kind] += seconds;
  ++kernel.tasks[kind];
}

// --- dependencies --------------------------------------------------------------------------------
void StarpuReader::number_jobs() {
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const auto [found, is_new] = jobs_.emplace(tasks_[t].job, t);
    if (!is_new) refuse(tasks_[t].line, fmt::format("JobId: {} stands twice", tasks_[t].job));
  }
}

bool StarpuReader::follows_by_data(const StarpuTask& before, const Modes& after) const {
  return std::ranges::any_of(before.accesses, [&](const Graph::Access& one) {
    const auto other = after.find(one.datum);
    if (other == after.end() || one.mode == AccessMode::scratch) return false;
    if (!leaves_content(one.mode) && !leaves_content(other->second)) return false;
    return !commutes(one.mode) || !commutes(other->second);
  });
}

// Most follow from handles. The others, of tags and of what the application declared, are kept by data of no bytes.
void StarpuReader::keep_dependencies() {
  std::size_t later = 0;
  std::unordered_map<std::size_t, Number> ends;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    std::vector<std::string>& jobs = tasks_[t].depends_on;
    std::ranges::sort(jobs);
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    Modes modes;
    if (!jobs.empty()) {
      for (const Graph::Access& access : tasks_[t].accesses)
        modes.emplace(access.datum, access.mode);
    }
    for (const std::string& job : jobs) {
      const auto found = jobs_.find(job);
      if (found == jobs_.end()) continue;  // one of StarPU's own, that was not written
      const std::size_t before = found->second;
      if (before >= t) {
        ++later;
        continue;
      }
      if (follows_by_data(tasks_[before], modes)) continue;
      const auto [end, is_new] = ends.try_emplace(before, static_cast<Number>(handles_.size()));
      if (is_new) {
        handles_.push_back({.name = "end of " + tasks_[before].name});
        tasks_[before].accesses.push_back({end->second, AccessMode::W});
      }
      tasks_[t].accesses.push_back({end->second, AccessMode::R});
    }
  }
  if (later > 0) {
    notes_.push_back(
        fmt::format("{} dependencies on tasks that were submitted later are left out", later));
  }
}

// --- the graph -----------------------------------------------------------------------------------
void StarpuReader::add_data() {
  for (const StarpuTask& task : tasks_) {
    for (const Graph::Access& access : task.accesses) {
      Handle& handle = handles_[access.datum];
      if (!handle.named) handle.has_content_first = reads(access.mode);
      handle.named = true;
    }
  }
  for (const Handle& handle : handles_) {
    Graph::Datum datum{.bytes = handle.bytes};
    if (handle.has_content_first) datum.home = NodeKind::ram;
    graph_.add_datum(datum, handle.name);
  }
}

void StarpuReader::add_kernels() {
  std::unordered_map<std::string, std::size_t> counts;
  std::size_t unknown = 0;
  for (const StarpuKernel& kernel : kernels_) {
    const std::size_t count = ++counts[kernel.name];
    Graph::Kernel added{.name = count == 1 ? kernel.name : fmt::format("{}#{}", kernel.name, count),
                        .flops = kernel.flops};
    bool measured = false;
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (kernel.tasks[kind] == 0) continue;
      measured = true;
      added.seconds[kind] =
          std::max(1e-9, kernel.seconds[kind] / static_cast<double>(kernel.tasks[kind]));
    }
    if (!measured && kernel.flops == 0) {
      added.seconds = seconds_everywhere(0);
      ++unknown;
    }
    graph_.add_kernel(std::move(added));
  }
  if (unknown > 0) {
    notes_.push_back(fmt::format(
        "no times are given for the tasks of {} codelets: counted as a nanosecond", unknown));
  }
}

void StarpuReader::add_task(const StarpuTask& task) {
  if (task.accesses.size() > graph::kMostAccesses) {
    refuse(task.line, fmt::format("the task has {} handles and dependencies; a task has {} at most",
                                  task.accesses.size(), graph::kMostAccesses));
  }
  graph_.add_task(static_cast<Number>(task.kernel), task.accesses, task.priority, task.name);
}

}  // namespace

}  // namespace starpu

graph::Graph parse_starpu_tasks(std::string_view text, const std::string& origin, Notes& notes) {
  return starpu::StarpuReader(text, origin, notes).read();
}

graph::Graph parse_starpu_tasks(std::string_view text, const std::string& origin) {
  Notes unheard;
  return parse_starpu_tasks(text, origin, unheard);
}

}  // namespace vicinal::graphfiles
