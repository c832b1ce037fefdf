// Which data are where: replicas, their coherence (MSI), room under each node's limit, eviction.
//
// A state machine without threads or clocks. Its methods change the state and put what is to be done
// into Actions; the engine does it (starts copies, tells the policy, wakes workers) and reports back.
//
// Why it cannot hang (design, promise 1):
//  - A request holds nothing until it is granted, then everything: room and pins for all operands.
//  - Requests wait first in, first out per node; prefetches take only room that nobody
//    waits for, and never wait.
//  - What a granted request waits for is copies; a copy needs a valid source and its place, which it
//    has. A source that is being evicted may still be copied from. A copy with no direct link goes
//    through RAM: it waits in RAM's queue for room there, holding its destination.
//  - A victim's content goes device -> RAM -> disk, never to a peer: each waits only for the queue of
//    the next node towards the disk.
// So the head of RAM's queue waits only for tasks that run, copies in flight and writes to disk; the
// head of a device's queue waits for these and for RAM's queue.
//
// Locks: one per memory node (node_lock.hpp), and leaves: one per handle for which replicas are valid (coherence.hpp),
// one per link (links.hpp). Pinning resident data takes none (fast_path.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/task.hpp"
#include "memory/actions.hpp"
#include "memory/copies_in_flight.hpp"
#include "memory/decisions.hpp"
#include "memory/fast_path.hpp"
#include "memory/links.hpp"
#include "memory/memory_node.hpp"
#include "memory/replica_pool.hpp"
#include "memory/request.hpp"
#include "memory/rules.hpp"
#include "memory/sizes.hpp"
#include "memory/victim.hpp"
#include "trace/recorder.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::memory {

// Where the room of a prefetch comes from.
// `unpromised`: of victims that no task with the policy was promised, at most two copies at once.
// `planned`: what is free now, whatever else waits for the link.
// `unneeded`: the same, and what no submitted task uses and is safe elsewhere.
enum class PrefetchRoom : std::uint8_t { victims, free_alone, unpromised, planned, unneeded };

// Whether other replicas count once the content of a prefetch is there.
enum class Ownership : std::uint8_t { shared, alone };

class Residency : public FastPath, public Sizes {
 public:
  Residency(const MachineDescription& machine, MemorySource& source, VictimChooser chooser,
            UseOrder order = UseOrder::as_announced, Rules rules = {});
  ~Residency();
  // Takes each limited memory's range from the source; before any handle.
  void reserve();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // Tells its choices; see Decisions.
  void tell(trace::DecisionListener* listener, const std::function<Time()>& now) {
    decisions_.listen(listener, now);
  }
  // And what happens, to the recorder, which outlives it; before any handle.
  void record(trace::Recorder& recorder) { recorder_ = &recorder; }

  // --- handles (residency.cpp)
  void add(graph::Handle& handle);
  // Nobody uses it. Its replicas are freed, content that is nowhere else is lost. False if a copy
  // is still in flight: try again when one has ended.
  bool remove(graph::Handle& handle, Actions& actions);
  // After remove, when nobody asks about the handle any more.
  void forget(graph::Handle& handle);
  // The content is void. Whoever calls has write access.
  void invalidate(graph::Handle& handle, Actions& actions);
  // Somebody is about to write the handle. Where every replica stays for ever (see trivial) it gets its room
  // here, at once; else when a request is granted. Not if that life of the handle is over: the graph refuses the
  // task then. Throws what the source throws.
  void give_room(graph::Handle& handle, std::uint32_t life);
  // First to go, once no submitted task uses it.
  void wont_use(graph::Handle& handle, Actions& actions);

