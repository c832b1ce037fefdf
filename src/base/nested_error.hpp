// Errors that keep what they are thrown for: std::rethrow_if_nested throws that, with its type and what it nests.
#pragma once

#include <exception>
#include <string>

#include "base/sure_memory.hpp"

namespace vicinal::base {

// `text` makes what the error says; std::bad_alloc if there is no memory for it. A null `cause` is not nested.
template <typename Error, typename Text>
std::exception_ptr make_nested_error(const std::exception_ptr& cause, const Text& text) noexcept {
  if (cause == nullptr) return make_error<Error>(text);
  try {
    try {
      std::rethrow_exception(cause);
    } catch (...) {
      std::throw_with_nested(Error(text()));
    }
  } catch (...) {
    return std::current_exception();
  }
}

// The error nested in an error of the library; the error itself if it is foreign or nests nothing.
std::exception_ptr cause_of(const std::exception_ptr& error) noexcept;
// ": " and what the error says; empty for null and for what is no std::exception.
std::string text_behind(const std::exception_ptr& error);

}  // namespace vicinal::base
