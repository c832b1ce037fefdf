// A full fence between two threads of which one runs often and the other rarely.
//
// Two threads each write one variable, then read the other's, and at least one must see the other's
// write. Where each side may be a fence, that costs the frequent side as much as an atomic
// read-modify-write. Here it costs it nothing: light_fence() only keeps the compiler from reordering,
// and heavy_fence() makes the kernel put a fence into every running thread of the process
// (membarrier(2), Linux 4.14). Where the kernel refuses, both are full fences.
#pragma once

#include <atomic>

namespace vicinal::base {

namespace detail {
void full_fence();
extern const bool kHasMembarrier;
}  // namespace detail

inline void light_fence() {
  if (detail::kHasMembarrier) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    detail::full_fence();
  }
}

// Takes some microseconds.
void heavy_fence();

}  // namespace vicinal::base
