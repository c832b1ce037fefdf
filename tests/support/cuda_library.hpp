// The library that tests of CUDA load: the one that stands in for CUDA, or, on a machine that has a device, the one that
// the variable TEST_CUDA_LIBRARY names, "libcuda.so.1". Tests of what only the former can do, failures above all, load that one anyway, or are left out. The tests that are installed bring no library, and leave CUDA out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "vicinal/options.hpp"

namespace vicinal::testing {

inline bool on_real_cuda() {
  return std::getenv("TEST_CUDA_LIBRARY") != nullptr;
}
inline constexpr const char* kNeedsStandIn =
    "the library that stands in for CUDA alone can do this: unset TEST_CUDA_LIBRARY";

// What the program has in place of CUDA: support/stand_in.cpp, or nothing.
struct StandIn {
  const char* file = "";
  void (*set)(const cuda_stand_in::Settings*) = nullptr;
  std::size_t (*left)() = nullptr;
};
extern const StandIn kStandIn;
inline bool has_cuda() {
  return kStandIn.set != nullptr;
}

inline std::string cuda_library() {
  if (!on_real_cuda()) return kStandIn.file;
  std::string library = std::getenv("TEST_CUDA_LIBRARY");
  // A context takes long to make, and lasts while somebody uses it: until the process ends.
  static const auto* const keeps_context = drivers::open_cuda_device(library, 0, 1).release();
  static_cast<void>(keeps_context);
  return library;
}

// Of cuBLAS and cuSOLVER; empty: the usual names.
inline std::string cuda_math_library() {
  return on_real_cuda() ? std::string() : std::string(kStandIn.file);
}

// Real devices are as they are.
inline void set_stand_in(const cuda_stand_in::Settings& settings) {
  if (has_cuda() && !on_real_cuda()) kStandIn.set(&settings);
}

// So many, or as many as there are.
inline std::uint32_t cuda_devices(std::uint32_t most) {
  if (!on_real_cuda()) return most;
  const auto there = static_cast<std::uint32_t>(drivers::cuda_devices(cuda_library()).size());
  return std::min(most, there);
}

inline void expect_all_given_back() {
  if (!has_cuda() || on_real_cuda()) return;
  EXPECT_EQ(kStandIn.left(), 0U) << "not given back";
}

}  // namespace vicinal::testing
