// The page docs/options.md, generated from the table of options.
#pragma once

#include <string>

namespace vicinal::base {

// The whole page. `vicinal options --markdown` prints it.
std::string options_markdown();

}  // namespace vicinal::base
