#include "base/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vicinal::base {

namespace detail {

// A read-modify-write rather than a fence: the thread sanitizer knows it.
void full_fence() {
  static thread_local std::atomic<unsigned> own{0};
  own.fetch_add(1, std::memory_order_seq_cst);
}

const bool kHasMembarrier =
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

}  // namespace detail

void heavy_fence() {
  detail::full_fence();
  if (detail::kHasMembarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

}  // namespace vicinal::base
