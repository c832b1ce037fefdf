// Which data are where: replicas, their coherence (MSI), room under each node's limit, eviction.
//
// A state machine without threads or clocks. Its methods change the state and put what is to be done
// into Actions; the engine does it (starts copies, tells the policy, wakes workers) and reports back.
//
// Why it cannot hang (design, promise 1):
//  - A request holds nothing until it is granted, then everything: room and pins for all operands.
//  - Requests wait first in, first out per node; early copies (prefetch) take only room that nobody
//    waits for, and never wait.
//  - What a granted request waits for is copies; a copy needs a valid source and its place, which it
//    has. A source that is being evicted may still be copied from. A copy with no direct link goes
//    through RAM: it waits in RAM's queue for room there, holding its destination.
//  - A victim's content goes device -> RAM -> disk, never to a peer: each waits only for the queue of
//    the next node towards the disk.
// So the head of RAM's queue waits only for tasks that run, copies in course and writes to disk; the
// head of a device's queue waits for these and for RAM's queue.
//
// Locks: one for all of the slow path (room, eviction, copies), and one per node inside it or without it for the
// uses that tasks with the policy have announced; pinning resident data takes none.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "graph/task.hpp"
#include "memory/arena.hpp"
#include "memory/copy.hpp"
#include "memory/next_uses.hpp"
#include "memory/recency.hpp"
#include "memory/replica.hpp"
#include "memory/request.hpp"
#include "memory/resident_list.hpp"
#include "memory/rules.hpp"
#include "memory/victim.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::memory {

// Gives memory; the engine implements it over the drivers.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual std::byte* reserve(NodeId node, Bytes bytes) = 0;
  virtual std::byte* allocate(NodeId node, Bytes bytes) = 0;
  virtual void release(NodeId node, std::byte* address, Bytes bytes) = 0;
  // Moves content that nobody uses within a reserved range; the ranges may overlap.
  virtual void relocate(NodeId node, std::byte* to, const std::byte* from, Bytes bytes) = 0;
};

struct Notice {
  graph::Handle* handle = nullptr;
  NodeId node;
  bool loaded = false;  // else evicted
};

// The victim choice of a policy is asked for outside the lock: see Residency::answer.
struct VictimQuery {
  NodeId node;
  Bytes needed;
  EvictionReason reason = EvictionReason::firm;
};

struct Actions {
  base::SureVector<Copy> copies;          // to start
  base::SureVector<Notice> notices;       // for the policy
  base::SureVector<VictimQuery> queries;  // each to be answered
  base::SureVector<NodeId> arrivals;  // something to look at: a copy arrived, a request ended, room
  bool empty() const {
    return copies.empty() && notices.empty() && queries.empty() && arrivals.empty();
  }
  void clear() {
    copies.clear();
    notices.clear();
    queries.clear();
    arrivals.clear();
  }
};

// Where the room of an early copy comes from.
// `unpromised`: of victims that no task with the policy was promised, at most two copies at once.
enum class EarlyRoom : std::uint8_t { victims, free_alone, unpromised };

class Residency {
 public:
  // `external_victims`: victims are chosen by answering queries; else here, see Residency::lru_victim.
  // `in_order`: uses come about in the order of await_uses.
  Residency(const MachineDescription& machine, MemorySource& source, bool external_victims,
            bool in_order = true, Rules rules = {});
  ~Residency();
  // Takes each limited memory's range from the source; before any handle.
  void reserve();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // --- handles
  void add(graph::Handle& handle);
  // Nobody uses it. Its replicas are freed, content that is nowhere else is lost. False if a copy
  // is still in course: try again when one has ended.
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

