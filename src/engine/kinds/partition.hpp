// Partitions of handles: which of a handle and its parts has the content, and the tasks that pass it on.
//
// An access that is submitted finds the content where an access before it has left it, with the whole or with the
// parts. If that is not where it looks, a task of the runtime is submitted before it, that uses the whole and
// all parts and so comes behind all who used either:
//  - Where the home of the whole is a buffer of the application the parts lie inside it. The task brings what is
//    elsewhere to RAM, and nothing more: TaskKind::repartition.
//  - Else a part has room of its own, and there is one task for each part, which copies (codelets "split" and "join").
//    It is scheduled like any other, and needs room for the whole and for one part.
// Three states keep what need not be done from being done (graph::Holds): readers of both sides may go on after one
// such task; what is to be overwritten is not brought.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/partition.hpp"
#include "graph/task.hpp"
#include "vicinal/partition.hpp"

namespace vicinal::engine {

struct Application;

class Partitions {
 public:
  explicit Partitions(Application& application) : application_(application) {}

  Parts partition(Handle whole, const Divide& divide, PartAccess access);
  void unpartition(const Parts& parts);
  // Throws UsageError if some of what has its content was written, and some was not.
  void require_all_or_nothing(graph::Handle& whole);
  // All partitions of the handle are taken back.
  void dissolve(graph::Handle& whole);
  // Any handle was ever marked.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // From now on whoever submits a task on the handle calls settle first.
  void mark(graph::Handle& handle) {
    handle.has_family.store(true, std::memory_order_release);
    any_.store(true, std::memory_order_relaxed);
  }
  // Forgets the unused parts of partitions that were taken back. Not inside a task. A single thread at a time does
  // that; a thread that needs the result waits for the other thread to end, then does the rest.
  enum class Meanwhile : bool { waits, leaves_it };
  void reclaim(Meanwhile another_does);
  // No part leads to the handle any more.
  bool is_whole(const graph::Handle& handle);

  // Held until the task that makes these accesses is in the graph: nobody moves the content meanwhile.
  using Lock = std::unique_lock<std::recursive_mutex>;
  // Brings the content to where the accesses are. Throws UsageError: they name a handle and a part of it, one of
  // them to write; they read what is only written in part; they write a part that may only be read.
  Lock settle(std::span<const graph::Access> accesses);
  Lock settle(graph::Handle& handle, AccessMode mode);
  Lock lock() { return Lock(mutex_); }
  // Those who write what has the content of the handle, its parts or what it is a part of, have ended.
  bool is_readable(const graph::Handle& handle);

  // For a recursive task, which holds the whole in RAM with its content there.
  // `ram_only`: tasks on the parts run there, and nowhere else.
  struct Held {
    graph::Handle& whole;
    AccessMode mode;
    bool ram_only;
  };
  graph::Partition& divide_held(const Held& held, const Divide& divide);
  // Its tasks have ended and nothing is in flight with its parts: they may go.
  void leave(graph::Partition& held);
  Parts names_of(const graph::Partition& partition) const;

 private:
  struct Owned;
  using List = std::list<Owned>;
  struct Owned : graph::Partition {
    std::size_t grid_rows = 0;
    std::size_t removed = 0;  // of a partition taken back: so many parts are forgotten
    std::unique_ptr<graph::Family[]> families;  // of the parts
    List::iterator at;                          // itself
  };

  graph::Family& family_of(graph::Handle& handle);
  void begin_family(graph::Handle& handle, graph::Family& family);
  Owned& add(graph::Handle& whole, Division division);
  void add_parts(Owned& owned, const graph::Home& home, const Layout& whole, bool written);
  void take_back(graph::Partition& partition);
  bool forget_some();
  bool forget(Owned& owned);
  bool may_forget(graph::Handle& part);
  void open(graph::Partition* partition, AccessMode mode, const graph::Handle& part);
  void close(graph::Partition& partition, AccessMode mode);
  void close_all(graph::Handle& whole, AccessMode mode);
  void move(graph::Partition& partition, graph::Holds to, bool keeps);
  void pass_inside(graph::Partition& partition, graph::Holds to, bool keeps);
  void split(graph::Partition& partition, graph::Holds to);
  void join(graph::Partition& partition, graph::Holds to, bool keeps);
  void require_apart(std::span<const graph::Access> accesses) const;
  Application& application_;
  // Recursive: a task that becomes ready when it is submitted may divide itself at once.
  std::recursive_mutex mutex_;
  List partitions_;
  List leaving_;         // taken back; their parts may still be in use
  std::mutex reclaims_;  // before the other mutex
  // Of handles that are no parts.
  std::unordered_map<const graph::Handle*, std::unique_ptr<graph::Family>> families_;
  std::atomic<bool> any_{false};
};

}  // namespace vicinal::engine
