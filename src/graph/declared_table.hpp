// Data that a runtime has only declared: they have a shape and a name, and nothing here uses them yet. One costs 24
// bytes and its name; a Handle with its replicas costs some 500. It gets a Handle of its own at its first use.
//
// Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/handle.hpp"
#include "graph/numbers.hpp"
#include "vicinal/data.hpp"

namespace vicinal::graph {

class DeclaredTable {
 public:
  DeclaredTable();
  DeclaredTable(const DeclaredTable&) = delete;
  DeclaredTable& operator=(const DeclaredTable&) = delete;

  // What all public handles of such data lead to. It has no life that a public handle could name, so that whoever
  // asks whether one is registered finds it at the price of any other.
  Handle& nobody() { return nobody_; }

  // Returns a number that is never given again. Throws CapacityError when there are no more of them. With no memory
  // it throws std::bad_alloc, and nothing has changed.
  std::uint32_t add(const Layout& layout, std::string_view name, DataNumber data);
  // False: it was forgotten, or there is no such number.
  bool forget(std::uint32_t number);

  struct Datum {
    Layout layout;
    std::string name;
    DataNumber number;
    Handle* handle = nullptr;  // null: it has none yet
    std::uint32_t life = 0;    // of the handle, in which it is this
  };
  // None: it was forgotten, or there is no such number.
  std::optional<Datum> find(std::uint32_t number) const;
  // It has this one from now on.
  void give(std::uint32_t number, Handle& handle, std::uint32_t life);

  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kPerChunk = 256;
  static constexpr std::uint32_t kMost = 0xfffffff0U;
  static constexpr std::uint32_t kForgotten = 0xffffffffU;
  struct Record {
    Handle* handle = nullptr;
    std::uint32_t life = 0;
    std::uint32_t layout = kForgotten;  // its number among `layouts_`
    std::uint32_t name = 0;             // where it begins among the names of its chunk
    std::uint32_t data = 0;             // its DataNumber
  };
  static_assert(sizeof(Record) == 24);
  struct Chunk {
    Record records[kPerChunk];
    std::string names;        // one behind the other, each with a 0 behind it
    std::uint32_t there = 0;  // those that are not forgotten
  };

  std::uint32_t number_of(const Layout& layout);
  Record* record(std::uint32_t number) const;

  Handle nobody_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // null: all that were in it are forgotten
  std::vector<Layout> layouts_;
  using LayoutKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;
  std::map<LayoutKey, std::uint32_t> layout_numbers_;
  std::uint32_t next_ = 0;
  std::size_t size_ = 0;
};

}  // namespace vicinal::graph
