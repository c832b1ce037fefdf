// Numbers of names to places in RecordedRun::names, where each text stands once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id_map.hpp"
#include "base/legible.hpp"

namespace vicinal::analysis {

class NamesOfRun {
 public:
  explicit NamesOfRun(std::vector<std::string>& names) : names_(names) {}

  // From here on.
  void give(std::uint32_t number, std::string_view text) {
    by_number_[number] = place_of(base::legible_name(text));
  }
  // A number that was given no text is not known: the thread had no memory for it, or the event was lost.
  std::uint32_t place(std::uint64_t number) {
    const std::uint32_t found = by_number_.find(number);
    return found != base::IdMap::kNone ? found : unknown();
  }
  std::uint32_t unknown() { return place_of("task"); }
  // Of one task alone, as most such names are.
  std::uint32_t add(std::string_view text) {
    names_.push_back(base::legible_name(text));
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

 private:
  std::uint32_t place_of(std::string text) {
    const auto [found, is_new] =
        by_text_.try_emplace(std::move(text), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(found->first);
    return found->second;
  }

  std::vector<std::string>& names_;
  base::IdMap by_number_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

}  // namespace vicinal::analysis
