// The templates of class Runtime for typed data and typed tasks; runtime.hpp includes this header.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "vicinal/runtime.hpp"
#include "vicinal/typed_reduction.hpp"

namespace vicinal {

// Data that the application holds, as a kernel would see them, until the end of this object: `runtime.read(x)[0]`. The
// data are out of reach afterwards, so a temporary object gives elements, not references to them.
template <typename T, std::size_t rank>
class Held {
  using Views = internals::ViewOf<T, rank>;

 public:
  // `std::span<T>`, `Tile<T>` or `RowTile<T>`.
  using View = typename Views::Type;
  // Of what Runtime::acquire returned.
  explicit Held(Acquired held) : held_(std::move(held)), view_(Views::of(held_.view())) {}

  // All elements.
  const View& view() const& { return view_; }
  void view() const&& = delete;  // give what read or write returns a name first
  // Number of elements.
  std::size_t size() const { return view_.size(); }
  // Element i.
  T& operator[](std::size_t i) const& { return view_[i]; }
  std::remove_const_t<T> operator[](std::size_t i) const&& { return view_[i]; }
  // The element in this row and column.
  T& operator()(std::uint64_t row, std::uint64_t column) const& { return view_(row, column); }
  std::remove_const_t<T> operator()(std::uint64_t row, std::uint64_t column) const&& {
    return view_(row, column);
  }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }

 private:
  Acquired held_;
  View view_;
};

// The value that a task's function returns, once the task has ended: a datum of one element, which later tasks may read,
// too.
//
//   auto sum = runtime.task("sum", [](std::span<const double> x) { return ...; }, in(x));
//   runtime.task("scale", [](std::span<const double> by, std::span<double> x) { ... }, in(sum.data()), inout(x));
//   sum.get();  // waits
//
// Copies share the datum, which goes with the last copy and the last task that uses it; nobody waits for that. So keep
// a copy as long as tasks that read the datum are submitted.
template <typename T>
class Result {
 public:
  // For the runtime alone.
  Result(std::shared_ptr<const internals::OwnedHandle> owned, TaskId task)
      : owned_(std::move(owned)), data_(owned_->handle()), task_(task) {}
  // The value. Waits, like Runtime::acquire. Throws PoisonedError if the task failed, which nests what its function
  // threw, UsageError if the runtime is gone.
  T get() const {
    return *Runtime::acquire_of(owned_ != nullptr ? owned_->runtime() : nullptr, data_.handle(),
                                AccessMode::R, "get")
                .template data<T>();
  }
  // Whether `get` would not wait for tasks, as Runtime::ready.
  bool ready() const {
    return Runtime::ready_of(owned_ != nullptr ? owned_->runtime() : nullptr, data_.handle());
  }
  // As Runtime::wait_for.
  template <typename Number, typename Period>
  bool wait_for(std::chrono::duration<Number, Period> duration) const {
    return Runtime::wait_for_of(owned_ != nullptr ? owned_->runtime() : nullptr, data_.handle(),
                                internals::time_of(duration));
  }
  // The datum, for tasks that read the value.
  Data<T> data() const { return data_; }
  // The task that computes the value.
  TaskId id() const { return task_; }

 private:
  std::shared_ptr<const internals::OwnedHandle> owned_;  // null: it was moved from
  Data<T> data_;
  TaskId task_;
};

// --- data

template <std::ranges::contiguous_range Range>
// NOLINTNEXTLINE(performance-unnecessary-value-param): moved on
auto Runtime::data(Range&& elements, const std::string& name, Released released) {
  static_assert(
      std::ranges::borrowed_range<Range>,
      "vicinal: these elements are gone before a task could use them: give the vector a name "
      "that lives as long as the data are registered");
  using T = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
  static_assert(internals::Element<std::remove_const_t<T>>,
                "vicinal: data are copied as bytes: their elements must be trivially copyable");
  // Nothing that is given it writes elements that are const: only in(...) takes such data.
  void* const address = const_cast<std::remove_const_t<T>*>(std::ranges::data(elements));
  return Data<T>(register_tile(
      address, {.rows = std::ranges::size(elements), .columns = 1, .element_bytes = sizeof(T)},
      name, std::move(released)));
}

