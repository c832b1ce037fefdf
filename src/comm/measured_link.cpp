#include "comm/measured_link.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "machine/quantity.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {

std::optional<LinkCost> link_of_option(std::string_view text) {
  if (text == "auto") return std::nullopt;
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    throw UsageError("option rank_link: \"" + std::string(text) +
                     "\" is neither auto nor a latency and a bandwidth, such as 20us,1GB/s");
  }
  try {
    const double seconds = machine::parse_seconds(text.substr(0, comma));
    const BytesPerSecond bandwidth = machine::parse_bandwidth(text.substr(comma + 1));
    if (!(seconds >= 0 && seconds <= 1000) || !(bandwidth.value >= 1))
      throw UsageError("expected 0 to 1000 s, and at least 1 B/s");
    return LinkCost{.latency = {std::llround(seconds * 1e9)}, .bytes_per_second = bandwidth.value};
  } catch (const UsageError& error) {
    throw UsageError("option rank_link: " + std::string(error.what()));
  }
}

MeasuredLink::MeasuredLink(const LinkCost& first, std::uint32_t ranks, bool learns)
    : learns_(learns), cost_(first), peers_(learns ? ranks : 0) {}

// --- latency

void MeasuredLink::answered(Time round_trip) {
  if (!learns_ || round_trip <= Time{}) return;
  if (own_round_trip_ > Time{} && own_round_trip_ <= round_trip) return;
  own_round_trip_ = round_trip;
  look_at_latency();
}

void MeasuredLink::told_round_trip(RankId by, Time round_trip) {
  if (!learns_ || round_trip <= Time{} || peers_[by.value].told_round_trip == round_trip) return;
  peers_[by.value].told_round_trip = round_trip;
  look_at_latency();
}

namespace {
// Of an even number the lower one.
template <typename Value>
Value median(std::vector<Value>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
}  // namespace

void MeasuredLink::look_at_latency() {
  std::vector<std::int64_t> all;
  for (const Peer& peer : peers_) {
    if (peer.told_round_trip > Time{}) all.push_back(peer.told_round_trip.ns);
  }
  if (own_round_trip_ > Time{}) all.push_back(own_round_trip_.ns);
  cost_.latency = {median(all) / 2};
}

// --- bandwidth

void MeasuredLink::awaits(RankId from, Time now) {
  if (!learns_) return;
  Peer& peer = peers_[from.value];
  if (peer.open++ > 0) return;
  peer.since = now;
  peer.bytes = 0;
  peer.best = 0;
}

// The answer to the credit takes a round trip, in which nothing comes.
void MeasuredLink::came(RankId from, Bytes bytes, Time now) {
  if (!learns_) return;
  Peer& peer = peers_[from.value];
  if (peer.bytes < kMost) {
    peer.bytes += bytes.value;
    const auto passed = static_cast<double>((now - peer.since).ns);
    const double flowed = std::max(passed - static_cast<double>(own_round_trip_.ns), passed / 2);
    const bool is_whole = peer.open == 1 && peer.best == 0;
    if (peer.bytes >= (is_whole ? kLeast : kLeastOfPart) && flowed > 0)
      peer.best = std::max(peer.best, static_cast<double>(peer.bytes) / flowed * 1e9);
  }
  if (--peer.open == 0 && peer.best > 0) end_busy(peer);
}

void MeasuredLink::end_busy(const Peer& peer) {
  busy_[busy_times_++ % busy_.size()] = peer.best;
  std::array<double, 32> known = busy_;
  const auto end = known.begin() + static_cast<std::ptrdiff_t>(std::min(busy_times_, known.size()));
  const auto quartile = known.begin() + 3 * (end - known.begin() - 1) / 4;
  std::nth_element(known.begin(), quartile, end);
  own_bandwidth_ = static_cast<std::uint64_t>(std::max(*quartile, 1.0));
  look_at_bandwidth();
}

void MeasuredLink::told_bandwidth(RankId by, std::uint64_t bytes_per_second) {
  if (!learns_ || bytes_per_second == 0) return;
  if (peers_[by.value].told_bandwidth == bytes_per_second) return;
  peers_[by.value].told_bandwidth = bytes_per_second;
  look_at_bandwidth();
}

void MeasuredLink::look_at_bandwidth() {
  std::vector<std::uint64_t> all;
  for (const Peer& peer : peers_) {
    if (peer.told_bandwidth > 0) all.push_back(peer.told_bandwidth);
  }
  if (own_bandwidth_ > 0) all.push_back(own_bandwidth_);
  cost_.bytes_per_second = static_cast<double>(median(all));
}

}  // namespace vicinal::comm
