#include "engine/kinds/scratch.hpp"

#include <string>

#include "engine/handles.hpp"

namespace vicinal::engine {

Handle ScratchPool::take(Bytes bytes) {
  {
    const std::lock_guard lock(mutex_);
    base::SureVector<Handle>& free = free_[bytes.value];
    if (!free.empty()) {
      const Handle handle = free.back();
      free.pop_back();
      return handle;
    }
  }
  return handles_.add({bytes.value, 1, bytes.value, 1}, {}, false,
                      "scratch of " + std::to_string(bytes.value) + " bytes",
                      {.by = Origin::Registrar::runtime});
}

void ScratchPool::give_back(const graph::Task& task) {
  const std::lock_guard lock(mutex_);
  for (const graph::Access& access : task.accesses()) {
    if (access.mode != AccessMode::scratch) continue;
    graph::Handle& handle = *access.handle;
    free_[handle.bytes().value].emplace_back(handle, handles_.number(), handle.life());
  }
}

}  // namespace vicinal::engine