template <internals::Element T>
Data<T> Runtime::data(NodeId node, T* elements, std::size_t count, std::string name,
                      Released released) {
  void* const address = const_cast<std::remove_const_t<T>*>(elements);
  const TileShape shape{.rows = count, .columns = 1, .element_bytes = sizeof(T)};
  return Data<T>(register_array(node, address, shape, std::move(name), std::move(released)));
}

template <internals::Element T>
Data<T> Runtime::data(std::size_t count, std::string name) {
  return Data<T>(register_empty(TileShape{.rows = count, .columns = 1, .element_bytes = sizeof(T)},
                                std::move(name)));
}

template <internals::Element T>
Data<T> Runtime::data(RankId owner, std::size_t count, std::string name) {
  return Data<T>(register_empty(
      owner, TileShape{.rows = count, .columns = 1, .element_bytes = sizeof(T)}, std::move(name)));
}

template <internals::Element T>
Data<T, 2> Runtime::tile(RankId owner, std::uint64_t rows, std::uint64_t columns,
                         std::string name) {
  return Data<T, 2>(
      register_empty(owner, TileShape{.rows = rows, .columns = columns, .element_bytes = sizeof(T)},
                     std::move(name)));
}

template <typename T>
// NOLINTNEXTLINE(performance-unnecessary-value-param): moved on
Data<T, 2> Runtime::tile(RankId owner, Tile<T> elements, const std::string& name,
                         Released released) {
  void* const address = const_cast<std::remove_const_t<T>*>(elements.data());
  return Data<T, 2>(register_tile(owner, address,
                                  {.rows = elements.rows(),
                                   .columns = elements.columns(),
                                   .leading_dimension = elements.leading_dimension(),
                                   .element_bytes = sizeof(T)},
                                  name, std::move(released)));
}

template <typename T>
// NOLINTNEXTLINE(performance-unnecessary-value-param): moved on
Data<T, 2> Runtime::tile(Tile<T> elements, const std::string& name, Released released) {
  void* const address = const_cast<std::remove_const_t<T>*>(elements.data());
  return Data<T, 2>(register_tile(address,
                                  {.rows = elements.rows(),
                                   .columns = elements.columns(),
                                   .leading_dimension = elements.leading_dimension(),
                                   .element_bytes = sizeof(T)},
                                  name, std::move(released)));
}

template <internals::Element T>
Data<T, 2> Runtime::tile(std::uint64_t rows, std::uint64_t columns, std::string name) {
  return Data<T, 2>(register_empty(
      TileShape{.rows = rows, .columns = columns, .element_bytes = sizeof(T)}, std::move(name)));
}

template <typename T>
Data<T, kRowMajor> Runtime::tile(RowTile<T> elements, const std::string& name, Released released) {
  const Tile<T> transpose(elements.data(), elements.columns(), elements.rows(),
                          elements.leading_dimension());
  return Data<T, kRowMajor>(tile(transpose, name, std::move(released)).handle());
}

template <internals::Element T>
Data<T, kRowMajor> Runtime::row_tile(std::uint64_t rows, std::uint64_t columns, std::string name) {
  return Data<T, kRowMajor>(tile<T>(columns, rows, std::move(name)).handle());
}

template <internals::Element T>
Data<T> Runtime::data(const FileRegion& file, std::size_t count, const std::string& name) {
  return Data<T>(register_file(
      file, TileShape{.rows = count, .columns = 1, .element_bytes = sizeof(T)}, name));
}

template <internals::Element T>
Data<T, 2> Runtime::tile(const FileRegion& file, std::uint64_t rows, std::uint64_t columns,
                         const std::string& name) {
  return Data<T, 2>(register_file(
      file, TileShape{.rows = rows, .columns = columns, .element_bytes = sizeof(T)}, name));
}

template <typename T, std::size_t rank>
DataParts<T, rank> Runtime::partition(Data<T, rank> whole, const Divide& divide,
                                      PartAccess access) {
  if constexpr (rank == kRowMajor) {
    return DataParts<T, rank>(partition(whole.handle(), transposed(divide), access));
  } else {
    return DataParts<T, rank>(partition(whole.handle(), divide, access));
  }
}

template <typename T, std::size_t rank>
void Runtime::unpartition(const DataParts<T, rank>& parts) {
  unpartition(parts.parts());
}

