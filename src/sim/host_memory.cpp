#include "sim/host_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

namespace vicinal::sim {

namespace {

// A flow takes no less of a resource, nor more, per unit.
constexpr double kLeastWeight = 1e-6;
constexpr double kMostWeight = 1e6;
// Of full speed: what lacks less lacks nothing.
constexpr double kAlmostFull = 1e-9;
// Of a transfer alone, likewise.
constexpr double kLeastPart = 1e-3;

double per_ns(BytesPerSecond rate) {
  return rate.value * 1e-9;
}

// Resources of one host, from the first: what cores of a socket draw on a node, what transfers on a node take, and
// what those of a lane do there.
struct Numbers {
  std::uint32_t sockets = 1;
  std::uint32_t nodes = 1;
  std::uint32_t cores(std::uint32_t socket, std::uint32_t node) const {
    return socket * nodes + node;
  }
  std::uint32_t transfers(std::uint32_t node) const { return sockets * nodes + node; }
  std::uint32_t lane(std::uint32_t lane, std::uint32_t node) const {
    return (sockets + 1 + lane) * nodes + node;
  }
};

Numbers numbers_of(const ContentionModel& model) {
  return {model.sockets, model.sockets * model.numa_nodes_per_socket};
}

// What the model says, asked once for each number of cores: a surface is slow.
class Predictions {
 public:
  // Data of cores and transfer on one node, of the cores' socket or another; or the transfer's on another, near the NIC
  // or not.
  enum class Case : std::uint8_t { local, remote, apart_near, apart_far };

  explicit Predictions(const ContentionModel& model) : model_(model) {}
  const ContentionModel& model() const { return model_; }
  const ContentionShares& of(Case which, double cores) {
    auto& known = known_[static_cast<std::size_t>(which)];
    if (known.size() > kMostKnown) known.clear();
    const auto [shares, is_new] = known.try_emplace(cores);
    if (is_new) shares->second = ask(which, cores);
    return shares->second;
  }

 private:
  static constexpr std::size_t kMostKnown = 1 << 14;

  ContentionShares ask(Case which, double cores) const {
    // The cores are on socket 0. Of a machine of one node the transfer's is apart from it nowhere.
    const std::uint32_t far = model_.numa_nodes_per_socket % numbers_of(model_).nodes;
    const std::uint32_t near = model_.numa_nodes_per_socket > 1 ? 1 : 0;
    const double most = std::min(cores, double{kMostContendingCores});
    ContentionShares shares;
    switch (which) {
      case Case::local:
        shares = predict_contention(model_, most, 0, 0);
        break;
      case Case::remote:
        shares = predict_contention(model_, most, far, far);
        break;
      case Case::apart_near:
        // With one node on each socket, near data are apart from those of cores that are remote.
        shares = predict_contention(model_, most, near > 0 ? 0 : far, near);
        break;
      case Case::apart_far:
        shares = predict_contention(model_, most, 0, far);
        break;
    }
    return shares;
  }

  ContentionModel model_;
  std::array<std::unordered_map<double, ContentionShares>, 4> known_;
};

// The joint rule of a host: host_memory.hpp says what it gives.
class Sharing {
 public:
  Sharing(const ContentionModel& model, std::vector<double> links)
      : predictions_(std::make_shared<Predictions>(model)),
        model_(predictions_->model()),
        at_(numbers_of(model)),
        links_(std::move(links)) {}

  void operator()(std::span<const Drawn> drawn, std::span<double> capacities) const {
    for (std::uint32_t node = 0; node < at_.nodes; ++node) {
      const Cores cores = cores_on(node, drawn);
      share_cores(node, cores, drawn, capacities);
      const bool is_new = capacities[at_.transfers(node)] == 0;
      if (is_new || drawn[at_.transfers(node)].flows > 0) {
        share_transfers(node, cores, drawn, capacities);
      }
    }
  }

