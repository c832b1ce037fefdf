#include "trace/joined_run.hpp"

#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_run(const std::string& path, std::string_view what) {
  throw UsageError(fmt::format(
      "{}: what the head says of the run is not as it should be: {}; record the run again", path,
      what));
}

class MachineJoin {
 public:
  // One rank more.
  void add(std::uint32_t number, const Json& machine, RankOfSource& rank) {
    path_ = &rank.path;
    prefix_ = fmt::format("rank {}: ", number);
    const Json theirs = list(machine, "nodes");
    if (theirs.empty()) refuse_run(*path_, "its machine has no memory nodes");
    const Json their_workers = list(machine, "workers");
    const Json their_links = list(machine, "links");
    const Json their_segments = list(machine, "segments");
    nodes_ = {first(nodes), theirs.size()};
    links_ = {first(links), their_links.size()};
    segments_ = {first(segments), their_segments.size()};
    rank.first_node = first(nodes);
    rank.nodes = static_cast<std::uint32_t>(theirs.size());
    rank.first_worker = first(workers);
    rank.workers = static_cast<std::uint32_t>(their_workers.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      nodes.push_back(named(theirs[i], i == 0 ? "ram" : fmt::format("node {}", i)));
    }
    for (const Json& each : their_workers) workers.push_back(with_node(each, {"node"}));
    for (const Json& each : their_links) {
      Json link = with_node(each, {"from", "to"});
      shift_all(link, "segments", segments_);
      shift_all(link, "serialised", links_);
      links.push_back(std::move(link));
    }
    for (std::size_t i = 0; i < their_segments.size(); ++i) {
      segments.push_back(named(their_segments[i], fmt::format("segment {}", i)));
    }
  }

  Json nodes = Json::array();
  Json workers = Json::array();
  Json links = Json::array();
  Json segments = Json::array();

 private:
  struct Part {
    std::uint32_t first = 0;
    std::size_t count = 0;
  };

  // Empty: there is none.
  Json list(const Json& machine, const char* name) const {
    const auto found = machine.find(name);
    if (found == machine.end() || found->is_null()) return Json::array();
    if (!found->is_array()) refuse_run(*path_, fmt::format("\"{}\" is no list", name));
    for (const Json& each : *found) {
      if (!each.is_object()) refuse_run(*path_, fmt::format("\"{}\" has what is no object", name));
    }
    return *found;
  }
  std::uint32_t first(const Json& all) const {
    constexpr std::size_t kMost = 1U << 24;
    if (all.size() > kMost) refuse_run(*path_, "the machines of the ranks are too large");
    return static_cast<std::uint32_t>(all.size());
  }
  Json named(Json item, std::string_view otherwise) const {
    const auto name = item.find("name");
    const bool has_name =
        name != item.end() && name->is_string() && !name->get_ref<const std::string&>().empty();
    item["name"] = prefix_ + (has_name ? name->get<std::string>() : std::string(otherwise));
    return item;
  }
  void shift(Json& number, const Part& part) const {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= part.count) {
      refuse_run(*path_, fmt::format("the machine has no part {}", number.dump()));
    }
    number = number.get<std::uint64_t>() + part.first;
  }
  Json with_node(Json item, std::initializer_list<const char*> members) const {
    for (const char* const member : members) {
      Json& node = item[member];
      if (node.is_null()) node = std::uint64_t{0};
      shift(node, nodes_);
    }
    return item;
  }
  void shift_all(Json& item, const char* name, const Part& part) const {
    const auto found = item.find(name);
    if (found == item.end() || found->is_null()) return;
    if (!found->is_array()) refuse_run(*path_, fmt::format("\"{}\" is no list", name));
    if (part.count == 0) *found = Json::array();  // segments of a machine that describes none
    for (Json& number : *found) shift(number, part);
  }

  const std::string* path_ = nullptr;
  std::string prefix_;
  Part nodes_;
  Part links_;
  Part segments_;
};

}  // namespace

std::string join_runs(std::span<const std::string_view> runs, std::span<RankOfSource> ranks) {
  Json joined;
  MachineJoin machines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json run = Json::parse(runs[i], nullptr, false);
    if (!run.is_object()) refuse_run(ranks[i].path, "it is no JSON object");
    const auto machine = run.find("machine");
    if (machine == run.end() || !machine->is_object()) {
      refuse_run(ranks[i].path, "it does not describe its machine");
    }
    machines.add(static_cast<std::uint32_t>(i), *machine, ranks[i]);
    if (i == 0) joined = std::move(run);
  }
  Json& machine = joined["machine"];
  machine["nodes"] = std::move(machines.nodes);
  machine["workers"] = std::move(machines.workers);
  machine["links"] = std::move(machines.links);
  machine["segments"] = std::move(machines.segments);
  return joined.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vicinal::trace
