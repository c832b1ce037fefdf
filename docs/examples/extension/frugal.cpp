// A policy in one file, and the commands that compile and try the policy:
//   g++ -std=c++20 -O2 -fPIC -shared frugal.cpp $(pkg-config --cflags vicinal) -o frugal.so
//   vicinal simulate cholesky --tiles 30 --memory 500MiB --policy frugal,darts --load ./frugal.so

#include <algorithm>
#include <list>
#include <memory>
#include <vicinal/policy.hpp>

namespace {

using namespace vicinal;

// Of the ready tasks that a worker can run, the one whose data lack least there; among equals the one that came last.
class Frugal final : public sched::Policy {
 public:
  std::string_view name() const override { return "frugal"; }
  void start(sched::PolicyContext& context) override { context_ = &context; }
  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_front(&task); }

  graph::Task* pop(WorkerId worker) override {
    const NodeId node = context_->machine().workers[worker.value].node;
    auto best = ready_.end();
    for (auto task = ready_.begin(); task != ready_.end(); ++task) {
      if (!context_->can_run(**task, worker)) continue;
      if (best == ready_.end() ||
          context_->missing_bytes(**task, node) < context_->missing_bytes(**best, node)) {
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
  std::list<graph::Task*> ready_;
};

std::unique_ptr<sched::Policy> make_frugal(const sched::Settings& /*none*/) {
  return std::make_unique<Frugal>();
}

}  // namespace

extern "C" void vicinal_register() {
  sched::register_policy({"frugal", "fewest missing bytes, newest first", make_frugal});
}
