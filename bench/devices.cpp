// Questions, on the first CUDA device:
//   link      what do copies reach, pinned and not, one way and both, and how long does a small one take?
//   launch    how many empty kernels start per second, against a bare loop on one stream?
//   runs      how fast are Cholesky, LU and a product, in core and with data two and four times the device's memory?
//             Each beside one call of cuSOLVER or cuBLAS on the whole matrix in core, beside the time the link takes at
//             least for the bytes moved, and the product beside cublasXt.
//   overlap   how much of the copies' time, as the link takes it at least, went by while kernels were there?
// The references are measured in the same process. Every result of ours is checked: the column `passed`. Data lie in
// RAM that is pinned; in core they are on the device when the time begins. Tasks run on the device alone. In `limit`,
// 0 is all the device's memory. `devices --help` lists the options.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "devices/launches.hpp"
#include "devices/references.hpp"
#include "devices/rows.hpp"
#include "devices/runs.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "drivers/mapped_memory.hpp"
#include "drivers/queued/queue_measurements.hpp"
#include "help.hpp"
#include "linalg/openblas.hpp"

namespace {

using namespace vicinal;
using devices::Rows;
using devices::say;
using devices::Settings;

constexpr int kNoDevice = 77;

Settings parse(int count, char** arguments) {
  Settings settings;
  const auto text = [](std::string& to) { return [&to](const std::string& from) { to = from; }; };
  const auto count_of = [](std::uint64_t& to) {
    return [&to](const std::string& from) { to = base::parse_count(from, 1, 1 << 20); };
  };
  const std::map<std::string_view, std::function<void(const std::string&)>> settings_by_name{
      {"--cuda-library", text(settings.cuda_library)},
      {"--cublas-library", text(settings.cublas_library)},
      {"--cusolver-library", text(settings.cusolver_library)},
      {"--policies", text(settings.policies)},
      {"--size", count_of(settings.size)},
      {"--tile", count_of(settings.tile)},
      {"--limit", [&](const std::string& from) { settings.limit = base::parse_bytes(from); }},
      {"--seconds", [&](const std::string& from) { settings.seconds = base::parse_real(from); }}};
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (++i == count) throw std::invalid_argument(fmt::format("{} needs a value", name));
    const std::string value = arguments[i];
    const auto setting = settings_by_name.find(name);
    if (setting == settings_by_name.end()) {
      throw std::invalid_argument(fmt::format("unknown argument {}; see --help", name));
    }
    setting->second(value);
  }
  if (settings.tile % 32 != 0) {
    throw std::invalid_argument("--tile: a multiple of 32, so that tiles fill whole pages");
  }
  return settings;
}

std::vector<std::string> policies_of(const Settings& settings) {
  std::vector<std::string> policies{""};
  for (const char c : settings.policies) c == ',' ? policies.emplace_back() : policies.back() += c;
  return policies;
}

// Three matrices take at most 0.8 of the device's memory and 0.6 of RAM. Halved until they do, whole tiles.
std::uint64_t size_that_fits(const Settings& settings, Bytes device) {
  const auto ram =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double room = std::min(0.8 * static_cast<double>(device.value), 0.6 * ram);
  std::uint64_t n = settings.size;
  while (3.0 * static_cast<double>(n) * static_cast<double>(n) * 8 > room) n /= 2;
  n = std::max(n / settings.tile, std::uint64_t{1}) * settings.tile;
  if (n != settings.size) say(fmt::format("n = {} instead of {}", n, settings.size));
  return n;
}

