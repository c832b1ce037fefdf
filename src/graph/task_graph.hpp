// A graph of tasks as data: what an application would register and submit, without its content. Read
// from a file or generated; played on a simulated machine, run for real where its kernels have code,
// and given to the bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/access.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graph {

struct GraphDatum {
  std::string name;
  Bytes bytes = {};
  // Where its content lies at the start, and at the end if tasks change it. Of a datum without a home
  // the first access writes.
  bool has_home = false;
  NodeKind home = NodeKind::ram;  // or disk
};

struct GraphKernel {
  std::string name;
  // Of one task per kind of processor; 0: not known. What a machine file says of the kernel, by its
  // name and operations, fills in what is 0.
  std::array<double, kProcessorKinds> seconds{};
  double flops = 0;  // of one task
  bool synchronous = false;
};

struct GraphAccess {
  std::uint32_t datum = 0;
  AccessMode mode = AccessMode::R;
};

struct GraphTask {
  std::uint32_t kernel = 0;
  int priority = 0;
  std::uint64_t first_access = 0;
  std::uint32_t access_count = 0;
  std::string name = {};  // the kernel's if empty
};

// Tasks in submission order: they depend on each other through the data, as if run in that order.
struct TaskGraph {
  std::string name;       // "cholesky"
  std::string precision;  // "float", "double" or empty
  // The application says of each datum that it will not use it any more (Runtime::wont_use) when it has
  // submitted the last task that does, as StarPU's Cholesky does. Played so with its rule, see Rules::hint;
  // files do not say it.
  bool gives_up_data = false;
  std::optional<DenseShape> dense;
  std::vector<GraphDatum> data;
  std::vector<GraphKernel> kernels;
  std::vector<GraphTask> tasks;
  std::vector<GraphAccess> accesses;

  std::span<const GraphAccess> accesses_of(const GraphTask& task) const {
    return std::span(accesses).subspan(task.first_access, task.access_count);
  }
  double flops() const {
    double sum = 0;
    for (const GraphTask& task : tasks) sum += kernels[task.kernel].flops;
    return sum;
  }
  std::uint32_t add_datum(GraphDatum datum) {
    data.push_back(std::move(datum));
    return static_cast<std::uint32_t>(data.size() - 1);
  }
  std::uint32_t add_kernel(GraphKernel kernel) {
    kernels.push_back(std::move(kernel));
    return static_cast<std::uint32_t>(kernels.size() - 1);
  }
  void add_task(std::uint32_t kernel, std::span<const GraphAccess> of, int priority = 0,
                std::string task_name = {}) {
    tasks.push_back({kernel, priority, accesses.size(), static_cast<std::uint32_t>(of.size()),
                     std::move(task_name)});
    accesses.insert(accesses.end(), of.begin(), of.end());
  }
};

// What a task can take, what all can take one after the other, and what all data can have: far beyond
// any machine, and such that sums in nanoseconds and bytes fit 64 bits.
inline constexpr double kMostTaskSeconds = 1e9;
inline constexpr double kMostGraphSeconds = 4e9;
inline constexpr double kMostTaskFlops = 1e24;
inline constexpr Bytes kMostGraphBytes{1ULL << 60};
inline constexpr std::size_t kMostAccesses = kMostOperands;  // of one task

// Throws UsageError, which begins with `origin` (a file's name), if there is no task, if a task reads a
// datum without a home that no task before it writes, or if a sum exceeds what is said above. Numbers of
// data, kernels and accesses must be valid.
void require_sound(const TaskGraph& graph, const std::string& origin);

// Bottom levels (graph/bottom_level.hpp) as priorities: 0 for the smallest, one more for each larger one;
// equal levels have equal priorities. A task takes the shortest known time of its kernel; if no kernel's
// is known, its operations stand for it; if these are not known either, all tasks count the same.
void set_bottom_level_priorities(TaskGraph& graph);

}  // namespace vicinal::graph
