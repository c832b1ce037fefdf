// Typed tasks: a function of the application, called with what its parameters say. What does not fit does not compile, and
// the error names the argument.
//
//   runtime.task("axpy", [](double a, std::span<const double> x, std::span<double> y) { ... },
//                2.0, in(x), inout(y), priority(3));
//
// Behind the function come its arguments, in the order of its parameters: data as in(x), out(x), inout(x), commute(x),
// reduce(x) or scratch<T>(n), a StopToken() for the task's own, all else by copy; options of the task may stand anywhere
// between them. The function and what it captures are copied, too. What it returns is a Result, which later tasks can read.
//
// The function runs on cores and on emulated accelerators. Those for other processors stand among the arguments, or in
// its place where there is none for cores: on_cuda(f), on_gpu(f), on_emulated(f), and on_opencl(f) of opencl.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "vicinal/codelet.hpp"
#include "vicinal/task.hpp"
#include "vicinal/typed_arguments.hpp"
#include "vicinal/typed_check.hpp"
#include "vicinal/typed_data.hpp"
#include "vicinal/typed_devices.hpp"
#include "vicinal/typed_options.hpp"

namespace vicinal::internals {

// --- what travels with a task: the function, and the values. An aggregate, so that it is as trivial as they are.

template <typename... Types>
struct Values {};
template <typename First, typename... Rest>
struct Values<First, Rest...> {
  First first;
  [[no_unique_address]] Values<Rest...> rest;
};
template <std::size_t number, typename First, typename... Rest>
constexpr const auto& get(const Values<First, Rest...>& values) {
  if constexpr (number == 0) {
    return values.first;
  } else {
    return get<number - 1>(values.rest);
  }
}

template <typename Function, typename Kernels, typename... Types>
struct Load;
template <typename Function, typename... Kernels, typename... Types>
struct Load<Function, List<Kernels...>, Types...> {
  [[no_unique_address]] Function function;
  [[no_unique_address]] Values<Kernels...> kernels;
  [[no_unique_address]] Values<Types...> values;
};

// The codelets of one kernel, one for each name of its tasks; they stay until the process ends. Names
// beyond the first kMostNames are those of their tasks alone, and share codelets: names of kernels are few, and who
// numbers his tasks would fill the memory.
class Codelets {
 public:
  static constexpr std::size_t kMostNames = 256;
  constexpr explicit Codelets(Kernel cpu, Kernels kernels = {}) : cpu_(cpu), kernels_(kernels) {}
  // Its name is another one where it is shared.
  const Codelet& of(std::string_view name) {
    const Codelet* const first = first_.load(std::memory_order_acquire);
    if (first != nullptr && first->name == name) [[likely]]
      return *first;
    return find_or_add(name);
  }

 private:
  struct Table;
  const Codelet& find_or_add(std::string_view name);
  const Codelet& first_or(std::string_view name);
  Codelet made(std::string_view name) const;
  Table& table();
  const Kernel cpu_;
  const Kernels kernels_;
  std::atomic<const Codelet*> first_{nullptr};
  std::atomic<Table*> others_{nullptr};  // none as long as there is one name
};

// --- one type of task: the function, kernels of other kinds, and the arguments without the options

template <typename Function, typename Kernels, typename... Given>
class TaskType;
template <typename Function, typename... Device, typename... OnDevice, typename... Given>
class TaskType<Function, List<KernelOn<Device, OnDevice>...>, Given...> {
  static_assert((!kIsData<Given> && ...),
                "vicinal: say how the task uses these data: in(x), out(x), inout(x), commute(x)");
  static_assert((std::is_copy_constructible_v<Given> && ...),
                "vicinal: values are copied into the task, and this one cannot be copied: give a "
                "std::shared_ptr to it");
  static_assert(
      (!kIsReference<Given> && ...),
      "vicinal: a std::ref may refer to what is gone when the task runs: give a copy, data, "
      "or a std::shared_ptr");
  using Known = ParametersOf<Function>;
  static constexpr bool kHasCore = !std::is_same_v<Function, NoCore>;
  static constexpr bool check() {
    if constexpr (Known::kKnown && (!kIsData<Given> && ...)) {
      return Check<typename Known::Wanted, List<Given...>>::all();
    }
    return true;
  }
  static_assert(check());
  static_assert((check_kernel<Device, OnDevice, Given...>() && ...),
                "vicinal: the kernel for a device cannot be called with these arguments");
  static constexpr bool has_two_of_a_kind() {
    constexpr std::array<ProcessorKind, sizeof...(Device) + 1> kinds{Device::kKind...};
    for (std::size_t i = 0; i < sizeof...(Device); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (kinds[i] == kinds[j]) return true;
      }
    }
    return false;
  }
  static_assert(!has_two_of_a_kind(),
                "vicinal: the task has two kernels for one kind of processors");
  static constexpr bool kCallable =
      std::is_invocable_v<Function&, typename ArgumentOf<Given>::Type...>;
  static_assert(
      Known::kKnown || kCallable || !kHasCore,
      "vicinal: the function cannot be called with these arguments: data come as std::span<T> or "
      "Tile<T>, with const T where the task reads");
  template <bool is_callable, typename = void>
  struct ResultOf {
    using Type = void;
  };
  template <typename Never>
  struct ResultOf<true, Never> {
    using Type = std::invoke_result_t<Function&, typename ArgumentOf<Given>::Type...>;
  };