 private:
  using Case = Predictions::Case;
  struct Cores {
    double local = 0;
    double remote = 0;
    double all() const { return local + remote; }
  };

  bool is_local(std::uint32_t socket, std::uint32_t node) const {
    return node / model_.numa_nodes_per_socket == socket;
  }
  // In steps, so that sums of other orders are the same.
  double cores_of(std::uint32_t socket, std::uint32_t node, std::span<const Drawn> drawn) const {
    constexpr double kSteps = 1 << 20;
    const double drawn_here = drawn[at_.cores(socket, node)].kernels;
    if (drawn_here == 0) return 0;
    const ContentionParameters& of = is_local(socket, node) ? model_.local : model_.remote;
    return std::max(1.0, std::round(drawn_here / per_ns(of.core) * kSteps)) / kSteps;
  }
  Cores cores_on(std::uint32_t node, std::span<const Drawn> drawn) const {
    Cores cores;
    for (std::uint32_t socket = 0; socket < at_.sockets; ++socket) {
      (is_local(socket, node) ? cores.local : cores.remote) += cores_of(socket, node, drawn);
    }
    return cores;
  }

  // Of its full speed that a kernel has beside so many cores and transfers. Between none and what the model gives a
  // transfer: on the line.
  double speed(Case which, double cores, double transfers) const {
    const ContentionShares& shares = predictions_->of(which, cores);
    const double alone = shares.alone.value;
    const double beside = shares.computations.value;
    double left = alone;
    if (transfers > 0 && shares.transfer.value > 0) {
      left -= transfers * 1e9 / shares.transfer.value * (alone - beside);
      left = std::max(left, std::min(beside, alone / 2));
    }
    const double core = (which == Case::remote ? model_.remote : model_.local).core.value;
    return std::min(1.0, std::max(left / core, kLeastOfCore) / cores);
  }
  void share_cores(std::uint32_t node, const Cores& cores, std::span<const Drawn> drawn,
                   std::span<double> capacities) const {
    const double transfers = drawn[at_.transfers(node)].copies;
    const double local = cores.local > 0 ? speed(Case::local, cores.all(), transfers) : 1;
    const double remote =
        cores.remote > 0 ? std::min(local, speed(Case::remote, cores.remote, transfers)) : 1;
    for (std::uint32_t socket = 0; socket < at_.sockets; ++socket) {
      const double demanded = drawn[at_.cores(socket, node)].kernels;
      const double of_full = is_local(socket, node) ? local : remote;
      // Twice what is demanded stands for no bound: the sum of weights would round.
      const double part = of_full > 1 - kAlmostFull ? 2 : of_full;
      capacities[at_.cores(socket, node)] = demanded > 0 ? demanded * part : 1;
    }
  }

  double most_of_transfers(Case which, double cores) const {
    const ContentionShares& shares = predictions_->of(which, cores);
    return std::max(
        {shares.transfer.value, shares.total.value - shares.alone.value, shares.total.value / 2});
  }
  void share_transfers(std::uint32_t node, const Cores& cores, std::span<const Drawn> drawn,
                       std::span<double> capacities) const {
    double all = most_of_transfers(Case::local, cores.remote > 0 ? 0 : cores.local);
    if (cores.remote > 0) {
      const double local = cores.local > 0 ? most_of_transfers(Case::local, cores.all()) : 0;
      const double remote = most_of_transfers(Case::remote, cores.all());
      all = (local * cores.local + remote * cores.remote) / cores.all();
    }
    capacities[at_.transfers(node)] = all * 1e-9;

    const BytesPerSecond nic = (is_local(0, node) ? model_.local : model_.remote).transfer;
    const double part = part_of_lanes(node, cores, drawn);
    for (const HostMemory::Lane lane : {HostMemory::kReceives, HostMemory::kSends}) {
      capacities[at_.lane(lane, node)] = per_ns(nic) * part;
    }
    for (std::uint32_t link = 0; link < links_.size(); ++link) {
      capacities[at_.lane(HostMemory::kFirstLink + link, node)] = links_[link] * part;
    }
  }
  // The part of a lane's own bandwidth that cores leave: the cores that draw on the node, and those of socket 0 that draw on
  // others; the lesser part counts.
  double part_of_lanes(std::uint32_t node, const Cores& cores, std::span<const Drawn> drawn) const {
    const auto part = [this](Case which, double number, const ContentionParameters& alone) {
      const double left = predictions_->of(which, number).transfer.value / alone.transfer.value;
      return std::clamp(left, kLeastPart, 1.0);
    };
    double least = 1;
    if (cores.local > 0) least = part(Case::local, cores.all(), model_.local);
    if (cores.remote > 0) {
      least = std::min(least, part(Case::remote, cores.remote, model_.remote));
    }
    double apart = 0;
    for (std::uint32_t other = 0; other < at_.nodes; ++other) {
      if (other != node) apart += cores_of(0, other, drawn);
    }
    if (apart == 0) return least;
    const double of_socket = apart + cores_of(0, node, drawn);
    const double beside = is_local(0, node) ? part(Case::apart_near, of_socket, model_.local)
                                            : part(Case::apart_far, of_socket, model_.remote);
    return std::min(least, beside);
  }

