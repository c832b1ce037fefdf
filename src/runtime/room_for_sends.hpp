// Room in RAM that sends alone use, under a limit: who has been given credit must not wait for room that a receive may
// hold, or two ranks could wait for each other. It belongs to the limit, and lies beside the memory of replicas, which it
// would cut in pieces; tasks may have the rest of the limit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drivers/mapped_memory.hpp"
#include "engine/application.hpp"
#include "vicinal/units.hpp"

namespace vicinal::runtime {

class RoomForSends {
 public:
  explicit RoomForSends(engine::Application& application) : application_(application) {}
  RoomForSends(const RoomForSends&) = delete;
  RoomForSends& operator=(const RoomForSends&) = delete;

  // Waits until the condition holds.
  using Wait = std::function<void(const std::function<bool()>&)>;
  // For content of so many bytes, from now on: waits for room as a task would, if there is less so far. `name`: of the
  // data. Throws CapacityError if the limit leaves no room for it.
  void provide(Bytes bytes, const std::string& name, const Wait& wait);

 private:
  bool is_needed() const;
  void take_from_limit(Bytes all, const Wait& wait);

  engine::Application& application_;
  Bytes bytes_;
  std::unique_ptr<drivers::MappedMemory> room_;  // null: none was needed so far
};

}  // namespace vicinal::runtime
