// The line on a terminal that is written over, for a command line: see base/terminal_line.hpp.
#pragma once

#include "base/terminal_line.hpp"

namespace vicinal::reports {
using base::can_show_line;
using base::clear_line;
using base::progress_bar;
using base::show_line;
}  // namespace vicinal::reports
