// The library that stands in for CUDA, for programs of tests that bring it. It is loaded, not linked: what a program is linked
// with comes first when NVIDIA's libraries look for functions of one another.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include "support/cuda_library.hpp"

namespace vicinal::testing {

const StandIn kStandIn{VICINAL_CUDA_STAND_IN, vicinal_stand_in_set, vicinal_stand_in_left};

namespace {

void* stand_in_function(const char* name) {
  static void* const library = ::dlopen(VICINAL_CUDA_STAND_IN, RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::abort();
  }
  return found;
}

}  // namespace
}  // namespace vicinal::testing

// Each calls the library's function of the same name.
extern "C" {
void vicinal_stand_in_set(const cuda_stand_in::Settings* settings) {
  static const auto there = reinterpret_cast<decltype(&vicinal_stand_in_set)>(
      vicinal::testing::stand_in_function("vicinal_stand_in_set"));
  there(settings);
}
std::size_t vicinal_stand_in_left() {
  static const auto there = reinterpret_cast<decltype(&vicinal_stand_in_left)>(
      vicinal::testing::stand_in_function("vicinal_stand_in_left"));
  return there();
}
std::size_t vicinal_stand_in_unpinned_copies() {
  static const auto there = reinterpret_cast<decltype(&vicinal_stand_in_unpinned_copies)>(
      vicinal::testing::stand_in_function("vicinal_stand_in_unpinned_copies"));
  return there();
}
bool vicinal_stand_in_is_pinned(std::size_t bytes) {
  static const auto there = reinterpret_cast<decltype(&vicinal_stand_in_is_pinned)>(
      vicinal::testing::stand_in_function("vicinal_stand_in_is_pinned"));
  return there(bytes);
}
void vicinal_stand_in_launch(CUstream_st* stream, void (*work)(void* data, bool lost), void* data) {
  static const auto there = reinterpret_cast<decltype(&vicinal_stand_in_launch)>(
      vicinal::testing::stand_in_function("vicinal_stand_in_launch"));
  there(stream, work, data);
}
}
