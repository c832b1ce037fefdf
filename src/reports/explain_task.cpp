// Why a task ran where it ran, and when it did.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/steps.hpp"
#include "reports/explain_context.hpp"

namespace vicinal::reports::explaining {

using analysis::AccessOfTask;
using analysis::CopyOfRun;
using analysis::RecordedRun;
using analysis::TaskOfRun;

namespace {

constexpr std::size_t kMostNamed = 8;

// "a, b and 3 more".
std::string named(const RecordedRun& run, const std::vector<std::uint32_t>& tasks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(tasks.size(), kMostNamed); ++i) {
    if (i > 0) text += ", ";
    text += run.name_of(tasks[i]);
  }
  if (tasks.size() > kMostNamed) text += fmt::format(" and {} more", tasks.size() - kMostNamed);
  return text;
}

std::string_view verb(AccessMode mode) {
  switch (mode) {
    case AccessMode::R:
      return "reads";
    case AccessMode::W:
      return "writes";
    case AccessMode::RW:
      return "changes";
    case AccessMode::commute:
      return "changes, in any order with others,";
    case AccessMode::scratch:
      return "has room of its own,";
    case AccessMode::reduction:
      return "adds to";
  }
  return "uses";
}

// The predecessor that ended last; kNobody: there is none, or none that ran.
std::uint32_t last_before(const Context& context, std::uint32_t task) {
  std::uint32_t last = kNobody;
  for (const std::uint32_t before : context.of.predecessors[task]) {
    const TaskOfRun& of = context.run.tasks[before];
    if (of.ended == kUnknown) continue;
    if (last == kNobody || of.ended > context.run.tasks[last].ended) last = before;
  }
  return last;
}

// The task that ended last on the worker before this one started; kNobody: there is none.
std::uint32_t before_on_worker(const RecordedRun& run, const TaskOfRun& task) {
  std::uint32_t last = kNobody;
  for (std::uint32_t t = 0; t < run.tasks.size(); ++t) {
    const TaskOfRun& other = run.tasks[t];
    if (&other == &task || other.worker != task.worker || !other.ran()) continue;
    if (other.ended > task.started || other.started > task.started) continue;
    if (last == kNobody || other.ended > run.tasks[last].ended) last = t;
  }
  return last;
}

// The copy that an operand came by: the last that ended before the task started, unless it was written there since.
std::uint32_t came_by(const Context& context, const TaskOfRun& task, std::uint32_t datum) {
  const RecordedRun& run = context.run;
  const std::uint32_t node = node_of(run, task);
  std::uint32_t last = kNobody;
  for (const std::uint32_t c : context.copies_of[datum]) {
    const CopyOfRun& copy = run.copies[c];
    if (copy.to != node || copy.failed || copy.ended == kUnknown) continue;
    if (copy.ended > task.started) continue;
    if (last == kNobody || copy.ended > run.copies[last].ended) last = c;
  }
  if (last == kNobody) return kNobody;
  for (const std::uint32_t t : context.users_of[datum]) {
    const TaskOfRun& other = run.tasks[t];
    if (!ran_on_worker(other) || node_of(run, other) != node || other.ended > task.started)
      continue;
    if (&other == &task || other.ended < run.copies[last].ended) continue;
    for (const AccessOfTask& access : run.accesses_of(other)) {
      if (access.datum == datum && leaves_content(access.mode)) return kNobody;
    }
  }
  return last;
}

// The successors that became ready at the end of the task.
std::vector<std::uint32_t> released(const Context& context, std::uint32_t task) {
  std::vector<std::uint32_t> tasks;
  for (const std::uint32_t behind : context.successors[task]) {
    if (last_before(context, behind) == task) tasks.push_back(behind);
  }
  return tasks;
}

std::string about_task(const Context& context, std::uint32_t number) {
  const RecordedRun& run = context.run;
  const TaskOfRun& task = run.tasks[number];
  std::string text = fmt::format("{}, task {} of the run", run.name_of(number), number);
  if (task.name < run.names.size()) text += ", " + with_article(run.names[task.name]);
  text += fmt::format(", of priority {}", task.priority);
  if (!task.ran()) {
    text += task.started == kUnknown ? ". It did not start.\n" : ". It did not end.\n";
  } else {
    text += fmt::format(
        ". {} ran it from {} to {}, for {}{}.\n",
        task.worker == kNobody ? "A thread of the application" : run.name_of_worker(task.worker),
        context.moment(task.started), context.moment(task.ended),
        duration(task.ended - task.started),
        task.outcome == Outcome::done     ? ""
        : task.outcome == Outcome::failed ? "; it failed"
                                          : "; it was cancelled");
  }
  for (const AccessOfTask& access : run.accesses_of(task)) {
    text += fmt::format("It {} {}, of {}.\n", verb(access.mode), run.name_of_datum(access.datum),
                        size(run.data[access.datum].bytes));
  }
  return text;
}

class Way {
 public:
  Way(const Context& context, std::uint32_t number)
      : context_(context), run_(context.run), number_(number), task_(run_.tasks[number]) {}

