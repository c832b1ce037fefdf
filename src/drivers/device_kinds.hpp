// Devices whose drivers the library does not bring: an application registers a kind of device under a name, and the
// option `devices` asks for some of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/driver.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// One device that a runtime wants.
struct DeviceRequest {
  std::uint32_t number = 0;  // among those of its kind
  NodeId node;               // of its memory
  WorkerId worker;           // its first one; others have the numbers behind
  // What the option device_memory says, whole pages: the device gives as much, or less.
  std::optional<Bytes> limit = {};
  bool check_reads = false;  // the option of that name, for who calls kernels (KernelSite)
};

struct OpenedDevice {
  // Of the node and the workers of the request alone. Node 0, RAM, is the other end of its copies.
  std::unique_ptr<engine::Driver> driver;
  Bytes memory;                        // limit on the replicas there, at least a page
  std::uint32_t workers = 1;           // at least one
  BytesPerSecond to_device = {};       // of its link; 0: not known
  BytesPerSecond from_device = {};     // likewise
  std::uint32_t copies_in_flight = 2;  // started and not ended, at most, in each direction
  std::string description = {};        // for reports: "Example 2000, slot 3"
};

struct DeviceKind {
  std::string_view name;      // its devices are called name0, name1 ...
  std::string_view sentence;  // what it is, for lists
  OpenedDevice (*open)(const DeviceRequest&) =
      nullptr;  // may throw DeviceError, CapacityError, UsageError
  // The kind of kernels that the workers run. Workers of kind `emulated` run kernels of cores, too, on threads of this
  // process; workers of kind `gpu` run only kernels that Codelet::kernels gives for `gpu`.
  ProcessorKind processor = ProcessorKind::emulated;
};

// For the life of the process, as long as its texts must last, too: they are not copied. Any thread. Throws
// UsageError: there is nothing to open it with, another kind has the name, it is not made of small letters, digits and
// underscores, or a processor that the library drives itself.
void register_device_kind(const DeviceKind& kind);
std::vector<DeviceKind> device_kinds();

// What the option `devices` says, "serial:2,fpga": kinds, and how many of each. Throws UsageError that names the nearest.
std::vector<std::pair<DeviceKind, std::uint32_t>> parse_devices(std::string_view text);

}  // namespace vicinal::drivers
