// Rates and times with their units, as machine files write them.
#pragma once

#include <string_view>

#include "vicinal/units.hpp"

namespace vicinal::machine {

// Each accepts a number and a unit, "12 GB/s", "12557 GFlop/s", "10us"; case and spaces do not matter.
// Throws UsageError that names the text and the accepted units.
BytesPerSecond parse_bandwidth(std::string_view text);  // kB/s, MB/s, GB/s, TB/s; KiB/s, ...: 1024
double parse_flop_rate(std::string_view text);          // operations per second
double parse_seconds(std::string_view text);            // ns, us, ms, s, min

}  // namespace vicinal::machine
