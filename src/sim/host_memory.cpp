#include "sim/host_memory.hpp"

#include <algorithm>
#include <utility>

namespace vicinal::sim {

namespace {

// A flow takes no less of a resource, nor more, per unit.
constexpr double kLeastWeight = 1e-6;
constexpr double kMostWeight = 1e6;
// Relative: what lacks less lacks nothing.
constexpr double kEqual = 1e-9;
// Of what one core draws alone: all that draw on a node together have more (engine::seconds_per_byte).
constexpr double kLeastOfCore = 0.01;
// Of the total, and of a transfer alone, likewise.
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

// The joint rule of a host: host_memory.hpp says what it gives.
class Sharing {
 public:
  Sharing(const ContentionModel& model, std::vector<double> links)
      : model_(model), at_(numbers_of(model)), links_(std::move(links)) {}

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
  struct Cores {
    double local = 0;
    double remote = 0;
    double all() const { return local + remote; }
  };

  static ContentionShares predict(const ContentionParameters& parameters, double cores) {
    ContentionShares shares =
        predict_contention(parameters, std::min(cores, double{kMostContendingCores}));
    const auto keep = [](BytesPerSecond& share, BytesPerSecond of) {
      share.value = std::max(share.value, kLeastPart * of.value);
    };
    keep(shares.total, parameters.total_beside);
    keep(shares.transfer, parameters.transfer);
    return shares;
  }
  bool is_local(std::uint32_t socket, std::uint32_t node) const {
    return node / model_.numa_nodes_per_socket == socket;
  }
  double cores_of(std::uint32_t socket, std::uint32_t node, std::span<const Drawn> drawn) const {
    const ContentionParameters& of = is_local(socket, node) ? model_.local : model_.remote;
    return drawn[at_.cores(socket, node)].kernels / per_ns(of.core);
  }
  Cores cores_on(std::uint32_t node, std::span<const Drawn> drawn) const {
    Cores cores;
    for (std::uint32_t socket = 0; socket < at_.sockets; ++socket) {
      (is_local(socket, node) ? cores.local : cores.remote) += cores_of(socket, node, drawn);
    }
    return cores;
  }

  // Of its full speed that a kernel has beside so many cores and transfers.
  static double speed(const ContentionParameters& of, double cores, double transfers) {
    const ContentionShares shares = predict(of, cores);
    double left = shares.alone.value;
    if (transfers > 0) {
      const double total = shares.total.value;
      const double least = std::min(total - shares.transfer.value, total / 2);
      left = std::min(left, std::max(total - transfers * 1e9, least));
    }
    left = std::max(left, kLeastOfCore * of.core.value);
    return std::min(1.0, left / (cores * of.core.value));
  }
  void share_cores(std::uint32_t node, const Cores& cores, std::span<const Drawn> drawn,
                   std::span<double> capacities) const {
    const double transfers = drawn[at_.transfers(node)].copies;
    const double local = cores.local > 0 ? speed(model_.local, cores.all(), transfers) : 1;
    const double remote =
        cores.remote > 0 ? std::min(local, speed(model_.remote, cores.remote, transfers)) : 1;
    for (std::uint32_t socket = 0; socket < at_.sockets; ++socket) {
      const double demanded = drawn[at_.cores(socket, node)].kernels;
      const double of_full = is_local(socket, node) ? local : remote;
      // Twice what is demanded stands for no bound: the sum of weights would round.
      const double part = of_full > 1 - kEqual ? 2 : of_full;
      capacities[at_.cores(socket, node)] = demanded > 0 ? demanded * part : 1;
    }
  }

  static double most_of_transfers(const ContentionParameters& of, double cores) {
    const ContentionShares shares = predict(of, cores);
    return std::max({shares.transfer.value, shares.total.value - shares.alone.value,
                     shares.total.value / 2});
  }
  void share_transfers(std::uint32_t node, const Cores& cores, std::span<const Drawn> drawn,
                       std::span<double> capacities) const {
    double all = model_.local.total_beside.value;
    if (cores.local > 0) all = most_of_transfers(model_.local, cores.all());
    if (cores.remote > 0) {
      const double remote = cores.remote / cores.all();
      all += remote * (most_of_transfers(model_.remote, cores.all()) - all);
    }
    capacities[at_.transfers(node)] = all * 1e-9;

    const bool is_near = is_local(0, node);
    const BytesPerSecond nic = (is_near ? model_.local : model_.remote).transfer;
    const double part = part_of_lanes(node, nic, cores, drawn);
    for (const HostMemory::Lane lane : {HostMemory::kReceives, HostMemory::kSends}) {
      capacities[at_.lane(lane, node)] = per_ns(nic) * part;
    }
    for (std::uint32_t link = 0; link < links_.size(); ++link) {
      capacities[at_.lane(HostMemory::kFirstLink + link, node)] = links_[link] * part;
    }
  }
  // Of what a lane to the node gives alone.
  double part_of_lanes(std::uint32_t node, BytesPerSecond nic, const Cores& cores,
                       std::span<const Drawn> drawn) const {
    double all = cores.all();
    for (std::uint32_t other = 0; other < at_.nodes; ++other) {
      if (other != node) all += cores_of(0, other, drawn);
    }
    if (!(all > 0)) return 1;
    const double remote = cores.remote / all;
    double part = 0;
    if (remote < 1) {
      ContentionParameters local = model_.local;
      local.transfer = nic;
      part += (1 - remote) * (predict(local, all).transfer.value / nic.value);
    }
    if (remote > 0) {
      part += remote * (predict(model_.remote, all).transfer.value / model_.remote.transfer.value);
    }
    return part;
  }

  ContentionModel model_;
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
