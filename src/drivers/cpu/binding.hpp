// Which processors this process may use, and binding threads to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vicinal::drivers {

// The operating system's numbers of the processors in the calling thread's affinity mask, in the order
// in which workers should take them: one per core in the order of the topology (neighbours share
// caches), then the second hardware threads of the cores. Without hwloc: by number. Empty: the system refuses to
// say, as some sandboxes do. To be called before any thread is bound.
std::vector<std::uint32_t> allowed_processors();

// So many may run at once: as many as are allowed, or as there are where that is not known. At least 1.
std::uint32_t usable_processors();
// The share of this process where a launcher has started so many on this host. If the launcher has bound it to some of
// its own processors, these are its share. At least 1.
std::uint32_t usable_processors_among(std::uint32_t processes);

// False if the system refuses, as some containers do: then the thread runs where it is put.
bool bind_this_thread(std::span<const std::uint32_t> processors);
inline bool bind_this_thread(std::uint32_t processor) {
  return bind_this_thread(std::span(&processor, 1));
}

// As many threads take part in a parallel region that this thread begins, if the program has OpenMP. Its own count is
// that of the process's processors, however few of them the thread may run on.
void set_openmp_threads(std::size_t count);

// The calling thread, and those that it or the kernel makes for it from now on, get a processor that others keep busy as
// soon as they wake, not at the end of the others' slice of time: they ask for slices that are much shorter. They get no
// more of the processor's time. Linux 6.12 and later; elsewhere it changes nothing.
void shorten_latency_of_this_thread();

// Shown by debuggers and top; cut to 15 characters.
void name_this_thread(const std::string& name);

}  // namespace vicinal::drivers
