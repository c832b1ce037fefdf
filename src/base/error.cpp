#include "vicinal/error.hpp"

#include "base/legible.hpp"

namespace vicinal {

Error::Error(const std::string& text) : std::runtime_error(base::legible(text)) {}

Cancelled::Cancelled()
    : Error("it stopped as if it had been cancelled, but nobody has cancelled it") {}

}  // namespace vicinal
