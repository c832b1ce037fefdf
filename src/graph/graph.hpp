// A graph of tasks as data: what an application registers and submits, without content. Tasks stand in
// the order of submission and depend on each other through the data, as if run in that order; a task may
// also name tasks before it that it follows (TaskSpec::after).
//
//   Graph graph;
//   const auto x = graph.add_datum({.bytes = 4_MiB, .home = NodeKind::ram}, "x");
//   const auto scale = graph.add_kernel({.name = "scale", .flops = 1e6});
//   graph.add_task(scale, {{{x, AccessMode::RW}}});
//
// Files and generators make graphs; simulation plays them; bounds, priorities and planning policies read them. Tasks
// and data that live in a runtime are others: task.hpp and handle.hpp. A task takes 24 bytes, an access 8, a datum 16;
// names and predecessors take nothing where there are none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vicinal/access.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graph {

// Lists of different lengths by number, one behind the other in one array: texts, and numbers of tasks.
// Lists are given in rising order of their numbers; those left out are empty.
template <typename List, typename View>
class ListTable {
 public:
  void set(std::size_t number, View list) {
    if (list.empty()) return;
    ends_.resize(number, items_.size());
    items_.insert(items_.end(), list.begin(), list.end());
    ends_.push_back(items_.size());
  }
  View operator[](std::size_t number) const {
    if (number >= ends_.size()) return {};
    const std::size_t first = number == 0 ? 0 : ends_[number - 1];
    return {items_.data() + first, ends_[number] - first};
  }
  bool empty() const { return items_.empty(); }

 private:
  List items_;
  std::vector<std::size_t> ends_;
};

// Of a dense kernel on square tiles: with the application's name it says which formulas bound its loads.
// C (cholesky, lu, gemm2d, gemm3d, syrk) is (tiles * tile) x (tiles * tile) elements.
struct DenseShape {
  std::uint64_t tiles = 0;  // per side
  std::uint64_t tile = 0;   // elements per side
  std::uint64_t k = 0;      // gemm, syrk: elements between A and B; 0: as many as C has per side
  Bytes element;
};

// Who submits the graph.
struct Application {
  std::string name;       // "cholesky"
  std::string precision;  // "float", "double" or empty
  // It says of each datum that it will not use it any more (Runtime::wont_use) when it has submitted the
  // last task that does, as StarPU's Cholesky does. Played so with its rule, see Rules::hint; files do not
  // say it.
  bool hints_wont_use = false;
  std::optional<DenseShape> dense = {};
};

class Graph {
 public:
  using Number =
      std::uint32_t;  // of a task, datum or kernel, from 0, in the order in which they are added

  struct Access {
    Number datum = 0;
    AccessMode mode = AccessMode::R;
  };
  struct Task {
    Number kernel = 0;
    int priority = 0;                // larger: more urgent
    std::uint64_t first_access = 0;  // of accesses()
    std::uint32_t access_count = 0;  // at most kMostOperands
  };
  struct Datum {
    Bytes bytes = {};
    // RAM or disk: where its content lies at the start, and at the end if tasks change it. Of a datum
    // without a home the first access writes.
    std::optional<NodeKind> home = {};
  };
  // A datum in parts (Runtime::partition). The parts are data without a home: consecutive pieces of the whole, which
  // together have its bytes or the first of them. Writes to the parts are seen in the whole, and writes to the whole in
  // the parts. A part may be in parts itself; a datum is in parts once at most.
  struct Partition {
    Number whole = 0;
    Number first = 0;  // the part with the lowest number; the others follow
    Number count = 0;
  };
  // Tasks may reduce into the datum (AccessMode::reduction), which is in no parts and no part: see
  // Runtime::set_reduction. A datum has one reduction at most.
  struct Reduction {
    Number datum = 0;
    Number neutral = 0;  // kernels: the one that sets the neutral element,
    Number combine = 0;  // and the one that adds a private copy to another or to the datum
  };
  // Of a datum that is a tile of a matrix.
  struct Tile {
    Number row = 0;
    Number column = 0;
  };
  struct Kernel {
    std::string name;
    // Of one task per kind of processor; 0: not known. What a machine file says of the kernel, by its
    // name and operations, fills in what is 0.
    std::array<double, kProcessorKinds> seconds{};
    double flops = 0;          // of one task
    bool synchronous = false;  // see Codelet::synchronous
    bool cores_only = false;   // whatever a machine file says of accelerators
  };

