#include "calibration/interference/counters.hpp"

#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace vicinal::interference {

Counters::Counters() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_CACHE_MISSES;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  file_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL));
  if (file_ < 0) why_not_ = fmt::format("perf_event_open: {}", std::strerror(errno));
}

Counters::~Counters() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t Counters::now() const {
  std::uint64_t value = 0;
  if (file_ < 0 || ::read(file_, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
    return 0;
  return value;
}

void Counters::begin() {
  begun_ = now();
}

double Counters::misses() const {
  return static_cast<double>(now() - begun_);
}

}  // namespace vicinal::interference
