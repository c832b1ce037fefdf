// The dense applications through the runtime, on the device alone, from data in pinned RAM: in core, and with less
// memory on the device than the data take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "devices/references.hpp"
#include "devices/rows.hpp"
#include "drivers/queued/queue_measurements.hpp"
#include "graphs/linalg_graphs.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/run.hpp"

namespace devices {

namespace linalg = vicinal::linalg;

inline linalg::Application application_named(const std::string& name, std::uint64_t n,
                                             std::uint64_t tile) {
  const vicinal::graphs::Tiles tiles{n / tile, tile, linalg::Precision::f64};
  linalg::Application application =
      name == "cholesky" ? linalg::cholesky({n, tile, linalg::Precision::f64})
      : name == "lu"     ? linalg::application_of(vicinal::graphs::dense_lu(tiles))
                         : linalg::application_of(vicinal::graphs::dense_gemm3d(tiles));
  for (linalg::TaskKernel& kernel : application.kernels) kernel.codelet.cpu = {};
  return application;
}

// The least seconds in which so many bytes can pass.
inline double link_seconds(const vicinal::drivers::LinkRates& link, vicinal::Bytes in,
                           vicinal::Bytes out) {
  const auto seconds = [](vicinal::Bytes bytes, vicinal::BytesPerSecond rate) {
    return static_cast<double>(bytes.value) / rate.value;
  };
  return std::max({seconds(in, link.in), seconds(out, link.out), seconds(in + out, link.both)});
}

struct Measured {
  double seconds = 0;
  double kernel_seconds = 0;  // with a task on the device
  vicinal::Bytes in;
  vicinal::Bytes out;
  linalg::Residual residual;
};

// `limit` none: all the device's memory, and the data are brought there before the time begins.
inline Measured run_once(const vicinal::Options& options, const linalg::Application& application,
                         const Matrices& matrices) {
  vicinal::Runtime runtime(options);
  runtime.pin(matrices.memory, matrices.all_bytes());
  linalg::ApplicationData data(runtime, application, {.memory = matrices.memory});
  data.fill(runtime);
  runtime.wait();
  const vicinal::WorkerDescription& device = runtime.machine().workers.back();
  const vicinal::Codelet look{
      .name = "look", .kernels = {{vicinal::ProcessorKind::cuda, [](vicinal::KernelContext&) {}}}};
  if (!options.device_memory) {
    for (std::size_t d = 0; d < application.data.size(); ++d) {
      if (!application.data[d].has_content) continue;
      runtime.submit({.codelet = &look, .operands = {R(data[d])}});
    }
    runtime.wait();
  }
  const vicinal::Statistics before = runtime.statistics();
  linalg::submit_tasks(runtime, data, {});
  runtime.wait();
  const vicinal::Statistics after = runtime.statistics();
  // The device's thread counts the time of its last tasks just after their end.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const vicinal::Time busy = runtime.statistics().workers.back().busy - before.workers.back().busy;
  Measured measured{
      .seconds = (after.now - before.now).seconds(),
      .kernel_seconds = busy.seconds(),
      .in = after.nodes[device.node.value].bytes_in - before.nodes[device.node.value].bytes_in,
      .out = after.nodes[device.node.value].bytes_out - before.nodes[device.node.value].bytes_out,
      .residual = linalg::run_check(runtime, data, application.check())};
  data.unregister(runtime);
  runtime.unpin(matrices.memory);
  return measured;
}

struct Case {
  std::string application;
  std::string policy;
  std::optional<vicinal::Bytes> limit;
};

class Runs {
 public:
  Runs(const Settings& settings, const Matrices& matrices, const vicinal::drivers::LinkRates& link,
       std::map<std::string, double> references, Rows& rows)
      : settings_(settings),
        matrices_(matrices),
        link_(link),
        references_(std::move(references)),
        rows_(rows) {}

  // The products that were out of core beside cublasXt's, in GF/s.
  void compare_products(double xt) {
    for (Row one : products_) {
      one.what = "gemm_over_cublasxt";
      one.reference = xt;
      rows_.add(one);
    }
  }

  // The first policies come first, for all cases: what the time does not allow is left out.
  void measure(const std::vector<std::string>& policies, double until) {
    for (const std::string& policy : policies) {
      for (const char* application : {"cholesky", "lu", "gemm"}) {
        for (const auto& limit : limits(application)) {
          if (seconds_now() > until) {
            say(fmt::format("{} {}: skipped: the time is over", application, policy));
            continue;
          }
          measure({application, policy, limit});
        }
      }
    }
  }

 private:
  std::vector<std::optional<vicinal::Bytes>> limits(const std::string& name) const {
    const linalg::Application application = application_named(name, matrices_.n, settings_.tile);
    const vicinal::Bytes data = linalg::ApplicationData::memory_of(application);
    std::vector<std::optional<vicinal::Bytes>> limits{std::nullopt, vicinal::Bytes{data.value / 2},
                                                      vicinal::Bytes{data.value / 4}};
    if (settings_.limit && *settings_.limit < data) limits.emplace_back(*settings_.limit);
    return limits;
  }

  void measure(const Case& c) {
    vicinal::Options options = options_of(settings_);
    options.policy = c.policy;
    options.device_memory = c.limit;
    const linalg::Application application =
        application_named(c.application, matrices_.n, settings_.tile);
    try {
      report(c, run_once(options, application, matrices_));
    } catch (const vicinal::Error& error) {
      say(fmt::format("{} {}: failed: {}", c.application, c.policy, error.what()));
      rows_.add(row(c, c.application + "_failed", {}, false));
    }
  }

  Row row(const Case& c, const std::string& what, const Measured& m, bool passed) const {
    return {.what = what,
            .n = matrices_.n,
            .tile = settings_.tile,
            .limit = c.limit.value_or(vicinal::Bytes{0}),
            .policy = c.policy,
            .seconds = m.seconds,
            .in = m.in,
            .out = m.out,
            .passed = passed};
  }

  void report(const Case& c, const Measured& m) {
    const bool passed = m.residual.passed();
    const auto add = [&](const char* what, double value, const char* unit, double reference) {
      Row one = row(c, c.application + what, m, passed);
      one.value = value;
      one.unit = unit;
      one.reference = reference;
      rows_.add(one);
    };
    const double rate = operations(c.application, matrices_.n) / m.seconds * 1e-9;
    const auto found = references_.find(c.application);
    add("", rate, "GF/s", found != references_.end() ? found->second : 0);
    say(fmt::format("{} {} {}: {:.3f} s, {:.1f} GF/s, residual {}", c.application, c.policy,
                    c.limit ? vicinal::base::format_bytes(*c.limit) : "in core", m.seconds, rate,
                    passed ? "passed" : "NOT passed"));
    if (!c.limit) return;
    const double copies = link_seconds(link_, m.in, m.out);
    add("_over_link", m.seconds, "s", copies);
    if (c.application != "gemm") return;
    products_.push_back(row(c, "", m, passed));
    products_.back().value = rate;
    products_.back().unit = "GF/s";
    add("_kernel_time", m.kernel_seconds, "s", m.seconds);
    // At least so much: in the elapsed time each second had a copy, a kernel, both or none.
    const double both = std::clamp(copies + m.kernel_seconds - m.seconds, 0.0, copies);
    add("_copies_under_kernels", both, "s", copies);
  }

  const Settings& settings_;
  const Matrices& matrices_;
  const vicinal::drivers::LinkRates link_;
  const std::map<std::string, double> references_;
  Rows& rows_;
  std::vector<Row> products_;
};

}  // namespace devices
