#include "kernel_time_option.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// "gemm@gpu=1.4e-3"; a codelet's name may have the signs, too.
analysis::KernelTime parse_time(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t at = text.rfind('@', equals);
  if (equals == std::string::npos || at == std::string::npos || at == 0) {
    throw UsageError(
        fmt::format("--time {}: write CODELET@KIND=SECONDS, such as gemm@gpu=1.4e-3", text));
  }
  const std::string kind = text.substr(at + 1, equals - at - 1);
  for (std::size_t k = 0; k < kProcessorKinds; ++k) {
    if (kind != to_string(static_cast<ProcessorKind>(k))) continue;
    const double seconds = reports::parse_real("--time", text.substr(equals + 1), 0);
    if (seconds <= 0) throw UsageError(fmt::format("--time {}: the time must be above 0", text));
    return {text.substr(0, at), static_cast<ProcessorKind>(k), seconds};
  }
  throw UsageError(fmt::format(
      "--time {}: there is no kind of processor {}; there are cpu, emulated, gpu, opencl "
      "and cuda",
      text, kind));
}

}  // namespace

KernelTimeOption::KernelTimeOption(CLI::App& command) {
  command
      .add_option("--time", texts_,
                  "What a task of a codelet takes on a kind of processor (cpu, emulated, gpu, "
                  "opencl, cuda), such as gemm@gpu=1.4e-3; for each that the run did not use.")
      ->type_name("CODELET@KIND=SECONDS")
      ->expected(1)
      ->take_all();
}

std::vector<analysis::KernelTime> KernelTimeOption::times() const {
  std::vector<analysis::KernelTime> times;
  for (const std::string& text : texts_) times.push_back(parse_time(text));
  return times;
}

}  // namespace vicinal::cli