  // --- tasks
  // Takes pin_first back (rare, not without the lock).
  void unpin_first(graph::Task& task, NodeId node, std::size_t count, Actions& actions);
  // All or none.
  bool try_pin(graph::Task& task, NodeId node, Actions& actions);
  void settle(graph::Task& task, NodeId node, Actions& actions);
  void unpin(graph::Task& task, NodeId node, Actions& actions) {
    if (!unpin_at_once(task, node)) settle(task, node, actions);
  }
  // Where the content of the task's one operand lies, in RAM if it is there, whatever its room is wanted for: pinned until
  // `unpin` of the task there. None: it is void.
  std::optional<Endpoint> pin_where_it_lies(const graph::Task& task);
  // What the task wrote on the node is the content now; other replicas are void.
  void written(graph::Task& task, NodeId node, Actions& actions);
  // Of a task that is about to release its operands: of one of them it is the last user, which is not noted yet.
  // Then note_unused is to be called when it has, before the handle can be removed.
  bool has_last_use(const graph::Task& task) const {
    if (notes_unused_ == 0) return false;
    for (const graph::Access& access : task.accesses()) {
      if (graph::is_last_use(access) && !is_noted(access)) return true;
    }
    return false;
  }
  // What no submitted task uses goes first from now on, and some of it is saved meanwhile (write_behind).
  void note_unused(const graph::Task& task, Actions& actions);

  // --- reservations
  // Firm: queues on request.node. `request` stays where it is until it has ended and been released.
  void request(Request& request, Actions& actions);
  // Takes the request back, whatever it holds.
  void withdraw(Request& request, Actions& actions);
  // Unpins what a ready request of one operand holds (flush); tasks use unpin.
  void release(Request& request, Actions& actions);
  // Prefetch, if there is room or a victim that the choice gives; never waits.
  // True if the content is there or on its way.
  // From free room alone it starts none behind one that waits for the link, so that little
  // room has to be taken back from copies that are not in flight when a reservation needs it.
  bool prefetch(graph::Handle& handle, NodeId node, Actions& actions,
                PrefetchRoom room = PrefetchRoom::victims, Ownership ownership = Ownership::shared);
  // Content that has just come to RAM from another rank goes on to the node, if there is room that nobody needs or waits
  // for. True: the copy begins.
  bool pass_on(graph::Handle& handle, NodeId node, Actions& actions);
  // The accelerator that has the content; of several the last writer.
  std::optional<NodeId> owner(const graph::Handle& handle) const;
  // A copy that the policy has planned, in place of `victim`; null: none is named. True: the content is there or on its
  // way, or cannot come. False: the copy is to be asked for again when something has changed on the node; the victim may
  // be leaving.
  bool load(graph::Handle& handle, NodeId node, graph::Handle* victim, Actions& actions);
  // Rules::owner. With Ownership::alone above no other replica counts once the content is there; here the node
  // gets room for what a task will write, or keeps what is there. False: there is no room now.
  bool place_ahead(graph::Handle& handle, NodeId node, AccessMode mode, Actions& actions);
  // A task is about to ask for it there: it counts as used now.
  void touch(const graph::Handle& handle, NodeId node) {
    const std::uint64_t epoch = rules_.lru ? ++epoch_ : epoch_.load(std::memory_order_relaxed);
    replica(handle, node).last_use.store(epoch, std::memory_order_relaxed);
  }
  // The task waits with the policy and will probably run there: what it reads is evicted after what
  // nobody is known to read; forget_uses when it has left the policy, with what await_uses returned. One
  // caller at a time per node, once per task there; await_uses does not wait for the node's lock.
  std::uint64_t await_uses(const graph::Task& task, NodeId node);
  void forget_uses(const graph::Task& task, std::uint64_t last_use, NodeId node);
  // Evicts what the choice gives, as for a prefetch, until so much is free or becoming free.
  void keep_free(NodeId node, Bytes reserve, Actions& actions);
  // So much of RAM's limit is no replica's from now on. Replicas take less than the rest.
  void set_aside(Bytes bytes, Actions& actions);
  // A task has been pulled for the node and will use its operands there; unclaim when it starts.
  // Returns the room of those operands that no other pulled task claims.
  Bytes claim(graph::Task& task, NodeId node);
  Bytes unclaim(graph::Task& task, NodeId node);

  // Throws DeviceError, and changes nothing, for an id that names no copy in flight.
  void copy_done(CopyId id, std::exception_ptr error, Actions& actions);
  // Who may go for a query. Takes the node's lock for each question.
  class Search final : public Candidates {
   public:
    Search(Residency& residency, const VictimQuery& query)
        : residency_(residency), node_(query.node), reason_(query.reason) {}
    graph::Handle* least_recent(const std::function<bool(const graph::Handle&)>& goes) override;
    bool has_unclaimed(const graph::Handle& handle) override;
    std::span<const Candidate> all() override;
    graph::Handle* greatest(const Score& score) override;
    bool ranked() const override { return ranked_; }
    // Another victim is wanted for the same request.
    void go_on() { listed_ = false; }

