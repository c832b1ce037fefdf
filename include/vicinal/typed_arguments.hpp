// What a typed task is given, and what its function wants: their types, sorted.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

#include "vicinal/codelet.hpp"
#include "vicinal/typed_data.hpp"

namespace vicinal::internals {

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

}  // namespace vicinal::internals