  // --- the fast path: no lock
  // Pins the operands on the node, in their order, up to the first that is not there. How many?
  std::size_t pin_first(graph::Task& task, NodeId node) {
    const std::uint64_t epoch = epoch_.load(std::memory_order_relaxed);
    std::size_t pinned = 0;
    for (const graph::Access& access : task.accesses()) {
      if (!memory::try_pin(replica(*access.handle, node), access.mode, epoch)) break;
      ++pinned;
    }
    return pinned;
  }
  // Takes that back (rare, not without the lock).
  void unpin_first(graph::Task& task, NodeId node, std::size_t count, Actions& actions);
  // All or none.
  bool try_pin(graph::Task& task, NodeId node, Actions& actions);
  // False: somebody waits for the pins, or what they held has to go; settle() is to be called.
  bool unpin_at_once(const graph::Task& task, NodeId node) {
    bool done = true;
    for (const graph::Access& access : task.accesses()) {
      // Release: what the task did here comes before whoever frees or overwrites the replica.
      const std::uint32_t old =
          replica(*access.handle, node).word.fetch_sub(1, std::memory_order_seq_cst);
      done &= (old & kPinMask) != 1 || (old & (kEvicting | kValid)) == kValid;
    }
    return done && !nodes_[node.value].waiting.load(std::memory_order_seq_cst);
  }
  void settle(graph::Task& task, NodeId node, Actions& actions);
  void unpin(graph::Task& task, NodeId node, Actions& actions) {
    if (!unpin_at_once(task, node)) settle(task, node, actions);
  }
  // What the task writes on the node is valid nowhere else: written() would change nothing.
  bool only_valid_here(const graph::Task& task, NodeId node) const {
    for (const graph::Access& access : task.accesses()) {
      if (!writes(access.mode) || access.handle->bytes().value == 0) continue;
      if (valid_mask(*access.handle) != bit(node)) return false;
    }
    return true;
  }
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

  // A task will soon be looked at there, see base/warm.hpp.
  void warm(const graph::Task& task, NodeId node) const {
    for (const graph::Access& access : task.accesses()) {
      base::warm(&replica(*access.handle, node));  // the line that tasks look at
    }
  }

  // It is next on its link, see base/warm.hpp.
  void warm(const Fetch& fetch) const {
    base::warm(&replica(*fetch.handle, fetch.from), sizeof(Replica));
    base::warm(&replica(*fetch.handle, fetch.to), sizeof(Replica));
  }

  // --- reservations
  // Firm: queues on request.node. `request` stays where it is until it has ended and been released.
  void request(Request& request, Actions& actions);
  // Takes the request back, whatever it holds.
  void withdraw(Request& request, Actions& actions);
  // Unpins what a ready request of one operand holds (flush); tasks use unpin.
  void release(Request& request, Actions& actions);
  // Early copy, if there is room or a victim that the choice gives; never waits.
  // True if the content is there or on its way.
  // From free room alone it starts none behind an early one that waits for the link, so that little
  // room has to be taken back from copies that are not in course when a reservation needs it.
  bool prefetch(graph::Handle& handle, NodeId node, Actions& actions,
                EarlyRoom room = EarlyRoom::victims, bool owns = false);
  // Rules::owner. With `owns` above, once the content is there no other replica counts any more; here the node
  // gets room for what a task will write, or keeps what is there. False: there is no room now.
  bool place_early(graph::Handle& handle, NodeId node, AccessMode mode, Actions& actions);
  // A task is about to ask for it there: it counts as used now.
  void touch(const graph::Handle& handle, NodeId node) {
    const std::uint64_t epoch = rules_.lru ? ++epoch_ : epoch_.load(std::memory_order_relaxed);
    replica(handle, node).last_use.store(epoch, std::memory_order_relaxed);
  }
  // The task waits with the policy and will probably run there: what it reads is driven out after what
  // nobody is known to read; forget_uses when it has left the policy, with what await_uses returned. One
  // caller at a time per node, once per task there; await_uses does not wait for the residency's lock.
  std::uint64_t await_uses(const graph::Task& task, NodeId node);
  void forget_uses(const graph::Task& task, std::uint64_t last_use, NodeId node);
  // Evicts what the choice gives, as for an early copy, until so much is free or becoming free.
  void keep_free(NodeId node, Bytes reserve, Actions& actions);
  // A task has been pulled for the node and will use its operands there; unclaim when it starts.
  // Returns the room of those operands that no other pulled task claims.
  Bytes claim(graph::Task& task, NodeId node);
  Bytes unclaim(graph::Task& task, NodeId node);

  void copy_done(std::uint64_t id, std::exception_ptr error, Actions& actions);
  // Who may go for a query. Takes the lock for each question.
  class Search final : public Candidates {
   public:
    Search(Residency& residency, const VictimQuery& query)
        : residency_(residency), node_(query.node), reason_(query.reason) {}
    graph::Handle* least_recent(const std::function<bool(const graph::Handle&)>& goes) override;
    bool has_unclaimed(const graph::Handle& handle) override;
    std::span<const Candidate> all() override;

