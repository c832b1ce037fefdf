// WfFormat 1.5, the JSON schema in which WfCommons publishes workflows that were run
// (https://github.com/wfcommons/WfFormat, wfcommons-schema.json). Instances have up to some hundred
// thousand tasks: read as a document. Unknown keys are part of the format.
#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/sound.hpp"
#include "graphfiles/graph_file.hpp"
#include "graphfiles/json_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

using Json = nlohmann::json;
using Type = Json::value_t;
using Index = std::uint32_t;
using Ids = std::unordered_map<std::string, Index>;

// A place in the file, put into words only when there is something to say about it.
struct At {
  std::string_view list;
  std::size_t index = 0;
  std::string_view key = {};
  std::string text() const {
    return key.empty() ? fmt::format("{}[{}]", list, index)
                       : fmt::format("{}[{}].{}", list, index, key);
  }
};

constexpr std::string_view kTasks = "workflow.specification.tasks";
constexpr std::string_view kFiles = "workflow.specification.files";
constexpr std::string_view kExecuted = "workflow.execution.tasks";

// What WfFormat counts as a task.
struct Step {
  std::string id;
  std::string category;
  double seconds = 0;
  std::vector<graph::Graph::Access> accesses;  // files; each once
  std::vector<Index> children;                 // as declared by it or by them
  std::vector<Index> later;                    // what must come after: children, and by files
};

// "blastall_00000002" and "blastall_ID0000002" are tasks of the category "blastall".
std::string category_of(const std::string& name) {
  constexpr std::string_view kSeparators = "_-.#:/ ";
  std::string_view rest = name;
  const auto strip = [&rest](std::string_view characters) {
    const auto last = rest.find_last_not_of(characters);
    rest = rest.substr(0, last == std::string_view::npos ? 0 : last + 1);
  };
  strip("0123456789");
  if (rest.size() == name.size()) return name;
  if (rest.size() > 2 && rest.ends_with("ID") &&
      kSeparators.find(rest[rest.size() - 3]) != std::string_view::npos) {
    rest.remove_suffix(2);
  }
  strip(kSeparators);
  return rest.empty() ? name : std::string(rest);
}

class WfReader {
 public:
  WfReader(const Json& root, const std::string& origin) : root_(root), origin_(origin) {}

  graph::Graph read() {
    check_version();
    const Json& workflow = member(root_, "", "workflow", Type::object);
    const Json& specification = member(workflow, "workflow.", "specification", Type::object);
    const Json& tasks = member(specification, "workflow.specification.", "tasks", Type::array);
    read_files(specification);
    read_ids(tasks);
    read_runtimes(workflow);
    for (Index t = 0; t < steps_.size(); ++t) read_accesses(tasks[t], t);
    for (Index t = 0; t < steps_.size(); ++t) read_relations(tasks[t], t);
    order_by_files();
    const std::vector<Index> order = topological_order();
    for (const Index t : order) keep_edges_without_files(t);
    for (const Index t : order) add_task(t);
    give_homes();
    require_sound(graph_, origin_);
    return std::move(graph_);
  }

 private:
  void check_version() const;
  void read_files(const Json& specification);
  void read_ids(const Json& tasks);
  void read_runtimes(const Json& workflow);
  void read_accesses(const Json& task, Index t);
  void read_relations(const Json& task, Index t);
  void order_by_files();
  std::vector<Index> topological_order();
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& missing) const;
  void keep_edges_without_files(Index t);
  void add_task(Index t);
  Index kernel_of(const Step& step);
  void give_homes();

  const Json& member(const Json& object, std::string_view place, const char* key, Type type) const;
  const Json& field(const Json& object, At at) const;
  const std::string& text(const Json& object, At at) const;
  Index resolve(const Json& name, const Ids& ids, At at, std::optional<std::size_t> position,
                std::string_view what) const;
  [[noreturn]] void refuse(const std::string& place, const std::string& message) const {
    refuse_at(origin_, place, message);
  }

  const Json& root_;
  const std::string& origin_;
  graph::Graph graph_;
  Ids files_;  // datum of each
  Ids ids_;    // step of each
  std::vector<Step> steps_;
  std::map<std::pair<std::string, double>, Index> kernels_;
  std::unordered_map<std::string, std::size_t> category_kernels_;  // how many of each category
  std::unordered_set<std::string> kernel_names_;
};

