// What a handle is between its tasks: its content, its lives, and who stands in its queue.
#include <string>

#include "graph/dependencies.hpp"
#include "graph/handle_lock.hpp"

namespace vicinal::graph {

Content content_of(Handle& handle) {
  const std::uint64_t word = lock(handle);
  const Content content = handle.content;
  unlock(handle, word);
  return content;
}

void leave(Handle& handle, Content content) {
  const std::uint64_t word = lock(handle);
  handle.content = content;
  unlock(handle, word);
}

bool has_content(Handle& handle) {
  return content_of(handle) == Content::written;
}

bool refuse_tasks(Handle& handle, std::uint32_t life) {
  const std::uint64_t word = lock(handle);
  const bool is_current = handle.life() == life;
  if (is_current) handle.current_life.fetch_add(1, std::memory_order_relaxed);
  unlock(handle, word);
  return is_current;
}

void accept_tasks(Handle& handle, Content content) {
  const std::uint64_t word = lock(handle);
  handle.content = content;
  handle.current_life.fetch_sub(1, std::memory_order_relaxed);
  unlock(handle, word);
}

void begin_life(Handle& handle, std::uint32_t life, std::string name) {
  const std::uint64_t word = lock(handle);
  handle.head = handle.tail = handle.last_writer = nullptr;
  handle.waiting_readers = 0;
  handle.turn = nullptr;
  handle.first_in_turn = handle.last_in_turn = nullptr;
  handle.name = std::move(name);
  handle.current_life.store(life, std::memory_order_relaxed);
  unlock(handle, word);
}

std::string name_of(Handle& handle) {
  const Unlocks in_the_end(handle, lock(handle));
  return handle.name;
}

bool idle(const Handle& handle) {
  return (handle.word.load(std::memory_order_acquire) & (kWriter | kWaiters | kReadersMask)) == 0;
}

bool is_readable(const Handle& handle) {
  return (handle.word.load(std::memory_order_acquire) & (kWriter | kWaiters | kCommuting)) == 0;
}

// Tasks that wait are alive while the lock bit is held: they cannot be granted access.
std::string describe_queue(Handle& handle, std::size_t most) {
  const std::uint64_t word = lock(handle);
  const Unlocks in_the_end(handle, word);
  std::string text;
  const auto name = [&](const Task& task, AccessMode mode) {
    text += " " + std::string(task.name()) + "(" + std::string(to_string(mode)) + ")";
  };
  const auto list = [&](Access* first) {
    std::size_t named = 0;
    for (Access* access = first; access != nullptr; access = access->next()) {
      if (named++ == most) {
        text += " ...";
        break;
      }
      name(access->task(), access->mode);
    }
  };
  if (handle.first_in_turn != nullptr && handle.turn != nullptr) {
    text = "handle " + handle.name + ": it is the turn of";
    name(*handle.turn, AccessMode::commute);
    text += "; behind it:";
    list(handle.first_in_turn);
    if (handle.head != nullptr) text += "\n";
  }
  if (handle.head != nullptr) {
    text += "handle " + handle.name + ": " +
            ((word & kWriter) != 0 ? "a writer has access (others right behind it are not listed)"
                                   : std::to_string((word & kReadersMask) / kReader) +
                                         ((word & kCommuting) != 0 ? " that commute have access"
                                                                   : " readers have access")) +
            "; waiting:";
    list(handle.head);
  }
  return text;
}

}  // namespace vicinal::graph