   private:
    Residency& residency_;
    const NodeId node_;
    const EvictionReason reason_;
    base::SureVector<Candidate> all_;
  };
  // The choice for a query; nullptr refuses.
  void answer(const VictimQuery& query, graph::Handle* victim, Actions& actions);

  // --- questions, without the lock
  bool valid_on(const graph::Handle& handle, NodeId node) const;
  // Whether give_room is to be called before tasks may write the handle.
  bool lacks_room(const graph::Handle& handle) const {
    return trivial() && handle.home.kind == graph::HomeKind::none && handle.bytes().value > 0;
  }
  // To look at its state, as long as some task in the graph uses the handle.
  const Replica& look_at(const graph::Handle& handle, NodeId node) const {
    return replica(handle, node);
  }
  // Valid there with nothing about to evict it, or on its way: an early copy would have nothing to do.
  bool comes_or_stays(const graph::Handle& handle, NodeId node) const {
    const std::uint32_t word = replica(handle, node).word.load(std::memory_order_relaxed);
    return (word & kEvicting) == 0 && (word & (kValid | kComing)) != 0;
  }
  // Valid there or on its way.
  bool on_node(const graph::Handle& handle, NodeId node) const;
  std::uint32_t on_nodes(const graph::Handle& handle) const;  // a bit per node
  std::uint32_t valid_mask(const graph::Handle& handle) const { return handle.on.valid.get(); }
  // Bytes the handle takes of the node's limit.
  Bytes footprint(const graph::Handle& handle, NodeId node) const;
  std::optional<Bytes> limit(NodeId node) const { return nodes_[node.value].limit; }
  bool fits(const graph::Task& task, NodeId node) const;
  Bytes working_set(const graph::Task& task, NodeId node) const;
  // All operands are at home on the node, for ever: nothing to fetch, nothing to pin.
  bool trivial() const { return nodes_.size() == 1 && !nodes_[0].limit; }
  // Grows when content that a claimed operand had on the node, or on its way there, is lost: while it
  // stays the same, what comes_or_stays said of claimed operands still holds.
  std::uint64_t losses(NodeId node) const {
    return nodes_[node.value].losses.load(std::memory_order_acquire);
  }
  // Grows when something is more on the node than before: content is valid, a victim stays after all, a
  // task's request has ended. While it stays the same, who lacked content there still does.
  std::uint64_t gains(NodeId node) const {
    return nodes_[node.value].gains.load(std::memory_order_acquire);
  }
  // Copies to the node or evictions from it have begun since this was asked last.
  bool take_traffic(NodeId node) {
    auto& traffic = nodes_[node.value].traffic;
    return traffic.load(std::memory_order_relaxed) &&
           traffic.exchange(false, std::memory_order_relaxed);
  }

  // --- for statistics and reports
  void statistics(Statistics& into) const;
  bool quiet() const;  // no copy in course
  std::exception_ptr broken() const {
    return is_broken_.load(std::memory_order_acquire) ? first_broken() : nullptr;
  }
  // The error of a write-back that failed has been told, and the user may have made room: what could not leave may
  // be tried again. Those still in course belong to the attempt that failed.
  void try_again(Actions& actions);
  std::string describe() const;
  // Throws std::logic_error with the values if an invariant is broken; for tests, when quiet.
  void check() const;

