// Where RAM is limited and there is no disk, data without a home have no place but RAM: all that is written of them
// must fit there together, beside the scratch of one task. The account is kept when tasks are submitted, so that the
// first write that would break it is refused, and no run is stuck.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/task.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class Engine;

class SoleCopies {
 public:
  // `simulated`: for the remedies in messages.
  SoleCopies(const Engine& engine, bool simulated);

  bool limited() const { return limit_.has_value(); }
  // What a task writes, and its scratch. Throws CapacityError, and counts nothing then.
  void count(const graph::Task& task);
  // `kind` and `name` of who writes: for the message.
  void count(std::span<const graph::Access> accesses, const char* kind, std::string_view name);
  // For a private copy. False: it does not fit.
  bool take_room(graph::Handle& handle);
  void give_back(graph::Handle& handle);

 private:
  void reserve_scratch(const graph::Task& task);
  const char* remedy() const;

  const Engine& engine_;
  const bool simulated_;
  const std::optional<Bytes> limit_;
  std::mutex mutex_;    // guards what follows
  Bytes written_;       // of data without a home
  Bytes most_scratch_;  // of one task that may run on a core
};

}  // namespace vicinal::engine