// --- access to the document ----------------------------------------------------------------------
const Json& WfReader::member(const Json& object, std::string_view place, const char* key,
                             Type type) const {
  const std::string path = fmt::format("{}{}", place, key);
  const auto found = object.find(key);
  if (found == object.end()) refuse(path, "is missing");
  if (found->type() != type) {
    refuse(path, type == Type::array ? "expected a list" : "expected an object");
  }
  return *found;
}

const Json& WfReader::field(const Json& object, At at) const {
  if (!object.is_object()) refuse(At{at.list, at.index}.text(), "expected an object");
  const auto found = object.find(at.key);
  if (found == object.end()) refuse(at.text(), "is missing");
  return *found;
}

const std::string& WfReader::text(const Json& object, At at) const {
  const Json& value = field(object, at);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    refuse(at.text(), "expected a string that is not empty");
  }
  return value.get_ref<const std::string&>();
}

Index WfReader::resolve(const Json& name, const Ids& ids, At at,
                        std::optional<std::size_t> position, std::string_view what) const {
  if (name.is_string()) {
    const auto found = ids.find(name.get_ref<const std::string&>());
    if (found != ids.end()) return found->second;
  }
  const std::string place = position ? fmt::format("{}[{}]", at.text(), *position) : at.text();
  if (!name.is_string()) refuse(place, "expected a string");
  const auto& id = name.get_ref<const std::string&>();
  std::vector<std::string_view> candidates;
  for (const auto& [candidate, index] : ids) candidates.emplace_back(candidate);
  std::sort(candidates.begin(), candidates.end());  // the same message with every library
  refuse(place,
         fmt::format("there is no {} {}{}", what, in_quotes(id), did_you_mean(id, candidates)));
}

// --- reading -------------------------------------------------------------------------------------
void WfReader::check_version() const {
  if (!root_.is_object()) refuse("the file", "expected an object");
  const auto version = root_.find("schemaVersion");
  if (version == root_.end()) refuse("schemaVersion", "is missing");
  // 1.6 adds optional keys only.
  if (*version == "1.5" || *version == "1.6") return;
  refuse(
      "schemaVersion",
      fmt::format(
          "expected \"1.5\" or \"1.6\", found {}; WfFormat's wfcommons-migrate-instance.py "
          "converts older files",
          version->is_string() ? in_quotes(version->get_ref<const std::string&>()) : "no string"));
}

void WfReader::read_files(const Json& specification) {
  const auto name = root_.find("name");
  if (name != root_.end() && name->is_string())
    graph_.application().name = name->get<std::string>();
  if (!specification.contains("files")) return;  // optional: then no task names a file
  const Json& files = member(specification, "workflow.specification.", "files", Type::array);
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string& id = text(files[f], {kFiles, f, "id"});
    const Json& size = field(files[f], {kFiles, f, "sizeInBytes"});
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > graph::kMostGraphBytes.value) {
      refuse(At{kFiles, f, "sizeInBytes"}.text(),
             fmt::format("expected a whole number from 0 to {}", graph::kMostGraphBytes.value));
    }
    if (!files_.emplace(id, static_cast<Index>(graph_.data().size())).second) {
      refuse(At{kFiles, f, "id"}.text(), in_quotes(id) + " stands twice");
    }
    graph_.add_datum({.bytes = {size.get<std::uint64_t>()}}, id);
  }
}

void WfReader::read_ids(const Json& tasks) {
  steps_.resize(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    steps_[t].id = text(tasks[t], {kTasks, t, "id"});
    steps_[t].category = category_of(text(tasks[t], {kTasks, t, "name"}));
    if (!ids_.emplace(steps_[t].id, static_cast<Index>(t)).second) {
      refuse(At{kTasks, t, "id"}.text(), in_quotes(steps_[t].id) + " stands twice");
    }
  }
}