   private:
    struct Ranked {
      std::uint64_t score = 0;
      std::size_t turn = 0;  // by recency
      graph::Handle* handle = nullptr;
    };
    static bool is_less(const Ranked& a, const Ranked& b) {
      return a.score != b.score ? a.score < b.score : a.turn > b.turn;
    }
    Residency& residency_;
    const NodeId node_;
    const EvictionReason reason_;
    base::SureVector<Candidate> all_;
    bool listed_ = false;
    base::SureVector<Ranked> heap_;
    bool ranked_ = false;
  };
  // The choice for a query; nullptr refuses. True if the same request needs the room of another victim: then the
  // query is to be answered again.
  [[nodiscard]] bool answer(const VictimQuery& query, graph::Handle* victim, Actions& actions);

  // --- for statistics and reports (report.cpp)
  void statistics(Statistics& into) const;
  // On some node with workers something had to leave that submitted tasks may use, and since then no quarter of its memory
  // was free, or could be at once. Any thread.
  bool any_short();
  bool quiet() const { return copies_in_flight_.load(std::memory_order_acquire) == 0; }
  std::exception_ptr broken() const {
    return is_broken_.load(std::memory_order_acquire) ? first_broken() : nullptr;
  }
  // The error of a write-back that failed has been told, and the user may have made room: what could not leave may
  // be tried again. Those still in flight belong to the attempt that failed.
  void try_again(Actions& actions);
  std::string describe() const;
  // Throws std::logic_error with the values if an invariant is broken; for tests, when quiet.
  void check();

 private:
  enum class Placed : std::uint8_t { yes, waits, failed };
  // What came of an attempt to make room: try again at once, wait (for pins, copies or an answer),
  // or there will never be room.
  enum class Outcome : std::uint8_t { again, waits, never };
  // Room that lacks: in all, and of the operand that got none. Rules::clean goes by the latter.
  struct Lack {
    Bytes bytes;
    Bytes operand;
  };

  MemoryNode& node_of(const Replica& replica) { return nodes_[replica.node.value]; }
  const MemoryNode& node_of(const Replica& replica) const { return nodes_[replica.node.value]; }

