// The library's own tests over the policies, over the device, or over all that a shared object registers:
// `conformance policies`, `conformance device`, `conformance loaded FILE`.

#include <cstdio>
#include <string_view>
#include <vicinal/conformance.hpp>
#include <vicinal/extension.hpp>

#include "in_order.hpp"
#include "nearest.hpp"
#include "serial_device.hpp"

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "policies") {
    vicinal::sched::register_policy(kNearest);
    vicinal::sched::register_policy(kInOrder);
  } else if (what == "device") {
    vicinal::drivers::register_device_kind(kSerial);
  } else if (what == "loaded" && argc > 2) {
    vicinal::load_extension(argv[2]);
    --argc, ++argv;
  } else {
    std::fputs("usage: conformance policies|device|loaded FILE [arguments of GoogleTest]\n",
               stderr);
    return 2;
  }
  argv[1] = argv[0];
  return vicinal::run_conformance(argc - 1, argv + 1);
}
