// Kernels of a typed task for other processors, beside the function for cores or in its place.
//
//   runtime.task("scale", scale, on_cuda([](cudaStream_t stream, std::span<double> x, double by) { ... }),
//                inout(x), 2.0);
//
// Each is called with the arguments of the task, in their order, and before them: a CUDA stream, or a
// const KernelContext& for what else cuda.hpp gives; on registered devices (on_gpu) a const KernelContext&; on emulated
// accelerators nothing. Views of data hold addresses of the device's memory, packed. Such a task returns nothing.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "vicinal/codelet.hpp"
#include "vicinal/typed_arguments.hpp"

struct CUstream_st;

namespace vicinal {

namespace cuda {
CUstream_st* stream(const KernelContext& k);  // see cuda.hpp
}

namespace internals {

// `Device`: the kind, what its functions are called with before the arguments of the task, and what they see of data.
template <typename Device, typename Function>
struct KernelOn {
  [[no_unique_address]] Function function;
};
template <typename T>
inline constexpr bool kIsKernelOn = false;
template <typename Device, typename Function>
inline constexpr bool kIsKernelOn<KernelOn<Device, Function>> = true;

// In place of a function for cores.
struct NoCore {};

// What functions see of data where they see what the core's function does.
struct SeesViews {
  template <typename Given>
  using Argument = typename ArgumentOf<Given>::Type;
  template <typename Given>
  static Argument<Given> view(const KernelContext& k, std::size_t operand) {
    return ArgumentOf<Given>::Views::of(k.operand(operand));
  }
};
struct Emulated : SeesViews {
  static constexpr ProcessorKind kKind = ProcessorKind::emulated;
};
struct Gpu : SeesViews {
  static constexpr ProcessorKind kKind = ProcessorKind::gpu;
  static const KernelContext& first(const KernelContext& k) { return k; }
};
struct Cuda : SeesViews {
  static constexpr ProcessorKind kKind = ProcessorKind::cuda;
  static CUstream_st* first(const KernelContext& k) { return cuda::stream(k); }
};

template <typename Device>
concept HasFirst = requires(const KernelContext& k) {
  Device::first(k);
};
// Its functions may ask for the stream or queue, or for all that there is.
template <typename Device, typename Function, typename... Arguments>
inline constexpr bool kTakesFirst = false;
template <HasFirst Device, typename Function, typename... Arguments>
inline constexpr bool kTakesFirst<Device, Function, Arguments...> =
    std::is_invocable_v<Function&, decltype(Device::first(std::declval<const KernelContext&>())),
                        Arguments...>;
template <typename Device, typename Function, typename... Arguments>
inline constexpr bool kTakesContext =
    HasFirst<Device>&& std::is_invocable_v<Function&, const KernelContext&, Arguments...>;
template <typename Device, typename Function, typename... Arguments>
inline constexpr bool kTakesAlone =
    !HasFirst<Device> && std::is_invocable_v<Function&, Arguments...>;

template <typename Device, typename Function>
constexpr auto kernel_on(Function&& function) {
  return KernelOn<Device, std::decay_t<Function>>{std::forward<Function>(function)};
}

}  // namespace internals

// The kernel of a typed task for CUDA devices.
template <typename Function>
constexpr auto on_cuda(Function&& function) {
  return internals::kernel_on<internals::Cuda>(std::forward<Function>(function));
}
// The kernel for registered devices, and for GPUs of a simulated machine.
template <typename Function>
constexpr auto on_gpu(Function&& function) {
  return internals::kernel_on<internals::Gpu>(std::forward<Function>(function));
}
// The kernel for emulated accelerators, in place of the core's function.
template <typename Function>
constexpr auto on_emulated(Function&& function) {
  return internals::kernel_on<internals::Emulated>(std::forward<Function>(function));
}

}  // namespace vicinal
