#include "runtime/room_for_sends.hpp"

#include "engine/lifecycle.hpp"
#include "memory/arena.hpp"
#include "memory/request.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// Content is in RAM already where nothing else holds any.
bool RoomForSends::is_needed() const {
  const engine::Engine& engine = application_.engine;
  return application_.engine.residency().limit(kRam) && engine.machine().nodes.size() > 1;
}

void RoomForSends::provide(Bytes bytes, const std::string& name, const Wait& wait) {
  const Bytes padded = memory::Arena::padded(bytes);
  if (padded <= bytes_ || !is_needed()) return;
  engine::Engine& engine = application_.engine;
  const Bytes limit = *engine.residency().limit(kRam) + bytes_;
  if (padded > limit) {
    throw CapacityError("handle " + name + " of " + std::to_string(bytes.value) +
                        " bytes needs as much room in RAM when it is sent, whose limit is " +
                        std::to_string(limit.value) + " bytes; raise the option memory");
  }
  auto room = std::make_unique<drivers::MappedMemory>(padded, "the room for sends");
  take_from_limit(padded, wait);
  wait([&] { return application_.transfers.keep(room->address()); });
  room_ = std::move(room);
}

// What is more than so far is reserved as a task's operand would be; while it is, it is set aside.
void RoomForSends::take_from_limit(Bytes all, const Wait& wait) {
  const Bytes bytes = all - bytes_;
  engine::EngineData& data = application_.engine.data();
  const Handle name =
      application_.handles.add({bytes.value, 1, bytes.value, 1}, {}, false, "room for sends",
                               {.by = engine::Origin::Registrar::runtime});
  graph::Handle& handle = *name.impl();
  handle.is_private = true;
  memory::Request request;
  request.kind = memory::RequestKind::flush;
  request.node = kRam;
  request.single.handle = &handle;
  request.single.mode = AccessMode::W;
  request.operands = {&request.single, 1};
  data.request(request);
  try {
    wait([&] {
      return request.state.load(std::memory_order_acquire) == memory::RequestState::ready;
    });
  } catch (...) {
    data.withdraw(request);
    if (data.remove(handle)) application_.handles.forget(handle);
    throw;
  }
  data.set_aside(all);
  bytes_ = all;
  data.release(request);
  wait([&] { return data.remove(handle); });
  application_.handles.forget(handle);
}

}  // namespace vicinal::runtime
