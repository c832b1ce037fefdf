#include "machine/contention_surface.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

constexpr std::size_t kMostSurfaceBytes = 1 << 20;
// Enough for the last bit of a double.
constexpr int kHalvings = 64;

// --- Latency at a load ----------------------------------------------------------------------------

// Of one mix, as if it had been measured.
class Curve {
 public:
  Curve(const std::vector<LatencyCurve>& curves, double reads) {
    const auto above =
        std::find_if(curves.begin(), curves.end(),
                     [reads](const LatencyCurve& curve) { return curve.reads >= reads; });
    above_ = above == curves.end() ? &curves.back() : &*above;
    below_ = above == curves.begin() || above == curves.end() ? above_ : &*(above - 1);
    const double gap = above_->reads - below_->reads;
    part_ = gap > 0 ? (reads - below_->reads) / gap : 0;
  }

  double most() const { return mix(most(*below_), most(*above_)); }
  // At the same part of the largest bandwidth of both neighbours; nanoseconds.
  double latency(double bandwidth) const {
    const double load = bandwidth / most();
    return mix(latency(*below_, load * most(*below_)), latency(*above_, load * most(*above_)));
  }

 private:
  double mix(double below, double above) const { return below + part_ * (above - below); }
  static double most(const LatencyCurve& curve) { return curve.points.back().bandwidth.value; }
  static double latency(const LatencyCurve& curve, double bandwidth) {
    const auto& points = curve.points;
    const auto next = std::find_if(points.begin(), points.end(), [bandwidth](const auto& point) {
      return point.bandwidth.value >= bandwidth;
    });
    if (next == points.end()) return points.back().nanoseconds;
    if (next == points.begin()) return next->nanoseconds;
    const auto& before = *(next - 1);
    const double part =
        (bandwidth - before.bandwidth.value) / (next->bandwidth.value - before.bandwidth.value);
    return before.nanoseconds + part * (next->nanoseconds - before.nanoseconds);
  }

  const LatencyCurve* below_;
  const LatencyCurve* above_;
  double part_;
};

// --- Little's law ---------------------------------------------------------------------------------

// Those that ask for memory: at most `rate`, and as much less as latency exceeds that at `rate`.
struct Requests {
  double rate = 0;       // alone
  double in_flight = 0;  // bytes per second times nanoseconds
  double way = 0;        // nanoseconds to the memory of another socket and back
  double limit = std::numeric_limits<double>::infinity();  // of the way, for all of them
  double least = 0;                                        // that is always left

  double at(double nanoseconds, double count) const {
    const double each = std::max(std::min(in_flight / (nanoseconds + way), rate), least);
    return std::min(count * each, limit);
  }
};

Requests requests_of(const Curve& curve, double local_rate, double rate) {
  Requests requests{.rate = rate};
  requests.way = std::max(0.0, local_rate * curve.latency(local_rate) / rate - curve.latency(rate));
  requests.in_flight = rate * (curve.latency(rate) + requests.way);
  return requests;
}

// The latency, in nanoseconds, at which the load that it allows has this latency.
template <typename Load>
double agreed_latency(const Curve& curve, const Load& load) {
  const auto halve = [](double low, double high, const auto& is_below) {
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = low + (high - low) / 2;
      (is_below(middle) ? low : high) = middle;
    }
    return low;
  };
  const double most = curve.most();
  const double last = curve.latency(most);
  if (load(last) <= most) {
    return curve.latency(halve(
        0, most, [&](double bandwidth) { return load(curve.latency(bandwidth)) > bandwidth; }));
  }
  double high = 2 * last;
  while (load(high) > most && high < 1e6 * last) high *= 2;
  return halve(last, high, [&](double latency) { return load(latency) > most; });
}

void refuse_surface(const std::string& why) {
  throw UsageError("contention model: " + why);
}

void check_surface(const ContentionSurface& surface, const ContentionParameters& parameters) {
  const auto positive = [](const char* name, BytesPerSecond rate) {
    if (!(rate.value > 0) || !std::isfinite(rate.value)) {
      refuse_surface(fmt::format("{} is {} B/s, and must be above 0", name, rate.value));
    }
  };
  positive("core", parameters.core);
  positive("transfer", parameters.transfer);
  for (const double share :
       {surface.computation_reads, surface.transfer_reads, parameters.least_share}) {
    if (!(share >= 0 && share <= 1)) {
      refuse_surface(fmt::format("{} is not a share from 0 to 1", share));
    }
  }
  const bool has_points = !surface.curves.empty() &&
                          std::none_of(surface.curves.begin(), surface.curves.end(),
                                       [](const auto& curve) { return curve.points.empty(); });
  if (!has_points) refuse_surface("the surface has no points");
}

struct Pair {
  double computations = 0;
  double transfer = 0;
};

