// The call of a kernel: views of its operands, its parameters, and what it throws. Shared by the
// drivers whose workers are host threads.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include "graph/task.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::drivers {

struct KernelSite {
  WorkerId worker;
  NodeId node;  // of the operands' replicas
  ProcessorKind kind = ProcessorKind::cpu;
  void* native = nullptr;  // what KernelContext::native gives
  std::function<void()>* at_end =
      nullptr;               // where KernelContext::at_end leaves its function; null: it is called
  bool check_reads = false;  // fails the task if what it only reads is other data afterwards
  std::ptrdiff_t shift = 0;  // from the node's addresses to those that the calling thread may use
};

// Runs the task's kernel for the site's kind on the calling thread. Null, or what the kernel threw. Allocates only for
// more than 16 operands.
std::exception_ptr run_kernel(graph::Task& task, const KernelSite& site);

}  // namespace vicinal::drivers
