// A codelet is one computation, with an implementation per kind of processor.
//
//   void axpy(vicinal::KernelContext& k) {
//     const auto alpha = k.parameter<double>();
//     const double* x = k.data<double>(0);
//     double* y = k.data<double>(1);
//     for (std::size_t i = 0; i < k.count<double>(1); ++i) y[i] += alpha * x[i];
//   }
//   const vicinal::Codelet axpy_codelet{.name = "axpy", .cpu = axpy};
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "vicinal/data.hpp"

namespace vicinal {

namespace graph {
struct Task;
}

enum class ProcessorKind : std::uint8_t {
  cpu,       // a core, on RAM
  emulated,  // an emulated accelerator: own memory, a host thread that runs the CPU kernels
  gpu,       // an accelerator of a simulated machine
};
inline constexpr std::size_t kProcessorKinds = 3;
constexpr std::string_view to_string(ProcessorKind kind) {
  constexpr std::array<std::string_view, kProcessorKinds> names{"cpu", "emulated", "gpu"};
  return names[static_cast<std::size_t>(kind)];
}

// Where one operand lies while the kernel runs.
struct OperandView {
  std::byte* address = nullptr;  // nullptr for empty data
  Layout layout;                 // of this replica: packed everywhere but in the user's own buffer
};

// What a kernel is given. Operands are numbered as in the submission.
class KernelContext {
 public:
  KernelContext(const OperandView* views, std::size_t count, const std::byte* parameters,
                std::size_t parameter_bytes, WorkerId worker)
      : views_(views),
        count_(count),
        parameters_(parameters),
        parameter_bytes_(parameter_bytes),
        worker_(worker) {}

  std::size_t operands() const { return count_; }
  const OperandView& operand(std::size_t i) const { return views_[i]; }
  template <typename T>
  T* data(std::size_t i) const {
    return reinterpret_cast<T*>(views_[i].address);
  }
  // Number of elements of type T in operand i.
  template <typename T>
  std::size_t count(std::size_t i) const {
    return views_[i].layout.bytes().value / sizeof(T);
  }
  // Distance between the columns of operand i, in elements.
  std::uint64_t leading_dimension(std::size_t i) const {
    return views_[i].layout.leading_dimension();
  }
  // The value given to the task, copied at submission. Throws UsageError if that was of another size: the
  // task fails then, as if the kernel had thrown.
  template <typename T>
  T parameter() const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (sizeof(T) != parameter_bytes_) refuse_parameter(sizeof(T));
    T value{};
    std::memcpy(&value, parameters_, sizeof(T));
    return value;
  }
  WorkerId worker() const { return worker_; }

 private:
  [[noreturn]] void refuse_parameter(std::size_t wanted) const;

  const OperandView* views_;
  std::size_t count_;
  const std::byte* parameters_;
  std::size_t parameter_bytes_;
  WorkerId worker_;
};

using Kernel = void (*)(KernelContext&);

// Must outlive the tasks that use it.
struct Codelet {
  std::string name;
  Kernel cpu = nullptr;
  Kernel emulated = nullptr;  // nullptr: the cpu kernel serves
  double flops = 0;           // of one task, 0 when unknown; a task may give its own
  // Time of one task per kind of processor, for simulation and for policies; 0 when unknown.
  std::array<Time, kProcessorKinds> expected{};
  // Simulation: the thread that drives an accelerator launches nothing else while the task runs.
  bool synchronous = false;

  Kernel implementation(ProcessorKind kind) const {
    if (kind == ProcessorKind::gpu) return nullptr;
    return kind == ProcessorKind::emulated && emulated != nullptr ? emulated : cpu;
  }
};

}  // namespace vicinal