void WfReader::read_runtimes(const Json& workflow) {
  if (!workflow.contains("execution")) {
    refuse("workflow.execution", "is missing: without it the times of the tasks are not known");
  }
  const Json& execution = member(workflow, "workflow.", "execution", Type::object);
  const Json& tasks = member(execution, "workflow.execution.", "tasks", Type::array);
  std::vector<bool> known(steps_.size());
  for (std::size_t e = 0; e < tasks.size(); ++e) {
    const At at{kExecuted, e, "id"};
    const Index t = resolve(field(tasks[e], at), ids_, at, {}, "task");
    const Json& seconds = field(tasks[e], {kExecuted, e, "runtimeInSeconds"});
    const double value = seconds.is_number() ? seconds.get<double>() : -1;
    if (!(value >= 0 && value <= graph::kMostTaskSeconds)) {
      refuse(At{kExecuted, e, "runtimeInSeconds"}.text(),
             fmt::format("expected a number from 0 to {}", graph::kMostTaskSeconds));
    }
    if (known[t]) refuse(At{kExecuted, e, "id"}.text(), in_quotes(steps_[t].id) + " stands twice");
    known[t] = true;
    // 0 would mean that the time is not known.
    steps_[t].seconds = std::max(value, 1e-9);
  }
  const auto missing = std::find(known.begin(), known.end(), false);
  if (missing == known.end()) return;
  const auto t = static_cast<std::size_t>(missing - known.begin());
  refuse(std::string(kExecuted), fmt::format("the task {} is missing", in_quotes(steps_[t].id)));
}

void WfReader::read_accesses(const Json& task, Index t) {
  std::vector<graph::Graph::Access>& accesses = steps_[t].accesses;
  std::unordered_map<Index, std::size_t> position;  // a task may name a file twice
  for (const auto& [key, mode] :
       {std::pair("inputFiles", AccessMode::R), {"outputFiles", AccessMode::W}}) {
    if (!task.contains(key)) continue;
    const Json& files = task[key];
    const At at{kTasks, t, key};
    if (!files.is_array()) refuse(at.text(), "expected a list");
    for (std::size_t f = 0; f < files.size(); ++f) {
      const Index datum = resolve(files[f], files_, at, f, "file");
      const auto [found, is_new] = position.try_emplace(datum, accesses.size());
      if (is_new) {
        accesses.push_back({datum, mode});
      } else {
        accesses[found->second].mode = strongest(accesses[found->second].mode, mode);
      }
    }
  }
}

void WfReader::read_relations(const Json& task, Index t) {
  for (const char* const key : {"parents", "children"}) {
    const At at{kTasks, t, key};
    const Json& others = field(task, at);
    if (!others.is_array()) refuse(at.text(), "expected a list");
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Index other = resolve(others[i], ids_, at, i, "task");
      const bool is_child = key == std::string_view("children");
      steps_[is_child ? t : other].children.push_back(is_child ? other : t);
    }
  }
}

// --- order ---------------------------------------------------------------------------------------
// Readers come after the writer of a file. Of a file that several tasks write, only parents and the order
// in the file can say which version a reader means.
void WfReader::order_by_files() {
  constexpr Index kNone = static_cast<Index>(-1);
  std::vector<Index> writer(graph_.data().size(), kNone);
  std::vector<bool> many(graph_.data().size());
  for (Index t = 0; t < steps_.size(); ++t) {
    for (const graph::Graph::Access& access : steps_[t].accesses) {
      if (!writes(access.mode)) continue;
      many[access.datum] = writer[access.datum] != kNone;
      writer[access.datum] = t;
    }
  }
  for (Step& step : steps_) {
    // The same edge is declared at both ends.
    std::sort(step.children.begin(), step.children.end());
    step.children.erase(std::unique(step.children.begin(), step.children.end()),
                        step.children.end());
    step.later = step.children;
  }
  for (Index t = 0; t < steps_.size(); ++t) {
    for (const graph::Graph::Access& access : steps_[t].accesses) {
      const Index before = writer[access.datum];
      if (before != kNone && before != t && !many[access.datum]) steps_[before].later.push_back(t);
    }
  }
}

// That of the file, as far as it goes.
std::vector<Index> WfReader::topological_order() {
  std::vector<std::size_t> missing(steps_.size());
  for (const Step& step : steps_) {
    for (const Index after : step.later) ++missing[after];
  }
  std::priority_queue<Index, std::vector<Index>, std::greater<>> free;
  for (Index t = 0; t < steps_.size(); ++t) {
    if (missing[t] == 0) free.push(t);
  }
  std::vector<Index> order;
  while (!free.empty()) {
    const Index t = free.top();
    free.pop();
    order.push_back(t);
    for (const Index after : steps_[t].later) {
      if (--missing[after] == 0) free.push(after);
    }
  }
  if (order.size() < steps_.size()) refuse_cycle(missing);
  return order;
}

