// Tasks that follow each other by files and by named edges, in no order: what the readers of workflows, and of graphs of
// nodes and edges, have in common. A graph is made of them in an order in which each task may be submitted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace vicinal::graphfiles {

// "blastall_00000002" and "blastall_ID0000002" are tasks of the category "blastall".
std::string category_of(const std::string& name);

// Of one time on every kind of processor that simulated machines have; a nanosecond at least, since 0 would mean that it is
// not known.
std::array<double, kProcessorKinds> seconds_everywhere(double seconds);

// What a reader says beside the graph: one sentence each, without the file's name.
using Notes = std::vector<std::string>;

class Workflow {
 public:
  using Number = graph::Graph::Number;
  using Seconds = std::array<double, kProcessorKinds>;

  struct Step {
    std::string id;        // the task's name; in messages
    std::string category;  // tasks of one category with the same times are of one kernel
    Seconds seconds = {};  // by kind of processor; 0: not known
    double flops = 0;
    int priority = 0;
    std::vector<graph::Graph::Access> accesses =
        {};  // of files; one that is named twice is accessed once
  };

  // `origin` names the file, `list` the place in it where tasks stand.
  Workflow(const std::string& origin, std::string list) : origin_(origin), list_(std::move(list)) {}

  void set_name(std::string name) { name_ = std::move(name); }

  // A name may be given once; a datum of Workflow's own is called otherwise.
  Number add_file(std::string name, Bytes bytes);
  Bytes bytes_of(Number file) const { return files_[file].bytes; }
  void set_bytes(Number file, Bytes bytes) { files_[file].bytes = bytes; }
  std::size_t files() const { return files_.size(); }

  Number add_step(Step step);
  Step& step(Number number) { return steps_[number]; }
  std::size_t steps() const { return steps_.size(); }

  // `after` comes after `before`, whatever their files.
  void add_edge(Number before, Number after) { nodes_[before].children.push_back(after); }
  // The same, unless that closes a circle: what somebody has guessed.
  void add_guess(Number before, Number after) { nodes_[before].guesses.push_back(after); }

  // Pairs of tasks of which the first is the only one that writes a file and the second another one that reads it.
  std::vector<std::pair<Number, Number>> edges_by_files() const;

  // Throws UsageError if tasks wait for each other, or if what comes out is not sound. Once.
  graph::Graph make_graph();

 private:
  struct File {
    std::string name;
    Bytes bytes;
  };
  struct Node {
    std::vector<Number> children;
    std::vector<Number> by_files;
    std::vector<Number> guesses;
  };

  void merge_accesses(std::vector<graph::Graph::Access>& accesses) const;
  void sort_edges();
  std::vector<std::size_t> missing_before(bool with_guesses) const;
  std::vector<Number> order_of_file(bool with_guesses) const;
  void drop_files_against_edges();
  [[noreturn]] void refuse_circle() const;
  bool share_a_file(Number before, Number after);
  void keep_edges_without_files(Number before, const std::vector<std::size_t>& position);
  void add_task(Number number);
  Number kernel_of(const Step& step);
  void give_homes();

  std::string origin_;
  std::string list_;
  std::string name_;
  std::vector<File> files_;
  std::unordered_set<std::string> file_names_;
  std::vector<Step> steps_;
  std::vector<Node> nodes_;
  // While the graph is made: how many accesses each task had in the file, and of some the modes.
  std::vector<std::size_t> own_accesses_;
  std::unordered_map<Number, std::unordered_map<Number, AccessMode>> modes_;
  graph::Graph graph_;
  std::map<std::tuple<std::string, Seconds, double>, Number> kernels_;
  std::unordered_map<std::string, std::size_t> category_kernels_;  // how many of each category
  std::unordered_set<std::string> kernel_names_;
};

}  // namespace vicinal::graphfiles
