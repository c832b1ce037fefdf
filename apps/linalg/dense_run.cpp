#include "linalg/dense_run.hpp"

#include <vector>

#include "linalg/dense_check.hpp"
#include "linalg/dense_tasks.hpp"

namespace vicinal::linalg {

void submit_dense(Runtime& runtime, const DenseData& data, const DenseRequest& request) {
  const graphs::DenseGraph& graph = data.graph();
  const auto codelets = dense_codelets(graph);
  std::vector<Operand> operands;
  for (const graph::Graph::Task& task : graph.tasks.tasks()) {
    operands.clear();
    for (const graph::Graph::Access& access : graph.tasks.accesses_of(task)) {
      operands.push_back({data[access.datum], access.mode});
    }
    TaskSpec spec{.codelet = codelets[task.kernel],
                  .operands = operands,
                  .parameters = task_index(graph, task),
                  .flops = graph.tasks.kernels()[task.kernel].flops};
    if (request.priorities) spec.priority = task.priority;
    if (request.names) spec.name = task_name(graph, task);
    runtime.submit(spec);
  }
}

RunOutcome run_dense(Runtime& runtime, const DenseRequest& request, const PhaseObserver& observer) {
  const graphs::DenseGraph& graph = *request.graph;
  DenseData data(runtime, graph, request.seed);
  RunParts parts;
  parts.fill = {"fill", data.fill_tasks(), [&] { data.fill(runtime); }};
  parts.timed = {graph.tasks.application().name == "lu" ? "factorise" : "multiply",
                 graph.tasks.tasks().size(), [&] { submit_dense(runtime, data, request); }};
  if (request.check) {
    parts.check_tasks = check_tasks(graph);
    parts.check = [&] { return check_dense(runtime, data); };
  }
  parts.unregister = [&] { data.unregister(runtime); };
  return run_parts(runtime, parts, observer);
}

}  // namespace vicinal::linalg
