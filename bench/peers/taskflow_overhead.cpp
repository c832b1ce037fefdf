// Overhead per task of Taskflow: a static graph and dependent asynchronous tasks, both with a tracker
// of last writers and readers. Started by bench/overhead.cpp.
//
// Its workers are threads beside the one that submits.
#include <taskflow/taskflow.hpp>
#include <vector>

#include "overhead/gate.hpp"
#include "overhead/samples.hpp"

namespace {

using overhead::Graph;

class StaticGraph : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = false;
  explicit StaticGraph(std::uint32_t workers) : executor_(workers) {}
  std::string name() const { return "Taskflow static graph"; }

  template <typename Body>
  void submit(const Graph& graph, Body body) {
    overhead::Tracker<tf::Task> tracker(graph.data());
    overhead::for_each_task(graph, [&](std::uint64_t index, const auto& data) {
      tf::Task task = taskflow_.emplace([body, index] { body(index); });
      tracker.predecessors(data, [&](tf::Task before) { before.precede(task); });
      tracker.note(data, task);
    });
  }
  void wait() {
    executor_.run(taskflow_).wait();
    taskflow_.clear();
  }

 private:
  tf::Executor executor_;
  tf::Taskflow taskflow_;
};

class DependentAsync : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = false;
  explicit DependentAsync(std::uint32_t workers) : executor_(workers) {}
  std::string name() const { return "Taskflow dependent async"; }
  bool hold() {
    const auto threads = static_cast<std::uint32_t>(executor_.num_workers());
    gate_.close();
    for (std::uint32_t i = 0; i < threads; ++i) executor_.silent_async([this] { gate_.pass(); });
    gate_.wait_for_held(threads);
    return true;
  }
  void let_go() { gate_.open(); }

  template <typename Body>
  void submit(const Graph& graph, Body body) {
    overhead::Tracker<tf::AsyncTask> tracker(graph.data());
    std::vector<tf::AsyncTask> before;
    overhead::for_each_task(graph, [&](std::uint64_t index, const auto& data) {
      before.clear();
      tracker.predecessors(data, [&](const tf::AsyncTask& task) { before.push_back(task); });
      const tf::AsyncTask task = executor_.silent_dependent_async([body, index] { body(index); },
                                                                  before.begin(), before.end());
      tracker.note(data, task);
    });
  }
  void wait() { executor_.wait_for_all(); }

 private:
  overhead::Gate gate_;
  tf::Executor executor_;
};

}  // namespace

int main(int count, char** arguments) {
  return overhead::peer_main<StaticGraph, DependentAsync>(count, arguments);
}
