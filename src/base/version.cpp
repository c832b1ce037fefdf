#include "vicinal/version.hpp"

#include "vicinal/extension.hpp"

const char vicinal_extension_0_2 = 0;

namespace vicinal {

static_assert(std::string_view(VICINAL_VERSION).starts_with("0.2."),
              "vicinal/extension.hpp: vicinal_extension_0_2 takes the name of the new version");

std::string_view version() {
  return VICINAL_VERSION;
}

}  // namespace vicinal
