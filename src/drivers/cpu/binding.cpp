#include "drivers/cpu/binding.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if VICINAL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "base/process_limits.hpp"

namespace vicinal::drivers {

namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

// By number. The mask is as wide as the kernel's, which may be wider than cpu_set_t.
std::vector<std::uint32_t> affinity_mask(pid_t process = 0) {
  for (int width = 1024; width <= (1 << 20); width *= 2) {
    const CpuSet set(CPU_ALLOC(width));
    const std::size_t bytes = CPU_ALLOC_SIZE(width);
    if (set == nullptr) break;
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(process, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<std::uint32_t> result;
    for (int i = 0; i < width; ++i) {
      if (CPU_ISSET_S(i, bytes, set.get())) result.push_back(static_cast<std::uint32_t>(i));
    }
    return result;
  }
  return {};
}

#if VICINAL_HAVE_HWLOC

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

// The k-th allowed hardware thread of each core, k = 0, 1, ...; empty if hwloc cannot tell.
std::vector<std::uint32_t> by_topology(const std::vector<std::uint32_t>& allowed) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, FreeTopology> topology(raw);
  if (hwloc_topology_load(raw) != 0) return {};
  struct Thread {
    std::uint32_t processor;
    hwloc_obj_t core;
    std::size_t rank;  // among the allowed ones of its core
  };
  std::vector<Thread> threads;  // in the order of the topology
  std::size_t ranks = 0;
  for (hwloc_obj_t unit = nullptr;
       (unit = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, unit)) != nullptr;) {
    const std::uint32_t processor = unit->os_index;
    if (std::find(allowed.begin(), allowed.end(), processor) == allowed.end()) continue;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_CORE, unit);
    const bool same = !threads.empty() && core != nullptr && threads.back().core == core;
    threads.push_back({processor, core, same ? threads.back().rank + 1 : 0});
    ranks = std::max(ranks, threads.back().rank + 1);
  }
  std::vector<std::uint32_t> result;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Thread& thread : threads) {
      if (thread.rank == rank) result.push_back(thread.processor);
    }
  }
  return result.size() == allowed.size() ? result : std::vector<std::uint32_t>{};
}

#endif

}  // namespace

std::vector<std::uint32_t> allowed_processors() {
  std::vector<std::uint32_t> allowed = affinity_mask();
  if (allowed.empty()) return {};
#if VICINAL_HAVE_HWLOC
  // hwloc asks for the same mask, and up to version 2.9 at least again and again for as long as it is refused.
  std::vector<std::uint32_t> ordered = by_topology(allowed);
  if (!ordered.empty()) return ordered;
#endif
  return allowed;
}

std::uint32_t usable_processors() {
  auto usable = static_cast<std::uint32_t>(affinity_mask().size());
  if (usable == 0) usable = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(usable, base::ProcessLimits().processors().value_or(usable));
}

std::uint32_t usable_processors_among(std::uint32_t processes) {
  const std::uint32_t usable = usable_processors();
  const std::size_t own = affinity_mask().size();
  const bool is_bound = own > 0 && own < affinity_mask(getppid()).size();
  const auto quota = base::ProcessLimits().processors();
  if (!is_bound) return std::max(1U, usable / processes);
  return quota ? std::min(usable, std::max(1U, *quota / processes)) : usable;
}

bool bind_this_thread(std::span<const std::uint32_t> processors) {
  if (processors.empty()) return false;
  const std::uint32_t width = *std::ranges::max_element(processors) + 1;
  const CpuSet set(CPU_ALLOC(width));
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(width);
  CPU_ZERO_S(bytes, set.get());
  for (const std::uint32_t processor : processors) CPU_SET_S(processor, bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

void set_openmp_threads(std::size_t count) {
  using Set = void (*)(int);
  const auto set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(static_cast<int>(count));
}

void shorten_latency_of_this_thread() {
#ifdef SYS_sched_setattr
  // The least slice that the kernel takes, of threads that wake, do little, and sleep. The C library does not declare
  // the call and its structure before glibc 2.41.
  constexpr std::uint64_t kSliceNs = 100'000;
  struct Attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns;
    std::uint64_t deadline_ns;
    std::uint64_t period_ns;
  };
  Attributes attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof(attributes);
  attributes.flags = 0;
  attributes.runtime_ns = kSliceNs;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace vicinal::drivers
