// Typed reductions: tasks that add to the same data in private copies, combined element by element.
//
//   const auto histogram = runtime.data<int>(256, "histogram");
//   runtime.set_reduction(histogram, std::plus<>());
//   runtime.task("count", [](std::span<const char> text, std::span<int> to) { ... }, in(page), reduce(histogram));
//
// This header has the codelets of Runtime::set_reduction; runtime.hpp includes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "vicinal/codelet.hpp"
#include "vicinal/typed_task.hpp"

namespace vicinal::internals {

// Of operations that the standard library names: the element that changes nothing.
template <typename T, typename Operation>
struct NeutralOf {
  static constexpr bool kKnown = false;
};
template <typename T, int value>
struct Constant {
  static constexpr bool kKnown = true;
  constexpr T operator()() const { return static_cast<T>(value); }
};
template <typename T, typename Of>
struct NeutralOf<T, std::plus<Of>> : Constant<T, 0> {};
template <typename T, typename Of>
struct NeutralOf<T, std::bit_or<Of>> : Constant<T, 0> {};
template <typename T, typename Of>
struct NeutralOf<T, std::bit_xor<Of>> : Constant<T, 0> {};
template <typename T, typename Of>
struct NeutralOf<T, std::logical_or<Of>> : Constant<T, 0> {};
template <typename T, typename Of>
struct NeutralOf<T, std::multiplies<Of>> : Constant<T, 1> {};
template <typename T, typename Of>
struct NeutralOf<T, std::logical_and<Of>> : Constant<T, 1> {};
template <typename T, typename Of>
struct NeutralOf<T, std::bit_and<Of>> : Constant<T, -1> {};  // all bits

template <typename T, typename Neutral, typename Combine>
class ElementReduction {
  static_assert(!std::is_const_v<T>,
                "vicinal: these data were registered as const, and nothing can be added to them");
  static_assert(std::is_invocable_r_v<T, const Neutral&>,
                "vicinal: the second argument of set_reduction is a function without parameters "
                "that returns the element that changes nothing: [] { return 0.0; }");
  static_assert(std::is_invocable_r_v<T, const Combine&, const T&, const T&>,
                "vicinal: the last argument of set_reduction is a function of two elements that "
                "returns one: [](double a, double b) { return std::max(a, b); }");
  // They are called until the data are released, by any worker: what they captured would have to live as long.
  static_assert(std::is_empty_v<Neutral> && std::is_default_constructible_v<Neutral> &&
                    std::is_empty_v<Combine> && std::is_default_constructible_v<Combine>,
                "vicinal: the functions of a reduction capture nothing");

  static T* column(const OperandView& operand, std::uint64_t number) {
    return reinterpret_cast<T*>(operand.address + number * operand.layout.stride_bytes);
  }
  static void set_neutral(KernelContext& k) {
    const OperandView& to = k.operand(0);
    const std::uint64_t rows = to.layout.column_bytes / sizeof(T);
    for (std::uint64_t j = 0; j < to.layout.columns; ++j) {
      T* const elements = column(to, j);
      for (std::uint64_t i = 0; i < rows; ++i) elements[i] = Neutral{}();
    }
  }
  static void combine(KernelContext& k) {
    const OperandView& into = k.operand(0);
    const OperandView& from = k.operand(1);
    const std::uint64_t rows = into.layout.column_bytes / sizeof(T);
    for (std::uint64_t j = 0; j < into.layout.columns; ++j) {
      T* const sums = column(into, j);
      const T* const added = column(from, j);
      for (std::uint64_t i = 0; i < rows; ++i) sums[i] = Combine{}(sums[i], added[i]);
    }
  }
  static constinit inline Codelets neutral_{&set_neutral};
  static constinit inline Codelets combine_{&combine};

 public:
  static Reduction codelets() {
    return {.neutral = &neutral_.of("neutral element"), .combine = &combine_.of("combine")};
  }
};

}  // namespace vicinal::internals
