// Devices with queues, several at once: what they compute under every policy with little memory, and what becomes of a
// run when they fail at random moments.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/host_device.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::HostDevice;
using testing::HostDeviceFaults;
using testing::kPage;
using testing::TemporaryFolder;

constexpr std::size_t kLength = 512;  // of 64-bit numbers: a page

// c becomes a + b.
void sum(std::uint64_t* c, const std::uint64_t* a, const std::uint64_t* b) {
  for (std::size_t i = 0; i < kLength; ++i) c[i] = a[i] + b[i];
}
void sum_on_device(KernelContext& k) {
  auto* const a = k.data<std::uint64_t>(0);
  auto* const b = k.data<std::uint64_t>(1);
  auto* const c = k.data<std::uint64_t>(2);
  testing::host_queue(k).put([=] { sum(c, a, b); });
}
void sum_on_core(KernelContext& k) {
  sum(k.data<std::uint64_t>(2), k.data<std::uint64_t>(0), k.data<std::uint64_t>(1));
}
void count_on_device(KernelContext& k) {
  auto* const x = k.data<std::uint64_t>(0);
  testing::host_queue(k).put([=] {
    for (std::size_t i = 0; i < kLength; ++i) x[i] = i;
  });
}
const Codelet kCount{.name = "count", .kernels = {{ProcessorKind::opencl, count_on_device}}};
const Codelet kSum{.name = "sum", .kernels = {{ProcessorKind::opencl, sum_on_device}}};
const Codelet kSumAnywhere{
    .name = "sum", .cpu = sum_on_core, .kernels = {{ProcessorKind::opencl, sum_on_device}}};

struct Machine {
  std::uint32_t devices = 1;
  HostDeviceFaults faults = {};
};

// The application's data and what they should hold; each page is a multiple of 0, 1, 2, ...
class Program {
 public:
  Program(const Machine& machine, Options options, std::uint64_t seed)
      : random_(seed), impl_(options, setup_of(machine, options)) {}
  ~Program() { impl_.close(); }

  // False: the run failed; what can be read was right all the same.
  bool run(std::size_t tasks) {
    for (int i = 0; i < 6; ++i) {
      handles_.push_back(impl_.add({kPage.value, 1, kPage.value, 8}, {}, false, "page"));
      impl_.submit({.codelet = &kCount, .operands = {W(handles_.back())}});
      factors_.push_back(1);
    }
    for (std::size_t i = 0; i < tasks; ++i) {
      const std::size_t a = random_.below(handles_.size());
      const std::size_t b = random_.below(handles_.size());
      const std::size_t c = random_.below(handles_.size());
      if (a == b || b == c || a == c) continue;
      const Codelet& codelet = random_.below(3) == 0 ? kSumAnywhere : kSum;
      impl_.submit(
          {.codelet = &codelet, .operands = {R(handles_[a]), R(handles_[b]), W(handles_[c])}});
      factors_[c] = factors_[a] + factors_[b];
    }
    bool well = true;
    try {
      impl_.wait();
    } catch (const Error& error) {
      message = error.what();
      well = false;
    }
    for (std::size_t i = 0; i < handles_.size(); ++i) well &= check(i);
    return well;
  }
  std::string message;

 private:
  static runtime::MachineSetup setup_of(const Machine& machine, const Options& options) {
    runtime::MachineSetup setup(options);
    for (std::uint32_t i = 0; i < machine.devices; ++i) {
      HostDeviceFaults faults = machine.faults;
      faults.seed = faults.seed * 31 + i;
      const std::string name = "host device " + std::to_string(i);
      setup.add_device(std::make_unique<HostDevice>(name, options.device_queues, faults),
                       ProcessorKind::opencl, name, Bytes{1 << 20}, options);
    }
    return setup;
  }
  // What is there is right; false: it cannot be read.
  bool check(std::size_t number) {
    std::unique_ptr<runtime::Acquisition> held;
    try {
      held = impl_.acquire(handles_[number], AccessMode::R);
    } catch (const Error& error) {
      if (message.empty()) message = error.what();
      return false;
    }
    const auto* const data = reinterpret_cast<const std::uint64_t*>(
        memory::view(*handles_[number].impl(), kRam).address);
    for (std::size_t i = 0; i < kLength; ++i) {
      if (data[i] == i * factors_[number]) continue;
      ADD_FAILURE() << "page " << number << " at " << i << ": " << data[i];
      break;
    }
    impl_.release(*held);
    return true;
  }

  base::Random random_;
  runtime::RuntimeImpl impl_;
  std::vector<Handle> handles_;
  std::vector<std::uint64_t> factors_;
};

Options small(const std::string& policy, const TemporaryFolder& folder) {
  Options options = testing::small_options(2);
  options.policy = policy;
  options.memory = kPage * 5;
  options.disk = folder.path();
  options.device_memory = kPage * 3;  // one task
  return options;
}

class QueuedDevices : public ::testing::TestWithParam<std::string> {};

TEST_P(QueuedDevices, ComputeWhatTheyShouldWithRoomForOneTask) {
  const TemporaryFolder folder("queued");
  for (std::uint32_t devices = 1; devices <= 4; ++devices) {
    for (const std::uint32_t in_flight : {1U, 8U}) {
      Options options = small(GetParam(), folder);
      options.device_tasks = in_flight;
      options.device_memory = kPage * (in_flight == 1 ? 3 : 12);
      Program program({.devices = devices}, options, devices);
      EXPECT_TRUE(program.run(120)) << program.message;
    }
  }
}

// 100 trials of each of ten policies: each call fails with the same likelihood, or all do from some moment on.
TEST_P(QueuedDevices, ThatFailEndTheRunWithAnErrorAndPassNothingWrongForRight) {
  const TemporaryFolder folder("queued");
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HostDeviceFaults faults{.seed = seed};
    (seed % 2 == 0 ? faults.one_in : faults.lost_after) = 20 + seed * 2;
    Program program({.devices = static_cast<std::uint32_t>(1 + seed % 4), .faults = faults},
                    small(GetParam(), folder), seed);
    if (program.run(40)) continue;
    ++failed;
    EXPECT_THAT(program.message, ::testing::AnyOf(::testing::HasSubstr("host device"),
                                                  ::testing::HasSubstr("no content")));
  }
  EXPECT_GT(failed, 20U);
}

INSTANTIATE_TEST_SUITE_P(Policies, QueuedDevices, ::testing::ValuesIn(testing::policy_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace vicinal