// On one NUMA node; without a transfer if it is null.
Pair pair_of(const ContentionModel& model, double cores, const ContentionParameters* computing,
             const ContentionParameters* transferring, double* most = nullptr) {
  const ContentionSurface& surface = *model.surface;
  const double asked = computing == nullptr ? 0 : cores * computing->core.value;
  const double received = transferring == nullptr ? 0 : transferring->transfer.value;
  const double both = std::max(asked + received, std::numeric_limits<double>::min());
  const Curve curve(surface.curves,
                    (asked * surface.computation_reads + received * surface.transfer_reads) / both);
  Requests core;
  if (computing != nullptr) {
    core = requests_of(Curve(surface.curves, surface.computation_reads), model.local.core.value,
                       computing->core.value);
    if (computing->total_alone.value > 0) core.limit = computing->total_alone.value;
  }
  Requests transfer;
  if (transferring != nullptr) {
    transfer = requests_of(Curve(surface.curves, surface.transfer_reads),
                           model.local.transfer.value, transferring->transfer.value);
    transfer.least = transferring->least_share * transferring->transfer.value;
  }
  const double latency = agreed_latency(curve, [&](double nanoseconds) {
    return core.at(nanoseconds, cores) + transfer.at(nanoseconds, 1);
  });
  if (most != nullptr) *most = curve.most();
  Pair pair{.computations = core.at(latency, cores), .transfer = transfer.at(latency, 1)};
  // What is always left may be all that there is.
  pair.transfer = std::min(pair.transfer, curve.most());
  pair.computations = std::min(pair.computations, curve.most() - pair.transfer);
  return pair;
}

}  // namespace

ContentionShares shares_by_surface(const ContentionModel& model, double cores,
                                   std::uint32_t computation_node, std::uint32_t transfer_node) {
  const auto parameters = [&](std::uint32_t node) {
    const ContentionParameters& found =
        node >= model.numa_nodes_per_socket ? model.remote : model.local;
    check_surface(*model.surface, found);
    return &found;
  };
  const ContentionParameters* const computing = parameters(computation_node);
  const ContentionParameters* const transferring = parameters(transfer_node);
  ContentionShares shares;
  shares.alone = {pair_of(model, cores, computing, nullptr).computations};
  if (computation_node == transfer_node) {
    const Pair pair = pair_of(model, cores, computing, transferring, &shares.total.value);
    shares.computations = {pair.computations};
    shares.transfer = {pair.transfer};
  } else {
    shares.computations = shares.alone;
    shares.transfer = {pair_of(model, 0, nullptr, transferring).transfer};
    shares.total = {shares.computations.value + shares.transfer.value};
  }
  return shares;
}

// --- The file -------------------------------------------------------------------------------------

namespace {

constexpr std::string_view kColumns = "read_share,bandwidth,latency";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

class SurfaceReader {
 public:
  explicit SurfaceReader(const std::string& origin) : origin_(origin) {}

  ContentionSurface read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      read_line(trimmed(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (points_.empty()) refuse("there is no point");
    ContentionSurface surface;
    for (auto& [reads, points] : points_) {
      surface.curves.push_back({.reads = reads, .points = risen(std::move(points))});
    }
    return surface;
  }

 private:
  using Points = std::vector<LatencyCurve::Point>;

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("{}:{}: {}", origin_, std::max(line_, 1U), why));
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    if (!headed_) {
      if (line != kColumns) refuse(fmt::format("expected the columns \"{}\"", kColumns));
      headed_ = true;
      return;
    }
    std::array<double, 3> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t comma = std::min(line.find(','), line.size());
      numbers[i] = number(trimmed(line.substr(0, comma)));
      if ((comma == line.size()) != (i + 1 == numbers.size())) {
        refuse("expected three numbers with commas between them");
      }
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
    const auto [reads, bandwidth, latency] = numbers;
    if (!(reads >= 0 && reads <= 1)) refuse("expected a read_share from 0 to 1");
    if (!(bandwidth > 0 && bandwidth <= 1e9)) refuse("expected a bandwidth above 0, in MB/s");
    if (!(latency > 0 && latency <= 1e9)) refuse("expected a latency above 0, in ns");
    points_[reads].push_back({BytesPerSecond{bandwidth * 1e6}, latency});
  }

  double number(std::string_view text) const {
    double result = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, result);
    if (error != std::errc{} || stop != end || text.empty()) {
      refuse(fmt::format("\"{}\" is not a number", text));
    }
    return result;
  }

  // Latency at a bandwidth is the least that was measured there or above.
  static Points risen(Points points) {
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
      return a.bandwidth != b.bandwidth ? a.bandwidth < b.bandwidth : a.nanoseconds > b.nanoseconds;
    });
    Points result;
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      if (!result.empty()) {
        point->nanoseconds = std::min(point->nanoseconds, result.back().nanoseconds);
        if (point->bandwidth == result.back().bandwidth) continue;
      }
      result.push_back(*point);
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

  const std::string& origin_;
  std::uint32_t line_ = 0;
  bool headed_ = false;
  std::map<double, Points> points_;
};

}  // namespace

ContentionSurface parse_contention_surface(std::string_view text, const std::string& origin) {
  return SurfaceReader(origin).read(text);
}

}  // namespace vicinal::machine

vicinal::ContentionSurface vicinal::read_contention_surface(const std::string& path) {
  try {
    return machine::parse_contention_surface(
        base::RegularFile(path).text(machine::kMostSurfaceBytes), path);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(fmt::format("the surface {} cannot be read: {}", path, refused.why));
  }
}