drivers::LinkRates measure_link(drivers::QueuedDevice& device, Rows& rows) {
  constexpr Bytes kUsed = 128_MiB;
  const drivers::QueueMeasurements q =
      drivers::measure_queues(device, device.allocate(kUsed), kUsed, drivers::monotonic_now);
  const auto rates = [&](const std::string& memory, const drivers::LinkRates& link) {
    rows.add({.what = "link_in_" + memory, .value = link.in.value * 1e-9, .unit = "GB/s"});
    rows.add({.what = "link_out_" + memory, .value = link.out.value * 1e-9, .unit = "GB/s"});
    rows.add({.what = "link_both_" + memory, .value = link.both.value * 1e-9, .unit = "GB/s"});
  };
  rates("unpinned", q.plain);
  if (q.pinned) rates("pinned", *q.pinned);
  const auto times = [&](const char* what, const drivers::QueueTimes& of) {
    const auto add = [&](const char* which, Time time) {
      rows.add(
          {.what = fmt::format("{}_{}", what, which), .value = time.seconds() * 1e6, .unit = "us"});
    };
    add("alone", of.alone);
    add("each", of.each);
    add("thread", of.thread);
  };
  times("page_in", q.copy_in);
  times("page_out", q.copy_out);
  times("run", q.run);
  return q.pinned.value_or(q.plain);
}

int print_device(const Settings& settings) {
  const auto found = drivers::cuda_devices(settings.cuda_library);
  if (found.empty()) return kNoDevice;
  fmt::print("{}\n", found[0].name);
  return 0;
}

int run(const Settings& settings) {
  const double begin = devices::seconds_now();
  const auto found = drivers::cuda_devices(settings.cuda_library);
  if (found.empty()) {
    say("devices: no CUDA device here by " + settings.cuda_library);
    return kNoDevice;
  }
  say(fmt::format("device: {}\nmemory: {}", found[0].name, base::format_bytes(found[0].memory)));
  linalg::prepare_openblas();
  Rows rows;
  const auto device = drivers::open_cuda_device(settings.cuda_library, 0, 1);
  const drivers::LinkRates link = measure_link(*device, rows);
  devices::measure_launches(settings, rows);
  say(fmt::format("{:.1f} s: links and launches are measured", devices::seconds_now() - begin));

  // This device pins the memory for all later runtimes, which only count one more user of the pinned range.
  const std::uint64_t n = size_that_fits(settings, found[0].memory);
  const drivers::MappedMemory memory(Bytes{3 * n * n * sizeof(double)}, "the matrices");
  const devices::Matrices matrices{memory.address(), n};
  devices::fill(matrices, 3);
  say(fmt::format("{:.1f} s: the matrices are filled", devices::seconds_now() - begin));
  device->pin(memory.address(), matrices.all_bytes());
  say(fmt::format("{:.1f} s: the matrices are pinned", devices::seconds_now() - begin));
  auto references = devices::measure_in_core(settings, matrices, rows);
  say(fmt::format("{:.1f} s: the references are measured", devices::seconds_now() - begin));
  devices::Runs runs(settings, matrices, link, std::move(references), rows);
  runs.measure(policies_of(settings), begin + settings.seconds);
  // Last: cublasXt crashes where it finds no driver.
  devices::fill(matrices, 3);
  if (const double xt = devices::measure_xt(settings, matrices, rows); xt > 0) {
    runs.compare_products(xt);
  }
  device->unpin(memory.address());
  say(fmt::format("{:.1f} s in all", devices::seconds_now() - begin));
  return rows.all_passed() ? 0 : 1;
}

constexpr const char* kHelp =
    R"(The runtime on a CUDA device, beside NVIDIA's libraries and the link: bench/devices.cpp says how it is measured.

  devices                       N = 32768 in double, or what fits; rows as CSV on the standard output
  devices --size N --tile 2048 --limit BYTES --policies darts,dmdas,lws,eager --seconds BUDGET
          --cuda-library FILE --cublas-library FILE --cusolver-library FILE
  devices --device              the device's name

  --limit BYTES    one more limit of the device's memory, beside a half and a quarter of the data
  --seconds N      after so many no further run begins
Exits with 77 where there is no device, with 1 where a result is wrong.
)";

}  // namespace

int main(int count, char** arguments) {
  if (bench::helped(count, arguments, kHelp)) return 0;
  try {
    if (count == 2 && std::string_view(arguments[1]) == "--device") return print_device({});
    return run(parse(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "devices: %s\n", error.what());
    return 1;
  }
}

#else

#include <cstdio>

int main() {
  std::fputs("devices: built without OpenBLAS\n", stderr);
  return 1;
}

#endif
