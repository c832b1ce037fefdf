// Typed tasks: a function of the application, called with what its parameters say. What does not fit does not compile, and
// the error names the argument.
//
//   runtime.task("axpy", [](double a, std::span<const double> x, std::span<double> y) { ... },
//                2.0, in(x), inout(y), priority(3));
//
// Behind the function come its arguments, in the order of its parameters: data as in(x), out(x), inout(x), commute(x),
// reduce(x) or scratch<T>(n), a StopToken() for the task's own, all else by copy; options of the task may stand anywhere
// between them. The function and what it captures are copied, too. What it returns is a Result, which later tasks can read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/task.hpp"
#include "vicinal/typed_data.hpp"

namespace vicinal {

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

}  // namespace internals

constexpr auto priority(int value) {
  return internals::Option<int, &TaskSpec::priority>{value};
}
constexpr auto flops(double value) {
  return internals::Option<double, &TaskSpec::flops>{value};
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
        "come as Tile<T>, others as std::span<T>");
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

template <typename Function, typename... Types>
struct Load {
  [[no_unique_address]] Function function;
  [[no_unique_address]] Values<Types...> values;
};

// The codelets of one kernel, one for each name that it is submitted under; they stay until the process ends. Names
// beyond the first kMostNames are those of their tasks alone, and share codelets: names of kernels are few, and who
// numbers his tasks would fill the memory.
class Codelets {
 public:
  static constexpr std::size_t kMostNames = 256;
  constexpr explicit Codelets(Kernel::Function kernel) : kernel_(kernel) {}
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
  Table& table();
  const Kernel::Function kernel_;
  std::atomic<const Codelet*> first_{nullptr};
  std::atomic<Table*> others_{nullptr};  // none as long as there is one name
};

// --- one type of task: the function, and what it is given without the options

template <typename Function, typename... Given>
class TaskType {
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
  static constexpr bool check() {
    if constexpr (Known::kKnown && (!kIsData<Given> && ...)) {
      return Check<typename Known::Wanted, List<Given...>>::all();
    }
    return true;
  }
  static_assert(check());
  static constexpr bool kCallable =
      std::is_invocable_v<Function&, typename ArgumentOf<Given>::Type...>;
  static_assert(
      Known::kKnown || kCallable,
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
    using Type = Load<Function, Done...>;
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
    if constexpr (!kCallable) {  // which has been said
    } else if constexpr (kReturns) {
      *k.data<Result>(kUses) = load.function(argument<i, Given>(load, k)...);
    } else {
      load.function(argument<i, Given>(load, k)...);
    }
  }
  static void run(KernelContext& k) {
    constexpr std::index_sequence_for<Given...> numbers{};
    if constexpr (kByBytes) {
      alignas(LoadType) std::byte bytes[sizeof(LoadType)];
      std::memcpy(bytes, k.parameters(sizeof bytes), sizeof bytes);
      call(*reinterpret_cast<LoadType*>(bytes), k, numbers);
    } else {
      call(*k.parameter<LoadType*>(), k, numbers);
    }
  }
  static constinit inline Codelets codelets_{&run};
};

// Without the options.
template <typename Function, typename Done, typename... Rest>
struct WithoutOptions;
template <typename Function, typename... Done>
struct WithoutOptions<Function, List<Done...>> {
  using Type = TaskType<Function, Done...>;
};
template <typename Function, typename... Done, typename First, typename... Rest>
struct WithoutOptions<Function, List<Done...>, First, Rest...> {
  using Type =
      typename std::conditional_t<IsOption<First>, WithoutOptions<Function, List<Done...>, Rest...>,
                                  WithoutOptions<Function, List<Done..., First>, Rest...>>::Type;
};
template <typename Function, typename... Arguments>
using TaskTypeOf =
    typename WithoutOptions<std::decay_t<Function>, List<>, std::decay_t<Arguments>...>::Type;

inline Values<> values_of() {
  return {};
}
template <typename First, typename... Rest>
auto values_of(First&& first, Rest&&... rest) {
  using Given = std::decay_t<First>;
  if constexpr (kIsUse<Given> || kIsStop<Given> || IsOption<Given>) {
    return values_of(std::forward<Rest>(rest)...);
  } else {
    auto others = values_of(std::forward<Rest>(rest)...);
    return [&]<typename... Types>(Values<Types...>& behind) {
      return Values<Given, Types...>{std::forward<First>(first), std::move(behind)};
    }(others);
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
}  // namespace vicinal
