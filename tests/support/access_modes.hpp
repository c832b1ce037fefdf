// Short names of access modes, for tables of tasks.
#pragma once

#include "vicinal/access.hpp"

namespace vicinal::testing {

inline constexpr AccessMode kR = AccessMode::R;
inline constexpr AccessMode kW = AccessMode::W;
inline constexpr AccessMode kRW = AccessMode::RW;

}  // namespace vicinal::testing
