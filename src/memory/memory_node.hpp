// One memory node: what is on it, who waits for room there, and what other nodes have left for it to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/pool.hpp"
#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "memory/node_lock.hpp"
#include "memory/request.hpp"
#include "memory/room.hpp"
#include "memory/victim_orders.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::memory {

// Whether whoever frees room looks at the requests that wait for it, or somebody else does.
enum class Waiters : std::uint8_t { not_looked_at, looked_at };

// What happened elsewhere and concerns a replica or a copy of the node.
struct Message {
  enum class Kind : std::uint8_t {
    unused_room,    // nobody uses the replica any more, or it is void: its room may be free
    unused_data,    // no submitted task uses it
    unused_source,  // nor that; and its content has come to another node
    relayed,        // the way of a copy through RAM is open, or has failed
    saved,          // a victim's content is safe, need not be, or could not be saved
  } kind = Kind::unused_room;
  Replica* replica = nullptr;
  Request* request = nullptr;                // relayed, saved
  Waiters waiters = Waiters::not_looked_at;  // unused_room: those that wait for it
};

// Left by threads that do not have the node's lock, read by who takes it.
template <typename T>
class Inbox {
 public:
  bool any() const { return any_.load(std::memory_order_seq_cst); }
  void leave(const T& item) {
    const std::lock_guard lock(lock_);
    items_.push_back(item);
    any_.store(true, std::memory_order_seq_cst);
  }
  // Those that were left so far go to `into`, which is empty.
  void take(base::SureVector<T>& into) {
    const std::lock_guard lock(lock_);
    items_.swap(into);
    any_.store(false, std::memory_order_seq_cst);
  }

 private:
  base::SpinLock lock_;
  base::SureVector<T> items_;
  std::atomic<bool> any_{false};
};

struct MemoryNode {
  NodeDescription description;
  std::optional<NodeId> parent;          // where victims' content goes
  std::optional<std::uint32_t> way_out;  // the link to it
  Inbox<Message> inbox;
  // Replicas whose content is nowhere else since another one has gone. Nobody waits for these to be read.
  Inbox<Replica*> last_copies;

  mutable NodeLock lock;  // guards what follows
  Room room;
  VictimOrders victims;
  RequestQueue requests;
  std::uint64_t last_request = 0;    // numbers of requests: of all that were queued,
  std::uint64_t marked_request = 0;  // and of the one that Replica::asked_by was last set for
  base::Pool<Fetch> fetches;         // to here
  base::Pool<Request> own_requests;  // relays of these, and evictions from here
  bool query_open = false;           // a victim query has not been answered
  bool pumping = false;
  bool pump_again = false;
  std::uint64_t evictions = 0;
  std::uint64_t write_backs = 0;

  bool was_left_something() const { return inbox.any() || last_copies.any(); }
  // Under the lock, before an order of victims is looked at.
  void note_last_copies() {
    if (!last_copies.any()) return;
    base::SureVector<Replica*> replicas;
    last_copies.take(replicas);
    for (Replica* replica : replicas) {
      if (class_of(*replica) == VictimClass::saved) victims.put_unused(*replica);
    }
  }

  // --- any thread
  std::atomic<bool> waiting{false};  // someone waits for pins to go
  std::atomic<bool> traffic{false};
  // Lately something had to leave, or was wanted to, that submitted tasks may use.
  std::atomic<bool> squeezed{false};
  std::atomic<std::uint64_t> losses{0};
  std::atomic<std::uint64_t> gains{0};
  void lost(const Replica& replica) {
    if (is_claimed(replica)) losses.fetch_add(1, std::memory_order_release);
  }
  void gained() { gains.fetch_add(1, std::memory_order_release); }
};

}  // namespace vicinal::memory
