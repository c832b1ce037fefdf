// Registered data. A Handle is a small value that names one registration of one piece of data; the
// runtime that registered it owns what is behind it, until unregister. A handle that was unregistered,
// or whose runtime is gone, is refused wherever it is used.
//
//   vicinal::Handle a = runtime.register_buffer(values.data(), vicinal::Bytes{values.size() * 8}, "a");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "vicinal/access.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

// What only the library looks into. Public headers open no other namespace: a name of theirs would stand in the way of
// an application's own (a variable `graph`, say) that says `using namespace vicinal`.
namespace internals {
struct GraphHandle;
}

// No registered data are larger: sums over the operands of a task stay in range.
inline constexpr Bytes kLargestData = Bytes{std::uint64_t{1} << 50};

// Shape of a piece of data: `columns` columns of `column_bytes` contiguous bytes, the next column
// `stride_bytes` further on. A plain buffer is one column. Column-major, as LAPACK has it:
// a (rows x columns) tile with leading dimension ld has column_bytes = rows * element,
// stride_bytes = ld * element.
struct Layout {
  std::uint64_t column_bytes = 0;
  std::uint64_t columns = 1;
  std::uint64_t stride_bytes = 0;
  std::uint32_t element_bytes = 1;

  // Registered data have at most kLargestData, so that this does not wrap.
  constexpr Bytes bytes() const { return {column_bytes * columns}; }
  // From its first byte to behind its last, gaps included.
  constexpr Bytes span() const {
    return {columns == 0 ? 0 : (columns - 1) * stride_bytes + column_bytes};
  }
  constexpr bool contiguous() const { return columns <= 1 || stride_bytes == column_bytes; }
  constexpr Layout packed() const { return {column_bytes, columns, column_bytes, element_bytes}; }
  // In elements, for kernels.
  constexpr std::uint64_t rows() const { return column_bytes / element_bytes; }
  constexpr std::uint64_t leading_dimension() const { return stride_bytes / element_bytes; }
};

// Shape of a tile in elements; leading_dimension 0 means rows (packed).
struct TileShape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t leading_dimension = 0;
  std::uint32_t element_bytes = 8;

  // For shapes whose bytes are in range; registration refuses others before it asks.
  constexpr Layout layout() const {
    const std::uint64_t ld = leading_dimension == 0 ? rows : leading_dimension;
    return {rows * element_bytes, columns, ld * element_bytes, element_bytes};
  }
};

// A contiguous region of one of the user's files. What the file does not hold when the region is registered must be
// written before it is read; the file is made, or lengthened, when what was written goes there.
struct FileRegion {
  std::string path;
  std::uint64_t offset = 0;
  bool writable = true;  // false: opened read-only; a task that writes the handle is refused
  bool create =
      false;  // makes or lengthens the file at once: the new bytes are zero, and may be read
};

// Called once, when the runtime no longer uses memory of the application that was registered with it: at the end of
// `unregister` or `release`, or of the runtime, also after errors. What it holds keeps the owner of the memory alive, as
// `[owner = std::move(owner)] {}` does. The calling thread is the one that unregisters or ends the runtime, and holds no
// lock of the runtime. What it throws is logged. A registration that throws does not call it; neither does a runtime
// that exit leaves inside a task, nor a forked process.
using Released = std::function<void()>;

class Handle {
 public:
  Handle() = default;
  Handle(internals::GraphHandle& impl, std::uint32_t runtime, std::uint32_t life)
      : impl_(&impl), runtime_(runtime), life_(life) {}
  // For the runtime alone, which looks there only if the number is its own.
  internals::GraphHandle* impl() const { return impl_; }
  std::uint32_t runtime() const { return runtime_; }
  std::uint32_t life() const { return life_; }
  explicit operator bool() const { return impl_ != nullptr; }
  friend bool operator==(Handle, Handle) = default;

 private:
  internals::GraphHandle* impl_ = nullptr;
  std::uint32_t runtime_ = 0;  // its number, never given twice in a process; 0: none
  std::uint32_t life_ = 0;     // of what is behind `impl_`, never given twice there
};

// One operand of a task: R(a), W(b), RW(c), Commute(d), Scratch(bytes), Reduce(e).
struct Operand {
  Handle handle;
  AccessMode mode = AccessMode::R;
  std::uint64_t scratch_bytes : 56 = 0;  // of a Scratch, which has no handle
};
inline Operand R(Handle handle) {
  return {handle, AccessMode::R};
}
inline Operand W(Handle handle) {
  return {handle, AccessMode::W};
}
inline Operand RW(Handle handle) {
  return {handle, AccessMode::RW};
}
// It changes what it reads, and may go before or behind others that do, as those that add to a sum.
inline Operand Commute(Handle handle) {
  return {handle, AccessMode::commute};
}
// Room for the task alone while it runs, on the memory node where it runs. It counts among the task's operands;
// its content is not defined at the start, and is lost at the end.
inline Operand Scratch(Bytes bytes) {
  constexpr std::uint64_t kMost =
      (std::uint64_t{1} << 56) - 1;  // refused, as anything above kLargestData
  return {{}, AccessMode::scratch, (bytes.value < kMost ? bytes.value : kMost) & kMost};
}
inline Operand Reduce(Handle handle) {
  return {handle, AccessMode::reduction};
}

}  // namespace vicinal
