// WfFormat from 1.5 on: tasks refer to files and to each other by ids, which the schema wants complete and consistent.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graphfiles/file_text.hpp"
#include "graphfiles/wfformat_json.hpp"

namespace vicinal::graphfiles::wfformat {

namespace {

using Type = Json::value_t;

constexpr std::string_view kTasks = "workflow.specification.tasks";
constexpr std::string_view kFiles = "workflow.specification.files";
constexpr std::string_view kExecuted = "workflow.execution.tasks";

class SpecificationReader {
 public:
  SpecificationReader(const Json& root, const Document& document)
      : root_(root), document_(document), workflow_(document.origin(), std::string(kTasks)) {}

  graph::Graph read() {
    const Json& workflow = document_.member(root_, "", "workflow", Type::object);
    const Json& specification =
        document_.member(workflow, "workflow.", "specification", Type::object);
    const Json& tasks =
        document_.member(specification, "workflow.specification.", "tasks", Type::array);
    const auto name = root_.find("name");
    if (name != root_.end() && name->is_string()) workflow_.set_name(name->get<std::string>());
    read_files(specification);
    read_ids(tasks);
    read_runtimes(workflow);
    for (Number t = 0; t < tasks.size(); ++t) read_accesses(tasks[t], t);
    for (Number t = 0; t < tasks.size(); ++t) read_relations(tasks[t], t);
    return workflow_.make_graph();
  }

 private:
  void read_files(const Json& specification);
  void read_ids(const Json& tasks);
  void read_runtimes(const Json& workflow);
  void read_accesses(const Json& task, Number t);
  void read_relations(const Json& task, Number t);
  Number resolve(const Json& name, const Ids& ids, At at, std::optional<std::size_t> position,
                 std::string_view what) const;

  const Json& root_;
  const Document& document_;
  Workflow workflow_;
  Ids files_;
  Ids ids_;  // step of each
};

Number SpecificationReader::resolve(const Json& name, const Ids& ids, At at,
                                    std::optional<std::size_t> position,
                                    std::string_view what) const {
  if (name.is_string()) {
    const auto found = ids.find(name.get_ref<const std::string&>());
    if (found != ids.end()) return found->second;
  }
  const std::string place = position ? fmt::format("{}[{}]", at.text(), *position) : at.text();
  if (!name.is_string()) document_.refuse(place, "expected a string");
  const auto& id = name.get_ref<const std::string&>();
  std::vector<std::string_view> candidates;
  for (const auto& [candidate, index] : ids) candidates.emplace_back(candidate);
  std::sort(candidates.begin(), candidates.end());  // the same message with every library
  document_.refuse(
      place, fmt::format("there is no {} {}{}", what, in_quotes(id), did_you_mean(id, candidates)));
}

void SpecificationReader::read_files(const Json& specification) {
  if (!specification.contains("files")) return;  // optional: then no task names a file
  const Json& files =
      document_.member(specification, "workflow.specification.", "files", Type::array);
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string& id = document_.text(files[f], {kFiles, f, "id"});
    const At at{kFiles, f, "sizeInBytes"};
    const Bytes size = document_.bytes(document_.field(files[f], at), at.text());
    if (!files_.emplace(id, static_cast<Number>(workflow_.files())).second) {
      document_.refuse(At{kFiles, f, "id"}.text(), in_quotes(id) + " stands twice");
    }
    workflow_.add_file(id, size);
  }
}

void SpecificationReader::read_ids(const Json& tasks) {
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const std::string& id = document_.text(tasks[t], {kTasks, t, "id"});
    const std::string& name = document_.text(tasks[t], {kTasks, t, "name"});
    if (!ids_.emplace(id, static_cast<Number>(t)).second) {
      document_.refuse(At{kTasks, t, "id"}.text(), in_quotes(id) + " stands twice");
    }
    workflow_.add_step({.id = id, .category = category_of(name)});
  }
}

void SpecificationReader::read_runtimes(const Json& workflow) {
  if (!workflow.contains("execution")) {
    document_.refuse("workflow.execution",
                     "is missing: without it the times of the tasks are not known");
  }
  const Json& execution = document_.member(workflow, "workflow.", "execution", Type::object);
  const Json& tasks = document_.member(execution, "workflow.execution.", "tasks", Type::array);
  std::vector<bool> known(workflow_.steps());
  for (std::size_t e = 0; e < tasks.size(); ++e) {
    const At id{kExecuted, e, "id"};
    const Number t = resolve(document_.field(tasks[e], id), ids_, id, {}, "task");
    const At at{kExecuted, e, "runtimeInSeconds"};
    const Workflow::Seconds seconds = document_.seconds(document_.field(tasks[e], at), at);
    Workflow::Step& step = workflow_.step(t);
    if (known[t]) document_.refuse(id.text(), in_quotes(step.id) + " stands twice");
    known[t] = true;
    step.seconds = seconds;
  }
  const auto missing = std::find(known.begin(), known.end(), false);
  if (missing == known.end()) return;
  const auto t = static_cast<Number>(missing - known.begin());
  document_.refuse(std::string(kExecuted),
                   fmt::format("the task {} is missing", in_quotes(workflow_.step(t).id)));
}

void SpecificationReader::read_accesses(const Json& task, Number t) {
  for (const auto& [key, mode] :
       {std::pair("inputFiles", AccessMode::R), {"outputFiles", AccessMode::W}}) {
    if (!task.contains(key)) continue;
    const Json& files = task[key];
    const At at{kTasks, t, key};
    if (!files.is_array()) document_.refuse(at.text(), "expected a list");
    for (std::size_t f = 0; f < files.size(); ++f) {
      workflow_.step(t).accesses.push_back({resolve(files[f], files_, at, f, "file"), mode});
    }
  }
}

void SpecificationReader::read_relations(const Json& task, Number t) {
  for (const char* const key : {"parents", "children"}) {
    const At at{kTasks, t, key};
    const Json& others = document_.field(task, at);
    if (!others.is_array()) document_.refuse(at.text(), "expected a list");
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Number other = resolve(others[i], ids_, at, i, "task");
      const bool is_child = key == std::string_view("children");
      workflow_.add_edge(is_child ? t : other, is_child ? other : t);
    }
  }
}

}  // namespace

graph::Graph read_specification(const Json& root, const Document& document) {
  return SpecificationReader(root, document).read();
}

}  // namespace vicinal::graphfiles::wfformat
