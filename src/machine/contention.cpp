// The contention model of Swartvagher's thesis (2022): equations 6.1 to 6.8, algorithms 3 to 6.
#include "vicinal/contention.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "machine/contention_surface.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

[[noreturn]] void refuse_contention(const std::string& why) {
  throw UsageError("contention model: " + why);
}

void check_parameters(const ContentionParameters& p) {
  const auto positive = [](const char* name, BytesPerSecond rate) {
    if (!(rate.value > 0) || !std::isfinite(rate.value)) {
      refuse_contention(fmt::format("{} is {} B/s, and must be above 0", name, rate.value));
    }
  };
  positive("total_beside", p.total_beside);
  positive("total_alone", p.total_alone);
  positive("total_at_most_alone", p.total_at_most_alone);
  positive("core", p.core);
  positive("transfer", p.transfer);
  if (p.most_beside < 1 || p.most_alone < p.most_beside) {
    refuse_contention(
        fmt::format("most_beside is {} and most_alone {}: 1 <= most_beside <= most_alone holds",
                    p.most_beside, p.most_alone));
  }
  if (!(p.loss_before.value >= 0) || !std::isfinite(p.loss_before.value)) {
    refuse_contention(
        fmt::format("loss_before is {} B/s, and cannot be below 0: total_beside is the largest "
                    "total",
                    p.loss_before.value));
  }
  if (!std::isfinite(p.loss_after.value)) refuse_contention("loss_after is not finite");
  if (!(p.least_share >= 0 && p.least_share <= 1)) {
    refuse_contention(fmt::format("least_share is {}, and must be from 0 to 1", p.least_share));
  }
}

void check_cores(double cores) {
  if (cores >= 0 && cores <= kMostContendingCores) return;
  refuse_contention(
      fmt::format("{} cores: a number from 0 to {} is expected", cores, kMostContendingCores));
}

// Equation 6.1; never negative.
double total_of(const ContentionParameters& p, std::uint32_t n) {
  const double cores = n;
  if (n <= p.most_beside) return p.total_beside.value;
  const double total =
      n <= p.most_alone ? p.total_beside.value - p.loss_before.value * (cores - p.most_beside)
                        : p.total_at_most_alone.value - p.loss_after.value * (cores - p.most_alone);
  return std::max(total, 0.0);
}

// R(n) < T(n): nobody waits for the cores, which have what they ask for (equation 6.2).
bool fits(const ContentionParameters& p, std::uint32_t n) {
  return n * p.core.value + p.least_share * p.transfer.value < total_of(p, n);
}

// The transfer has what n cores leave (equation 6.4, first case).
double transfer_that_fits(const ContentionParameters& p, std::uint32_t n) {
  return std::clamp(total_of(p, n) - n * p.core.value, 0.0, p.transfer.value);
}

// Most cores below n that fit; 0 if one does not (the paper leaves that open: beta is then 1, for a transfer that the
// memory can serve alone). T falls and R rises up to most_alone.
std::uint32_t most_that_fit(const ContentionParameters& p, std::uint32_t n) {
  std::uint32_t fitting = 0;
  std::uint32_t beyond = n;
  while (beyond - fitting > 1) {
    const std::uint32_t middle = fitting + (beyond - fitting) / 2;
    (fits(p, middle) ? fitting : beyond) = middle;
  }
  return fitting;
}

// alpha(n), equation 6.5, where n cores do not fit.
double share_of_transfer(const ContentionParameters& p, std::uint32_t n) {
  if (p.most_alone - p.most_beside <= 1 || n >= p.most_alone) return p.least_share;
  const std::uint32_t i = most_that_fit(p, n);
  const double beta = transfer_that_fits(p, i) / p.transfer.value;
  return beta - (beta - p.least_share) / (p.most_alone - i) * (n - i);
}

ContentionShares shares_of(const ContentionParameters& p, std::uint32_t n) {
  const double total = total_of(p, n);
  const double asked = n * p.core.value;
  ContentionShares shares;
  shares.total = {total};
  shares.alone = {std::min({asked, total, p.total_alone.value})};
  if (n == 0 || fits(p, n)) {
    shares.computations = {asked};
    shares.transfer = {transfer_that_fits(p, n)};
  } else {
    shares.transfer = {std::min(share_of_transfer(p, n) * p.transfer.value, total)};
    shares.computations = {total - shares.transfer.value};
  }
  return shares;
}

}  // namespace

ContentionShares predict_contention(const ContentionParameters& parameters, double cores) {
  check_parameters(parameters);
  check_cores(cores);
  const auto below = static_cast<std::uint32_t>(cores);
  const ContentionShares at_below = shares_of(parameters, below);
  const double part = cores - below;
  if (part == 0) return at_below;
  const ContentionShares above = shares_of(parameters, below + 1);
  const auto between = [part](BytesPerSecond a, BytesPerSecond b) {
    return BytesPerSecond{a.value + part * (b.value - a.value)};
  };
  return {.total = between(at_below.total, above.total),
          .computations = between(at_below.computations, above.computations),
          .transfer = between(at_below.transfer, above.transfer),
          .alone = between(at_below.alone, above.alone)};
}

ContentionShares predict_contention(const ContentionModel& model, double cores,
                                    std::uint32_t computation_node, std::uint32_t transfer_node) {
  const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
  for (const std::uint32_t node : {computation_node, transfer_node}) {
    if (node >= nodes) {
      refuse_contention(
          fmt::format("there is no NUMA node {}: the machine has {}, from 0", node, nodes));
    }
  }
  if (model.surface) {
    check_cores(cores);
    return machine::shares_by_surface(model, cores, computation_node, transfer_node);
  }
  const auto is_remote = [&](std::uint32_t node) { return node >= model.numa_nodes_per_socket; };
  const ContentionParameters& of_computations =
      is_remote(computation_node) ? model.remote : model.local;
  ContentionShares shares = predict_contention(of_computations, cores);
  if (computation_node == transfer_node) return shares;
  // Equation 6.7, algorithm 5: the local model, with what the transfer has alone where its data are.
  ContentionParameters of_transfer = model.local;
  if (is_remote(transfer_node)) of_transfer.transfer = model.remote.transfer;
  shares.transfer = predict_contention(of_transfer, cores).transfer;
  shares.computations = shares.alone;  // equation 6.8
  shares.total = {shares.computations.value + shares.transfer.value};
  return shares;
}

}  // namespace vicinal
