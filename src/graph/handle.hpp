// What the graph knows of one piece of data: its shape, and the queue of accesses to it.
//
// Sequential consistency by a queue per handle: an access is granted at once if it is compatible
// with active ones and nobody waits; otherwise it queues, first in, first out. The end of an
// access grants those at the head; a writer hands its access on to the writers that queued right
// behind it. Nothing refers to a task that has ended, so no task is kept
// alive for its readers, and the memory per pending access is one link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/spin_lock.hpp"
#include "graph/numbers.hpp"
#include "vicinal/access.hpp"
#include "vicinal/data.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::memory {
struct Replica;
}  // namespace vicinal::memory

namespace vicinal::graph {

struct Task;
using Handle = internals::GraphHandle;
struct Family;
struct Reduction;

// One operand of one task, 16 bytes: a task with up to four takes two cache lines.
struct alignas(16) Access {
  Access() = default;
  // `number`: among the accesses of its task; `outside`: they are not in the task itself.
  Access(Handle& of, std::uint32_t life, AccessMode how, std::size_t number, bool outside)
      : handle(&of),
        mode(how),
        next_(life),
        outside_(outside),
        number_(number & 0x7fff) {}  // at most kMostOperands
  Access(Handle& of, AccessMode how, std::size_t number = 0, bool outside = false);

  Handle* handle = nullptr;
  AccessMode mode : 4 = AccessMode::R;  // where the address in next_ has zeros

 private:
  // User space has 47 bits of address, of which an access has the 4 lowest zero. Until the access is inserted: the life
  // of the handle that it names.
  std::uint64_t next_ : 44 = 0;

 public:
  // In the handle's queue: who is behind it. Of a writer with access: who has it next.
  Access* next() const { return reinterpret_cast<Access*>(std::uintptr_t{next_} << 4); }
  void set_next(Access* next) {
    next_ = reinterpret_cast<std::uintptr_t>(next) >> 4 & ((std::uint64_t{1} << 44) - 1);
  }
  std::uint32_t named_life() const { return static_cast<std::uint32_t>(next_); }
  Task& task();  // task.hpp

 private:
  bool outside_ : 1 = false;
  std::uint64_t number_ : 15 = 0;
};
static_assert(kMostOperands == 1 << 13);
static_assert(sizeof(Access) == 16);

// A bit per memory node.
class NodeMask {
 public:
  static constexpr std::size_t kMostNodes = 64;
  std::uint64_t get() const { return bits_.load(std::memory_order_acquire); }
  bool has(NodeId node) const { return (get() >> node.value & 1) != 0; }
  void assign(std::uint64_t nodes) { bits_.store(nodes, std::memory_order_release); }
  // Release: who sees the bit sees what was done before. Several threads may change bits at once.
  void add(NodeId node) { bits_.fetch_or(bit(node), std::memory_order_release); }
  void remove(NodeId node) { bits_.fetch_and(~bit(node), std::memory_order_release); }

 private:
  static std::uint64_t bit(NodeId node) { return std::uint64_t{1} << node.value; }
  std::atomic<std::uint64_t> bits_{0};
};

// Where a handle's replica is in some state: memory::Residency's.
struct NodeMasks {
  // Its content is the handle's; changes under Handle::coherence alone. Whoever has write access to the handle
  // may rely on it without the lock: nobody else changes it meanwhile but by a copy from a pinned replica. To
  // anybody else these three are hints.
  NodeMask valid;
  // Each bit changes under the lock of its node.
  NodeMask placed;   // it has room there; the home only while it is valid or in use
  NodeMask leaving;  // it is to lose that room
};

enum class HomeKind : std::uint8_t { none, buffer, file, device };

struct Home {
  HomeKind kind = HomeKind::none;
  bool writable : 1 = true;
  bool inside : 1 = false;  // another handle's: it is a part of that
  bool ram_only : 1 =
      false;  // tasks that use it run where its home is: see engine/kinds/recursion.cpp
  std::uint16_t node = 0;        // device
  int file = -1;                 // its number with the disk driver
  std::byte* address = nullptr;  // buffer, device
  std::uint64_t offset = 0;  // in the file; of a buffer 0, or it is simulated and has no content
};

// What the tasks submitted so far leave in a handle.
enum class Content : std::uint8_t {
  none,
  written,  // by a task, or its home has it
  invalidated,
};

// What is asked for often lies on the first two lines, which are neighbours.
inline constexpr std::size_t kHotBytes = 128;

}  // namespace vicinal::graph

// As public headers call it.
struct alignas(128) vicinal::internals::GraphHandle {
  using Access = graph::Access;
  using Content = graph::Content;
  using Family = graph::Family;
  using Home = graph::Home;
  using NodeMasks = graph::NodeMasks;
  using Reduction = graph::Reduction;
  using Task = graph::Task;

