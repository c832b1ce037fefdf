// Task Bench's graphs as dependent asynchronous tasks of Taskflow, with a tracker of last writers and
// readers. Started by bench/taskbench.cpp, or alone with the arguments of one run; see there.
//
// Its workers are threads beside the one that submits.
#include <taskflow/taskflow.hpp>
#include <vector>

#include "taskbench/buffers.hpp"
#include "taskbench/samples.hpp"

namespace {

using taskbench::Graph;
using taskbench::Graphs;

// A task is known by the datum it writes, whose last writer it is for as long as it matters.
class Tracker {
 public:
  void reset(std::uint32_t data) {
    of_.assign(data, {});
    task_ = 0;
  }

  // The tasks that one waits for: each once, those that wrote what it reads and those that read (if
  // there are none, the one that wrote) what it overwrites.
  std::vector<tf::AsyncTask>& predecessors(const Graph& graph, std::uint32_t step,
                                           std::uint32_t point) {
    before_.clear();
    ++task_;
    const std::uint32_t output = graph.datum(step, point);
    for (const std::uint32_t input : graph.inputs(step, point)) {
      const std::uint32_t datum = graph.datum(step - 1, input);
      of_[datum].readers.push_back(output);
      add(datum);
    }
    for (const std::uint32_t reader : of_[output].readers) add(reader);
    if (of_[output].readers.empty() && !of_[output].writer.empty()) add(output);
    of_[output].readers.clear();
    return before_;
  }
  void note(const Graph& graph, std::uint32_t step, std::uint32_t point, tf::AsyncTask task) {
    of_[graph.datum(step, point)].writer = std::move(task);
  }

 private:
  struct Datum {
    tf::AsyncTask writer;
    std::vector<std::uint32_t> readers;  // since: what they write
    std::uint64_t added_for = 0;         // number of a task
  };
  void add(std::uint32_t datum) {
    if (of_[datum].added_for == task_) return;
    of_[datum].added_for = task_;
    before_.push_back(of_[datum].writer);
  }

  std::vector<Datum> of_;
  std::uint64_t task_ = 0;
  std::vector<tf::AsyncTask> before_;
};

class DependentAsync {
 public:
  explicit DependentAsync(std::uint32_t workers) : executor_(workers) {}
  std::string name() const { return "Taskflow dependent async"; }
  void prepare(const Graphs& graphs) { buffers_.prepare(graphs); }

  void submit(const Graphs& graphs) {
    tracker_.reset(graphs.data());
    graphs.for_each_task([this](const Graph& graph, std::uint32_t step, std::uint32_t point) {
      std::vector<tf::AsyncTask>& before = tracker_.predecessors(graph, step, point);
      tracker_.note(graph, step, point,
                    executor_.silent_dependent_async(
                        [this, of = &graph, step, point] { buffers_.run_task(*of, step, point); },
                        before.begin(), before.end()));
    });
  }
  void wait() { executor_.wait_for_all(); }

 private:
  taskbench::Buffers buffers_;
  Tracker tracker_;
  tf::Executor executor_;
};

}  // namespace

int main(int count, char** arguments) {
  return taskbench::peer_main(count, arguments, [](const taskbench::Request& request) {
    DependentAsync library(request.workers);
    taskbench::run_request(library, request);
  });
}
