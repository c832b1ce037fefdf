// WfFormat up to 1.4: tasks list their files themselves, by name, and refer to each other by name. Programs have written
// it with more freedom than the schema gives: what is left out or names nothing is told, not refused.
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graphfiles/file_text.hpp"
#include "graphfiles/wfformat_json.hpp"

namespace vicinal::graphfiles::wfformat {

namespace {

using Type = Json::value_t;

// Of names that several tasks have, all of the ones with all of the others.
constexpr std::size_t kMostGuesses = 4'000'000;

// Null is as good as not there.
const Json* find_value(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* find_value(const Json& object, std::string_view key, std::string_view other_key) {
  const Json* const found = find_value(object, key);
  return found != nullptr ? found : find_value(object, other_key);
}

// Those that something is told of: how many, and the first.
struct Told {
  std::size_t count = 0;
  std::string first = {};

  void add(const std::string& name) {
    if (count++ == 0) first = name;
  }
  std::string names() const {
    return in_quotes(first) + (count == 1 ? "" : fmt::format(" and {} more", count - 1));
  }
};

class TasksReader {
 public:
  TasksReader(const Json& root, const Document& document, Notes& notes)
      : root_(root),
        document_(document),
        notes_(notes),
        list_(root["workflow"].contains("tasks") ? "workflow.tasks" : "workflow.jobs"),
        workflow_(document.origin(), list_) {}

  graph::Graph read() {
    const Json& workflow = root_["workflow"];
    const bool jobs = !workflow.contains("tasks") && workflow.contains("jobs");
    if (!jobs) list_ = "workflow.tasks";
    const Json& tasks =
        document_.member(workflow, "workflow.", jobs ? "jobs" : "tasks", Type::array);
    if (const Json* const name = find_value(root_, "name"); name != nullptr && name->is_string()) {
      workflow_.set_name(name->get<std::string>());
    }
    for (std::size_t t = 0; t < tasks.size(); ++t) read_task(tasks[t], t);
    name_steps();
    for (std::size_t t = 0; t < tasks.size(); ++t) read_files(tasks[t], t);
    for (const auto& [before, after] : workflow_.edges_by_files()) {
      exchanging_.emplace(name_of_[before], name_of_[after]);
    }
    for (std::size_t t = 0; t < tasks.size(); ++t) read_relations(tasks[t], t);
    tell();
    return workflow_.make_graph();
  }

 private:
  void read_task(const Json& task, std::size_t t);
  std::string id_of(const Json& task, std::size_t t) const;
  void name_steps();
  void read_files(const Json& task, std::size_t t);
  Number file_of(const Json& file, const std::string& place);
  void read_relations(const Json& task, std::size_t t);
  void relate(Number t, const std::string& other, bool is_child);
  void tell() const;

  const Json& root_;
  const Document& document_;
  Notes& notes_;
  std::string list_;
  Workflow workflow_;
  Ids files_;
  Ids names_;                              // those of tasks, numbered
  std::vector<std::vector<Number>> bear_;  // by name: the tasks that have it
  std::vector<Number> name_of_;            // by task
  std::unordered_map<std::string, std::vector<Number>> by_id_;
  std::vector<std::string> ids_;  // by task, or empty
  std::set<std::pair<Number, Number>>
      exchanging_;  // pairs of names: tasks of the second read files of the first's tasks
  std::size_t guesses_ = 0;
  Told without_time_;
  Told nobody_;
};

std::string TasksReader::id_of(const Json& task, std::size_t t) const {
  const Json* const id = find_value(task, "id");
  if (id == nullptr) return {};
  if (id->is_number_integer()) return id->dump();
  return document_.text(task, {list_, t, "id"});
}

void TasksReader::read_task(const Json& task, std::size_t t) {
  const std::string& name = document_.text(task, {list_, t, "name"});
  const Json* const category = find_value(task, "category");
  Workflow::Step step{.id = name, .category = category_of(name)};
  if (category != nullptr && category->is_string() &&
      !category->get_ref<const std::string&>().empty()) {
    step.category = category->get<std::string>();
  }
  ids_.push_back(id_of(task, t));
  const Json* const runtime = find_value(task, "runtimeInSeconds", "runtime");
  if (runtime == nullptr) {
    without_time_.add(name);
    step.seconds = seconds_everywhere(0);
  } else {
    const bool is_new = task.contains("runtimeInSeconds");
    step.seconds = document_.seconds(*runtime, {list_, t, is_new ? "runtimeInSeconds" : "runtime"});
  }
  const Number number = workflow_.add_step(std::move(step));
  const auto [named, is_first] = names_.try_emplace(name, static_cast<Number>(bear_.size()));
  if (is_first) bear_.emplace_back();
  bear_[named->second].push_back(number);
  name_of_.push_back(named->second);
  if (!ids_.back().empty()) by_id_[ids_.back()].push_back(number);
}

// A task is called by its name, and by its id behind it where several have the name.
void TasksReader::name_steps() {
  std::unordered_map<std::string, std::size_t> taken;
  for (Number t = 0; t < workflow_.steps(); ++t) {
    std::string& name = workflow_.step(t).id;
    if (bear_[name_of_[t]].size() > 1 && !ids_[t].empty()) name += "_" + ids_[t];
    const std::size_t count = ++taken[name];
    if (count == 1) continue;
    if (!ids_[t].empty()) {
      document_.refuse(At{list_, t, "id"}.text(), in_quotes(ids_[t]) + " stands twice");
    }
    name += fmt::format("#{}", count);
  }
}

// A file is known by its path and its name. Where its size is said several times the largest counts: a program that has
// not looked says 0.
Number TasksReader::file_of(const Json& file, const std::string& place) {
  if (!file.is_object()) document_.refuse(place, "expected an object");
  const Json* const name = find_value(file, "name", "id");
  if (name == nullptr) document_.refuse(place + ".name", "is missing");
  if (!name->is_string() || name->get_ref<const std::string&>().empty()) {
    document_.refuse(place + ".name", "expected a string that is not empty");
  }
  std::string whole = name->get<std::string>();
  if (const Json* const path = find_value(file, "path"); path != nullptr && path->is_string()) {
    const auto& folder = path->get_ref<const std::string&>();
    if (folder.ends_with("/" + whole)) {
      whole = folder;
    } else if (!folder.empty()) {
      whole = folder + (folder.ends_with('/') ? "" : "/") + whole;
    }
  }
  Bytes bytes;
  if (const Json* const size = find_value(file, "sizeInBytes", "size"); size != nullptr) {
    bytes =
        document_.bytes(*size, place + (file.contains("sizeInBytes") ? ".sizeInBytes" : ".size"));
  }
  const auto [found, is_new] =
      files_.try_emplace(std::move(whole), static_cast<Number>(workflow_.files()));
  if (is_new) return workflow_.add_file(found->first, bytes);
  if (workflow_.bytes_of(found->second) < bytes) workflow_.set_bytes(found->second, bytes);
  return found->second;
}

void TasksReader::read_files(const Json& task, std::size_t t) {
  const Json* const files = find_value(task, "files");
  if (files == nullptr) return;
  if (!files->is_array()) document_.refuse(At{list_, t, "files"}.text(), "expected a list");
  for (std::size_t f = 0; f < files->size(); ++f) {
    const Json& file = (*files)[f];
    const std::string place = fmt::format("{}.files[{}]", At{list_, t}.text(), f);
    const Number datum = file_of(file, place);
    AccessMode mode = AccessMode::R;
    // One without a link is an input: that orders nothing.
    if (const Json* const link = find_value(file, "link"); link != nullptr) {
      if (*link == "output") {
        mode = AccessMode::W;
      } else if (*link == "inout") {
        mode = AccessMode::RW;
      } else if (*link != "input") {
        document_.refuse(place + ".link", "expected \"input\" or \"output\"");
      }
    }
    workflow_.step(static_cast<Number>(t)).accesses.push_back({datum, mode});
  }
}

void TasksReader::read_relations(const Json& task, std::size_t t) {
  for (const char* const key : {"parents", "children"}) {
    const Json* const others = find_value(task, key);
    if (others == nullptr) continue;
    const At at{list_, t, key};
    if (!others->is_array()) document_.refuse(at.text(), "expected a list");
    for (std::size_t i = 0; i < others->size(); ++i) {
      const Json& other = (*others)[i];
      if (!other.is_string() && !other.is_number_integer()) {
        document_.refuse(fmt::format("{}[{}]", at.text(), i), "expected a string");
      }
      relate(static_cast<Number>(t), other.is_string() ? other.get<std::string>() : other.dump(),
             key == std::string_view("children"));
    }
  }
}

// A name that one task has, or an id, means that task. A name that several have means a kind of tasks (a process of
// Nextflow): where tasks of the two kinds exchange files, these say which follows which; else all of the one kind follow
// all of the other, as far as that goes.
void TasksReader::relate(Number t, const std::string& other, bool is_child) {
  const auto named = names_.find(other);
  const std::vector<Number>* others = named == names_.end() ? nullptr : &bear_[named->second];
  if (others == nullptr) {
    const auto identified = by_id_.find(other);
    if (identified == by_id_.end()) return nobody_.add(other);
    others = &identified->second;
  }
  if (others->size() == 1) {
    const Number one = others->front();
    if (one != t) workflow_.add_edge(is_child ? t : one, is_child ? one : t);
    return;
  }
  if (named != names_.end()) {
    const Number mine = name_of_[t];
    const Number theirs = named->second;
    if (exchanging_.contains(is_child ? std::pair(mine, theirs) : std::pair(theirs, mine))) return;
  }
  guesses_ += others->size();
  if (guesses_ > kMostGuesses) {
    document_.refuse(
        At{list_, t}.text(),
        fmt::format("{} names {}, which {} tasks are called: there are too many "
                    "such pairs; give each task a name of its own",
                    in_quotes(workflow_.step(t).id), in_quotes(other), others->size()));
  }
  for (const Number one : *others) {
    if (one != t) workflow_.add_guess(is_child ? t : one, is_child ? one : t);
  }
}

void TasksReader::tell() const {
  if (without_time_.count > 0) {
    notes_.push_back(
        fmt::format("no runtime is given for {}: counted as a nanosecond", without_time_.names()));
  }
  if (nobody_.count > 0) {
    notes_.push_back(fmt::format(
        "parents and children that are no tasks of the file are left out: {}", nobody_.names()));
  }
}

}  // namespace

graph::Graph read_tasks(const Json& root, const Document& document, Notes& notes) {
  return TasksReader(root, document, notes).read();
}

}  // namespace vicinal::graphfiles::wfformat
