// The data that an application has registered, with those that the runtime registers itself: parts, private copies,
// scratch.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "graph/overlap.hpp"
#include "graph/stable_chunks.hpp"
#include "vicinal/data.hpp"

namespace vicinal::engine {

class Engine;
class ProgramNumbers;
class SoleCopies;

// Whose data they are. Of those of the application the number, 0: the next one.
struct Origin {
  enum class Registrar : std::uint8_t { application, runtime } by = Registrar::application;
  const graph::Handle* part_of = nullptr;  // of a part, and of a private copy
  graph::DataNumber data = {};
};

class Handles {
 public:
  // `runtime`: the number that every handle bears.
  Handles(Engine& engine, SoleCopies& sole_copies, ProgramNumbers& numbers, std::uint32_t runtime)
      : engine_(engine), sole_copies_(sole_copies), numbers_(numbers), number_(runtime) {}

  // Throws UsageError for a size that is out of range, and for a home that overlaps another one.
  Handle add(const Layout& layout, graph::Home home, bool written, std::string name,
             const Origin& origin);
  // Nothing is in flight with it, and the engine has removed it. Tasks that name it are refused from now on at the latest.
  void forget(graph::Handle& handle);

  std::uint32_t number() const { return number_; }
  Handle name(graph::Handle& handle) const { return {handle, number_, handle.life()}; }
  // What lies behind a handle of another runtime may be gone: it is not looked at. `what` is the call, for messages.
  graph::Handle& check(Handle handle, const char* what) const {
    if (handle.runtime() != number_ || handle.impl()->life() != handle.life()) [[unlikely]] {
      throw_unknown(handle, what);
    }
    return *handle.impl();
  }
  [[noreturn]] void throw_unknown(Handle handle, const char* what) const;

  // Held in RAM it takes room that others may need, or lies in such room.
  bool confines(const graph::Handle& handle) const;

  // An address that no other data have, for data without content. Throws UsageError if there is none left.
  std::uint64_t take_simulated_place(Bytes size, std::string_view name);

  // Under a lock: nothing is registered meanwhile.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (graph::Handle& handle : handles_) visit(handle);
  }
  // Where its home is; the disk for data in files, none without one.
  std::optional<NodeId> home_node(const graph::Handle& handle) const;
  // `part_of`: 0: of none.
  void record(const graph::Handle& handle, std::string_view name, HandleId part_of) const;

 private:
  Engine& engine_;
  SoleCopies& sole_copies_;
  ProgramNumbers& numbers_;
  const std::uint32_t number_;
  mutable std::mutex mutex_;  // guards what follows
  graph::StableChunks<graph::Handle> handles_;
  base::SureVector<graph::Handle*> free_;
  std::uint64_t next_ = 1;
  std::uint64_t next_place_ = 4096;  // of data without content
  graph::RegionIndex buffers_;
  std::map<std::uint16_t, graph::RegionIndex> device_buffers_;  // by node
  std::map<int, graph::RegionIndex> files_;
};

}  // namespace vicinal::engine
