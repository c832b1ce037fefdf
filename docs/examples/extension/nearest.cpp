#include "nearest.hpp"

#include <cstdint>
#include <limits>
#include <list>

namespace {

using namespace vicinal;

// nearest: fewest missing bytes first, first in first out among equals.
class Nearest final : public sched::Policy {
 public:
  std::string_view name() const override { return kNearest.name; }
  void start(sched::PolicyContext& context) override { context_ = &context; }

  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(&task); }

  graph::Task* pop(WorkerId worker) override {
    const NodeId node = context_->machine().workers[worker.value].node;
    auto best = ready_.end();
    Bytes fewest{std::numeric_limits<std::uint64_t>::max()};
    for (auto task = ready_.begin(); task != ready_.end(); ++task) {
      if (!context_->can_run(**task, worker)) continue;
      const Bytes missing = context_->missing_bytes(**task, node);
      if (missing < fewest) {
        fewest = missing;
        best = task;
      }
    }
    if (best == ready_.end()) return nullptr;
    graph::Task* const task = *best;
    ready_.erase(best);
    return task;
  }

 private:
  sched::PolicyContext* context_ = nullptr;
  std::list<graph::Task*> ready_;  // in the order of their pushes
};

}  // namespace

std::unique_ptr<vicinal::sched::Policy> make_nearest(const vicinal::sched::Settings& /*none*/) {
  return std::make_unique<Nearest>();
}
