// What conformance tests run over: the policies and the kinds of devices that somebody has registered; if nobody has, all
// policies of the library, with emulated accelerators. So the same tests are for the library itself and, installed,
// for who extends it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "drivers/device_kinds.hpp"
#include "sched/policy.hpp"
#include "vicinal/options.hpp"

namespace vicinal::testing {

inline bool devices_are_registered() {
  return !drivers::device_kinds().empty();
}

// For a device alone three policies of the library are enough: the first lets tasks move, the second chooses victims,
// the third asks for prefetches.
inline std::vector<sched::PolicyEntry> tested_policies() {
  std::vector<sched::PolicyEntry> registered = sched::registered_policies();
  if (!registered.empty()) return registered;
  std::vector<sched::PolicyEntry> all = sched::policies();
  if (devices_are_registered()) {
    std::erase_if(all, [](const sched::PolicyEntry& entry) {
      return entry.name != "lws" && entry.name != "darts" && entry.name != "dmdas";
    });
  }
  return all;
}

// Accelerators with so much memory each: of the kinds that are registered in turn, or emulated ones.
inline void use_accelerators(Options& options, std::uint32_t count, Bytes memory) {
  const std::vector<drivers::DeviceKind> kinds = drivers::device_kinds();
  if (kinds.empty()) {
    options.accelerators = count;
    options.accelerator_memory = memory;
    return;
  }
  options.devices.clear();
  options.device_memory = memory;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const std::size_t of_kind = (count + kinds.size() - 1 - k) / kinds.size();
    if (of_kind == 0) continue;
    if (!options.devices.empty()) options.devices += ",";
    options.devices += std::string(kinds[k].name) + ":" + std::to_string(of_kind);
  }
}
inline void use_accelerators(Options& options, std::uint32_t count) {
  use_accelerators(options, count, options.accelerator_memory);
}

}  // namespace vicinal::testing
