// Which RAM is pinned for a device.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

// Ranges that do not overlap. Any thread.
class PinnedRanges {
 public:
  // False, and nothing is added: it overlaps one.
  bool add(std::byte* address, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    std::byte* const end = address + bytes.value;
    const auto after = ends_.lower_bound(address);
    if (after != ends_.end() && std::less<>()(after->first, end)) return false;
    if (after != ends_.begin() && std::less<>()(address, std::prev(after)->second)) return false;
    ends_.emplace(address, end);
    return true;
  }
  // False: it was not there.
  bool remove(std::byte* address) {
    const std::lock_guard lock(mutex_);
    return ends_.erase(address) != 0;
  }
  std::vector<std::byte*> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*> begins;
    for (const auto& [begin, end] : ends_) begins.push_back(begin);
    ends_.clear();
    return begins;
  }
  struct Range {
    std::byte* begin = nullptr;  // null: there is none
    Bytes bytes;
  };
  // That with the address, which is no more in here.
  Range take(std::byte* address) {
    const std::lock_guard lock(mutex_);
    const auto after = ends_.upper_bound(address);
    if (after == ends_.begin()) return {};
    const auto at = std::prev(after);
    if (!std::less<>()(address, at->second)) return {};
    const Range range{at->first, Bytes{static_cast<std::uint64_t>(at->second - at->first)}};
    ends_.erase(at);
    return range;
  }
  // All of it, in one range.
  bool contains(std::byte* address, Bytes bytes) const {
    const std::lock_guard lock(mutex_);
    const auto after = ends_.upper_bound(address);
    return after != ends_.begin() &&
           !std::less<>()(std::prev(after)->second, address + bytes.value);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::byte*, std::byte*, std::less<>> ends_;  // by begin
};

}  // namespace vicinal::drivers
