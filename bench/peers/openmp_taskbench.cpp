// Task Bench's graphs as OpenMP tasks, ordered by `depend`. Started by bench/taskbench.cpp, or alone
// with the arguments of one run; see there.
//
// One thread of a team submits, all of them run tasks. The run-time library of GCC runs a new task at
// its creation when more than 64 ready ones per thread are pending. It makes a writer wait for every
// pending reader of its datum, also those of earlier steps: with one thread, where nothing runs during
// submission, a task costs more the more steps there are.
#include <array>

#include "peers/openmp_team.hpp"
#include "taskbench/buffers.hpp"
#include "taskbench/samples.hpp"

namespace {

using taskbench::Graph;
using taskbench::Graphs;

class OpenMp {
 public:
  std::string name() const { return "OpenMP tasks"; }
  void prepare(const Graphs& graphs) { buffers_.prepare(graphs); }

  void submit(const Graphs& graphs) {
    graphs.for_each_task([this](const Graph& graph, std::uint32_t step, std::uint32_t point) {
      submit_one(graph, step, point);
    });
  }
  void wait() {
#pragma omp taskwait
  }

 private:
  // The locals are firstprivate in the task. A depend clause takes no member.
  void submit_one(const Graph& graph_of_task, std::uint32_t step, std::uint32_t point) {
    const Graph* const graph = &graph_of_task;
    const taskbench::Buffers* const buffers = &buffers_;
    std::array<std::byte*, taskbench::kMostInputs> in;
    std::size_t n = 0;
    for (const std::uint32_t input : graph->inputs(step, point)) {
      in[n++] = buffers->at(graph->datum(step - 1, input));
    }
    std::byte* const out = buffers->at(graph->datum(step, point));
#pragma omp task depend(iterator(std::size_t k = 0 : n), in : *in[k]) depend(out : *out)
    buffers->run_task(*graph, step, point);
  }

  taskbench::Buffers buffers_;
};

}  // namespace

int main(int count, char** arguments) {
  return taskbench::peer_main(count, arguments, [](const taskbench::Request& request) {
    OpenMp library;
    on_one_of_a_team(request.workers, [&] { taskbench::run_request(library, request); });
  });
}
