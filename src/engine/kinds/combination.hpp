// Data that tasks reduce into, see graph/reduction.hpp: the private copies, and the tasks that combine them.
//
// The first access behind such tasks that is no reduction has a task of the runtime submitted before it, which writes the
// handle: the combination. It is ready when all who reduced have ended. Only then is it known which copies there are, and
// where: those on one memory node are combined there, then pairs of nodes, so that with K nodes K - 1 copies move; the
// last one, the root, is combined into the handle by the combination itself. Each such task is bound to a worker where
// what it changes is.
//
// Where tasks of several ranks reduce into a datum, each rank has such a handle, and what they leave in it is a partial
// result. It comes to another rank as a version of a datum does, and is combined there by a task like any other, so that
// whatever makes room for operands, or waits for it, counts for partial results too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/kinds/kind.hpp"
#include "graph/reduction.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

struct Application;

class Reductions final : public Kind {
 public:
  explicit Reductions(Application& application) : application_(application) {}

  void declare(Handle handle, const vicinal::Reduction& codelets);
  // A task that is being made reduces into the handle with its access of this number.
  void note(graph::TaskExtension& extension, const graph::Task& task, const graph::Handle& handle,
            std::size_t number) const;
  // What tasks have reduced into the handle is combined now, if they have; it has a reduction or not.
  void combine(Handle handle);
  // An access to a handle with a reduction is about to be submitted. Under the lock of Partitions.
  void settle(const graph::Access& access);
  void ready(graph::Task& combination) override;

  // --- partial results of other ranks; of the thread that submits
  // There is content, or tasks have reduced into the handle.
  bool holds_any(graph::Handle& handle);
  // Where the next partial result for the handle may be received, of `number` that are under way. Throws CapacityError if it
  // has no place in RAM, and there is no disk.
  Handle place_for_partial(graph::Handle& handle, std::size_t number);
  // As many at once as there may be: they take room.
  std::size_t most_partials() const;
  // What has come there is combined into the handle, behind what tasks here have reduced, and its content ends.
  void combine_partial(Handle into, Handle partial, int priority);

  // Those that there are, for a recording that begins.
  void record() const;

  bool any() const {
    const std::lock_guard lock(mutex_);
    return !reductions_.empty();
  }
  // Some handle has more private copies than one, and they take room where that is scarce.
  bool any_more_copies() const { return more_copies_.load(std::memory_order_acquire) != 0; }
  // While it lives they become fewer, and there are no new ones.
  class Sparing {
   public:
    explicit Sparing(Reductions& reductions);
    ~Sparing() { reductions_.sparing_.fetch_sub(1, std::memory_order_relaxed); }
    Sparing(const Sparing&) = delete;
    Sparing& operator=(const Sparing&) = delete;

   private:
    Reductions& reductions_;
  };

  // The handle is being unregistered, and its copies with it. False: something is still in flight.
  bool forget_copies(graph::Handle& handle);

 private:
  struct Located {
    graph::PrivateCopy* copy;
    NodeId node;
  };
  std::unique_ptr<graph::Reduction> make(graph::Handle& handle, const vicinal::Reduction& codelets);
  void check_fits(const graph::Reduction& reduction);
  void record(const graph::Reduction& reduction) const;
  bool forget_copies(graph::Reduction& reduction);
  bool forget(std::vector<graph::PrivateCopy>& copies);
  Handle add_copy(graph::Handle& of, const std::string& what);
  std::vector<Located> used_copies(graph::Reduction& reduction) const;
  NodeId place_of(const graph::PrivateCopy& copy) const;
  Located submit_tree(graph::Reduction& reduction, std::vector<Located> copies);
  void combine(const graph::Reduction& reduction, const Located& into, const Located& from);
  void combine_now(graph::Reduction& reduction);
  bool take_room(graph::PrivateCopy& copy, bool is_first);
  void give_back_room(graph::PrivateCopy& copy, bool is_first);
  std::optional<WorkerId> worker_at(const graph::Task& task, NodeId node);
  NodeId place_of_result(const graph::Task& combination, NodeId root);

  Application& application_;
  mutable std::mutex mutex_;                                               // guards what follows
  std::map<std::uint64_t, std::unique_ptr<graph::Reduction>> reductions_;  // by handle, in order
  std::atomic<std::size_t> turn_{0};  // of the workers of a node
  std::atomic<std::size_t> more_copies_{0};
  std::atomic<std::uint32_t> sparing_{0};
};

}  // namespace vicinal::engine
