#include "linalg/run.hpp"

#include <algorithm>
#include <vector>

#include "linalg/drain.hpp"
#include "linalg/gather.hpp"
#include "linalg/warm_up.hpp"
#include "vicinal/trace.hpp"

namespace vicinal::linalg {

namespace {

// With accelerators what is large stays whole: it is for them. Cores alone have a use for nothing that is.
Recursive division(const TaskKernel& kernel, const MachineDescription& machine) {
  const auto is_core = [](const WorkerDescription& worker) { return worker.node == kRam; };
  if (!kernel.codelet.recursive || std::ranges::none_of(machine.workers, is_core)) {
    return Recursive::never;
  }
  const bool cores_alone = std::ranges::all_of(machine.workers, is_core);
  if (kernel.division != Recursive::automatic) return kernel.division;
  return cores_alone ? Recursive::always : Recursive::never;
}

}  // namespace

void submit_tasks(Runtime& runtime, const ApplicationData& data, const SubmitOptions& options) {
  const Application& application = data.application();
  std::vector<Recursive> divisions;
  for (const TaskKernel& kernel : application.kernels) {
    divisions.push_back(division(kernel, runtime.machine()));
  }
  std::vector<Operand> operands;
  application.visit_tasks([&](const Task& task) {
    operands.clear();
    for (const graph::Graph::Access& access : task.accesses) {
      operands.push_back({data[access.datum], access.mode});
    }
    TaskSpec spec{.codelet = &application.kernels[task.kernel].codelet,
                  .operands = operands,
                  .parameters = application.index(task),
                  .recursive = divisions[task.kernel]};
    if (options.priorities) spec.priority = task.priority;
    if (options.names) spec.name = application.task_name(task);
    runtime.submit(spec);
  });
}

RunOutcome run(Runtime& runtime, const RunRequest& request, const PhaseObserver& observer) {
  const Application& application = *request.application;
  const auto enter = [&](std::string_view phase, std::uint64_t tasks) {
    if (observer) observer(phase, tasks);
  };
  ApplicationData data(runtime, application, request.places);
  const Drain drain(runtime);
  RunOutcome outcome;

  enter("fill", data.fill_tasks());
  {
    const TraceRegion prepare = runtime.region("prepare");
    warm_up_devices(runtime, application);
    data.fill(runtime);
    runtime.wait();
    meet(runtime);
  }

  enter(application.action, application.tasks);
  {
    outcome.before = runtime.statistics();
    const TraceRegion proper = runtime.region("run");
    submit_tasks(runtime, data, request.submit);
    runtime.wait();
    outcome.after = runtime.statistics();
  }

  if (request.check) {
    const TraceRegion checked = runtime.region("check");
    const Check check = application.check();
    enter("check", check.products.size() + check.undone.size() + 3 * check.reflections.size());
    outcome.residual = run_check(runtime, data, check);
  }
  enter("write", 0);
  outcome.last = runtime.statistics();
  data.unregister(runtime);
  return outcome;
}

void generate(Runtime& runtime, const Application& application, const DataPlaces& places,
              const PhaseObserver& observer) {
  ApplicationData data(runtime, application, places);
  if (observer) observer("fill", data.fill_tasks());
  data.fill(runtime);
  runtime.wait();
  if (observer) observer("write", 0);
  data.unregister(runtime);
}

}  // namespace vicinal::linalg