  std::string told() {
    text_ = "\nIts way:\n";
    step(task_.submitted, "it was submitted");
    ready();
    step(task_.scheduled,
         fmt::format("the policy gave it to {}{}", worker(),
                     task_.moved ? "; it was moved there from another memory node" : ""));
    step(task_.wanted, "it was its turn, and it asked for room and copies of its operands");
    step(task_.granted, "all its operands had room" + room());
    step(task_.operands, "all its operands were there");
    started();
    step(task_.ended, "it ended");
    return text_;
  }

 private:
  std::string worker() const {
    return task_.worker == kNobody ? "a worker" : run_.name_of_worker(task_.worker);
  }
  void step(std::int64_t time, const std::string& what) {
    if (time == kUnknown) return;
    text_ += fmt::format("  {:>14}  ", context_.moment(time));
    if (before_ == kUnknown) {
      text_ += what;
    } else if (time <= before_) {
      text_ += "at once: " + what;
    } else {
      text_ += fmt::format("{} later: {}", duration(time - before_), what);
    }
    text_ += "\n";
    before_ = before_ == kUnknown ? time : std::max(before_, time);
  }
  void ready() {
    const std::uint32_t last = last_before(context_, number_);
    const auto& all = context_.of.predecessors[number_];
    std::string what = "it was ready";
    if (last == kNobody) {
      what += all.empty() ? ", as it depends on no task" : "";
    } else {
      const TaskOfRun& of = run_.tasks[last];
      what += fmt::format(": {} had ended{} at {}", run_.name_of(last),
                          of.worker == kNobody ? "" : " on " + run_.name_of_worker(of.worker),
                          context_.moment(of.ended));
      if (all.size() > 1) {
        what += fmt::format(", the last of the {} that it depends on ({})", all.size(),
                            named(run_, all));
      }
    }
    step(task_.ready, what);
  }
  // What made room meanwhile.
  std::string room() const {
    if (task_.wanted == kUnknown || task_.granted <= task_.wanted) return "";
    const std::uint32_t node = node_of(run_, task_);
    std::uint64_t evictions = 0;
    for (const analysis::EvictionOfRun& eviction : context_.of.traffic.evictions) {
      const analysis::RoomChange& change = run_.room[eviction.change];
      evictions +=
          change.node == node && change.time >= task_.wanted && change.time <= task_.granted;
    }
    if (node == kNobody || evictions == 0) return "";
    return fmt::format("; meanwhile {} left {}", counted(evictions, "datum", "data"),
                       run_.name_of_node(node));
  }
  void started() {
    std::string what = fmt::format("{} began with it", worker());
    const std::uint32_t other = before_on_worker(run_, task_);
    if (other != kNobody && before_ != kUnknown && run_.tasks[other].ended > before_) {
      what += fmt::format("; until {} it ran {}", context_.moment(run_.tasks[other].ended),
                          run_.name_of(other));
    } else if (task_.wanted == kUnknown && task_.scheduled != kUnknown) {
      what += "; its operands were there";
    }
    step(task_.started, what);
  }

