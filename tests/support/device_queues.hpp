// Emulated accelerators of a random run: threads, or the queues of OpenCL, or those of the library that stands in for
// CUDA, with one to four devices that reach each other or do not.
#pragma once

#include <string>

#include "base/random.hpp"
#include "support/cuda_library.hpp"
#include "vicinal/options.hpp"

namespace vicinal::testing {

inline void choose_queues(Options& options, base::Random& random) {
  if (!has_cuda()) return;
  options.cuda_library = cuda_library();
  options.device_queues = 1 + static_cast<std::uint32_t>(random.below(3));
  options.device_tasks = 1 + static_cast<std::uint32_t>(random.below(8));
  options.pin_memory = random.below(3) != 0;
  const cuda_stand_in::Settings settings{.devices = 1 + static_cast<int>(random.below(4)),
                                         .peers = random.below(2) == 0};
  set_stand_in(settings);
  switch (random.below(3)) {
    case 0:
      options.accelerator_api = "cuda";
      break;
#if VICINAL_HAVE_OPENCL
    case 1:
      options.accelerator_api = "opencl";
      break;
#endif
    default:
      break;
  }
  if (options.accelerator_api != "threads") options.accelerator_bandwidth = BytesPerSecond{0};
}

}  // namespace vicinal::testing
