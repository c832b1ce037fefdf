#include "runtime/simulated_world.hpp"

#include <utility>

#include "runtime/simulated_machine.hpp"

namespace vicinal {

SimulatedWorld::SimulatedWorld() : shared_(std::make_shared<runtime::SharedWorld>()) {
  shared_->is_shared = true;
}

SegmentDescription SimulatedWorld::add_segment(std::string name, BytesPerSecond bandwidth) {
  SegmentDescription segment{std::move(name), bandwidth};
  runtime::require_sound(segment);
  segment.shared = shared_->world.add_resource(bandwidth);
  shared_->segments.push_back(segment);
  return segment;
}

Time SimulatedWorld::now() const {
  return shared_->world.now();
}

}  // namespace vicinal
