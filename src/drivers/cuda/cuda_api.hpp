// CUDA's driver API, as far as it is used, found when a program runs: the same program runs without it. Declarations
// as the API documents them; the functions are those of the ABI that its header of today names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct CUstream_st;

namespace vicinal::drivers::cu {

using Result = int;  // 0: success
using Device = int;
using Context = struct ContextTag*;
using Event = struct EventTag*;
using Stream = CUstream_st*;
using Address = std::uint64_t;
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr unsigned kPortableHost = 1;
inline constexpr unsigned kManagedGlobal = 1;
inline constexpr Result kNotReady = 600;
inline constexpr Result kPeersAlready = 704;
inline constexpr unsigned kHostMemory = 1;
inline constexpr unsigned kDeviceMemory = 2;

struct Copy2D {
  std::size_t from_x = 0;
  std::size_t from_y = 0;
  unsigned from_kind = 0;
  const void* from_host = nullptr;
  Address from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0;
  std::size_t to_y = 0;
  unsigned to_kind = 0;
  void* to_host = nullptr;
  Address to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 0;
};

using Callback = void (*)(Stream, Result, void*);
using HostFunction = void (*)(void*);

struct Api {
  Result (*init)(unsigned);
  Result (*error_name)(Result, const char**);
  Result (*error_string)(Result, const char**);
  Result (*device_count)(int*);
  Result (*device_get)(Device*, int);
  Result (*device_name)(char*, int, Device);
  Result (*device_memory)(std::size_t*, Device);
  Result (*context_retain)(Context*, Device);
  Result (*context_release)(Device);
  Result (*context_use)(Context);
  Result (*memory_info)(std::size_t*, std::size_t*);
  Result (*memory_allocate)(Address*, std::size_t);
  Result (*memory_allocate_managed)(Address*, std::size_t, unsigned);
  Result (*memory_free)(Address);
  Result (*host_register)(void*, std::size_t, unsigned);
  Result (*host_unregister)(void*);
  Result (*stream_create)(Stream*, unsigned);
  Result (*stream_destroy)(Stream);
  Result (*stream_wait)(Stream);
  Result (*stream_callback)(Stream, Callback, void*, unsigned);
  Result (*copy_in)(Address, const void*, std::size_t, Stream);
  Result (*copy_out)(void*, Address, std::size_t, Stream);
  Result (*copy_2d)(const Copy2D*, Stream);
  Result (*copy_within)(Address, Address, std::size_t, Stream);
  Result (*copy_peer)(Address, Context, Address, Context, std::size_t, Stream);
  Result (*can_access_peer)(int*, Device, Device);
  Result (*enable_peer)(Context, unsigned);
  Result (*launch_host)(Stream, HostFunction, void*);
  Result (*event_create)(Event*, unsigned);
  Result (*event_destroy)(Event);
  Result (*event_record)(Event, Stream);
  Result (*event_query)(Event);
  Result (*event_time)(float*, Event, Event);
};

// Of the library of that name, loaded once for the process and initialised. nullptr: it is not there, or has no device
// that it can use; `why` says so. Any thread.
const Api* load(const std::string& library, std::string& why);

// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
std::string describe(const Api& api, Result result);

}  // namespace vicinal::drivers::cu