  // --- the queue and what goes with it, on a line apart from where the data are: otherwise who runs a task and looks
  // there takes it away from who submits another. Written under the lock bit of `word`, down to `content`.
  // bit 0: locked; bit 1: a writer has access; bit 2: someone waits; bits 8..: readers with access, or if bit 3 is
  // set those that commute.
  std::atomic<std::uint64_t> word{0};
  Access* head = nullptr;
  Access* tail = nullptr;
  // Of the writers at the head of the queue the last before a reader; null: not known.
  Access* last_writer = nullptr;
  // In the queue, with those that commute: whether only writers wait, without a walk.
  std::uint32_t waiting_readers = 0;
  // Odd while tasks may name the handle; the even one behind it is that of its unregistration. Relaxed: whoever
  // relies on it has the lock bit, or asks again when it has.
  std::atomic<std::uint32_t> current_life{0};
  Content content = Content::none;  // of tasks announced, too
  // In the sum of what has no home; see runtime/submission.cpp.
  std::atomic<bool> counts_unhomed{false};
  // memory::Residency's, this and the next three: the last copy failed, and no prefetch tries again; nothing new
  // begins to be done with it; which replicas are valid, and `version`, change under this lock.
  std::atomic<bool> copy_failed{false};
  std::atomic<bool> going{false};
  base::SpinLock coherence;
  // Whoever submits a task looks at `family` only then.
  std::atomic<bool> has_family{false};
  std::atomic<std::uint8_t> awaited{0};  // engine::Producers' marks
  // memory::Residency's, under `coherence`: the node that was the only one with the content last.
  std::atomic<std::uint8_t> writer{0};
  std::atomic<std::uint64_t> version{0};  // of the content, for copies
  void* policy_data = nullptr;            // the policy's own, null until it sets it

  // --- written seldom, and what every task asks for: one line. memory::Residency's: where it is; by node, null when
  // it does not know the handle.
  alignas(64) NodeMasks on;
  std::atomic<memory::Replica*> replicas{nullptr};
  [[no_unique_address]] Layout layout;  // fixed; the next three lie in its padding
  std::atomic<bool> poisoned{false};    // its last writer failed or was cancelled
  // Tasks may write it: its home takes what is written, and memory::Residency::give_room need not be called first.
  // Whoever reads it with acquire may do so.
  std::atomic<bool> takes_writes{true};
  // The number of the memory node that Runtime::advise named; relaxed: it is advice.
  static constexpr std::uint8_t kNoAdvice = 0xff;
  std::atomic<std::uint8_t> advised{kNoAdvice};
  bool is_private =
      false;  // a copy of another that tasks reduce into: the application does not know it

  // Null: it is neither in parts nor a part. Set by whoever divides it, before a task may use a part.
  std::atomic<Family*> family{nullptr};
  // Null: tasks may not reduce into it. Whoever submits a task looks at it only if `has_family`.
  Reduction* reduction = nullptr;

  // --- fixed
  Home home;
  std::unique_ptr<const std::string>
      lacks;  // why its file does not hold the content that it begins with
  HandleId id;
  graph::DataNumber number;
  std::string name;

  // --- of those that commute and have access, under the lock bit: whose turn it is, and those that were ready but for
  // this turn, linked through Access::next.
  Task* turn = nullptr;
  Access* first_in_turn = nullptr;
  Access* last_in_turn = nullptr;

  // A task that overwrites it is with the policy or further, and nobody reads it before: its content need not be saved. Set and
  // cleared by the engine, cleared before that task's content is there.
  std::atomic<bool> overwritten_next{false};

  Bytes bytes() const { return layout.bytes(); }
  std::optional<NodeId> preferred() const {
    const std::uint8_t node = advised.load(std::memory_order_relaxed);
    if (node == kNoAdvice) return std::nullopt;
    return NodeId{node};
  }
  void prefer(std::optional<NodeId> node) {
    advised.store(node ? static_cast<std::uint8_t>(node->value) : kNoAdvice,
                  std::memory_order_relaxed);
  }
  std::uint32_t life() const { return current_life.load(std::memory_order_relaxed); }
  bool takes_tasks() const { return (life() & 1) != 0; }
};

namespace vicinal::graph {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Winvalid-offsetof"  // known to GCC and Clang for every class without virtual bases
static_assert(offsetof(Handle, on) == 64 && offsetof(Handle, family) == kHotBytes);
#pragma GCC diagnostic pop
static_assert(sizeof(Handle) == 256);  // a runtime may have very many

inline Access::Access(Handle& of, AccessMode how, std::size_t number, bool outside)
    : Access(of, of.life(), how, number, outside) {}

inline constexpr std::uint64_t kLocked = 1;
inline constexpr std::uint64_t kWriter = 2;
inline constexpr std::uint64_t kWaiters = 4;
inline constexpr std::uint64_t kCommuting = 8;
inline constexpr std::uint64_t kReader = 256;

// Whoever has access by it is the last who was submitted to use the handle, as far as that can be known. Of readers
// that end at once none may be told.
inline bool is_last_use(const Access& access) {
  if (writes(access.mode) && access.next() != nullptr)
    return false;  // the access goes on to `next`; a commuting access whose turn it is has none
  const std::uint64_t word = access.handle->word.load(std::memory_order_relaxed) & ~kLocked;
  return word == kWriter || word == kReader || word == (kReader | kCommuting);
}

// No task submitted so far will use it, as far as one who asks while others submit can know.
inline bool is_unused(const Handle& handle) {
  return (handle.word.load(std::memory_order_relaxed) & ~kLocked) == 0;
}

}  // namespace vicinal::graph