 private:
  struct Node {
    NodeDescription description;
    std::optional<Bytes> limit;
    std::optional<NodeId> parent;  // where victims' content goes
    std::byte* base = nullptr;
    std::unique_ptr<Arena> arena;  // under a limit, and on disk
    Bytes leaving;                 // of victims whose content is on its way to safety
    Bytes outside;                 // allocated without an arena
    Bytes kept_free;               // as keep_free was told last
    // All that are allocated, in the order of refresh_order after it, else in no order that counts.
    ResidentList residents;
    // By Replica::order.
    Recency recency;
    base::SureMap<Awaited, Replica*> awaited;  // some have been named again since
    Recency unsaved;
    Recency saved;
    Bytes saved_bytes;         // of the replicas in it
    NextUses next_uses;        // under a lock of its own
    Request* first = nullptr;  // queue of firm requests
    Request* last = nullptr;
    bool query_open = false;  // a victim query has not been answered
    bool pumping = false;
    bool pump_again = false;
    Bytes peak_outside;
    std::atomic<bool> waiting{false};  // someone waits for pins to go
    std::atomic<bool> traffic{false};
    std::atomic<std::uint64_t> losses{0};
    std::atomic<std::uint64_t> gains{0};
    NodeStatistics statistics;
  };
  struct Link {
    LinkDescription description;
    std::uint32_t in_flight = 0;
    base::SureDeque<Fetch*> urgent;
    base::SureDeque<Fetch*> early;
    LinkStatistics statistics;
  };
  enum class Placed : std::uint8_t { yes, waits, failed };
  // What came of an attempt to make room: try again at once, wait (for pins, copies or an answer),
  // or there will never be room.
  enum class Room : std::uint8_t { again, waits, never };

  // Its replicas are where note_unused would put them.
  bool is_noted(const graph::Access& access) const {
    std::uint32_t there = access.handle->on.placed.get() & notes_unused_;
    for (; there != 0; there &= there - 1) {
      const NodeId node{static_cast<std::uint32_t>(std::countr_zero(there))};
      const Replica& at = replica(*access.handle, node);
      const Order order = order_of(at);
      const bool right = order == Order::unsaved || (order == Order::saved && !writes(access.mode));
      if (!right && !at.fixed) return false;
    }
    return true;
  }
  void lost(const Replica& replica) {
    if (replica.claims > 0) {
      nodes_[replica.node.value].losses.fetch_add(1, std::memory_order_release);
    }
  }
  void gained(NodeId node) { nodes_[node.value].gains.fetch_add(1, std::memory_order_release); }
  std::exception_ptr first_broken() const;
  bool has_free(const Node& node, Bytes needed) const;
  // Victims are chosen here, and not by the policy.
  bool by_recency(const Node& node) const {
    return !external_victims_ || node.description.kind == NodeKind::disk;
  }
  Replica& replica(const graph::Handle& handle, NodeId node) const {
    return handle.replicas[node.value];
  }
  struct Source {
    NodeId node;
    std::uint32_t link;  // from there
  };
  void find_sources();

  // requests.cpp: reservations and copies. All under the lock.
  void enqueue(Request& request, Actions& actions);
  // Room that lacks: in all, and of the operand that got none. Rules::clean goes by the latter.
  struct Lack {
    Bytes bytes;
    Bytes operand;
  };
  void pump(NodeId node, Actions& actions);
  Placed place(Request& request, Actions& actions);
  Placed prepare(Request& request, Bytes& needed, Actions& actions);
  bool allocate_all(Request& request, Lack& lack);
  void grant(Request& request, Actions& actions);
  void fail(Request& request, std::exception_ptr error, Actions& actions);
  void ended(Request& request, RequestState state, Actions& actions);
  void drop_pins(Request& request, Actions& actions);
  Request& own_request(RequestKind kind, graph::Handle& handle, NodeId node);
  void recycle(Request& request);
  void take_from_queue(Request& request);
  std::exception_ptr no_room(const Request& request, Bytes needed);

  // copies.cpp. All under the lock.
  // Urgent if somebody waits for it. False: it failed at once, and `waiter` with it.
  bool start_fetch(Replica& to, Request* waiter, Actions& actions);
  void queue_on_link(Fetch& fetch, const Source& from, Actions& actions);
  void make_urgent(Fetch& fetch);
  void go_directly(Fetch& fetch, Actions& actions);
  void take_off_link(Fetch& fetch);
  void pump_link(std::uint32_t link, Actions& actions);
  void cancel_fetch(Fetch& fetch, Actions& actions);
  bool cancel_early_copies(NodeId node, Actions& actions);
  bool fetch_early(graph::Handle& handle, NodeId node, Actions& actions, EarlyRoom room, bool owns);
  void write_behind(std::uint32_t nodes, Actions& actions);
  void write_behind(NodeId node, Actions& actions);
  static bool is_short(const Node& node);
  void note_arrival(const Fetch& fetch, Actions& actions);
  bool is_idle(const Link& link) const {
    return link.in_flight == 0 && link.urgent.empty() && link.early.empty();
  }
  void finish_fetch(Fetch& fetch, const std::exception_ptr& error, Actions& actions);
  const Source* best_source(const graph::Handle& handle, NodeId to) const;
  const Source* source_on(NodeId from, NodeId to) const;
  const Source& ram_as_source(NodeId to) const;
  Place place_of(const Replica& replica) const;

