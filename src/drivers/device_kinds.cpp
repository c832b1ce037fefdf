#include "drivers/device_kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/registry.hpp"
#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::uint32_t kMostOfAKind = 32;

base::Registry<DeviceKind>& registered() {
  static base::Registry<DeviceKind> all("kind of device");
  return all;
}

DeviceKind kind_named(std::string_view name) {
  const std::vector<DeviceKind> kinds = device_kinds();
  const auto found = std::ranges::find(kinds, name, &DeviceKind::name);
  if (found != kinds.end()) return *found;
  if (kinds.empty()) {
    throw UsageError(fmt::format(
        "devices: there is no \"{}\": no kind of device is registered (register_device_kind)",
        name));
  }
  std::vector<std::string_view> names;
  for (const DeviceKind& kind : kinds) names.push_back(kind.name);
  const std::string_view near = base::nearest(name, names);
  throw UsageError(fmt::format("devices: there is no \"{}\"{}: registered are {}", name,
                               near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
                               fmt::join(names, ", ")));
}

std::uint32_t count_of(std::string_view item, std::size_t colon) {
  if (colon == std::string_view::npos) return 1;
  try {
    return static_cast<std::uint32_t>(base::parse_count(item.substr(colon + 1), 1, kMostOfAKind));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("devices: \"{}\": {}", item, error.what()));
  }
}

}  // namespace

void register_device_kind(const DeviceKind& kind) {
  if (kind.open == nullptr) {
    throw UsageError(fmt::format(
        "kind of device \"{}\": give register_device_kind a function that opens one", kind.name));
  }
  if (kind.processor != ProcessorKind::emulated && kind.processor != ProcessorKind::gpu) {
    throw UsageError(fmt::format(
        "kind of device \"{}\": {} is a kind of processor that the library drives itself; "
        "register it as emulated, which runs the kernels of cores, or as gpu, with kernels of its "
        "own",
        kind.name, to_string(kind.processor)));
  }
  registered().add(kind, {});
}

std::vector<DeviceKind> device_kinds() {
  return registered().entries();
}

std::vector<std::pair<DeviceKind, std::uint32_t>> parse_devices(std::string_view text) {
  std::vector<std::pair<DeviceKind, std::uint32_t>> wanted;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = item.find(':');
    const DeviceKind kind = kind_named(item.substr(0, colon));
    const auto same = [&](const auto& other) { return other.first.name == kind.name; };
    if (std::ranges::any_of(wanted, same)) {
      throw UsageError(
          fmt::format("devices: \"{}\" is named twice; write {}:2 for two", kind.name, kind.name));
    }
    wanted.emplace_back(kind, count_of(item, colon));
  }
  return wanted;
}

}  // namespace vicinal::drivers
