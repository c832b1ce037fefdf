// Does the function of a typed task fit its arguments? Each check says what is wrong and what to do; the compiler names the
// argument by `number`, from 1 on.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "vicinal/typed_arguments.hpp"
#include "vicinal/typed_devices.hpp"

namespace vicinal::internals {

template <std::size_t number, typename Parameter, typename Given>
constexpr bool check_argument() {
  using Wanted = ViewTraits<std::remove_cvref_t<Parameter>>;
  if constexpr (kIsUse<Given>) {
    using Is = ViewTraits<typename ArgumentOf<Given>::Type>;
    static_assert(
        Wanted::kRank != 0,
        "vicinal: this argument is data, and the function's parameter is not: take std::span<T>, "
        "or Tile<T> for data with rows and columns");
    static_assert(
        Wanted::kRank == 0 || Wanted::kRank == Is::kRank,
        "vicinal: the parameter has another shape than the data: data with rows and columns "
        "come as Tile<T>, row-major ones as RowTile<T>, others as std::span<T>");
    using Want = typename Wanted::Element;
    using Have = typename Is::Element;
    constexpr bool same = std::is_same_v<std::remove_const_t<Want>, std::remove_const_t<Have>>;
    static_assert(
        Wanted::kRank != Is::kRank || same,
        "vicinal: the elements of the parameter are of another type than those of the data");
    static_assert(
        !same || std::is_const_v<Want> || !std::is_const_v<Have>,
        "vicinal: the task reads this argument, and the function could write it: let its "
        "elements be const (std::span<const T>, Tile<const T>), or say inout(...) or out(...)");
    static_assert(
        !same || !std::is_const_v<Want> || std::is_const_v<Have>,
        "vicinal: the task writes this argument, and the function only reads it: say in(...), or "
        "take the const from the elements of the parameter");
    static_assert(!std::is_lvalue_reference_v<Parameter> ||
                      std::is_const_v<std::remove_reference_t<Parameter>>,
                  "vicinal: views of data are passed by value: std::span<T>, Tile<T>");
  } else {
    static_assert(
        Wanted::kRank == 0,
        "vicinal: the function's parameter is data, and this argument is not: say in(x), out(x) or "
        "inout(x), in the order of the parameters");
    static_assert(
        !std::is_lvalue_reference_v<Parameter> ||
            std::is_const_v<std::remove_reference_t<Parameter>>,
        "vicinal: values are copied into the task: take this parameter by value, or as const&; "
        "what a task is to change is data");
    static_assert(Wanted::kRank != 0 || std::is_convertible_v<const Given&, Parameter>,
                  "vicinal: this argument cannot become the function's parameter");
  }
  return true;
}

template <typename Parameters, typename Arguments>
struct Check;
template <typename... Parameters, typename... Given>
struct Check<List<Parameters...>, List<Given...>> {
  static constexpr bool kSameNumber = sizeof...(Parameters) == sizeof...(Given);
  static_assert(sizeof...(Parameters) <= sizeof...(Given),
                "vicinal: the task has fewer arguments than its function has parameters");
  static_assert(sizeof...(Parameters) >= sizeof...(Given),
                "vicinal: the task has more arguments than its function has parameters");
  template <std::size_t... number>
  static constexpr bool each(std::index_sequence<number...> /*numbers*/) {
    return (check_argument<number + 1, Parameters, Given>() && ...);
  }
  static constexpr bool all() {
    if constexpr (kSameNumber) return each(std::index_sequence_for<Given...>{});
    return true;
  }
};

template <typename Parameters>
struct WithoutFirst {
  using Type = List<>;
};
template <typename First, typename... Rest>
struct WithoutFirst<List<First, Rest...>> {
  using Type = List<Rest...>;
};

template <typename Device, typename Function, typename... Given>
inline constexpr bool kCallableOn =
    kTakesFirst<Device, Function, typename Device::template Argument<Given>...> ||
    kTakesContext<Device, Function, typename Device::template Argument<Given>...> ||
    kTakesAlone<Device, Function, typename Device::template Argument<Given>...>;

template <typename Types>
inline constexpr std::size_t kLengthOf = 0;
template <typename... Types>
inline constexpr std::size_t kLengthOf<List<Types...>> = sizeof...(Types);

// Of the function of a device, whose first parameter is the device's own.
template <typename Device, typename Function, typename... Given>
constexpr bool check_kernel() {
  using Wanted = typename ParametersOf<Function>::Wanted;
  using Behind = std::conditional_t<HasFirst<Device>, typename WithoutFirst<Wanted>::Type, Wanted>;
  if constexpr (!ParametersOf<Function>::kKnown || (kIsData<Given> || ...)) {
    return kCallableOn<Device, Function, Given...>;
  } else if constexpr (HasFirst<Device> && kLengthOf<Wanted> == 0) {
    static_assert(
        kLengthOf<Wanted> != 0,
        "vicinal: the first parameter of a kernel for a device is its stream, its queue or "
        "a const KernelContext&, and those of the task follow");
  } else {
    Check<Behind, List<Given...>>::all();
    static_assert(
        kLengthOf<Behind> != sizeof...(Given) || kCallableOn<Device, Function, Given...>,
        "vicinal: the kernel for this device cannot be called with these arguments: first its "
        "stream "
        "(CUDA), its queue (OpenCL) or a const KernelContext&, none if it is emulated, then what "
        "the "
        "task is given; data come as the core's function has them, in OpenCL as opencl::Buffer");
  }
  return true;
}

}  // namespace vicinal::internals
