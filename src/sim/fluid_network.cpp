#include "sim/fluid_network.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace vicinal::sim {

FluidNetwork::Resource FluidNetwork::add_resource(BytesPerSecond bandwidth) {
  if (!(bandwidth.value > 0) || !std::isfinite(bandwidth.value)) {
    throw std::invalid_argument("fluid network: a resource needs a bandwidth above 0");
  }
  capacities_.push_back(bandwidth.value * 1e-9);
  left_.push_back(0);
  users_.push_back(0);
  const auto resource = static_cast<Resource>(capacities_.size() - 1);
  groups_.push_back(resource);
  return resource;
}

void FluidNetwork::start(std::uint64_t id, Bytes bytes, std::span<const Resource> path, double at) {
  advance(at);
  if (spare_.empty()) spare_.emplace_back();
  Flow& flow = flows_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  flow.id = id;
  flow.left = path.empty() ? 0 : static_cast<double>(bytes.value);
  flow.path.assign(path.begin(), path.end());
  flow.group = join(path);
  share(flow.group);
  find_next_end();
}

// They are one group from now on.
std::uint32_t FluidNetwork::join(std::span<const Resource> path) {
  if (path.empty()) return kNoGroup;
  const std::uint32_t group = groups_[path.front()];
  for (const Resource r : path) {
    const std::uint32_t other = groups_[r];
    if (other == group) continue;
    std::ranges::replace(groups_, other, group);
    for (Flow& flow : flows_) {
      if (flow.group == other) flow.group = group;
    }
  }
  return group;
}

bool FluidNetwork::take_end(double to, End& end) {
  if (next_end_ > to) return false;
  // Which one: by the same arithmetic as next_end_, so that it is found again.
  const auto first = std::ranges::find_if(flows_, [this](const Flow& flow) {
    return flow.left <= 0 || changed_ + flow.left / flow.rate <= next_end_;
  });
  end = {first->id, next_end_};
  advance(next_end_);
  const std::uint32_t group = first->group;
  spare_.push_back(std::move(*first));
  flows_.erase(first);
  share(group);
  find_next_end();
  return true;
}

double FluidNetwork::rate(std::uint64_t id) const {
  for (const Flow& flow : flows_) {
    if (flow.id == id) return flow.rate * 1e9;
  }
  return 0;
}

void FluidNetwork::advance(double to) {
  const double passed = to - changed_;
  if (passed > 0) {
    for (Flow& flow : flows_) flow.left = std::max(0.0, flow.left - flow.rate * passed);
    changed_ = to;
  }
}

// Progressive filling: the resource that gives its flows least fixes their rates; what it leaves to
// the others is shared in the same way.
void FluidNetwork::share(std::uint32_t group) {
  used_.clear();
  unfixed_.clear();
  for (std::uint32_t f = 0; f < flows_.size(); ++f) {
    if (flows_[f].group != group) continue;
    unfixed_.push_back(f);
    for (const Resource r : flows_[f].path) {
      if (users_[r]++ == 0) {
        used_.push_back(r);
        left_[r] = capacities_[r];
      }
    }
  }
  double before = 0;  // rates only grow from one bottleneck to the next, but for rounding
  while (!unfixed_.empty()) {
    double least = kNever;
    Resource narrowest = 0;
    for (const Resource r : used_) {
      if (users_[r] == 0) continue;
      const double each = left_[r] / users_[r];
      if (each < least) {
        least = each;
        narrowest = r;
      }
    }
    before = least = std::max(least, before);
    const auto passes = [&](std::uint32_t f) {
      const auto& path = flows_[f].path;
      return std::ranges::find(path, narrowest) != path.end();
    };
    std::erase_if(unfixed_, [&](std::uint32_t f) {
      if (least < kNever && !passes(f)) return false;
      flows_[f].rate = least;
      for (const Resource r : flows_[f].path) {
        left_[r] = std::max(0.0, left_[r] - least);
        --users_[r];
      }
      return true;
    });
  }
  for (const Resource r : used_) users_[r] = 0;
}

void FluidNetwork::find_next_end() {
  next_end_ = kNever;
  for (const Flow& flow : flows_) {
    next_end_ = std::min(next_end_, flow.left <= 0 ? changed_ : changed_ + flow.left / flow.rate);
  }
}

}  // namespace vicinal::sim
