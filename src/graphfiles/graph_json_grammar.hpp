// What our own graph files are made of: kinds of values, what stands in what; and the names of data and kernels. For
// graph_json.cpp.
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

constexpr Place outside_of(Place place) {
  constexpr std::array outer{Place::file,  Place::file,  Place::graph,   Place::data,
                             Place::datum, Place::graph, Place::kernels, Place::kernel,
                             Place::graph, Place::tasks, Place::task,    Place::accesses};
  return outer[static_cast<std::size_t>(place)];
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
