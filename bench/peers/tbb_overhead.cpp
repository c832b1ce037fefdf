// Overhead per task of oneTBB: a flow graph, whose edges are found by a tracker of last writers and
// readers, and a task group. Started by bench/overhead.cpp.
#include <deque>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_group.h>
#include <vector>

#include "overhead/samples.hpp"

namespace {

using overhead::Graph;
using overhead::Shape;
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
constexpr auto kWorkers = tbb::global_control::max_allowed_parallelism;

// Nothing runs before all nodes and edges are there: an edge from a node that has run would never
// deliver. Nodes are freed after the wait.
class FlowGraph : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = false;
  explicit FlowGraph(std::uint32_t workers) : limit_(kWorkers, workers) {}
  std::string name() const { return "oneTBB flow graph"; }

  template <typename Body>
  void submit(const Graph& graph, Body body) {
    overhead::Tracker<Node*> tracker(graph.data());
    overhead::for_each_task(graph, [&](std::uint64_t index, const auto& data) {
      Node& node =
          nodes_.emplace_back(graph_, [body, index](tbb::flow::continue_msg) { body(index); });
      bool first = true;
      tracker.predecessors(data, [&](Node* before) {
        tbb::flow::make_edge(*before, node);
        first = false;
      });
      if (first) first_.push_back(&node);
      tracker.note(data, &node);
    });
  }
  void wait() {
    for (Node* node : first_) node->try_put(tbb::flow::continue_msg());
    graph_.wait_for_all();
    first_.clear();
    nodes_.clear();
  }

 private:
  tbb::global_control limit_;
  tbb::flow::graph graph_;
  std::deque<Node> nodes_;
  std::vector<Node*> first_;
};

class TaskGroup : public overhead::LibraryDefaults {
 public:
  static constexpr bool kInferred = false;
  explicit TaskGroup(std::uint32_t workers) : workers_(workers), limit_(kWorkers, workers) {}
  std::string name() const { return "oneTBB task group"; }
  bool runs(Shape shape) const { return shape == Shape::independent; }
  bool hold() { return workers_ == 1; }  // alone, the thread runs nothing before it waits

  template <typename Body>
  void submit(const Graph& graph, Body body) {
    for (std::uint64_t i = 0; i < graph.tasks; ++i) group_.run([body, i] { body(i); });
  }
  void wait() { group_.wait(); }

 private:
  std::uint32_t workers_;
  tbb::global_control limit_;
  tbb::task_group group_;
};

}  // namespace

int main(int count, char** arguments) {
  return overhead::peer_main<FlowGraph, TaskGroup>(count, arguments);
}
