#include "linalg/warm_up.hpp"

#include <string>
#include <vector>

#include "linalg/application_data.hpp"

namespace vicinal::linalg {

namespace {

// One after another: the largest working set is that of a task.
void run_once(Runtime& runtime, const Application& application, const TaskKernel& kernel,
              const KernelCall& call, WorkerId worker) {
  Codelet once = kernel.codelet;
  once.name = "first " + kernel.name;
  const std::uint64_t tile = application.grid.tile;
  std::vector<Operand> operands;
  std::vector<Handle> handles;
  for (const TileShape& shape : call.operands) {
    handles.push_back(runtime.register_empty(shape));
    // Its diagonal dominates: a matrix and a factor.
    runtime.submit({.codelet = &generate_codelet(application.grid.precision),
                    .operands = W(handles.back()),
                    .parameters = GeneratedPart{Generator(tile, 1)}});
    operands.push_back(&shape == &call.operands.back() ? RW(handles.back()) : R(handles.back()));
  }
  runtime.submit(
      {.codelet = &once, .operands = operands, .parameters = call.index, .worker = worker});
  runtime.wait();
  for (const Handle handle : handles) runtime.unregister(handle);
}

}  // namespace

void warm_up_devices(Runtime& runtime, const Application& application) {
  for (const WorkerDescription& worker : runtime.machine().workers) {
    if (runs_on_host(worker.kind)) continue;
    for (const TaskKernel& kernel : application.kernels) {
      if (!kernel.codelet.implementation(worker.kind)) continue;
      for (const KernelCall& call : kernel.calls) {
        run_once(runtime, application, kernel, call, worker.id);
      }
    }
  }
}

}  // namespace vicinal::linalg
