// Device kernels once before they count: what builds programs or makes handles of libraries does so then.
#pragma once

#include "linalg/application.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// Runs each kernel of the application once on each device that has an implementation of it, on whole tiles of its
// own, and waits. Under names of its own: such times are not to be learned. Throws what tasks throw.
void warm_up_devices(Runtime& runtime, const Application& application);

}  // namespace vicinal::linalg
