// lfq: PaRSEC's local flat queues.
//
// Each worker has a buffer of four places per worker of the machine, and there is one queue for all, first in, first
// out. A task goes to the buffer of the worker that released it, to the queue if there is no place or no such
// worker. A worker takes the task of highest priority that it can run from its own buffer, else from another, by
// increasing distance of their numbers, else the first of the queue.
//
// PaRSEC counts distance by the caches that two threads share; and there whoever takes a task of accelerators
// gives it to one of them (as under ap), while here the workers of accelerators take their tasks themselves.

#include <string_view>
#include <utility>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {
namespace {

struct Buffer {
  TaskList tasks;
  std::size_t size = 0;
};

class FlatQueues final : public Policy {
 public:
  std::string_view name() const override { return "lfq"; }
  PolicyTraits traits() const override { return {.moves_tasks = true}; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
    buffers_.resize(context.machine().workers.size());
  }

  void push(graph::Task& task, WorkerId releasing) override {
    const bool has_place = releasing != kNoWorker &&
                           buffers_[releasing.value].size < kPlacesPerWorker * buffers_.size();
    if (!has_place) return queue_.push_back(task);
    Buffer& buffer = buffers_[releasing.value];
    buffer.tasks.push_back(task);
    ++buffer.size;
    if (decisions_.heard()) decisions_.tell_home(task, trace::Reason::released_here, releasing);
  }

  graph::Task* pop(WorkerId worker) override {
    Buffer& own = buffers_[worker.value];
    if (graph::Task* task = take_from(own, worker, trace::Reason::highest_priority)) return task;
    Buffer* const other = nearest_with_tasks(worker);
    if (other == nullptr) return decisions_.take_first(queue_, worker, trace::Reason::first_pushed);
    if (decisions_.heard()) tell_theft(*best_of(*other, worker), worker, *other);
    return take_from(*other, worker, trace::Reason::highest_of_victim);
  }

 private:
  static constexpr std::size_t kPlacesPerWorker = 4;

  graph::Task* best_of(const Buffer& buffer, WorkerId worker) const {
    return buffer.tasks.find_first(
        [&](const graph::Task& ready) { return context_->can_run(ready, worker); });
  }
  Buffer* nearest_with_tasks(WorkerId worker) {
    Buffer* nearest = nullptr;
    walk_others(worker, [&](Buffer& buffer, std::uint32_t /*number*/, std::uint32_t /*distance*/) {
      if (best_of(buffer, worker) != nullptr) nearest = &buffer;
      return nearest != nullptr;
    });
    return nearest;
  }

  graph::Task* take_from(Buffer& buffer, WorkerId worker, trace::Reason reason) const {
    graph::Task* const task = decisions_.take_first(buffer.tasks, worker, reason);
    if (task != nullptr) --buffer.size;
    return task;
  }

  // The others by increasing distance, until `visit(buffer, number, distance)` says true.
  template <typename Visit>
  void walk_others(WorkerId worker, Visit&& visit) {
    const auto count = static_cast<std::uint32_t>(buffers_.size());
    for (std::uint32_t distance = 1; distance < count; ++distance) {
      // One that is below the first is beyond the last.
      for (const std::uint32_t number : {worker.value + distance, worker.value - distance}) {
        if (number < count && visit(buffers_[number], number, distance)) return;
      }
    }
  }

  void tell_theft(const graph::Task& task, WorkerId thief, const Buffer& chosen) {
    Telling theft =
        decisions_.asked_by(thief, trace::Reason::nearest_with_tasks, trace::Among::workers);
    walk_others(thief, [&](const Buffer& buffer, std::uint32_t number, std::uint32_t distance) {
      std::int64_t tasks = 0;
      buffer.tasks.find_first([&](const graph::Task& ready) {
        tasks += context_->can_run(ready, thief) ? 1 : 0;
        return false;
      });
      theft.consider(
          {number, {{trace::Measure::distance, distance}, {trace::Measure::tasks, tasks}}},
          &buffer == &chosen);
      return false;
    });
    theft.of(task).tell();
  }

  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  base::SureDeque<Buffer> buffers_;  // by worker
  TaskDeque queue_;
};

}  // namespace

std::unique_ptr<Policy> make_lfq() {
  return std::make_unique<FlatQueues>();
}

}  // namespace vicinal::sched
