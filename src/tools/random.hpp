// Random numbers for applications and programs: the same as the library's own, see base/random.hpp.
#pragma once

#include "base/random.hpp"

namespace vicinal::tools {

using base::Random;

}  // namespace vicinal::tools
