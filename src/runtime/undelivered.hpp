// What becomes of an error that no call has thrown when its runtime ends: it must not be that the program goes on
// with data that nobody has written, and ends as if nothing had happened.
#pragma once

#include <exception>
#include <string_view>

namespace vicinal::runtime {

enum class Undelivered : bool { warns, terminates };
// The option undelivered_errors. Throws UsageError.
Undelivered parse_undelivered(std::string_view text);

// Ends the program by std::terminate, with the error. While the process exits already: lets it end with EXIT_FAILURE
// in place of EXIT_SUCCESS.
void end_program(const std::exception_ptr& error) noexcept;

}  // namespace vicinal::runtime
