// The call of a kernel: views of its operands, its parameters, and what it throws. Shared by the
// drivers whose workers are host threads.
#pragma once

#include <exception>

#include "graph/task.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::drivers {

// Runs the task's kernel for `kind` on the calling thread, with the operands' replicas on `node`.
// Null, or what the kernel threw. Allocates only for more than
// 16 operands. `native`: what KernelContext::native gives.
std::exception_ptr run_kernel(graph::Task& task, WorkerId worker, NodeId node, ProcessorKind kind,
                              void* native = nullptr);

}  // namespace vicinal::drivers
