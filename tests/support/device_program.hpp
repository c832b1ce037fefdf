// Random sums of pages on devices with queues and on cores, whose results are known: what every device that runs them
// is tested by, whatever its API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "memory/replica.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

inline constexpr std::size_t kPageNumbers = 512;  // of 64 bits

// Puts work that computes on the device's memory where the kernel's task puts its work.
using PutOnQueue = void (*)(const KernelContext& k, std::function<void()> work);

template <PutOnQueue put>
struct PageCodelets {
  static void sum(std::uint64_t* c, const std::uint64_t* a, const std::uint64_t* b) {
    for (std::size_t i = 0; i < kPageNumbers; ++i) c[i] = a[i] + b[i];
  }
  static void sum_on_device(KernelContext& k) {
    put(k, [a = k.data<std::uint64_t>(0), b = k.data<std::uint64_t>(1),
            c = k.data<std::uint64_t>(2)] { sum(c, a, b); });
  }
  static void sum_on_core(KernelContext& k) {
    sum(k.data<std::uint64_t>(2), k.data<std::uint64_t>(0), k.data<std::uint64_t>(1));
  }
  static void count_on_device(KernelContext& k) {
    put(k, [x = k.data<std::uint64_t>(0)] {
      for (std::size_t i = 0; i < kPageNumbers; ++i) x[i] = i;
    });
  }
  explicit PageCodelets(ProcessorKind kind)
      : count{.name = "count", .kernels = {{kind, count_on_device}}},
        sum_there{.name = "sum", .kernels = {{kind, sum_on_device}}},
        sum_anywhere{.name = "sum", .cpu = sum_on_core, .kernels = {{kind, sum_on_device}}} {}
  const Codelet count;
  const Codelet sum_there;
  const Codelet sum_anywhere;
};

// Number i of a page is i times what the page stands for.
class DeviceProgram {
 public:
  template <typename Codelets>
  DeviceProgram(const Codelets& codelets, const Options& options, runtime::MachineSetup setup,
                std::uint64_t seed)
      : count_(codelets.count),
        sum_there_(codelets.sum_there),
        sum_anywhere_(codelets.sum_anywhere),
        random_(seed),
        impl_(options, std::move(setup)) {}
  ~DeviceProgram() { impl_.close(); }
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  // False: the run failed, see `message`; what can be read then is right all the same, or the test fails.
  bool run(std::size_t tasks) {
    for (int i = 0; i < 6; ++i) {
      pages_.push_back(impl_.add({kPage.value, 1, kPage.value, 8}, {}, false, "page"));
      impl_.submit({.codelet = &count_, .operands = {W(pages_.back())}});
      factors_.push_back(1);
    }
    for (std::size_t i = 0; i < tasks; ++i) submit_sum();
    bool well = true;
    try {
      impl_.wait();
    } catch (const Error& error) {
      message = error.what();
      well = false;
    }
    for (std::size_t i = 0; i < pages_.size(); ++i) well &= can_read(i);
    return well;
  }
  std::string message;

 private:
  void submit_sum() {
    const std::size_t a = random_.below(pages_.size());
    const std::size_t b = random_.below(pages_.size());
    const std::size_t c = random_.below(pages_.size());
    if (a == b || b == c || a == c) return;
    const Codelet& codelet = random_.below(3) == 0 ? sum_anywhere_ : sum_there_;
    impl_.submit({.codelet = &codelet, .operands = {R(pages_[a]), R(pages_[b]), W(pages_[c])}});
    factors_[c] = factors_[a] + factors_[b];
  }
  bool can_read(std::size_t page) {
    std::unique_ptr<runtime::Acquisition> held;
    try {
      held = impl_.acquire(pages_[page], AccessMode::R);
    } catch (const Error& error) {
      if (message.empty()) message = error.what();
      return false;
    }
    const auto* const numbers =
        reinterpret_cast<const std::uint64_t*>(memory::view(*pages_[page].impl(), kRam).address);
    for (std::size_t i = 0; i < kPageNumbers; ++i) {
      if (numbers[i] == i * factors_[page]) continue;
      ADD_FAILURE() << "page " << page << " at " << i << ": " << numbers[i] << " instead of "
                    << i * factors_[page] << "; the run: " << (message.empty() ? "well" : message);
      break;
    }
    impl_.release(*held);
    return true;
  }

  const Codelet& count_;
  const Codelet& sum_there_;
  const Codelet& sum_anywhere_;
  base::Random random_;
  runtime::RuntimeImpl impl_;
  std::vector<Handle> pages_;
  std::vector<std::uint64_t> factors_;
};

}  // namespace vicinal::testing