  const Context& context_;
  const RecordedRun& run_;
  const std::uint32_t number_;
  const TaskOfRun& task_;
  std::string text_;
  std::int64_t before_ = kUnknown;  // the last step
};

std::string operands_text(const Context& context, std::uint32_t number) {
  const RecordedRun& run = context.run;
  const TaskOfRun& task = run.tasks[number];
  if (!ran_on_worker(task)) return "";
  const analysis::Steps steps = context.steps.of(number);
  std::string text;
  for (const AccessOfTask& access : run.accesses_of(task)) {
    if (!reads(access.mode)) continue;
    const std::uint32_t c = came_by(context, task, access.datum);
    text += fmt::format("  {}", run.name_of_datum(access.datum));
    if (c == kNobody) {
      text += ": needed no copy\n";
      continue;
    }
    const CopyOfRun& copy = run.copies[c];
    text += fmt::format(": from {}, {}", run.name_of_node(copy.from), cause_of(copy.cause));
    if (copy.wanted != kUnknown && copy.wanted < copy.started) {
      text += fmt::format("; wanted at {}", context.moment(copy.wanted));
    }
    text += fmt::format("; in flight from {} to {}", context.moment(copy.started),
                        context.moment(copy.ended));
    if (copy.ended > steps.granted) {
      text += fmt::format("; the task waited for it for {}", duration(copy.ended - steps.granted));
    } else {
      text += fmt::format("; it was there {} before it was needed",
                          duration(steps.granted - copy.ended));
    }
    text += "\n";
  }
  return text.empty() ? "" : "\nWhat it reads came by these copies:\n" + text;
}

std::string released_text(const Context& context, std::uint32_t number) {
  const RecordedRun& run = context.run;
  const auto& behind = context.successors[number];
  if (behind.empty()) return "\nNo task depends on it.\n";
  const std::vector<std::uint32_t> tasks = released(context, number);
  if (tasks.empty()) {
    return fmt::format("\nIts end released no task: {} on it ({}) waited for others longer.\n",
                       behind.size() == 1 ? "the one that depends" : "those that depend",
                       named(run, behind));
  }
  std::string text = fmt::format("\nIts end released {}: {}.",
                                 counted(tasks.size(), "task", "tasks"), named(run, tasks));
  if (behind.size() > tasks.size()) {
    text += fmt::format(" {} depend{} on it and waited for others longer.",
                        behind.size() - tasks.size(), behind.size() - tasks.size() == 1 ? "s" : "");
  }
  return text + "\n";
}

std::string on_path_text(const Context& context, std::uint32_t number) {
  std::int64_t run = 0;
  std::int64_t waits = 0;
  for (const analysis::PathSegment& segment : context.of.path.segments) {
    if (segment.task != number) continue;
    (segment.cause == analysis::PathCause::run ? run : waits) += segment.length();
  }
  if (run + waits == 0) return "\nIt is not on the critical path of the run.\n";
  return fmt::format(
      "\nIt is on the critical path of the run, with {} of its run and {} of its waits.\n",
      duration(run), duration(waits));
}

}  // namespace

std::string task_text(const Context& context, std::uint32_t number) {
  std::string text = about_task(context, number) + Way(context, number).told();
  text += operands_text(context, number);
  text += released_text(context, number);
  text += on_path_text(context, number);
  const auto& decisions = context.links.of_task[number];
  text += decisions.empty() ? "\nThe recording has no choices about it.\n"
                            : "\nThe choices about it:\n";
  for (const std::uint32_t d : decisions) text += "\n" + decision_text(context, d);
  return text;
}

namespace {

void add_steps(Json& json, const TaskOfRun& task) {
  json["submitted_ns"] = time_json(task.submitted);
  json["ready_ns"] = time_json(task.ready);
  json["scheduled_ns"] = time_json(task.scheduled);
  json["wanted_ns"] = time_json(task.wanted);
  json["granted_ns"] = time_json(task.granted);
  json["operands_ns"] = time_json(task.operands);
  json["started_ns"] = time_json(task.started);
  json["ended_ns"] = time_json(task.ended);
}

}  // namespace

Json explained_task_json(const Context& context, std::uint32_t number) {
  const RecordedRun& run = context.run;
  const TaskOfRun& task = run.tasks[number];
  constexpr const char* kKinds[] = {"task",        "acquire", "prefetch", "invalidate",
                                    "repartition", "combine", "send",     "receive"};
  Json json = task_json(run, number);
  json["codelet"] = task.name < run.names.size() ? Json(run.names[task.name]) : Json(nullptr);
  json["kind"] = kKinds[static_cast<std::size_t>(task.kind)];
  json["priority"] = task.priority;
  json["outcome"] = task.ran() ? Json(analysis::to_string(task.outcome)) : Json(nullptr);
  json["worker"] = worker_json(run, task.worker);
  json["node"] = node_json(run, node_of(run, task));
  json["released_by_worker"] = worker_json(run, task.releasing);
  json["moved"] = task.moved;
  add_steps(json, task);
  json["accesses"] = Json::array();
  for (const AccessOfTask& access : run.accesses_of(task)) {
    Json of = datum_json(run, access.datum);
    of["mode"] = to_string(access.mode);
    of["bytes"] = run.data[access.datum].bytes;
    if (ran_on_worker(task) && reads(access.mode)) {
      const std::uint32_t copy = came_by(context, task, access.datum);
      of["copy"] = copy == kNobody ? Json(nullptr) : copy_json(context, copy);
    }
    json["accesses"].push_back(std::move(of));
  }
  const auto tasks = [&](const std::vector<std::uint32_t>& numbers) {
    Json list = Json::array();
    for (const std::uint32_t t : numbers) list.push_back(task_json(run, t));
    return list;
  };
  json["depends_on"] = tasks(context.of.predecessors[number]);
  json["released_by"] = task_json(run, last_before(context, number));
  json["released"] = tasks(released(context, number));
  json["decisions"] = Json::array();
  for (const std::uint32_t d : context.links.of_task[number]) {
    json["decisions"].push_back(decision_json(context, d));
  }
  return json;
}

}  // namespace vicinal::reports::explaining