// Each task that is left waits for another one that is left: going from one to such another comes back.
void WfReader::refuse_cycle(const std::vector<std::size_t>& missing) const {
  constexpr Index kNone = static_cast<Index>(-1);
  std::vector<Index> before(steps_.size(), kNone);
  for (Index t = 0; t < steps_.size(); ++t) {
    if (missing[t] == 0) continue;
    for (const Index after : steps_[t].later) before[after] = t;
  }
  std::vector<bool> passed(steps_.size());
  auto t = static_cast<Index>(
      std::find_if(missing.begin(), missing.end(), [](std::size_t count) { return count != 0; }) -
      missing.begin());
  while (!passed[t]) {
    passed[t] = true;
    t = before[t];
  }
  // From each to the one that must wait for it.
  std::string circle = in_quotes(steps_[t].id);
  std::size_t shown = 1;
  constexpr std::size_t kMostShown = 8;
  Index at = before[t];
  for (; at != t && shown < kMostShown; at = before[at], ++shown) {
    circle.insert(0, in_quotes(steps_[at].id) + " -> ");
  }
  circle.insert(0, (at == t ? in_quotes(steps_[t].id) : "...") + " -> ");
  refuse(std::string(kTasks), "tasks that wait for each other: " + circle);
}

// A child that shares no file with its parent, or none that one of the two writes, gets one: of no bytes,
// written by the parent, the same for all such children.
void WfReader::keep_edges_without_files(Index t) {
  Step& step = steps_[t];
  if (step.children.empty()) return;
  std::unordered_map<Index, AccessMode> own;
  for (const graph::Graph::Access& access : step.accesses) own.emplace(access.datum, access.mode);
  std::optional<Index> datum;
  for (const Index child : step.children) {
    const auto& accesses = steps_[child].accesses;
    const bool shares =
        std::any_of(accesses.begin(), accesses.end(), [&](const graph::Graph::Access& access) {
          const auto mine = own.find(access.datum);
          return mine != own.end() && (writes(mine->second) || writes(access.mode));
        });
    if (shares) continue;
    if (!datum) {
      std::string name = "end of " + step.id;
      while (files_.contains(name)) name += "'";
      files_.emplace(name, static_cast<Index>(graph_.data().size()));
      datum = graph_.add_datum({}, name);
      step.accesses.push_back({*datum, AccessMode::W});
    }
    steps_[child].accesses.push_back({*datum, AccessMode::R});
  }
}

// --- the graph -----------------------------------------------------------------------------------
void WfReader::add_task(Index t) {
  const Step& step = steps_[t];
  if (step.accesses.size() > graph::kMostAccesses) {
    refuse(At{kTasks, t}.text(),
           fmt::format("{} has {} files and parents without files; a task has {} at "
                       "most",
                       in_quotes(step.id), step.accesses.size(), graph::kMostAccesses));
  }
  graph_.add_task(kernel_of(step), step.accesses, 0, step.id);
}

// WfFormat says how long each task took, not what its kind takes: a kernel per category and time, named
// for the category and, from the second time on, numbered. It knows no accelerators: where a machine has
// some, they are taken to be as fast as a core.
Index WfReader::kernel_of(const Step& step) {
  const auto [found, is_new] = kernels_.try_emplace({step.category, step.seconds});
  if (!is_new) return found->second;
  std::size_t& count = category_kernels_[step.category];
  std::string name;
  do {
    ++count;
    name = count == 1 ? step.category : fmt::format("{}#{}", step.category, count);
  } while (!kernel_names_.insert(name).second);
  graph::Graph::Kernel kernel{.name = name};
  kernel.seconds[static_cast<std::size_t>(ProcessorKind::cpu)] = step.seconds;
  kernel.seconds[static_cast<std::size_t>(ProcessorKind::gpu)] = step.seconds;
  found->second = graph_.add_kernel(std::move(kernel));
  return found->second;
}

// A file that is there before any task writes it lies in RAM; so does one that no task names.
void WfReader::give_homes() {
  std::vector<bool> written_first(graph_.data().size());
  std::vector<bool> named(graph_.data().size());
  for (const graph::Graph::Access& access : graph_.accesses()) {
    if (!named[access.datum]) written_first[access.datum] = !reads(access.mode);
    named[access.datum] = true;
  }
  for (std::size_t d = 0; d < graph_.data().size(); ++d) {
    if (!written_first[d]) graph_.set_home(d, NodeKind::ram);
  }
}

}  // namespace

graph::Graph parse_wfformat(std::string_view text, const std::string& origin) {
  Json root;
  try {
    root = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    refuse_syntax(origin, text, error.byte, error);
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()));  // a number out of range
  }
  return WfReader(root, origin).read();
}

}  // namespace vicinal::graphfiles