 public:
  using Result = typename ResultOf<kCallable>::Type;
  static constexpr bool kReturns = !std::is_void_v<Result>;
  static_assert(!kReturns || sizeof...(Device) == 0,
                "vicinal: a task with kernels for several kinds of processors returns nothing: its "
                "results are data, out(x)");
  static constexpr std::size_t kUses = (std::size_t{kIsUse<Given>} + ... + 0);
  static constexpr std::size_t kOperands = kUses + (kReturns ? 1 : 0);

  static const Codelet& codelet(std::string_view name) { return codelets_.of(name); }

 private:
  // Whether the argument is an operand, and its number among those of its sort; of a StopToken there is none.
  struct Place {
    bool is_use;
    std::size_t number;
  };
  static constexpr std::array<Place, sizeof...(Given) + 1> places() {
    std::array<Place, sizeof...(Given) + 1> found{};
    constexpr std::array<bool, sizeof...(Given) + 1> are_uses{kIsUse<Given>...};
    constexpr std::array<bool, sizeof...(Given) + 1> are_stops{kIsStop<Given>...};
    std::size_t use = 0;
    std::size_t value = 0;
    for (std::size_t i = 0; i < sizeof...(Given); ++i) {
      if (are_stops[i]) continue;
      found[i] = {are_uses[i], are_uses[i] ? use++ : value++};
    }
    return found;
  }
  template <typename Done, typename... Rest>
  struct Keep;
  template <typename... Done>
  struct Keep<List<Done...>> {
    using Type = Load<Function, List<KernelOn<Device, OnDevice>...>, Done...>;
  };
  template <typename... Done, typename First, typename... Rest>
  struct Keep<List<Done...>, First, Rest...> {
    using Type =
        typename std::conditional_t<kIsUse<First> || kIsStop<First>, Keep<List<Done...>, Rest...>,
                                    Keep<List<Done..., First>, Rest...>>::Type;
  };

 public:
  using LoadType = typename Keep<List<>, Given...>::Type;
  // It travels in the parameters of the task, or there is a pointer to it.
  static constexpr bool kByBytes = std::is_trivially_copyable_v<LoadType>;

 private:
  template <std::size_t i, typename Type>
  static decltype(auto) argument(const LoadType& load, const KernelContext& k) {
    constexpr Place place = places()[i];
    if constexpr (kIsStop<Type>) {
      return k.stop_token();
    } else if constexpr (place.is_use) {
      return ArgumentOf<Type>::Views::of(k.operand(place.number));
    } else {
      return get<place.number>(load.values);
    }
  }
  template <std::size_t... i>
  static void call(LoadType& load, const KernelContext& k, std::index_sequence<i...> /*numbers*/) {
    if constexpr (!kCallable) {  // which has been said, or there is none
    } else if constexpr (kReturns) {
      *k.data<Result>(kUses) = load.function(argument<i, Given>(load, k)...);
    } else {
      load.function(argument<i, Given>(load, k)...);
    }
  }
  template <typename Call>
  static void with_load(const KernelContext& k, const Call& call_it) {
    if constexpr (kByBytes) {
      alignas(LoadType) std::byte bytes[sizeof(LoadType)];
      std::memcpy(bytes, k.parameters(sizeof bytes), sizeof bytes);
      call_it(*reinterpret_cast<LoadType*>(bytes));
    } else {
      call_it(*k.parameter<LoadType*>());
    }
  }
  static void run(KernelContext& k) {
    with_load(k, [&](LoadType& load) { call(load, k, std::index_sequence_for<Given...>{}); });
  }

