#include "base/nested_error.hpp"

#include "vicinal/error.hpp"

namespace vicinal::base {

std::exception_ptr cause_of(const std::exception_ptr& error) noexcept {
  if (error == nullptr) return nullptr;
  try {
    std::rethrow_exception(error);
  } catch (const Error& own) {
    const auto* const nests = dynamic_cast<const std::nested_exception*>(&own);
    const bool has_cause = nests != nullptr && nests->nested_ptr() != nullptr;
    return has_cause ? nests->nested_ptr() : error;
  } catch (...) {
    return error;
  }
}

std::string text_behind(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& said) {
    return std::string(": ") + said.what();
  } catch (...) {
    return {};
  }
}

}  // namespace vicinal::base
