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
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/task.hpp"
#include "vicinal/typed_data.hpp"

struct CUstream_st;

namespace vicinal {

namespace cuda {
CUstream_st* stream(const KernelContext& k);  // see cuda.hpp
}

// --- options of a task: see TaskSpec for what they mean

namespace internals {

template <typename Value, Value TaskSpec::*member>
struct Option {
  Value value;
  void set(TaskSpec& spec) const { spec.*member = value; }
};
struct Worker {
  WorkerId worker;
  void set(TaskSpec& spec) const { spec.worker = worker; }
};
struct Node {
  NodeId node;
  void set(TaskSpec& spec) const { spec.node = node; }
};
struct After {
  std::span<const TaskId> tasks;
  void set(TaskSpec& spec) const { spec.after = tasks; }
};
struct Named {
  std::string_view name;
  void set(TaskSpec& spec) const { spec.name = name; }
};
// All of a task are set together, see times_of.
struct Expected {
  Time time;
  std::optional<ProcessorKind> kind;
  void set(TaskSpec& /*spec*/) const {}
};

}  // namespace internals

constexpr auto priority(int value) {
  return internals::Option<int, &TaskSpec::priority>{value};
}
constexpr auto flops(double value) {
  return internals::Option<double, &TaskSpec::flops>{value};
}
// How long the task takes, for simulation and for policies: on every kind of processor, or on this kind, which comes
// first. 0: not known. Of no kind: the machine's speeds and `flops` say it, in simulation; see Codelet::estimated.
constexpr auto expected(Time time) {
  return internals::Expected{time, std::nullopt};
}
constexpr auto expected(ProcessorKind kind, Time time) {
  return internals::Expected{time, kind};
}
template <typename Number, typename Period>
constexpr auto expected(std::chrono::duration<Number, Period> time) {
  return expected(Time{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()});
}
template <typename Number, typename Period>
constexpr auto expected(ProcessorKind kind, std::chrono::duration<Number, Period> time) {
  return expected(kind, Time{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()});
}
inline auto into(Group& group) {
  return internals::Option<Group*, &TaskSpec::group>{&group};
}
constexpr auto on(WorkerId worker) {
  return internals::Worker{worker};
}
constexpr auto on(NodeId node) {
  return internals::Node{node};
}
// Must live until the task is submitted.
inline auto after(std::span<const TaskId> tasks) {
  return internals::After{tasks};
}
// The name of this one task in messages and reports.
constexpr auto named(std::string_view name) {
  return internals::Named{name};
}

namespace internals {

// --- what is given to a task

template <typename T>
inline constexpr bool kIsUse = false;
template <typename T, std::size_t rank, AccessMode mode>
inline constexpr bool kIsUse<Use<T, rank, mode>> = true;
template <typename T>
inline constexpr bool kIsUse<Room<T>> = true;

// It stands for the task's own.
template <typename T>
inline constexpr bool kIsStop = std::is_same_v<T, StopToken>;

template <typename T>
inline constexpr bool kIsData = false;
template <typename T, std::size_t rank>
inline constexpr bool kIsData<Data<T, rank>> = true;
template <>
inline constexpr bool kIsData<Handle> = true;

template <typename T>
inline constexpr bool kIsReference = false;
template <typename T>
inline constexpr bool kIsReference<std::reference_wrapper<T>> = true;

template <typename T>
concept IsOption = requires(const T& option, TaskSpec& spec) {
  option.set(spec);
};

// What a kernel is given for it.
template <typename Given>
struct ArgumentOf {
  using Type = const Given&;
};
template <typename T, std::size_t rank, AccessMode mode>
struct ArgumentOf<Use<T, rank, mode>> {
  using Views = ViewOf<T, rank>;
  using Type = typename Views::Type;
};
template <typename T>
struct ArgumentOf<Room<T>> {
  using Views = ViewOf<T, 1>;
  using Type = typename Views::Type;
};

// --- what a function wants; nothing is known of one that is a template

template <typename... Types>
struct List {};

template <typename Function>
struct ParametersOf {
  static constexpr bool kKnown = false;
  using Wanted = List<>;
};
template <typename Result, typename... Types>
struct KnownParameters {
  static constexpr bool kKnown = true;
  using Wanted = List<Types...>;
};
template <typename Result, typename... Types>
struct ParametersOf<Result (*)(Types...)> : KnownParameters<Result, Types...> {};
template <typename Result, typename... Types>
struct ParametersOf<Result (*)(Types...) noexcept> : KnownParameters<Result, Types...> {};
template <typename Result, typename Class, typename... Types>
struct ParametersOf<Result (Class::*)(Types...)> : KnownParameters<Result, Types...> {};
template <typename Result, typename Class, typename... Types>
struct ParametersOf<Result (Class::*)(Types...) const> : KnownParameters<Result, Types...> {};
template <typename Result, typename Class, typename... Types>
struct ParametersOf<Result (Class::*)(Types...) noexcept> : KnownParameters<Result, Types...> {};
template <typename Result, typename Class, typename... Types>
struct ParametersOf<Result (Class::*)(Types...) const noexcept>
    : KnownParameters<Result, Types...> {};
template <typename Function>
requires requires {
  &Function::operator();
}
struct ParametersOf<Function> : ParametersOf<decltype(&Function::operator())> {};

template <typename T>
struct ViewTraits {
  static constexpr std::size_t kRank = 0;  // it is none
  using Element = void;
};
template <typename T, std::size_t extent>
struct ViewTraits<std::span<T, extent>> {
  static constexpr std::size_t kRank = 1;
  using Element = T;
};
template <typename T>
struct ViewTraits<Tile<T>> {
  static constexpr std::size_t kRank = 2;
  using Element = T;
};
template <typename T>
struct ViewTraits<RowTile<T>> {
  static constexpr std::size_t kRank = kRowMajor;
  using Element = T;
};

// --- kernels of other kinds of processors

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

// --- does it fit? Each says what is wrong and what to do; the compiler names the argument by `number`, from 1 on.

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

// The codelets of one kernel, one for each name that it is submitted under; they stay until the process ends. Names
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

// --- one type of task: the function, kernels of other kinds, and what it is given without the options

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
  static_assert(
      !kReturns || sizeof...(Device) == 0,
      "vicinal: a task with kernels for several kinds of processors returns nothing: what "
      "it computes is data that it writes, out(x)");
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

// The times that its options give.
struct NoTimes {
  void set(TaskSpec& /*spec*/) const {}
};
struct Times {
  ExpectedTimes times{};
  void set(TaskSpec& spec) const { spec.expected = &times; }
  template <typename Argument>
  void note(const Argument& argument, bool of_one_kind) {
    if constexpr (std::is_same_v<Argument, Expected>) {
      if (argument.kind.has_value() != of_one_kind) return;
      if (of_one_kind) {
        times[static_cast<std::size_t>(*argument.kind)] = argument.time;
      } else {
        times.fill(argument.time);
      }
    }
  }
};
template <typename... Arguments>
auto times_of(const Arguments&... arguments) {
  if constexpr ((std::is_same_v<Arguments, Expected> || ...)) {
    Times times;
    (times.note(arguments, false), ...);
    (times.note(arguments, true), ...);
    return times;
  } else {
    return NoTimes{};
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
template <typename Argument>
void set_option(const Argument& argument, TaskSpec& spec) {
  if constexpr (IsOption<Argument>) argument.set(spec);
}

}  // namespace internals

// --- kernels of other kinds of processors, beside the function for cores or in its place
//
//   runtime.task("scale", scale, on_cuda([](cudaStream_t stream, std::span<double> x, double by) { ... }),
//                inout(x), 2.0);
//
// Each is called with the arguments of the task, in their order, and before them: a CUDA stream, or a
// const KernelContext& for what else cuda.hpp gives; on registered devices (on_gpu) a const KernelContext&; on emulated
// accelerators nothing. Views of data hold addresses of the device's memory, packed. Such a task returns nothing.
template <typename Function>
constexpr auto on_cuda(Function&& function) {
  return internals::kernel_on<internals::Cuda>(std::forward<Function>(function));
}
template <typename Function>
constexpr auto on_gpu(Function&& function) {
  return internals::kernel_on<internals::Gpu>(std::forward<Function>(function));
}
template <typename Function>
constexpr auto on_emulated(Function&& function) {
  return internals::kernel_on<internals::Emulated>(std::forward<Function>(function));
}

}  // namespace vicinal