  std::shared_ptr<Predictions> predictions_;
  const ContentionModel& model_;
  Numbers at_;
  std::vector<double> links_;  // per nanosecond
};

}  // namespace

HostMemory::HostMemory(World& world, const ContentionModel& model,
                       std::span<const BytesPerSecond> links)
    : model_(model), nodes_(numbers_of(model).nodes), homes_(nodes_) {
  std::vector<double> of_links;
  for (const BytesPerSecond link : links) of_links.push_back(per_ns(link));
  const auto lanes = static_cast<Lane>(kFirstLink + links.size());
  first_ =
      world.add_resources(numbers_of(model).lane(lanes, 0), Sharing(model, std::move(of_links)));
}

std::uint32_t HostMemory::socket_of_core(std::uint32_t core) const {
  return std::min(core / model_.cores_per_socket, model_.sockets - 1);
}

std::uint32_t HostMemory::node_of_core(std::uint32_t core) const {
  const std::uint32_t in_socket = core % model_.cores_per_socket;
  return socket_of_core(core) * model_.numa_nodes_per_socket +
         in_socket * model_.numa_nodes_per_socket / model_.cores_per_socket;
}

void HostMemory::add_transfer(Lane lane, std::uint32_t node,
                              base::SureVector<Demand>& demands) const {
  const Numbers at = numbers_of(model_);
  demands.push_back({first_ + at.transfers(node)});
  demands.push_back({first_ + at.lane(lane, node)});
}

// A kernel that demands what a core has has what a core has from afar, and one that demands more, more.
BytesPerSecond HostMemory::remote_demand(BytesPerSecond demand) const {
  const double cores = std::max(1.0, demand.value / model_.local.core.value);
  return {std::min(demand.value, cores * model_.remote.core.value)};
}

double HostMemory::add_kernel(std::uint32_t core, BytesPerSecond demand,
                              std::span<const double> bytes,
                              base::SureVector<Demand>& demands) const {
  const Numbers at = numbers_of(model_);
  const std::uint32_t socket = socket_of_core(core);
  double all = 0;
  for (const double some : bytes) all += some;
  double time = 0;
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    const double own = node == node_of_core(core) ? 1 : 0;
    const double part = all > 0 ? bytes[node] / all : own;
    if (part == 0) continue;
    const bool is_local = node / model_.numa_nodes_per_socket == socket;
    const double weight = std::clamp(per_ns(demand) * part, kLeastWeight, kMostWeight);
    demands.push_back({first_ + at.cores(socket, node), weight});
    time += part * (is_local ? 1 : demand.value / remote_demand(demand).value);
  }
  return std::min(1.0, 1 / time);
}

}  // namespace vicinal::sim
