// Kernels of host threads on the streams of the library that stands in for CUDA.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "vicinal/cuda.hpp"

namespace vicinal::testing {

// Not done if the device was lost before.
inline void put_on_stream(const KernelContext& k, std::function<void()> work) {
  vicinal_stand_in_launch(
      cuda::stream(k),
      [](void* data, bool lost) {
        const std::unique_ptr<std::function<void()>> run(static_cast<std::function<void()>*>(data));
        if (!lost) (*run)();
      },
      new std::function<void()>(std::move(work)));
}

}  // namespace vicinal::testing
