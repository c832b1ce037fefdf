// A device with a memory of its own, whose only thread copies and computes in turn; see docs/write-a-driver.md.
#pragma once

#include <vicinal/driver.hpp>

vicinal::drivers::OpenedDevice open_serial_device(const vicinal::drivers::DeviceRequest& request);

inline constexpr vicinal::drivers::DeviceKind kSerial{
    "serial", "a thread that copies and computes in turn", open_serial_device};
