#include "sched/orders/hfp.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sched/orders/flip.hpp"

namespace vicinal::sched::orders {

namespace {

struct Package {
  Order tasks;               // empty: merged into another, or set aside
  std::size_t joint = 0;     // as Joined::joint
  std::vector<Number> data;  // rising
  std::uint64_t bytes = 0;
  std::uint32_t changed = 0;  // the last round that did

  // The best partner found, while this is among the packages with the fewest tasks.
  std::uint64_t shared = 0;  // weight of the data; no partner shares more
  Number partner = 0;        // shares that much, unless it has changed or gone since
  std::uint32_t partner_changed = 0;
};

class Packer {
 public:
  Packer(const TaskInputs& inputs, const Packing& packing)
      : packing_(packing),
        inputs_(inputs),
        readers_(inputs,
                 packing.rounds_sizes ? rounded_sizes(inputs) : std::vector<std::uint64_t>{}),
        flips_(inputs, packing.memory),
        packages_(inputs.size()),
        live_(inputs.size()) {
    for (Number task = 0; task < inputs.size(); ++task) {
      Package& package = packages_[task];
      package.tasks = {task};
      package.data.assign(inputs[task].begin(), inputs[task].end());
      for (const Number datum : package.data) package.bytes += inputs.bytes(datum);
    }
  }

  void first_phase() {
    while (live_ > packing_.count && merge_smallest()) continue;
  }
  void second_phase() {
    limited_ = false;
    while (live_ > packing_.count) {
      if (!merge_smallest()) set_smallest_aside();
    }
  }
  std::vector<Order> packages() {
    std::vector<Order> result;
    for (Package& package : packages_) {
      if (!package.tasks.empty()) result.push_back(std::move(package.tasks));
    }
    for (Order& tasks : aside_) {
      if (result.size() < packing_.count) {
        result.push_back(std::move(tasks));
        continue;
      }
      Order& fewest =
          *std::min_element(result.begin(), result.end(),
                            [](const Order& a, const Order& b) { return a.size() < b.size(); });
      fewest.insert(fewest.end(), tasks.begin(), tasks.end());
    }
    if (result.size() < packing_.count) result.resize(packing_.count);
    return result;
  }

 private:
  // What the packages with the fewest tasks have as best partners: the greatest, first place first. An entry
  // counts while its package has that many tasks and shares that much.
  struct QueuedPackage {
    std::uint64_t shared = 0;
    Number package = 0;
    bool operator<(const QueuedPackage& other) const {
      return std::tie(shared, other.package) < std::tie(other.shared, package);
    }
  };

  bool gone(const Package& package) const { return package.tasks.empty(); }
  bool fits(const Package& a, const Package& b, std::uint64_t shared) const {
    return !limited_ || a.bytes + b.bytes - shared <= packing_.memory.value;
  }
  // Its partner is as it was when it was found.
  bool sure(const Package& package) const {
    const Package& partner = packages_[package.partner];
    return !gone(partner) && partner.changed == package.partner_changed;
  }
  void queue(Number number) {
    if (packages_[number].shared > 0) best_.push({packages_[number].shared, number});
  }

  // All packages with the fewest tasks look for partners. They stay in the queue until none of them is left.
  void gather_smallest() {
    fewest_ = std::numeric_limits<std::size_t>::max();
    for (const Package& package : packages_) {
      if (!gone(package)) fewest_ = std::min(fewest_, package.tasks.size());
    }
    smallest_left_ = 0;
    best_ = {};
    for (Number number = 0; number < packages_.size(); ++number) {
      if (packages_[number].tasks.size() != fewest_) continue;
      ++smallest_left_;
      find_partner(number);
      queue(number);
    }
  }

  // Not among those merged in this round.
  void find_partner(Number number) {
    Package& package = packages_[number];
    package.shared = 0;
    for (const auto& [other, bytes, weight] : readers_.sharing(package.data)) {
      if (other == number || merged_now(other) || !fits(package, packages_[other], bytes)) continue;
      offer(package, other, weight);
    }
  }
  void offer(Package& package, Number other, std::uint64_t shared) const {
    const bool better = shared > package.shared ||
                        (shared == package.shared && sure(package) && other < package.partner);
    if (!better) return;
    package.shared = shared;
    package.partner = other;
    package.partner_changed = packages_[other].changed;
  }
  bool merged_now(Number number) const { return packages_[number].changed == round_; }