  // --- between nodes
  // Whoever has the disk's lock has RAM's, too: all that comes to the disk or leaves it does so there.
  bool is_behind_ram(const MemoryNode& node) const {
    return nodes_[kRam.value].parent == node.description.id;
  }
  void take(MemoryNode& node) {
    if (is_behind_ram(node)) {
      nodes_[kRam.value].lock.lock();
      nodes_[kRam.value].note_last_copies();
    }
    node.lock.lock();
  }
  bool try_take(MemoryNode& node);
  void leave(MemoryNode& node) {
    node.lock.unlock();
    if (is_behind_ram(node)) nodes_[kRam.value].lock.unlock();
  }
  struct Leave {
    Residency& residency;
    MemoryNode& node;
    ~Leave() { residency.leave(node); }
  };
  // Calls `work` with the node's lock. Whoever has no other node's lock then sees to what could not be told meanwhile.
  template <typename Work>
  auto at(NodeId id, Actions& actions, const Work& work) {
    const auto locked = [&] {
      MemoryNode& node = nodes_[id.value];
      take(node);
      const Leave leave{*this, node};
      if (node.was_left_something() && node.lock.held_once()) read_inbox(node, actions);
      return work();
    };
    if constexpr (std::is_void_v<decltype(work())>) {
      locked();
      deliver(actions);
    } else {
      const auto result = locked();
      deliver(actions);
      return result;
    }
  }
  template <typename Work>
  void at_each(Actions& actions, const Work& work) {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      at(NodeId{n}, actions, [&] { work(NodeId{n}); });
    }
  }
  void post(NodeId id, const Message& message, Actions& actions);
  void act_on(MemoryNode& node, const Message& message, Actions& actions);
  void read_inbox(MemoryNode& node, Actions& actions);
  void deliver(Actions& actions) {
    if (actions.undelivered != 0 && !NodeLock::any_held()) deliver_all(actions);
  }
  void deliver_all(Actions& actions);

  // --- residency.cpp
  // Its replicas are where note_unused would put them.
  bool is_noted(const graph::Access& access) const {
    std::uint64_t there = access.handle->on.placed.get() & notes_unused_;
    for (; there != 0; there &= there - 1) {
      const NodeId node{static_cast<std::uint32_t>(std::countr_zero(there))};
      const Replica& at = replica(*access.handle, node);
      const VictimClass of = class_of(at);
      const bool right =
          of == VictimClass::unsaved || (of == VictimClass::saved && !writes(access.mode));
      if (!right && !at.fixed) return false;
    }
    return true;
  }
  void place_home(graph::Handle& handle, Replica* replicas);
  bool stop_what_waits(Replica& replica, Actions& actions);
  std::uint64_t note_unused(graph::Handle& handle, Actions& actions);
  void became_void(const graph::Handle& handle, std::uint64_t nodes, Actions& actions,
                   Waiters waiters);
  void make_exclusive(Replica& here, Actions& actions);
  // The room of those operands of which `count` says so, with the node's lock.
  template <typename Count>
  Bytes room_of(const graph::Task& task, NodeId id, const Count& count) {
    MemoryNode& node = nodes_[id.value];
    const std::lock_guard lock(node.lock);
    Bytes room;
    for (const graph::Access& access : task.accesses()) {
      if (count(replica(*access.handle, id), node)) room += footprint(*access.handle, id);
    }
    return room;
  }
  std::exception_ptr first_broken() const;

  bool records(trace::Category category) const {
    return recorder_ != nullptr && recorder_->on(category);
  }
  void record_room(trace::Event event, const Replica& replica) const;

  // --- requests.cpp: reservations. Under the lock of the request's node.
  void record_request(const Request& request, RequestState state) const;
  // Of the node `owner`, whose lock is held: to wait for room on another one.
  Request& own_request(RequestKind kind, MemoryNode& owner, graph::Handle& handle, NodeId node);
  static void recycle(Request& request, MemoryNode& owner);
  void enqueue(Request& request, Actions& actions);
  void pump(NodeId node, Actions& actions);
  bool serve_head(MemoryNode& node, Actions& actions);
  void mark_operands(MemoryNode& node, const Request& head);
  void cancel_eviction(Request& eviction, Actions& actions);
  Placed place(Request& request, Actions& actions);
  Placed prepare(Request& request, Bytes& needed, Actions& actions);
  bool allocate_all(Request& request, Lack& lack);
  void grant(Request& request, Actions& actions);
  void fail(Request& request, std::exception_ptr error, Actions& actions);
  void ended(Request& request, RequestState state, Actions& actions);
  void drop_pins(Request& request, Actions& actions);
  std::exception_ptr no_room(const Request& request, Bytes needed);

  // --- copies.cpp. Under the lock of the node that the copy goes to.
  // Urgent if somebody waits for it. False: it failed at once, and `waiter` with it.
  bool start_fetch(Replica& to, Request* waiter, CopyCause cause, Actions& actions);
  struct PinnedSource {
    const Source* source = nullptr;  // null: no link from any valid replica
    std::uint64_t version = 0;       // of what it holds
  };
  PinnedSource pin_best_source(const graph::Handle& handle, NodeId to);
  const Source& ram_as_source(NodeId to) const;
  void queue_on_link(Fetch& fetch, const Source& from, Actions& actions);
  void make_urgent(Fetch& fetch);
  void go_directly(Fetch& fetch, Actions& actions);
  bool take_relay_back(Fetch& fetch, Actions& actions);
  void pump_link(std::uint32_t link, Actions& actions);
  bool cancel_fetch(Fetch& fetch, Actions& actions);
  bool cancel_prefetches(NodeId node, Actions& actions);
  // `through_ram`: no link leads here from where the content is; it is to come to RAM first.
  bool prefetch_to(Replica& to, PrefetchRoom room, Ownership ownership, bool& through_ram,
                   Actions& actions, CopyCause cause = CopyCause::prefetch);
  bool start_prefetch(Replica& to, PrefetchRoom room, CopyCause cause, Actions& actions);
  bool evict_unneeded(MemoryNode& node, Actions& actions);
  enum class Planned : std::uint8_t { waits, leaves, gone };
  Planned evict_planned(graph::Handle* victim, MemoryNode& node, Actions& actions);
  void write_behind(std::uint64_t nodes, Actions& actions);
  void write_behind(NodeId node, Actions& actions);
  bool is_short(NodeId node);
  void note_arrival(const Fetch& fetch, Actions& actions);
  bool finish_fetch(Fetch& fetch, const std::exception_ptr& error, Actions& actions);
  Endpoint endpoint_of(const Replica& replica) const;

  // --- eviction.cpp: room and who leaves. Under the lock of the replica's node, but for unpin_one.
  // False: there is no room, or outside an arena the source refused.
  bool allocate(Replica& replica);
  void free_replica(Replica& replica, bool was_valid, Actions& actions);
  void begin_to_leave(Replica& replica);
  static void pin(Replica& replica);
  // Nobody uses it: frees it if it has nothing to lose.
  void settle(Replica& replica, Actions& actions);
  void unpin_one(Replica& replica, Actions& actions, Waiters waiters = Waiters::not_looked_at);
  void note_last_copy(const graph::Handle& handle);
  void rescue(Replica& replica);
  bool claim_room(Replica& replica, std::uint32_t and_mark = 0);
  // By a task that waits with the policy.
  bool is_awaited(AccessMode mode) const { return reads(mode) || rules_.owner; }
  // Somebody will read its content.
  static bool is_needed(const Replica& replica) {
    return !replica.handle->overwritten_next.load(std::memory_order_acquire);
  }
  bool evictable(const Replica& replica, const Request* asks) const;
  // By its word, whether or not its handle is being removed.
  bool may_leave(const Replica& replica, std::uint32_t word, const Request* asks) const;
  bool evict(Replica& replica, Actions& actions);
  void save(Replica& replica, Actions& actions);
  void saved(Request& eviction, Actions& actions);
  void note_broken(const Request& eviction);
  bool nothing_to_save(const Request& eviction, Actions& actions);
  Outcome make_room(NodeId node, Lack lack, EvictionReason reason, Request* asks, Actions& actions);
  bool evict_by_rules(MemoryNode& node, Bytes operand, EvictionReason reason, Request* asks,
                      Actions& actions);
  Outcome last_resort(NodeId node, Bytes needed, Request* asks, Actions& actions);
  Outcome compact(MemoryNode& node);
  // Victims are chosen here, and not by the policy.
  bool by_recency(const MemoryNode& node) const {
    return chooser_ == VictimChooser::memory || node.description.kind == NodeKind::disk;
  }
  Replica* lru_victim(MemoryNode& node, EvictionReason reason, const Request* asks, Bytes needed);
  Replica* unused_victim(MemoryNode& node, VictimOrders::Goes goes);
  bool any_may_go(MemoryNode& node, const Request* asks);
  static const Request* who_asks(const MemoryNode& node, EvictionReason reason) {
    return reason == EvictionReason::firm ? node.requests.first() : nullptr;
  }

  const MachineDescription machine_;
  ReplicaPool replicas_;
  Links links_;
  CopiesInFlight given_;  // to drivers
  Decisions decisions_;
  std::atomic<std::uint64_t> next_copy_{1};
  trace::Recorder* recorder_ = nullptr;
  std::uint64_t notes_unused_ = 0;  // a bit per node that does
  std::uint64_t accelerators_ = 0;  // a bit per node
  const VictimChooser chooser_;
  const Rules rules_;

  std::atomic<std::uint64_t> copies_in_flight_{0};

  mutable std::mutex broken_mutex_;
  std::exception_ptr broken_;  // the first write-back that failed: content stays where it is
  std::atomic<bool> is_broken_{false};     // to ask without the lock
  std::atomic<std::uint64_t> attempt_{0};  // of write-backs: grows with try_again
};

}  // namespace vicinal::memory
