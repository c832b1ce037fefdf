#include "base/version.hpp"

namespace vicinal::base {

std::string_view version() {
  return VICINAL_VERSION;
}

}  // namespace vicinal::base
