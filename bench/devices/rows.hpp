// The rows of bench/devices.cpp, as CSV on the standard output, and what the measurements share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "drivers/clock.hpp"
#include "vicinal/options.hpp"
#include "vicinal/units.hpp"

namespace devices {

struct Settings {
  std::string cuda_library = "libcuda.so.1";
  std::string cublas_library;    // empty: the usual names
  std::string cusolver_library;  // likewise
  std::uint64_t size = 32768;
  std::uint64_t tile = 2048;
  std::optional<vicinal::Bytes> limit;  // of the device, one more
  std::string policies = "darts,dmdas,lws,eager";
  double seconds = 400;
};

struct Row {
  std::string what = {};
  std::uint64_t n = 0;
  std::uint64_t tile = 0;
  vicinal::Bytes limit = {};
  std::string policy = {};
  double seconds = 0;
  double value = 0;
  std::string unit = {};
  vicinal::Bytes in = {};
  vicinal::Bytes out = {};
  double reference = 0;  // in the same unit; 0: none
  bool passed = true;    // the residual of the result, where it is checked
};

class Rows {
 public:
  Rows() {
    std::puts(
        "what,n,tile,limit,policy,seconds,value,unit,bytes_in,bytes_out,reference,ratio,passed");
  }
  void add(const Row& row) {
    const double ratio = row.reference > 0 ? row.value / row.reference : 0;
    const std::string text =
        fmt::format("{},{},{},{},{},{:.6f},{:.6g},{},{},{},{:.6g},{:.4g},{}", row.what, row.n,
                    row.tile, row.limit.value, row.policy, row.seconds, row.value, row.unit,
                    row.in.value, row.out.value, row.reference, ratio, row.passed ? "yes" : "no");
    std::puts(text.c_str());
    std::fflush(stdout);
    all_passed_ &= row.passed;
  }
  bool all_passed() const { return all_passed_; }

 private:
  bool all_passed_ = true;
};

inline void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
}

inline double seconds_now() {
  return vicinal::drivers::monotonic_now().seconds();
}

// One CUDA device, and no memory of run times from before.
inline vicinal::Options options_of(const Settings& settings) {
  vicinal::Options options;
  options.models = "none";
  options.cuda_devices = 1;
  options.cuda_library = settings.cuda_library;
  options.cublas_library = settings.cublas_library;
  options.cusolver_library = settings.cusolver_library;
  return options;
}

}  // namespace devices
