// What most tests of the runtime need: kernels on arrays of numbers, and the message of an error with
// the matchers that it is compared by.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vicinal/runtime.hpp"

namespace vicinal::testing {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What tests count tiles and limits in.
inline constexpr Bytes kPage{4096};

// --- kernels. Operands are arrays of 64-bit integers, packed or with a leading dimension.

// Calls f(element) on each, column by column.
template <typename F>
void for_each_element(const OperandView& view, F f) {
  for (std::uint64_t c = 0; c < view.layout.columns; ++c) {
    auto* column = reinterpret_cast<std::int64_t*>(view.address + c * view.layout.stride_bytes);
    for (std::uint64_t i = 0; i < view.layout.column_bytes / 8; ++i) f(column[i]);
  }
}

// Every element of operand 0 becomes the parameter.
inline void set_kernel(KernelContext& k) {
  const auto value = k.parameter<std::int64_t>();
  for_each_element(k.operand(0), [&](std::int64_t& x) { x = value; });
}
// Adds the parameter to every element of operand 0.
inline void add_kernel(KernelContext& k) {
  const auto value = k.parameter<std::int64_t>();
  for_each_element(k.operand(0), [&](std::int64_t& x) { x += value; });
}
// Every element of operand 1 becomes the first of operand 0 plus one.
inline void next_kernel(KernelContext& k) {
  const std::int64_t value = *k.data<std::int64_t>(0) + 1;
  for_each_element(k.operand(1), [&](std::int64_t& x) { x = value; });
}
inline void nothing_kernel(KernelContext& /*context*/) {}

inline const Codelet kSet{.name = "set", .cpu = set_kernel};
inline const Codelet kAdd{.name = "add", .cpu = add_kernel};
inline const Codelet kNext{.name = "next", .cpu = next_kernel};
inline const Codelet kNothing{.name = "nothing", .cpu = nothing_kernel};
inline const Codelet kSetOnDevice{.name = "set_on_device",
                                  .kernels = {{ProcessorKind::emulated, set_kernel}}};
inline const Codelet kAddOnDevice{.name = "add_on_device",
                                  .kernels = {{ProcessorKind::emulated, add_kernel}}};
inline const Codelet kNextOnDevice{.name = "next_on_device",
                                   .kernels = {{ProcessorKind::emulated, next_kernel}}};

inline TaskSpec task_on(const Operand& only_operand, std::int64_t value, const Codelet& codelet) {
  static thread_local Operand operand;  // lives until the next call: submit copies it
  operand = only_operand;
  TaskSpec spec;
  spec.codelet = &codelet;
  spec.operands = std::span<const Operand>(&operand, 1);
  spec.parameters = value;
  return spec;
}
inline TaskSpec set(Handle handle, std::int64_t value, const Codelet& codelet = kSet) {
  return task_on(W(handle), value, codelet);
}
inline TaskSpec add(Handle handle, std::int64_t value, const Codelet& codelet = kAdd) {
  return task_on(RW(handle), value, codelet);
}

// --- reading

// Of the handle's elements, all the same.
inline std::int64_t value_of(Runtime& runtime, Handle handle) {
  const Acquired acquired = runtime.acquire(handle, AccessMode::R);
  const std::int64_t first = *acquired.data<std::int64_t>();
  for_each_element(acquired.view(), [&](std::int64_t& x) { EXPECT_EQ(x, first); });
  return first;
}

// Of the type E exactly, or what std::throw_with_nested makes of that: no error of ours is derived from another but
// from Error.
template <typename E>
bool is_exactly(const E& error) {
  if (typeid(error) == typeid(E)) return true;
  return !std::is_same_v<E, Error> && dynamic_cast<const std::nested_exception*>(&error) != nullptr;
}

// What the call throws; empty if it returns. The error must be of type E exactly.
template <typename E, typename F>
std::string message_of(F call) {
  try {
    call();
  } catch (const E& error) {
    EXPECT_TRUE(is_exactly(error)) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline Options small_options(std::uint32_t workers = 2) {
  Options options;
  options.workers = workers;
  options.bind = false;
  options.models = "none";  // of the user who runs the tests
  return options;
}

}  // namespace vicinal::testing
