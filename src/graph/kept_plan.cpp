#include "graph/kept_plan.hpp"

#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/legible.hpp"
#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "vicinal-plan-1";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::string_view kMakeOne = "vicinal plan makes one";

class Reader {
 public:
  explicit Reader(const std::string& origin) : origin_(origin) {}

  KeptPlan read(std::string_view text) {
    const Json document = parsed(text);
    if (!document.is_object() || document.value("format", Json()) != kFormat) {
      refuse("", fmt::format("it is no plan of the format {}; {}", kFormat, kMakeOne));
    }
    KeptPlan plan;
    plan.origin = origin_;
    plan.application = text_of(document, "application");
    plan.machine = text_of(document, "machine");
    plan.policy = text_of(document, "policy");
    if (const auto seconds = document.find("seconds"); seconds != document.end()) {
      if (!seconds->is_number()) refuse("seconds", "a number is wanted");
      plan.seconds = seconds->get<double>();
    }
    read_nodes(list_of(document, "nodes"), plan);
    const Json& tasks = list_of(document, "tasks");
    plan.tasks.reserve(tasks.size());
    for (const Json& task : tasks) read_task(task, plan);
    return plan;
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& why) const {
    const std::string where = place.empty() ? "" : place + ": ";
    throw UsageError(
        fmt::format("plan {}: {}{}", base::legible_name(origin_), where, base::legible_name(why)));
  }

  Json parsed(std::string_view text) const {
    try {
      return Json::parse(text);
    } catch (const Json::exception& error) {
      std::string_view why = error.what();
      why.remove_prefix(why.find("] ") == std::string_view::npos ? 0 : why.find("] ") + 2);
      refuse("", std::string(why));
    }
  }

  std::string text_of(const Json& document, const char* key) const {
    const auto found = document.find(key);
    if (found == document.end()) return {};
    if (!found->is_string()) refuse(key, "a text is wanted");
    return found->get<std::string>();
  }

  const Json& list_of(const Json& document, const char* key) const {
    const auto found = document.find(key);
    if (found == document.end() || !found->is_array()) refuse(key, "a list is wanted");
    return *found;
  }

  void read_nodes(const Json& names, KeptPlan& plan) const {
    std::unordered_set<std::string> seen;
    for (const Json& name : names) {
      const std::string place = fmt::format("nodes[{}]", plan.nodes.size());
      if (!name.is_string()) refuse(place, "a text is wanted, the name of a memory node");
      plan.nodes.push_back(name.get<std::string>());
      if (!seen.insert(plan.nodes.back()).second) refuse(place, "the name stands there twice");
    }
  }

  std::uint32_t number_of(const Json& value, std::uint64_t end, const std::string& place,
                          const std::string& of_what) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
      refuse(place, fmt::format("{} is a whole number below {}", of_what, end));
    }
    return value.get<std::uint32_t>();
  }

  void read_task(const Json& task, KeptPlan& plan) {
    const std::string place = fmt::format("tasks[{}]", plan.tasks.size());
    const bool has_name = task.is_array() && task.size() >= 2 && task.size() <= 3 &&
                          task[0].is_string() && !task[0].get_ref<const std::string&>().empty();
    if (!has_name) refuse(place, "[\"name\", node] or [\"name\", node, number] is wanted");
    constexpr std::uint64_t kNumbers = std::numeric_limits<std::uint32_t>::max();
    KeptPlan::Task& read = plan.tasks.emplace_back();
    read.name = base::legible(task[0].get_ref<const std::string&>());
    read.node = number_of(task[1], plan.nodes.size(), place, "the number of a node");
    if (task.size() == 3) read.number = number_of(task[2], kNumbers, place, "the task's number");
    if (!seen_.emplace(read.name, read.number).second) {
      refuse(place, fmt::format("task {} stands there twice", read.name));
    }
  }

  const std::string& origin_;
  std::set<std::pair<std::string, std::uint32_t>> seen_;
};

std::string quoted(const std::string& text) {
  return Json(base::legible(text)).dump();
}

}  // namespace

KeptPlan parse_plan(std::string_view text, const std::string& origin) {
  return Reader(origin).read(text);
}

KeptPlan read_plan(const std::string& path) {
  try {
    return parse_plan(base::RegularFile(path).text(kMostBytes), path);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(fmt::format("plan {}: {}; {}", base::legible_name(path), refused.why,
                                 refused.remedy.empty() ? kMakeOne : refused.remedy));
  }
}

void write_plan(const KeptPlan& plan, base::FunctionRef<void(std::string_view)> sink) {
  std::string nodes;
  for (const std::string& node : plan.nodes) {
    nodes += (nodes.empty() ? "" : ", ") + quoted(node);
  }
  sink(
      fmt::format("{{\n  \"format\": \"{}\",\n  \"application\": {},\n  \"machine\": {},\n"
                  "  \"policy\": {},\n  \"seconds\": {:.9g},\n  \"nodes\": [{}],\n  \"tasks\": [",
                  kFormat, quoted(plan.application), quoted(plan.machine), quoted(plan.policy),
                  plan.seconds, nodes));
  std::string_view before = "\n    ";
  for (const KeptPlan::Task& task : plan.tasks) {
    const std::string number = task.number == 0 ? "" : fmt::format(", {}", task.number);
    sink(fmt::format("{}[{}, {}{}]", before, quoted(task.name), task.node, number));
    before = ",\n    ";
  }
  sink("\n  ]\n}\n");
}

}  // namespace vicinal::graph
