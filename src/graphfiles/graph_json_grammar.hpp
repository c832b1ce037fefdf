// The grammar of our own graph files: which keys stand where and what they hold; and the names of data
// and kernels. For graph_json.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vicinal::graphfiles::graph_json {

enum class Kind : std::uint8_t { object, array, text, number, flag, nothing };

constexpr std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, 6> names{"an object", "a list",        "a string",
                                                  "a number",  "true or false", "null"};
  return names[static_cast<std::size_t>(kind)];
}

// What the parser is inside of.
enum class Place : std::uint8_t {
  file,       // outside of everything
  graph,      // {"data": ...}
  data,       // "data": {...}
  datum,      // "A0_0": {"bytes": ...}
  reduction,  // "reduction": {"neutral": ...}
  kernels,    // "kernels": {...}
  kernel,     // "gemm": {"seconds": ...}
  seconds,    // "seconds": {"gpu": ...}
  tasks,      // "tasks": [...]
  task,       // {"kernel": ...}
  accesses,   // "accesses": [...]
  access,     // ["A1_0", "R"]
};
constexpr std::size_t kPlaces = 12;

constexpr Place outside_of(Place place) {
  constexpr std::array<Place, kPlaces> outer{
      Place::file,    Place::file,   Place::graph, Place::data,  Place::datum, Place::graph,
      Place::kernels, Place::kernel, Place::graph, Place::tasks, Place::task,  Place::accesses};
  return outer[static_cast<std::size_t>(place)];
}

enum class Field : std::uint8_t {
  format,
  graph_name,
  precision,
  data,
  kernels,
  tasks,
  bytes,
  home,
  part_of,
  reduction,
  neutral,
  combine,
  seconds,
  flops,
  synchronous,
  cores_only,
  seconds_cpu,  // in the order of ProcessorKind
  seconds_emulated,
  seconds_gpu,
  seconds_opencl,
  seconds_cuda,
  kernel,
  accesses,
  priority,
  task_name,
};

struct Key {
  Place in;
  std::string_view name;
  Field field;
  Kind kind;
};
constexpr std::array kKeys{
    Key{Place::graph, "format", Field::format, Kind::text},
    Key{Place::graph, "name", Field::graph_name, Kind::text},
    Key{Place::graph, "precision", Field::precision, Kind::text},
    Key{Place::graph, "data", Field::data, Kind::object},
    Key{Place::graph, "kernels", Field::kernels, Kind::object},
    Key{Place::graph, "tasks", Field::tasks, Kind::array},
    Key{Place::datum, "bytes", Field::bytes, Kind::number},
    Key{Place::datum, "home", Field::home, Kind::text},
    Key{Place::datum, "part_of", Field::part_of, Kind::text},
    Key{Place::datum, "reduction", Field::reduction, Kind::object},
    Key{Place::reduction, "neutral", Field::neutral, Kind::text},
    Key{Place::reduction, "combine", Field::combine, Kind::text},
    Key{Place::kernel, "seconds", Field::seconds, Kind::object},
    Key{Place::kernel, "flops", Field::flops, Kind::number},
    Key{Place::kernel, "synchronous", Field::synchronous, Kind::flag},
    Key{Place::kernel, "cores_only", Field::cores_only, Kind::flag},
    Key{Place::seconds, "cpu", Field::seconds_cpu, Kind::number},
    Key{Place::seconds, "emulated", Field::seconds_emulated, Kind::number},
    Key{Place::seconds, "gpu", Field::seconds_gpu, Kind::number},
    Key{Place::seconds, "opencl", Field::seconds_opencl, Kind::number},
    Key{Place::seconds, "cuda", Field::seconds_cuda, Kind::number},
    Key{Place::task, "kernel", Field::kernel, Kind::text},
    Key{Place::task, "accesses", Field::accesses, Kind::array},
    Key{Place::task, "priority", Field::priority, Kind::number},
    Key{Place::task, "name", Field::task_name, Kind::text},
};

inline std::vector<std::string_view> names_in(Place place) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) {
    if (key.in == place) names.push_back(key.name);
  }
  return names;
}

// Names are numbered as they appear, because tasks may stand before the data they name.
class Names {
 public:
  static constexpr std::uint32_t kUndefined = std::numeric_limits<std::uint32_t>::max();
  struct Use {
    std::uint64_t task = 0;
    std::uint64_t access = 0;
  };

  // The number of a name; `use` is kept if it is new.
  std::uint32_t number(const std::string& name, Use use) {
    const auto [at, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(index_.size()));
    if (is_new) {
      index_.push_back(kUndefined);
      names_.push_back(&at->first);
      first_use_.push_back(use);
    }
    return at->second;
  }
  // False if it is defined already.
  bool define(const std::string& name, std::size_t index) {
    std::uint32_t& defined = index_[number(name, {})];
    if (defined != kUndefined) return false;
    defined = static_cast<std::uint32_t>(index);
    return true;
  }
  // Its index, if it is defined.
  std::optional<std::uint32_t> defined_as(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end() || index_[found->second] == kUndefined) return std::nullopt;
    return index_[found->second];
  }
  std::span<const std::uint32_t> indices() const { return index_; }  // in the graph, by number
  std::size_t count() const { return index_.size(); }
  const std::string& name(std::uint32_t number) const { return *names_[number]; }
  Use first_use(std::uint32_t number) const { return first_use_[number]; }

  std::optional<std::uint32_t> first_undefined() const {
    for (std::uint32_t n = 0; n < index_.size(); ++n) {
      if (index_[n] == kUndefined) return n;
    }
    return std::nullopt;
  }
  std::vector<std::string_view> defined() const {
    std::vector<std::string_view> names;
    for (std::uint32_t n = 0; n < index_.size(); ++n) {
      if (index_[n] != kUndefined) names.emplace_back(*names_[n]);
    }
    return names;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> index_;
  std::vector<const std::string*> names_;
  std::vector<Use> first_use_;
};

}  // namespace vicinal::graphfiles::graph_json
