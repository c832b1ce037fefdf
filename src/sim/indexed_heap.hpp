// The least of some keys, one per item, where an item's key changes and items go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/sure_memory.hpp"

namespace vicinal::sim {

template <typename Key>
class IndexedHeap {
 public:
  struct Entry {
    Key key;
    std::uint32_t item = 0;
  };

  bool empty() const { return entries_.empty(); }
  // The entry with the least key; the heap must not be empty.
  const Entry& top() const { return entries_.front(); }
  // Items are small numbers: there is room for all up to the largest.
  void set(std::uint32_t item, const Key& key) {
    if (item >= places_.size()) places_.resize(item + std::size_t{1}, kNone);
    std::uint32_t& place = places_[item];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({key, item});
    }
    entries_[place].key = key;
    settle(place);
  }
  // The item must have a key.
  void erase(std::uint32_t item) {
    const std::uint32_t place = std::exchange(places_[item], kNone);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    put(place, last);
    settle(place);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  void put(std::size_t place, const Entry& entry) {
    entries_[place] = entry;
    places_[entry.item] = static_cast<std::uint32_t>(place);
  }

  // Up to where no parent is greater, then down to where no child is less.
  void settle(std::size_t place) {
    const Entry entry = entries_[place];
    while (place > 0 && entry.key < entries_[(place - 1) / 2].key) {
      put(place, entries_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (std::size_t child = 0; (child = 2 * place + 1) < entries_.size();) {
      if (child + 1 < entries_.size() && entries_[child + 1].key < entries_[child].key) ++child;
      if (!(entries_[child].key < entry.key)) break;
      put(place, entries_[child]);
      place = child;
    }
    put(place, entry);
  }

  base::SureVector<Entry> entries_;
  base::SureVector<std::uint32_t> places_;  // by item
};

}  // namespace vicinal::sim