  // One round. False if no pair may be merged.
  bool merge_smallest() {
    ++round_;
    if (smallest_left_ == 0 || limited_ != gathered_limited_) {
      gather_smallest();
      gathered_limited_ = limited_;
    }
    const std::vector<Number> choosers = those_that_share_most();
    if (choosers.empty()) return false;
    std::vector<Number> merged;
    const std::uint64_t most = packages_[choosers.front()].shared;
    for (const Number number : choosers) {
      if (merged_now(number) || gone(packages_[number])) continue;
      Package& package = packages_[number];
      const Number partner = package.partner;
      if (gone(packages_[partner]) || merged_now(partner)) find_partner(number);
      if (package.shared < most) {
        queue(number);
        continue;
      }
      merge(number, package.partner);
      merged.push_back(number);
      if (live_ <= packing_.count) return true;
    }
    for (const Number number : merged) offer_to_smallest(number);
    return true;
  }

  // Rising. They have sure partners, and leave the queue.
  std::vector<Number> those_that_share_most() {
    std::vector<Number> result;
    while (!best_.empty()) {
      const auto [shared, number] = best_.top();
      if (!result.empty() && shared < packages_[result.front()].shared) break;
      best_.pop();
      Package& package = packages_[number];
      const bool counts = package.tasks.size() == fewest_ && package.shared == shared;
      if (!counts || (!result.empty() && result.back() == number)) continue;
      if (sure(package)) {
        result.push_back(number);
      } else {
        find_partner(number);
        queue(number);
      }
    }
    return result;
  }

  // A package that has grown may be a better partner than those that were found.
  void offer_to_smallest(Number number) {
    if (smallest_left_ == 0) return;
    for (const auto& [other, bytes, weight] : readers_.sharing(packages_[number].data)) {
      Package& package = packages_[other];
      if (package.tasks.size() != fewest_ || !fits(package, packages_[number], bytes)) continue;
      const std::uint64_t before = package.shared;
      offer(package, number, weight);
      if (package.shared > before) queue(other);
    }
  }

  void leave(const Package& package) {
    if (package.tasks.size() == fewest_) --smallest_left_;
  }

  // `from` is the partner that `into` has found.
  void merge(Number into, Number from) {
    Package& left = packages_[into];
    Package& right = packages_[from];
    leave(left);
    leave(right);
    if (!limited_ && packing_.flip) {
      const Flip flip = flips_.best({left.tasks, left.joint}, {right.tasks, right.joint});
      if (flip.left) std::reverse(left.tasks.begin(), left.tasks.end());
      if (flip.right) std::reverse(right.tasks.begin(), right.tasks.end());
    }
    left.joint = left.tasks.size();
    left.tasks.insert(left.tasks.end(), right.tasks.begin(), right.tasks.end());
    readers_.move(right.data, from, into);
    std::vector<Number> data;
    data.reserve(left.data.size() + right.data.size());
    std::set_union(left.data.begin(), left.data.end(), right.data.begin(), right.data.end(),
                   std::back_inserter(data));
    left.data = std::move(data);
    left.bytes = 0;
    for (const Number datum : left.data) left.bytes += inputs_.bytes(datum);
    left.changed = round_;
    right = {};
    --live_;
  }

  void set_smallest_aside() {
    for (Package& package : packages_) {
      if (package.tasks.size() != fewest_) continue;
      aside_.push_back(std::move(package.tasks));
      package = {};
      --live_;
    }
    smallest_left_ = 0;
  }

  const Packing& packing_;
  const TaskInputs& inputs_;
  Readers readers_;
  Flips flips_;
  std::vector<Package> packages_;  // by place
  std::size_t live_;               // neither gone nor aside
  std::vector<Order> aside_;
  bool limited_ = true;  // to pairs that fit the memory
  std::uint32_t round_ = 0;

  // Of the packages with the fewest tasks.
  std::priority_queue<QueuedPackage> best_;
  std::size_t fewest_ = 0;
  std::size_t smallest_left_ = 0;
  bool gathered_limited_ = true;
};

}  // namespace

std::vector<Order> hfp_packages(const TaskInputs& inputs, const Packing& packing) {
  if (packing.count == 0) throw std::invalid_argument("no packages: ask for 1 or more");
  Packer packer(inputs, packing);
  packer.first_phase();
  packer.second_phase();
  return packer.packages();
}

std::vector<Order> hfp_first_phase(const TaskInputs& inputs, const Packing& packing) {
  Packer packer(inputs, packing);
  packer.first_phase();
  return packer.packages();
}

Order hfp_order(const TaskInputs& inputs, Bytes memory, bool flip) {
  return std::move(hfp_packages(inputs, {.memory = memory, .flip = flip}).front());
}

void repack(std::vector<Order>& packages, const TaskInputs& inputs, const Packing& packing) {
  for (Order& package : packages) {
    Packing alone = packing;
    alone.count = 1;
    const Order places = std::move(hfp_packages(inputs_of(inputs, package), alone).front());
    Order tasks;
    for (const Number place : places) tasks.push_back(package[place]);
    package = std::move(tasks);
  }
}

}  // namespace vicinal::sched::orders
