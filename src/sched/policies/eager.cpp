// eager: one queue for all workers, first in, first out.
//
// belady: the same queue, and victims by Belady's rule on what is known of the future: of the replicas that may go, the
// one whose next use by a ready task comes last. The rule is that of the dynamic Belady eviction of Gonthier, Marchal and
// Thibault (2022): a queue of uses per datum, victims without a use first. There each accelerator has an order of its own.
// Here the order is that of the one queue, whichever node its tasks will run on, behind the tasks that the node has been
// given and that have not ended.

#include <algorithm>
#include <array>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/future_uses.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {
namespace {

class Eager : public Policy {
 public:
  std::string_view name() const override { return "eager"; }
  PolicyTraits traits() const override { return {.moves_tasks = true}; }
  void start(PolicyContext& context) override {
    context_ = &context;
    decisions_.start(context);
  }

  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(&task); }

  graph::Task* pop(WorkerId worker) override {
    const auto can_run = [&](graph::Task* task) { return context_->can_run(*task, worker); };
    const auto first = std::find_if(ready_.begin(), ready_.end(), can_run);
    if (first == ready_.end()) return nullptr;
    graph::Task* const task = *first;
    if (decisions_.heard()) {
      decisions_.tell_first(*task, worker, trace::Reason::first_pushed, [&](const auto& name) {
        std::ranges::any_of(ready_, [&](const graph::Task* ready) { return name(*ready); });
      });
    }
    ready_.erase(first);
    std::array<const graph::Task*, PolicyContext::kComing> coming;
    const std::size_t known = std::min(ready_.size(), coming.size());
    std::copy_n(ready_.begin(), known, coming.begin());
    context_->coming({coming.data(), known}, worker);
    return task;
  }

 protected:
  PolicyContext* context_ = nullptr;

 private:
  Decisions decisions_;
  base::SureDeque<graph::Task*> ready_;
};

class Belady final : public Eager {
 public:
  std::string_view name() const override { return "belady"; }
  PolicyTraits traits() const override { return {.moves_tasks = true, .wants_ends = true}; }
  memory::VictimChoice* victims() override { return &future_; }
  void start(PolicyContext& context) override {
    Eager::start(context);
    future_.start(context);
  }

  void push(graph::Task& task, WorkerId releasing) override {
    future_.expect(task, uses_.open(task));
    Eager::push(task, releasing);
  }
  graph::Task* pop(WorkerId worker) override {
    graph::Task* const task = Eager::pop(worker);
    if (task != nullptr) may_move(*task, worker);
    return task;
  }
  bool may_move(graph::Task& task, WorkerId to) override {
    future_.give(task, context_->machine().workers[to.value].node, uses_.of(task));
    return true;
  }
  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    future_.forget(task, uses_.of(task));
    uses_.close(task);
  }
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

 private:
  FutureUses future_;
  Records<FutureUses::TaskUses> uses_;
};

}  // namespace

std::unique_ptr<Policy> make_eager() {
  return std::make_unique<Eager>();
}

std::unique_ptr<Policy> make_belady() {
  return std::make_unique<Belady>();
}

}  // namespace vicinal::sched
