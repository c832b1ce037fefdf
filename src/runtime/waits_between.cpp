#include "runtime/waits_between.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "vicinal/error.hpp"

namespace vicinal::runtime {

namespace {

// Of the process, for it is about several runtimes. Only waits inside tasks come here.
struct Waits {
  struct Wait {
    const void* waiting;
    const void* for_engine;
  };
  std::mutex mutex;
  std::vector<Wait> waits;  // no circle is among them

  bool leads(const void* from, const void* to) const {
    if (from == to) return true;
    return std::ranges::any_of(waits, [&](const Wait& wait) {
      return wait.waiting == from && leads(wait.for_engine, to);
    });
  }
};

Waits& all_waits() {
  static Waits waits;
  return waits;
}

}  // namespace

WaitsBetween::WaitsBetween(const engine::Engine& engine, const char* what) : for_(&engine) {
  Waits& all = all_waits();
  const std::lock_guard lock(all.mutex);
  for (const engine::InTask* task = engine::this_threads_task(); task != nullptr;
       task = task->outer) {
    if (all.leads(for_, task->engine)) {
      throw UsageError(
          std::string(what) +
          " inside a task of another runtime, while a task of this one waits for that: "
          "neither would end; let one of the two submit what is to follow instead");
    }
    waiting_.push_back(task->engine);
  }
  all.waits.reserve(all.waits.size() + waiting_.size());  // all of them or none
  for (const void* waiting : waiting_) all.waits.push_back({waiting, for_});
}

WaitsBetween::~WaitsBetween() {
  Waits& all = all_waits();
  const std::lock_guard lock(all.mutex);
  for (const void* waiting : waiting_) {
    const auto own = std::ranges::find_if(all.waits, [&](const Waits::Wait& wait) {
      return wait.waiting == waiting && wait.for_engine == for_;
    });
    all.waits.erase(own);
  }
}

}  // namespace vicinal::runtime
