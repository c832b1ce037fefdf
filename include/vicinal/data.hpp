// Registered data. A Handle is a small value that names one registration of one piece of data; the runtime owns the
// registration, until unregister. A handle that was unregistered, or whose runtime is gone, is refused wherever it is
// used.
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
  std::uint64_t column_bytes = 0;   // of a column
  std::uint64_t columns = 1;        // their number
  std::uint64_t stride_bytes = 0;   // from one column to the next
  std::uint32_t element_bytes = 1;  // of an element, for rows() and leading_dimension()

  // Without gaps. Registered data have at most kLargestData, so that this does not wrap.
  constexpr Bytes bytes() const { return {column_bytes * columns}; }
  // From the first byte to behind the last, gaps included.
  constexpr Bytes span() const {
    return {columns == 0 ? 0 : (columns - 1) * stride_bytes + column_bytes};
  }
  // Whether there is no gap between columns.
  constexpr bool contiguous() const { return columns <= 1 || stride_bytes == column_bytes; }
  // The same shape without gaps.
  constexpr Layout packed() const { return {column_bytes, columns, column_bytes, element_bytes}; }
  // Elements of a column, for kernels.
  constexpr std::uint64_t rows() const { return column_bytes / element_bytes; }
  // From one column to the next, in elements.
  constexpr std::uint64_t leading_dimension() const { return stride_bytes / element_bytes; }
};

// Shape of a tile in elements; leading_dimension 0 means rows (packed).
struct TileShape {
  std::uint64_t rows = 0;               // elements of a column
  std::uint64_t columns = 0;            // their number
  std::uint64_t leading_dimension = 0;  // from one column to the next; 0: rows
  std::uint32_t element_bytes = 8;      // of an element

  // The same in bytes, for shapes whose bytes are in range; registration refuses others before it asks.
  constexpr Layout layout() const {
    const std::uint64_t ld = leading_dimension == 0 ? rows : leading_dimension;
    return {rows * element_bytes, columns, ld * element_bytes, element_bytes};
  }
};

// A contiguous region of one of the user's files. Bytes beyond the end of the file, at registration, must be
// written before they are read; the file is made, or lengthened, when written content goes there.
struct FileRegion {
  std::string path;          // of the file
  std::uint64_t offset = 0;  // of the region's first byte
  bool writable = true;      // false: opened read-only; a task that writes the handle is refused
  bool create =
      false;  // makes or lengthens the file at once: the new bytes are zero, and may be read
};

// Called once, when the runtime no longer uses memory of the application that was registered with it: at the end of
// `unregister` or `release`, or of the runtime, also after errors. What it holds keeps the owner of the memory alive, as
// `[owner = std::move(owner)] {}` does. The calling thread is the one that unregisters or ends the runtime, and holds no
// lock of the runtime. What it throws is logged. A registration that throws does not call it; neither does a runtime
// that exit leaves inside a task, nor a forked process.
using Released = std::function<void()>;

// The name of registered data: a small value, to be copied freely.
class Handle {
 public:
  // No data.
  Handle() = default;
  // For the runtime alone.
  Handle(internals::GraphHandle& impl, std::uint32_t runtime, std::uint32_t life)
      : impl_(&impl), runtime_(runtime), life_(life) {}
  // For the runtime alone, which looks there only if the number is its own.
  internals::GraphHandle* impl() const { return impl_; }
  // The number of the runtime that registered the data.
  std::uint32_t runtime() const { return runtime_; }
  // For the runtime alone: tells this registration from later ones.
  std::uint32_t life() const { return life_; }
  // Whether the handle was given by a registration, which may have ended.
  explicit operator bool() const { return impl_ != nullptr; }
  friend bool operator==(Handle, Handle) = default;

 private:
  internals::GraphHandle* impl_ = nullptr;
  std::uint32_t runtime_ = 0;  // its number, never given twice in a process; 0: none
  std::uint32_t life_ = 0;     // of what is behind `impl_`, never given twice there
};

// One operand of a task: R(a), W(b), RW(c), Commute(d), Scratch(bytes), Reduce(e).
struct Operand {
  Handle handle;                         // none: a Scratch
  AccessMode mode = AccessMode::R;       // what the task does with it
  std::uint64_t scratch_bytes : 56 = 0;  // of a Scratch, which has no handle
};
// The task reads the data.
inline Operand R(Handle handle) {
  return {handle, AccessMode::R};
}
// The task overwrites all of the data.
inline Operand W(Handle handle) {
  return {handle, AccessMode::W};
}
// The task reads the data, then changes them.
inline Operand RW(Handle handle) {
  return {handle, AccessMode::RW};
}
// The task changes the data, and its order among commuting tasks is free: additions to a sum, for example.
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
// The task adds to the data in a private copy: see Runtime::set_reduction.
inline Operand Reduce(Handle handle) {
  return {handle, AccessMode::reduction};
}

}  // namespace vicinal
