// Drivers of one's own: their contract, and the parts that the library's own drivers share. docs/write-a-driver.md has
// an example.
//
//   vicinal::drivers::OpenedDevice open_serial(const vicinal::drivers::DeviceRequest& request) {
//     return {.driver = std::make_unique<SerialDevice>(request), .memory = 64_MiB};
//   }
//   ...
//   vicinal::drivers::register_device_kind({"serial", "copies and computes in turn", open_serial});
//   vicinal::Runtime runtime({.devices = "serial:2"});
//
// What these headers declare may change with each minor version, unlike the rest of the public interface.
#pragma once

#include "drivers/clock.hpp"
#include "drivers/device_driver.hpp"
#include "drivers/device_kinds.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/run_kernel.hpp"
#include "engine/driver.hpp"
#include "engine/strided_copy.hpp"
#include "vicinal/extension.hpp"
