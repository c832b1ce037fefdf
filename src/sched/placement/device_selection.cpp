#include "sched/placement/device_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vicinal::sched::placement {

namespace {

Device* find(std::span<Device> devices, const std::optional<NodeId>& node) {
  if (!node) return nullptr;
  const auto found = std::ranges::find(devices, *node, &Device::node);
  return found == devices.end() ? nullptr : &*found;
}

// Written ones come before the others.
void let_flows_speak(std::span<const Flow> flows, std::span<Device> devices) {
  std::uint32_t number = 0;
  for (const bool written : {true, false}) {
    for (const Flow& flow : flows) {
      if (flow.written != written) continue;
      Device* device = find(devices, flow.preferred);
      if (device == nullptr && written) device = find(devices, flow.owner);
      if (device != nullptr && !device->operand) device->operand = number;
      ++number;
    }
  }
}

// Who wrote what the task reads is looked at first.
void weigh(std::span<const Flow> flows, std::span<Device> devices, double skew) {
  for (const Flow& flow : flows) {
    Device* const near = flow.written ? nullptr : find(devices, flow.owner);
    if (near == nullptr) continue;
    near->weighed_ns =
        static_cast<std::int64_t>(std::floor(static_cast<double>(near->end_ns) / (1 + skew / 100)));
    const auto at = devices.begin() + (near - devices.data());
    std::rotate(devices.begin(), at, at + 1);
    return;
  }
}

}  // namespace

Selection select_device(std::span<const Flow> flows, std::span<Device> devices, double skew) {
  for (Device& device : devices) {
    device.weighed_ns = device.end_ns = device.load_ns + device.estimate_ns;
    device.operand.reset();
  }
  let_flows_speak(flows, devices);
  const auto number_of = [&](auto device) {
    return static_cast<std::size_t>(device - devices.begin());
  };
  const auto taken_there = std::ranges::min_element(devices, {}, [](const Device& device) {
    return device.operand.value_or(std::numeric_limits<std::uint32_t>::max());
  });
  if (taken_there->operand) return {number_of(taken_there), trace::Reason::belongs_there};
  weigh(flows, devices, skew);
  return {number_of(std::ranges::min_element(devices, {}, &Device::weighed_ns)),
          trace::Reason::least_weighed_end};
}

}  // namespace vicinal::sched::placement
