// A grid that is cut along its slowest dimension, each piece with copies of its ends that its neighbours read: a stencil
// moves these between memories, and no neighbour as a whole.
//
//   const vicinal::Slabs<double> u(runtime, {.planes = 64, .plane = 96 * 96, .slab = 8}, "u"), v(...);
//   for (std::size_t i = 0; i < u.size(); ++i) {
//     runtime.task("step", step, in(u.before(i)), in(u(i)), in(u.after(i)), out(v(i)), out(v.first(i)), out(v.last(i)));
//   }
//
// A task that writes a slab writes its ends, too: `first` gets its first planes, `last` its last ones. Beyond the grid
// lie before(0) and after(size() - 1), which hold the boundary condition and are written like all else before they are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vicinal/runtime.hpp"

namespace vicinal {

// The last slab is smaller where the slabs do not divide the grid.
struct SlabShape {
  std::uint64_t planes = 0;  // of the grid
  std::uint64_t plane = 0;   // elements of each: nx * ny
  std::uint64_t slab = 0;    // planes of each slab
  std::uint64_t halo = 1;    // planes of an end
};

// Throws UsageError if a number of the shape is 0, a slab has fewer planes than an end, or there are too many slabs.
void check_shape(const SlabShape& shape, const std::string& name);
// Throws UsageError: there is no slab `number` among so many `slabs`.
[[noreturn]] void refuse_slab(std::size_t number, std::size_t slabs);

// A small value like the handles of its data, which stay until they are released or the runtime ends.
template <typename T>
class Slabs {
 public:
  Slabs() = default;
  // Registers the slabs of this shape and their ends, which nobody has written; their names begin with `name`. Throws
  // what check_shape throws.
  Slabs(Runtime& runtime, const SlabShape& shape, const std::string& name = {}) : shape_(shape) {
    check_shape(shape, name);
    const std::uint64_t end = shape.halo * shape.plane;
    const auto named = [&](const char* what, std::size_t i) {
      return name.empty() ? name : name + what + "(" + std::to_string(i) + ")";
    };
    const std::size_t slabs = (shape.planes - 1) / shape.slab + 1;
    for (std::size_t i = 0; i < slabs; ++i) {
      slabs_.push_back(runtime.data<T>(planes_of(i) * shape.plane, named("", i)));
      first_.push_back(runtime.data<T>(end, named(" first", i)));
      last_.push_back(runtime.data<T>(end, named(" last", i)));
    }
    before_ = runtime.data<T>(end, name.empty() ? name : name + " before");
    after_ = runtime.data<T>(end, name.empty() ? name : name + " after");
  }

  // The number of slabs.
  std::size_t size() const { return slabs_.size(); }
  // As given.
  const SlabShape& shape() const { return shape_; }
  // The number of planes in slab i.
  std::uint64_t planes_of(std::size_t i) const {
    return std::min(shape_.slab, shape_.planes - first_plane(i));
  }
  // The number of slab i's first plane.
  std::uint64_t first_plane(std::size_t i) const { return i * shape_.slab; }

  // Slab i. Throws UsageError beyond the last slab, as the functions below do.
  Data<T> operator()(std::size_t i) const { return slabs_[checked(i)]; }
  // The copy of slab i's first planes.
  Data<T> first(std::size_t i) const { return first_[checked(i)]; }
  // The copy of slab i's last planes.
  Data<T> last(std::size_t i) const { return last_[checked(i)]; }
  // The planes before slab i: the last ones of its neighbour, or the boundary.
  Data<T> before(std::size_t i) const { return checked(i) == 0 ? before_ : last_[i - 1]; }
  // The planes behind slab i: the first ones of its neighbour, or the boundary.
  Data<T> after(std::size_t i) const { return checked(i) + 1 == size() ? after_ : first_[i + 1]; }

 private:
  std::size_t checked(std::size_t i) const {
    if (i >= size()) [[unlikely]]
      refuse_slab(i, size());
    return i;
  }

  SlabShape shape_;
  std::vector<Data<T>> slabs_;
  std::vector<Data<T>> first_;
  std::vector<Data<T>> last_;
  Data<T> before_;
  Data<T> after_;
};

}  // namespace vicinal