  // --- to read; spans are valid until something is added
  std::span<const Task> tasks() const { return tasks_; }
  std::span<const Datum> data() const { return data_; }
  std::span<const Kernel> kernels() const { return kernels_; }
  std::span<const Access> accesses() const { return accesses_; }  // of all tasks, in their order
  std::span<const Access> accesses_of(const Task& task) const {
    return accesses().subspan(task.first_access, task.access_count);
  }
  std::span<const Partition> partitions() const { return partitions_; }
  std::span<const Reduction> reductions() const { return reductions_; }
  // Tasks before it that it follows whatever their data.
  std::span<const Number> predecessors_of(std::size_t task) const { return predecessors_[task]; }
  bool has_predecessors() const { return !predecessors_.empty(); }
  bool has_task_names() const { return !task_names_.empty(); }
  std::string_view task_name(std::size_t task) const { return task_names_[task]; }    // or empty
  std::string_view data_name(std::size_t datum) const { return data_names_[datum]; }  // or empty
  // None: it is no tile. Files do not say it.
  std::optional<Tile> tile(std::size_t datum) const {
    if (datum >= tiles_.size()) return std::nullopt;
    return tiles_[datum];
  }
  const Application& application() const { return application_; }
  double flops() const {
    double sum = 0;
    for (const Task& task : tasks_) sum += kernels_[task.kernel].flops;
    return sum;
  }

  // --- to build; numbers must be those of what was added before
  Number add_datum(const Datum& datum, std::string_view name = {}) {
    data_names_.set(data_.size(), name);
    data_.push_back(datum);
    return static_cast<Number>(data_.size() - 1);
  }
  void add_partition(const Partition& partition) { partitions_.push_back(partition); }
  void add_reduction(const Reduction& reduction) { reductions_.push_back(reduction); }
  Number add_kernel(Kernel kernel) {
    kernels_.push_back(std::move(kernel));
    return static_cast<Number>(kernels_.size() - 1);
  }
  Number add_task(Number kernel, std::span<const Access> accesses, int priority = 0,
                  std::string_view name = {}, std::span<const Number> predecessors = {}) {
    const std::size_t number = tasks_.size();
    task_names_.set(number, name);
    predecessors_.set(number, predecessors);
    tasks_.push_back(
        {kernel, priority, accesses_.size(), static_cast<std::uint32_t>(accesses.size())});
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
    return static_cast<Number>(number);
  }
  // In rising order, of a graph whose tasks have no names.
  void name_task(std::size_t task, std::string_view name) { task_names_.set(task, name); }
  void set_priority(std::size_t task, int priority) { tasks_[task].priority = priority; }
  void set_home(std::size_t datum, std::optional<NodeKind> home) { data_[datum].home = home; }
  void set_tile(std::size_t datum, Tile tile) {
    if (datum >= tiles_.size()) tiles_.resize(datum + 1);
    tiles_[datum] = tile;
  }
  // In place of those that there are: a kernel for each task, in their order, and behind them two for each reduction,
  // neutral and combine.
  void set_kernels(std::vector<Kernel> one_per_use);
  // Of files that name data and kernels before they say what these are: each number in a task is replaced
  // by what the table holds at its place.
  void renumber(std::span<const Number> kernels, std::span<const Number> data);
  Application& application() { return application_; }

 private:
  std::vector<Task> tasks_;
  std::vector<Access> accesses_;
  std::vector<Datum> data_;
  std::vector<Partition> partitions_;
  std::vector<Reduction> reductions_;
  std::vector<Kernel> kernels_;
  ListTable<std::string, std::string_view> task_names_;
  ListTable<std::string, std::string_view> data_names_;
  std::vector<std::optional<Tile>> tiles_;
  ListTable<std::vector<Number>, std::span<const Number>> predecessors_;
  Application application_;
};

static_assert(sizeof(Graph::Task) <= 24 && sizeof(Graph::Access) == 8 &&
              sizeof(Graph::Datum) == 16);

}  // namespace vicinal::graph
