// What an application adds, under names, to what the library has: policies, kinds of devices.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/error.hpp"

namespace vicinal::base {

// A word of options and of messages: small letters, digits, underscores.
inline bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Entries have a `name`. Any thread.
template <typename Entry>
class Registry {
 public:
  // `what` an entry is, for messages: "policy".
  explicit Registry(std::string what) : what_(std::move(what)) {}

  // `taken`: names that others have. Throws UsageError.
  void add(const Entry& entry, const std::vector<std::string_view>& taken) {
    const std::string named = what_ + " \"" + std::string(entry.name) + "\"";
    if (!is_name(entry.name)) {
      throw UsageError(named + ": a name is made of small letters, digits and underscores");
    }
    const std::lock_guard held(mutex_);
    if (std::ranges::find(taken, entry.name) != taken.end() ||
        std::ranges::find(entries_, entry.name, &Entry::name) != entries_.end()) {
      throw UsageError(named + " is there already: register yours under another name");
    }
    entries_.push_back(entry);
  }
  // In the order in which they came.
  std::vector<Entry> entries() const {
    const std::lock_guard held(mutex_);
    return entries_;
  }

 private:
  const std::string what_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace vicinal::base