template <typename T, std::size_t rank, typename Operation>
void Runtime::set_reduction(Data<T, rank> data, Operation operation) {
  using Neutral = internals::NeutralOf<T, Operation>;
  static_assert(Neutral::kKnown,
                "vicinal: of this operation it is not known which element changes nothing: say it, "
                "set_reduction(x, [] { return 0.0; }, operation)");
  if constexpr (Neutral::kKnown) set_reduction(data, Neutral{}, operation);
}

template <typename T, std::size_t rank, typename Neutral, typename Combine>
void Runtime::set_reduction(Data<T, rank> data, Neutral /*neutral*/, Combine /*combine*/) {
  set_reduction(data.handle(), internals::ElementReduction<T, Neutral, Combine>::codelets());
}

template <typename T, std::size_t rank>
Held<const T, rank> Runtime::read(Data<T, rank> data) {
  return Held<const T, rank>(acquire_of(impl_, data.handle(), AccessMode::R, "read"));
}

template <typename T, std::size_t rank>
Held<T, rank> Runtime::write(Data<T, rank> data) {
  static_assert(!std::is_const_v<T>, "vicinal: these data were registered as const: read them");
  return Held<T, rank>(acquire_of(impl_, data.handle(), AccessMode::RW, "write"));
}

template <typename T, std::size_t rank>
void Runtime::release(Data<T, rank> data, WriteBack write_back) {
  release_typed(data.handle(), write_back);
}

// --- waiting

template <typename Number, typename Period>
bool Runtime::wait_for(std::chrono::duration<Number, Period> duration) {
  return wait_all(internals::time_of(duration));
}
template <typename Number, typename Period>
bool Runtime::wait_for(Group& group, std::chrono::duration<Number, Period> duration) {
  return wait_group(group, internals::time_of(duration));
}
template <typename Number, typename Period>
bool Runtime::wait_for(Handle handle, std::chrono::duration<Number, Period> duration) {
  return wait_for_of(impl_, handle, internals::time_of(duration));
}
template <typename T, std::size_t rank, typename Number, typename Period>
bool Runtime::wait_for(Data<T, rank> data, std::chrono::duration<Number, Period> duration) {
  return wait_for(data.handle(), duration);
}
template <typename T, std::size_t rank>
bool Runtime::ready(Data<T, rank> data) {
  return ready(data.handle());
}

// --- tasks

template <typename Function, typename... Arguments>
auto Runtime::task(std::string_view name, Function&& function, Arguments&&... arguments) {
  using Type = internals::TaskTypeOf<Function, Arguments...>;
  using Load = typename Type::LoadType;
  std::array<Operand, Type::kOperands> operands;
  Operand* next = operands.data();
  (internals::note(arguments, next), ...);
  const auto submitted = [&] {
    const std::span<const Operand> list(operands);
    Load load{internals::core_of(std::forward<Function>(function)),
              internals::chosen<internals::IsKernel>(function, arguments...),
              internals::chosen<internals::IsValue>(std::forward<Arguments>(arguments)...)};
    const auto times = internals::times_of(arguments...);
    if constexpr (Type::kByBytes) {
      TaskSpec spec{.codelet = &Type::codelet(name), .operands = list, .parameters = load};
      (internals::set_option(arguments, spec), ...);
      times.set(spec);
      internals::name_task(name, spec);
      return submit(spec);
    } else {
      auto there = std::make_unique<Load>(std::move(load));
      TaskSpec spec{
          .codelet = &Type::codelet(name),
          .operands = list,
          .parameters = there.get(),
          .on_end = [at = there.get()](Outcome /*outcome*/) { delete at; },
      };
      (internals::set_option(arguments, spec), ...);
      times.set(spec);
      internals::name_task(name, spec);
      const TaskId id = submit(spec);
      there.release();  // it is the task's
      return id;
    }
  };
  if constexpr (Type::kReturns) {
    using T = typename Type::Result;
    static_assert(internals::Element<T>,
                  "vicinal: a result is copied as bytes: it must be trivially copyable; what is "
                  "larger is data that the task writes, out(x)");
    const auto result = register_owned({.rows = 1, .columns = 1, .element_bytes = sizeof(T)},
                                       std::string(name) + " result");
    *next = W(result->handle());
    return Result<T>(result, submitted());
  } else {
    return submitted();
  }
}

}  // namespace vicinal
