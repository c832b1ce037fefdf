#include "runtime/room_for_sends.hpp"

#include "engine/lifecycle.hpp"
#include "memory/arena.hpp"
#include "memory/replica.hpp"
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
  const Bytes limit = *engine.residency().limit(kRam);
  if (bytes_ + padded > limit) {
    throw CapacityError("register: handle " + name + " of " + std::to_string(bytes.value) +
                        " bytes needs as much room in RAM when it is sent, beside the " +
                        std::to_string(bytes_.value) + " bytes kept for sends so far, and its limit is " +
                        std::to_string(limit.value) +
                        " bytes; raise the option memory, or register the largest data first");
  }
  auto room = std::make_unique<Room>();
  const Handle handle = application_.handles.add({padded.value, 1, padded.value, 1}, {}, false,
                                                 "room for sends",
                                                 {.by = engine::Origin::Registrar::runtime});
  room->handle = handle.impl();
  room->handle->is_private = true;
  memory::Request& request = room->request;
  request.kind = memory::RequestKind::flush;
  request.node = kRam;
  request.single.handle = room->handle;
  request.single.mode = AccessMode::W;
  request.operands = {&request.single, 1};
  engine.data().request(request);
  wait([&] { return request.state.load(std::memory_order_acquire) == memory::RequestState::ready; });
  std::byte* const address = memory::view(*room->handle, kRam).address;
  wait([&] { return application_.transfers.keep(address); });
  engine.data().set_aside(padded);
  bytes_ = padded;
  if (room_) give_back(*room_);
  room_ = std::move(room);
}

void RoomForSends::give_back(Room& room) {
  engine::Engine& engine = application_.engine;
  engine.data().release(room.request);
  static_cast<void>(engine.data().remove(*room.handle));
  application_.handles.forget(*room.handle);
}

void RoomForSends::give_back() {
  if (room_) give_back(*room_);
  room_.reset();
}

}  // namespace vicinal::runtime
