#include "vicinal/error.hpp"

#include "base/legible.hpp"

namespace vicinal {

Error::Error(const std::string& text) : std::runtime_error(base::legible(text)) {}

}  // namespace vicinal