  // room.cpp: room and eviction. All under the lock.
  // False: there is no room, or outside an arena the source refused (refused_).
  bool allocate(Replica& replica);
  // Outside an arena padding is the source's affair.
  Bytes taken(const Replica& replica) const {
    return nodes_[replica.node.value].arena ? Arena::padded(replica.handle->bytes())
                                            : replica.handle->bytes();
  }
  void free_replica(Replica& replica, Actions& actions);
  void set_valid(Replica& replica);
  void make_invalid(Replica& replica, Actions& actions);
  void make_sole(Replica& here, Actions& actions);
  void pin(Replica& replica);
  void settle(Replica& replica, Actions& actions);
  void unpin_one(Replica& replica, Actions& actions);
  void rescue(Replica& replica);
  bool claim_room(Replica& replica);
  // By a task that waits with the policy.
  bool is_awaited(AccessMode mode) const { return reads(mode) || rules_.owner; }
  bool evictable(const Replica& replica, const Request* asks) const;
  bool safe_elsewhere(const Replica& replica) const;
  void check_masks(const graph::Handle& handle) const;
  bool evict(Replica& replica, Actions& actions);
  void save(Replica& replica, Actions& actions);
  void saved(Request& eviction, Actions& actions);
  bool moot(const Request& eviction, Actions& actions);
  Room make_room(NodeId node, Lack lack, EvictionReason reason, Request* asks, Actions& actions);
  bool evict_by_rules(Node& node, Bytes operand, EvictionReason reason, Request* asks,
                      Actions& actions);
  Room last_resort(NodeId node, Bytes needed, Request* asks, Actions& actions);
  Room compact(Node& node);

  // victims.cpp. All under the lock.
  Replica* lru_victim(Node& node, EvictionReason reason, const Request* asks);
  Awaited awaited_place(Node& node, Replica& replica);
  void put_aside(Node& node, Replica& replica);
  Replica* awaited_victim(Node& node, const Request* asks);
  void leave_order(Node& node, Replica& replica);
  void put_unused(Replica& replica);
  void keep_last(const graph::Handle& handle);
  void wanted_again(Replica& replica);
  using Goes = base::FunctionRef<bool(const Replica&)>;
  Replica* unused_victim(Node& node, const Goes& goes);
  Replica* first_unused(Node& node, Order order, const Goes& goes);
  std::uint32_t note_unused(graph::Handle& handle);
  void put_in_order(Node& node, Replica& replica);
  void refresh_order(Node& node);
  void list_append(Node& node, Replica& replica);
  void list_remove(Node& node, Replica& replica);

  // search.cpp. All under the lock.
  static const Request* who_asks(const Node& node, EvictionReason reason) {
    return reason == EvictionReason::firm ? node.first : nullptr;
  }
  bool any_may_go(Node& node, const Request* asks);

  std::vector<Node> nodes_;
  std::uint32_t notes_unused_ = 0;  // a bit per node that does
  std::vector<Link> links_;
  std::vector<std::vector<std::uint32_t>> links_into_;  // by destination
  std::vector<std::vector<Source>> sources_;            // by destination: the best first
  MemorySource& source_;
  const bool external_victims_;
  const bool in_order_;
  const Rules rules_;
  std::atomic<std::uint64_t> epoch_{1};  // recency: raised by each request and eviction

  mutable std::mutex mutex_;
  base::SureDeque<Fetch> fetches_;  // by id
  base::SureVector<Fetch*> free_fetches_;
  base::SureDeque<Request> own_requests_;  // relays and evictions
  base::SureVector<Request*> free_requests_;
  base::SureVector<Replica*> touched_;  // refresh_order's
  std::exception_ptr broken_;  // the first write-back that failed: content stays where it is
  std::atomic<bool> is_broken_{false};  // to ask without the lock
  std::uint64_t attempt_ = 0;           // of write-backs: grows with try_again
  std::exception_ptr refused_;          // why the source gave no memory, the last time
  std::uint64_t copies_in_course_ = 0;
};

}  // namespace vicinal::memory
