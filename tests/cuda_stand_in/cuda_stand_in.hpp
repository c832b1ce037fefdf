// What tests ask of the library that stands in for CUDA, besides CUDA's own functions.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace cuda_stand_in {

inline constexpr std::size_t kMemory = std::size_t{1} << 30;  // of each device

struct Settings {
  int devices = 1;
  bool peers = true;  // copies between devices without RAM
  std::uint64_t seed = 1;
  std::uint64_t fail_one_in = 0;  // a call, or what was put on a stream, fails so often; 0: never
  std::uint64_t lost_after = 0;   // so many calls; then every one fails; 0: never
};

}  // namespace cuda_stand_in

extern "C" {
// From now on.
void vicinal_stand_in_set(const cuda_stand_in::Settings* settings);
// Allocations, streams, events and contexts that have not been given back.
std::size_t vicinal_stand_in_left();
// Copies so far from and to RAM that is not pinned: CUDA holds the thread that asks for one.
std::size_t vicinal_stand_in_unpinned_copies();
// A range of so many bytes is, once.
bool vicinal_stand_in_is_pinned(std::size_t bytes);
// A kernel: `work` is called in the stream's order, and may use what lies in the device's memory; not if `lost`: the
// device has failed before.
void vicinal_stand_in_launch(CUstream_st* stream, void (*work)(void* data, bool lost), void* data);
}
