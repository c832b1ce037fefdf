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
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "vicinal/data.hpp"

namespace vicinal {

class Recursion;
class Placement;
class Place;

// A kind of worker, for which a codelet may have a kernel.
enum class ProcessorKind : std::uint8_t {
  cpu,       // a core, on RAM
  emulated,  // an emulated accelerator: own memory, a host thread that runs the CPU kernels
  gpu,       // an accelerator that is simulated, or of a registered driver, see driver.hpp
  opencl,    // an OpenCL device, see opencl.hpp
  cuda,      // a CUDA device, see cuda.hpp
};
// By kind.
inline constexpr std::array<std::string_view, 5> kProcessorNames{"cpu", "emulated", "gpu", "opencl",
                                                                 "cuda"};
// Their number.
inline constexpr std::size_t kProcessorKinds = kProcessorNames.size();
// The kind's name.
constexpr std::string_view to_string(ProcessorKind kind) {
  return kProcessorNames[static_cast<std::size_t>(kind)];
}

// Whether workers of the kind are threads of this process, which run kernels of cores, too.
constexpr bool runs_on_host(ProcessorKind kind) {
  return kind == ProcessorKind::cpu || kind == ProcessorKind::emulated;
}

// Where one operand lies while the kernel runs.
struct OperandView {
  std::byte* address = nullptr;  // nullptr for empty data
  Layout layout;                 // of this replica: packed everywhere but in the user's own buffer
};

// Tells a running kernel that its task was cancelled, with the run or with its group; read as std::stop_token. A long
// kernel asks now and then, and throws Cancelled (error.hpp): the task counts as cancelled then, and its results as
// lost. Any thread may ask a copy while the kernel runs. A token of no task says no.
class StopToken {
 public:
  // Of no task.
  StopToken() = default;
  // Whether the task was cancelled.
  bool stop_requested() const { return engine_ != nullptr && is_requested(); }
  // Whether the token is a task's.
  bool stop_possible() const { return engine_ != nullptr; }

 private:
  friend class KernelContext;
  StopToken(const void* engine, const void* task) : engine_(engine), task_(task) {}
  bool is_requested() const;
  const void* engine_ = nullptr;
  const void* task_ = nullptr;
};

// What a kernel is given. Operands are numbered as in the submission.
class KernelContext {
 public:
  // For drivers alone: the arguments are what the functions below give, in RAM as long as the kernel runs.
  KernelContext(const OperandView* views, std::size_t count, const std::byte* parameters,
                std::size_t parameter_bytes, WorkerId worker,
                ProcessorKind kind = ProcessorKind::cpu, void* native = nullptr,
                std::function<void()>* at_end = nullptr, const void* task = nullptr)
      : views_(views),
        count_(count),
        parameters_(parameters),
        parameter_bytes_(parameter_bytes),
        worker_(worker),
        kind_(kind),
        native_(native),
        at_end_(at_end),
        task_(task) {}

  // Their number.
  std::size_t operands() const { return count_; }
  // Operand i, unchecked.
  const OperandView& operand(std::size_t i) const { return views_[i]; }
  // Address of operand i; null for empty data.
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
    T value{};
    std::memcpy(&value, parameters(sizeof(T)), sizeof(T));
    return value;
  }
  // The same as bytes, at any address.
  const std::byte* parameters(std::size_t wanted) const {
    if (wanted != parameter_bytes_) refuse_parameter(wanted);
    return parameters_;
  }
  // The worker that runs the task.
  WorkerId worker() const { return worker_; }
  ProcessorKind kind() const { return kind_; }  // of the worker
  // What the worker's device gives besides; for the functions of opencl.hpp.
  void* native() const { return native_; }
  // On a device with queues: `check` is called when all that the kernel has put on its queue is done, by another
  // thread; what it throws fails the task, as if the kernel had thrown. One per task. Elsewhere it is called at once.
  void at_end(std::function<void()> check) const;
  // The task's token. On the thread that has called the kernel.
  StopToken stop_token() const;
  // Whether the task was cancelled. On the thread that has called the kernel.
  bool cancelled() const { return stop_token().stop_requested(); }
  // The data that the kernel is bound to, see Kernel.
  template <typename T>
  T& bound() const {
    return *static_cast<T*>(bound_);
  }

 private:
  friend class Kernel;
  [[noreturn]] void refuse_parameter(std::size_t wanted) const;

  const OperandView* views_;
  std::size_t count_;
  const std::byte* parameters_;
  std::size_t parameter_bytes_;
  WorkerId worker_;
  ProcessorKind kind_;
  void* native_;
  std::function<void()>* at_end_;
  const void* task_;
  void* bound_ = nullptr;
};

