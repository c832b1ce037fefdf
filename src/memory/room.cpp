#include "memory/room.hpp"

#include <algorithm>

#include "base/sure_memory.hpp"

namespace vicinal::memory {

void Room::set_up(const NodeDescription& node, MemorySource& source) {
  node_ = node.id;
  source_ = &source;
  on_disk_ = node.kind == NodeKind::disk;
  if (!node.limit) return;
  arena_ = std::make_unique<Arena>(*node.limit);
  limit_ = arena_->capacity();
}

void Room::reserve() {
  if (limit_ && !on_disk_) base_ = source_->reserve(node_, *limit_);
}

bool Room::allocate(Replica& replica) {
  const Bytes bytes = taken_by(replica);
  if (!arena_) {
    try {
      replica.address = source_->allocate(node_, bytes);
    } catch (...) {  // expected where memory is not limited
      refused_ = std::current_exception();
      return false;
    }
    used_.store(used() + bytes, std::memory_order_relaxed);
    peak_outside_ = std::max(peak_outside_, used());
    return true;
  }
  if (bytes > unused()) return false;
  const auto place = arena_->allocate(bytes);
  if (!place) return false;
  replica.offset = place->offset;
  replica.block = place->block;
  replica.address = address_of(place->offset);
  used_.store(arena_->used(), std::memory_order_relaxed);
  return true;
}

void Room::free(Replica& replica) {
  const Bytes bytes = taken_by(replica);
  if (arena_) {
    arena_->free(replica.block, bytes);
    used_.store(arena_->used(), std::memory_order_relaxed);
  } else {
    source_->release(node_, replica.address, bytes);
    used_.store(used() - bytes, std::memory_order_relaxed);
  }
  replica.address = nullptr;
}

void Room::compact(std::span<Replica* const> replicas) {
  base::SureVector<Replica*> moving(replicas.begin(), replicas.end());
  std::ranges::sort(moving, {}, &Replica::offset);
  for (const Replica* r : moving) arena_->free(r->block, taken_by(*r));
  for (Replica* r : moving) {
    const ArenaSlot place = arena_->allocate(taken_by(*r)).value();  // not behind where it was
    r->offset = place.offset;
    r->block = place.block;
    std::byte* const address = address_of(place.offset);
    if (address != r->address) source_->relocate(node_, address, r->address, taken_by(*r));
    r->address = address;
  }
}

}  // namespace vicinal::memory
