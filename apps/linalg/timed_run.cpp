#include "linalg/timed_run.hpp"

#include <exception>

namespace vicinal::linalg {

namespace {

// When a submission throws, earlier tasks may still be running, on codelets and vectors of the caller.
class Drain {
 public:
  explicit Drain(Runtime& runtime) : runtime_(runtime) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    if (std::uncaught_exceptions() == 0) return;
    try {
      runtime_.cancel();
      runtime_.wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first error is already on its way
    }
  }

 private:
  Runtime& runtime_;
};

}  // namespace

RunOutcome run_parts(Runtime& runtime, const RunParts& parts, const PhaseObserver& observer) {
  const auto enter = [&](std::string_view phase, std::uint64_t tasks) {
    if (observer) observer(phase, tasks);
  };
  const auto run = [&](const RunPart& part) {
    part.submit();
    runtime.wait();
  };
  const Drain drain(runtime);
  RunOutcome outcome;

  enter(parts.fill.name, parts.fill.tasks);
  run(parts.fill);

  enter(parts.timed.name, parts.timed.tasks);
  outcome.before = runtime.statistics();
  run(parts.timed);
  outcome.after = runtime.statistics();

  if (parts.check) {
    enter("check", parts.check_tasks);
    outcome.residual = parts.check();
  }
  enter("write", 0);
  outcome.last = runtime.statistics();
  parts.unregister();
  return outcome;
}

}  // namespace vicinal::linalg
