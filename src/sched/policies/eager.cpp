// eager: one queue for all workers, first in, first out.

#include <algorithm>
#include <array>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched {
namespace {

class Eager final : public Policy {
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

 private:
  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  base::SureDeque<graph::Task*> ready_;
};

}  // namespace

std::unique_ptr<Policy> make_eager() {
  return std::make_unique<Eager>();
}

}  // namespace vicinal::sched
