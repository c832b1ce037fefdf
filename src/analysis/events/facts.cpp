#include "analysis/events/facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/legible.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kNodeKinds{"ram", "disk", "device"};

class FactsReader {
 public:
  explicit FactsReader(const std::string& path) : path_(path) {}

  RunFacts read(std::string_view text) const {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) refuse("it is no JSON object");
    RunFacts facts;
    facts.command = text_of(json, "command");
    facts.application = text_of(json, "application");
    facts.version = text_of(json, "version");
    facts.policy = text_of(json, "policy");
    facts.simulated = flag_of(json, "simulated");
    if (const Json* const options = member(json, "options")) {
      if (!options->is_object()) refuse("\"options\" is no object");
      for (const auto& [name, value] : options->items()) {
        facts.options.emplace_back(
            base::legible_name(name),
            base::legible_name(value.is_string() ? value.get<std::string>() : value.dump()));
      }
    }
    if (const Json* const machine = member(json, "machine")) facts.machine = machine_of(*machine);
    return facts;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UsageError(
        fmt::format("{}: what the head says of the run is not as it should be: {}; give a file "
                    "that --trace has written",
                    path_, what));
  }

  // Null: it is not there, or null.
  static const Json* member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text_of(const Json& object, const char* name) const {
    const Json* const value = member(object, name);
    if (value == nullptr) return {};
    if (!value->is_string()) refuse(fmt::format("\"{}\" is no string", name));
    return base::legible_name(value->get_ref<const std::string&>());
  }
  bool flag_of(const Json& object, const char* name) const {
    const Json* const value = member(object, name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) refuse(fmt::format("\"{}\" is not true or false", name));
    return value->get<bool>();
  }
  std::optional<std::uint64_t> count_of(const Json& object, const char* name) const {
    const Json* const value = member(object, name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_unsigned()) refuse(fmt::format("\"{}\" is no count", name));
    return value->get<std::uint64_t>();
  }
  double rate_of(const Json& object, const char* name) const {
    const Json* const value = member(object, name);
    if (value == nullptr) return 0;
    const double rate = value->is_number() ? value->get<double>() : -1;
    if (!(rate >= 0 && std::isfinite(rate))) refuse(fmt::format("\"{}\" is no rate", name));
    return rate;
  }
  template <typename Take>
  void each(const Json& machine, const char* name, const Take& take) const {
    const Json* const list = member(machine, name);
    if (list == nullptr) return;
    if (!list->is_array()) refuse(fmt::format("\"{}\" is no list", name));
    for (const Json& item : *list) {
      if (!item.is_object()) refuse(fmt::format("\"{}\" has what is no object", name));
      take(item);
    }
  }
  template <typename Names>
  std::size_t kind_of(const Json& object, const Names& names) const {
    const std::string kind = text_of(object, "kind");
    const auto found = std::ranges::find(names, kind);
    if (found == names.end()) refuse(fmt::format("this version knows no kind \"{}\"", kind));
    return static_cast<std::size_t>(found - names.begin());
  }
  NodeId node_of(const Json& object, const char* name, const MachineDescription& machine) const {
    const std::uint64_t node = count_of(object, name).value_or(0);
    if (node >= machine.nodes.size()) refuse(fmt::format("there is no memory node {}", node));
    return NodeId{static_cast<std::uint32_t>(node)};
  }

  std::vector<std::uint32_t> numbers_of(const Json& link, const char* name) const {
    std::vector<std::uint32_t> numbers;
    const Json* const list = member(link, name);
    if (list == nullptr) return numbers;
    if (!list->is_array()) refuse(fmt::format("\"{}\" is no list", name));
    constexpr std::uint64_t kMost = 0xffffffff;
    for (const Json& item : *list) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kMost) {
        refuse(fmt::format("\"{}\" has what is no number", name));
      }
      numbers.push_back(item.get<std::uint32_t>());
    }
    return numbers;
  }
  Time time_of(const Json& object, const char* name) const {
    constexpr std::uint64_t kLongest = 1ULL << 62;
    return Time{static_cast<std::int64_t>(std::min(count_of(object, name).value_or(0), kLongest))};
  }
  // Not 0: one at least.
  std::uint32_t many_of(const Json& object, const char* name) const {
    constexpr std::uint64_t kMost = 0xffffffff;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(count_of(object, name).value_or(1), 1, kMost));
  }

  MachineDescription machine_of(const Json& json) const {
    if (!json.is_object()) refuse("\"machine\" is no object");
    MachineDescription machine;
    each(json, "nodes", [&](const Json& item) {
      NodeDescription node;
      node.id = NodeId{static_cast<std::uint32_t>(machine.nodes.size())};
      node.name = text_of(item, "name");
      node.kind = static_cast<NodeKind>(kind_of(item, kNodeKinds));
      if (const auto limit = count_of(item, "limit")) node.limit = Bytes{*limit};
      machine.nodes.push_back(std::move(node));
    });
    each(json, "workers", [&](const Json& item) {
      WorkerDescription worker;
      worker.id = WorkerId{static_cast<std::uint32_t>(machine.workers.size())};
      worker.kind = static_cast<ProcessorKind>(kind_of(item, kProcessorNames));
      worker.node = node_of(item, "node", machine);
      worker.task_overhead = time_of(item, "task_overhead_ns");
      worker.copy_overhead = time_of(item, "copy_overhead_ns");
      worker.pipeline = many_of(item, "pipeline");
      machine.workers.push_back(worker);
    });
    each(json, "links", [&](const Json& item) {
      LinkDescription link;
      link.from = node_of(item, "from", machine);
      link.to = node_of(item, "to", machine);
      link.bandwidth = BytesPerSecond{rate_of(item, "bandwidth")};
      link.latency = time_of(item, "latency_ns");
      link.copies_in_flight = many_of(item, "copies_in_flight");
      link.segments = numbers_of(item, "segments");
      link.serialised = numbers_of(item, "serialised");
      machine.links.push_back(std::move(link));
    });
    each(json, "segments", [&](const Json& item) {
      machine.segments.push_back(
          {.name = text_of(item, "name"), .bandwidth = {rate_of(item, "bandwidth")}});
    });
    machine.submit_overhead = time_of(json, "submit_overhead_ns");
    return machine;
  }

  const std::string& path_;
};

}  // namespace

RunFacts read_facts(std::string_view json, const std::string& path) {
  return FactsReader(path).read(json);
}

void tell(RunFacts& facts, std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string name = base::legible_name(text.substr(0, end));
  const std::string value = base::legible_name(text.substr(std::min(end + 1, text.size())));
  if (name == "command")
    facts.command = value;  // in words of its own; the runtime knows those of the process
  if (name == "application" && facts.application.empty()) facts.application = value;
  const auto found =
      std::ranges::find(facts.told, name, &std::pair<std::string, std::string>::first);
  if (found != facts.told.end()) {
    found->second = value;
  } else {
    facts.told.emplace_back(name, value);
  }
}

}  // namespace vicinal::analysis
