#include "vicinal/slabs.hpp"

#include <algorithm>

#include "vicinal/error.hpp"

namespace vicinal {

void check_shape(const SlabShape& shape, const std::string& name) {
  const std::string grid = name.empty() ? "a grid in slabs" : "grid " + name;
  if (shape.planes == 0 || shape.plane == 0 || shape.slab == 0 || shape.halo == 0) {
    throw UsageError(grid + ": planes, plane, slab and halo must be one at least");
  }
  constexpr std::uint64_t kMostSlabs = std::uint64_t{1} << 31;
  const std::uint64_t slabs = (shape.planes - 1) / shape.slab + 1;
  const std::uint64_t largest = std::min(shape.slab, shape.planes);
  if (slabs > kMostSlabs || largest > kLargestData.value / shape.plane) {
    throw UsageError(grid + " has " + std::to_string(slabs) + " slabs of " +
                     std::to_string(shape.slab) + " planes of " + std::to_string(shape.plane) +
                     " elements, which are more than can be; take fewer and smaller ones");
  }
  const std::uint64_t least = shape.planes - (slabs - 1) * shape.slab;
  if (shape.halo > least) {
    throw UsageError(grid + ": a slab of " + std::to_string(least) +
                     " planes is less than its end of " + std::to_string(shape.halo) +
                     " (halo); choose slabs that divide the planes, or are thicker");
  }
}

void refuse_slab(std::size_t number, std::size_t slabs) {
  throw UsageError("there is no slab " + std::to_string(number) + " in a grid of " +
                   std::to_string(slabs) + "; they count from 0");
}

}  // namespace vicinal
