#include "vicinal/version.hpp"

namespace vicinal {

std::string_view version() {
  return VICINAL_VERSION;
}

}  // namespace vicinal