  // --- of other kinds
  template <typename On, std::size_t i, typename Type>
  static decltype(auto) argument_on(const LoadType& load, const KernelContext& k) {
    constexpr Place place = places()[i];
    if constexpr (kIsStop<Type>) {
      return k.stop_token();
    } else if constexpr (place.is_use) {
      return On::template view<Type>(k, place.number);
    } else {
      return get<place.number>(load.values);
    }
  }
  template <typename On, typename OnFunction, std::size_t... i>
  static void call_on(OnFunction function, LoadType& load, const KernelContext& k,
                      std::index_sequence<i...> /*numbers*/) {
    using Views = List<typename On::template Argument<Given>...>;
    if constexpr (takes_first<On, OnFunction>(Views{})) {
      function(On::first(k), argument_on<On, i, Given>(load, k)...);
    } else if constexpr (HasFirst<On>) {
      function(k, argument_on<On, i, Given>(load, k)...);
    } else {
      function(argument_on<On, i, Given>(load, k)...);
    }
  }
  template <typename On, typename OnFunction, typename... Views>
  static constexpr bool takes_first(List<Views...> /*views*/) {
    return kTakesFirst<On, OnFunction, Views...>;
  }
  template <std::size_t number, typename On>
  static void run_on(KernelContext& k) {
    with_load(k, [&](LoadType& load) {
      call_on<On>(get<number>(load.kernels).function, load, k, std::index_sequence_for<Given...>{});
    });
  }
  template <std::size_t... number>
  static constexpr Kernels kernels_on(std::index_sequence<number...> /*numbers*/) {
    vicinal::Kernels all;
    ((all[Device::kKind] = Kernel(&run_on<number, Device>)), ...);
    return all;
  }
  static constinit inline Codelets codelets_{kHasCore ? Kernel(&run) : Kernel(),
                                             kernels_on(std::index_sequence_for<Device...>{})};
};

// Without the options, and the kernels of other kinds apart.
template <typename Function, typename Kernels, typename Done, typename... Rest>
struct Sorted;
template <typename Function, typename Kernels, typename... Done>
struct Sorted<Function, Kernels, List<Done...>> {
  using Type = TaskType<Function, Kernels, Done...>;
};
template <typename Function, typename... Kernels, typename... Done, typename First,
          typename... Rest>
struct Sorted<Function, List<Kernels...>, List<Done...>, First, Rest...> {
  using Type = typename std::conditional_t<
      IsOption<First>, Sorted<Function, List<Kernels...>, List<Done...>, Rest...>,
      std::conditional_t<kIsKernelOn<First>,
                         Sorted<Function, List<Kernels..., First>, List<Done...>, Rest...>,
                         Sorted<Function, List<Kernels...>, List<Done..., First>, Rest...>>>::Type;
};
template <typename Function, typename... Arguments>
struct TaskTypeFor : Sorted<Function, List<>, List<>, Arguments...> {};
template <typename Device, typename Function, typename... Arguments>
struct TaskTypeFor<KernelOn<Device, Function>, Arguments...>
    : Sorted<NoCore, List<KernelOn<Device, Function>>, List<>, Arguments...> {};
template <typename Function, typename... Arguments>
using TaskTypeOf = typename TaskTypeFor<std::decay_t<Function>, std::decay_t<Arguments>...>::Type;

// Of what a task is given: what is wanted, as Values.
template <template <typename> typename Wanted>
Values<> chosen() {
  return {};
}
template <template <typename> typename Wanted, typename First, typename... Rest>
auto chosen(First&& first, Rest&&... rest) {
  using Given = std::decay_t<First>;
  if constexpr (!Wanted<Given>::value) {
    return chosen<Wanted>(std::forward<Rest>(rest)...);
  } else {
    auto others = chosen<Wanted>(std::forward<Rest>(rest)...);
    return [&]<typename... Types>(Values<Types...>& behind) {
      return Values<Given, Types...>{std::forward<First>(first), std::move(behind)};
    }(others);
  }
}
template <typename Given>
using IsValue = std::bool_constant<!kIsUse<Given> && !kIsStop<Given> && !IsOption<Given> &&
                                   !kIsKernelOn<Given>>;
template <typename Given>
using IsKernel = std::bool_constant<kIsKernelOn<Given>>;

template <typename Function>
decltype(auto) core_of(Function&& function) {
  if constexpr (kIsKernelOn<std::decay_t<Function>>) {
    return NoCore{};
  } else {
    return std::forward<Function>(function);
  }
}

template <typename Argument>
void note(const Argument& argument, Operand*& next) {
  if constexpr (kIsUse<Argument>) *next++ = argument.operand();
}
// Of a task whose codelet has another name, and that is not named otherwise.
inline void name_task(std::string_view name, TaskSpec& spec) {
  if (spec.codelet->name != name && spec.name.empty()) spec.name = name;
}

}  // namespace vicinal::internals