// A function, and data of the application that it finds again in KernelContext::bound. Closures and other
// languages bind so: the data are not copied, outlive the tasks, and are used by several workers at once.
//
//   auto scale = [&](vicinal::KernelContext& k) { scale_by(factors, k); };
//   const vicinal::Codelet codelet{.name = "scale", .cpu = vicinal::Kernel::bind(scale)};
class Kernel {
 public:
  // The type of a kernel's function.
  using Function = void (*)(KernelContext&);

  // No kernel.
  constexpr Kernel() = default;
  constexpr Kernel(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // A function.
  constexpr Kernel(Function function)  // NOLINT(google-explicit-constructor): .cpu = axpy
      : function_(function) {}
  // A lambda that captures nothing.
  template <std::convertible_to<Function> F>
  constexpr Kernel(F function)  // NOLINT(google-explicit-constructor)
      : function_(function) {}
  // A function that finds `bound` in KernelContext::bound.
  constexpr Kernel(Function function, void* bound) : function_(function), bound_(bound) {}
  // Calls `callable`, which stays where it is.
  template <std::invocable<KernelContext&> F>
  static constexpr Kernel bind(F& callable) {
    return {[](KernelContext& k) { k.bound<F>()(k); },
            const_cast<void*>(static_cast<const void*>(&callable))};
  }

  // Whether there is a kernel.
  explicit constexpr operator bool() const { return function_ != nullptr; }
  // Whether there is no kernel.
  constexpr bool operator==(std::nullptr_t) const { return function_ == nullptr; }
  // Calls the function with the context. Throws what the function throws.
  void operator()(KernelContext& context) const {
    context.bound_ = bound_;
    function_(context);
  }

 private:
  Function function_ = nullptr;
  void* bound_ = nullptr;
};

// A kernel per kind of processor, none where nothing is said.
//
//   {{ProcessorKind::emulated, axpy_there}, {ProcessorKind::gpu, axpy_elsewhere}}
class Kernels {
 public:
  // A kernel for a kind.
  struct Entry {
    ProcessorKind kind;  // which processors run it
    Kernel kernel;       // what they run
  };
  constexpr Kernels() = default;
  // Of two entries for a kind the last one counts.
  constexpr Kernels(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) (*this)[entry.kind] = entry.kernel;
  }
  // The kernel for a kind; empty if there is none.
  constexpr Kernel& operator[](ProcessorKind kind) {
    return table_[static_cast<std::size_t>(kind)];
  }
  constexpr const Kernel& operator[](ProcessorKind kind) const {
    return table_[static_cast<std::size_t>(kind)];
  }

 private:
  std::array<Kernel, kProcessorKinds> table_{};
};

// Time of one task per kind of processor; 0: not known.
using ExpectedTimes = std::array<Time, kProcessorKinds>;
// Bytes per second that one task at full speed draws on memory, per kind of processor; 0: none.
using MemoryDemands = std::array<BytesPerSecond, kProcessorKinds>;

// A computation; must outlive the tasks that use it.
struct Codelet {
  std::string name;  // in messages, reports and recordings
  // Of host threads: cores, and emulated accelerators unless `kernels` has one for them.
  Kernel cpu = {};
  Kernels kernels = {};  // of other kinds of processors
  double flops = 0;      // of one task, 0 when unknown; a task may give its own
  // Time of one task per kind of processor, for simulation and for policies; 0 when unknown.
  ExpectedTimes expected{};
  // Simulation: what one task draws on each segment that its worker draws on (WorkerDescription::draws_on); 0, or 1 kB/s to
  // 1 PB/s. A segment that lacks bandwidth slows its tasks and copies down.
  MemoryDemands demands{};
  // Simulation: a task whose time nobody has given is estimated and can run on every kind of processor: its operations at
  // the speeds of the machine (MachineDescription::speeds), else its bytes at the rates of kSimulatedMemory.
  bool estimated = false;
  // Simulation: the thread that drives an accelerator launches nothing else while the task runs.
  bool synchronous = false;
  // Submits tasks on parts of the operands, in place of a kernel; see recursion.hpp.
  std::function<void(Recursion&)> recursive = {};
  // Says where a task is to run, under the policy "directed"; see placement.hpp.
  std::function<Place(const Placement&)> place = {};

  // The kernel for this kind of worker; empty if such workers cannot run the codelet.
  const Kernel& implementation(ProcessorKind kind) const {
    const Kernel& own = kernels[kind];
    return own || !runs_on_host(kind) ? own : cpu;
  }
};

// How tasks that reduce into the same data (AccessMode::reduction) come together. Both are of operands shaped like the
// data, need kernels for the processors that such tasks may use, and outlive the registration of the data.
struct Reduction {
  const Codelet* neutral =
      nullptr;  // operand 0, written: the element that changes nothing (zero of a sum)
  const Codelet* combine =
      nullptr;  // operand 1, read, is combined into operand 0, read and written
};

}  // namespace vicinal
