// The shared object that `vicinal simulate --load` and `vicinal run --load` open.

#include <vicinal/extension.hpp>

#include "in_order.hpp"
#include "nearest.hpp"
#include "serial_device.hpp"

extern "C" void vicinal_register() {
  vicinal::sched::register_policy(kNearest);
  vicinal::sched::register_policy(kInOrder);
  vicinal::drivers::register_device_kind(kSerial);
}
