#include "base/process_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <vector>

namespace vicinal::base {

namespace {

// Files of the kernel are short, and have no size to be asked for.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() || *end == ' ' || *end == '\n';
  if (error != std::errc{} || !whole) return std::nullopt;
  return value;
}

// The number behind a name at the beginning of a line, such as "MemAvailable:  123 kB".
std::optional<std::uint64_t> number_of(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t digit = line.find_first_of("0123456789", name.size());
    if (digit == std::string::npos) return std::nullopt;
    return number_in(std::string_view(line).substr(digit));
  }
  return std::nullopt;
}

template <typename T>
void lower(std::optional<T>& least, const std::optional<T>& value) {
  if (value && (!least || *value < *least)) least = value;
}

// Where a hierarchy of control groups is mounted, and which of its folders is there: "/" but in a container that sees
// the groups around it.
struct Mount {
  std::string point;
  std::string folder;
};

// A line of mountinfo: id parent device folder point options... - type source options. `controller`: of version 1;
// empty: version 2.
std::optional<Mount> mount_of(const std::string& root, std::string_view controller) {
  std::istringstream lines(text_of(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    std::string type;
    std::string options;
    front >> skipped >> skipped >> skipped >> mount.folder >> mount.point;
    back >> type >> skipped >> options;
    const bool fits =
        controller.empty()
            ? type == "cgroup2"
            : type == "cgroup" && ("," + options + ",").find("," + std::string(controller) + ",") !=
                                      std::string::npos;
    if (fits) return mount;
  }
  return std::nullopt;
}

// The group of this process in a hierarchy. A line of cgroup: number:controllers:path.
std::optional<std::string> group_of(const std::string& root, std::string_view controller) {
  std::istringstream lines(text_of(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool fits = controller.empty()
                          ? controllers.empty()
                          : ("," + controllers + ",").find("," + std::string(controller) + ",") !=
                                std::string::npos;
    if (fits) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Calls `look` with the folder of the process's group, and with those around it as far as they can be seen.
void at_each_group(const std::string& root, std::string_view controller,
                   const std::function<void(const std::string& folder)>& look) {
  const auto mount = mount_of(root, controller);
  const auto group = group_of(root, controller);
  if (!mount || !group) return;
  std::string path = *group;
  if (mount->folder != "/" && path.starts_with(mount->folder)) {
    path = path.substr(mount->folder.size());
  }
  const std::string above = root + mount->point;
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    std::string folder = above;
    look(folder.append(path));
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

std::optional<std::uint64_t> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : number_in(value);
}

std::optional<std::uint32_t> rounded_up(std::optional<std::uint64_t> quota,
                                        std::optional<std::uint64_t> period) {
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  const std::uint64_t processors = (*quota - 1) / *period + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(processors, 1U << 20));
}

// Pages of files go when memory is needed; the rest of what the group has is in use.
std::optional<std::uint64_t> left_in_group(std::optional<std::uint64_t> limit,
                                           std::optional<std::uint64_t> used,
                                           std::optional<std::uint64_t> files) {
  if (!limit) return std::nullopt;
  const std::uint64_t all = used.value_or(0);
  const std::uint64_t in_use = all - std::min(all, files.value_or(0));
  return *limit - std::min(*limit, in_use);
}

}  // namespace

std::optional<std::uint32_t> ProcessLimits::processors() const {
  std::optional<std::uint32_t> least;
  at_each_group(root_, {}, [&](const std::string& folder) {
    const std::string text = text_of(folder + "/cpu.max");  // "max 100000" or "50000 100000"
    const std::size_t space = text.find(' ');
    if (space == std::string::npos) return;
    lower(least, rounded_up(number_in(text), number_in(std::string_view(text).substr(space + 1))));
  });
  at_each_group(root_, "cpu", [&](const std::string& folder) {
    lower(least, rounded_up(number_in(text_of(folder + "/cpu.cfs_quota_us")),  // -1: none
                            number_in(text_of(folder + "/cpu.cfs_period_us"))));
  });
  const auto granted = variable("SLURM_CPUS_PER_TASK");
  if (granted && *granted > 0) {
    lower(least,
          std::optional(static_cast<std::uint32_t>(std::min<std::uint64_t>(*granted, 1U << 20))));
  }
  return least;
}

std::optional<Bytes> ProcessLimits::memory() const {
  std::optional<std::uint64_t> least;
  if (const auto kilobytes = number_of(text_of(root_ + "/proc/meminfo"), "MemAvailable:")) {
    least = *kilobytes << 10;
  }
  at_each_group(root_, {}, [&](const std::string& folder) {
    const auto files = number_of(text_of(folder + "/memory.stat"), "file ");
    const auto used = number_in(text_of(folder + "/memory.current"));
    for (const char* const name : {"/memory.max", "/memory.high"}) {
      lower(least, left_in_group(number_in(text_of(folder + name)), used, files));
    }
  });
  at_each_group(root_, "memory", [&](const std::string& folder) {
    const auto files = number_of(text_of(folder + "/memory.stat"), "total_cache ");
    lower(least, left_in_group(number_in(text_of(folder + "/memory.limit_in_bytes")),
                               number_in(text_of(folder + "/memory.usage_in_bytes")), files));
  });
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const auto per_node = variable("SLURM_MEM_PER_NODE");  // of megabytes; 0: all that it has
  const auto per_processor = variable("SLURM_MEM_PER_CPU");
  if (per_node && *per_node > 0) lower(least, std::optional(*per_node * kMegabyte));
  if (per_processor && *per_processor > 0) {
    const std::uint64_t processors = variable("SLURM_CPUS_ON_NODE").value_or(1);
    lower(least, std::optional(*per_processor * processors * kMegabyte));
  }
  if (!least) return std::nullopt;
  return Bytes{*least};
}

}  // namespace vicinal::base
