// What a runtime does, in Prometheus' text form (text/plain; version=0.0.4), which other tools read, too.
#pragma once

#include <string>
#include <string_view>

#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::runtime {

// What every such text begins with.
inline constexpr std::string_view kStatusBegins = "# HELP vicinal_";

std::string status_text(const Statistics& statistics, const MachineDescription& machine,
                        std::string_view policy);

}  // namespace vicinal::runtime
