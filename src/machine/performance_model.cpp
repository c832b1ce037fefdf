#include "machine/performance_model.hpp"

#include <algorithm>
#include <cmath>

namespace vicinal::machine {

namespace {

// Footprints of one codelet on one kind of processor: an application that has another size for each
// task is not to fill memory and file. Beyond, the law of sizes predicts.
constexpr std::size_t kMostFootprints = 1024;

constexpr std::int64_t kOutlier = 4;                      // times the median, or a part of it
constexpr double kEven = 0.1;                             // relative
constexpr std::int64_t kLongest = std::int64_t{1} << 60;  // ns, 36 years: four times it is a number

}  // namespace

// --- The runs of one footprint --------------------------------------------------------------------

void RunHistory::add(Time time) {
  runs_[next_] = {std::clamp<std::int64_t>(time.ns, 1, kLongest)};
  next_ = (next_ + 1) % kKept;
  ++count_;
  ++fresh_;
  assess();
}

void RunHistory::assess() {
  std::array<Time, kKept> sorted = runs_;
  for (std::size_t i = 0; i < kept(); ++i) sorted[i] = run(i);
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(kept());
  // The lower one of two: first runs find cold caches.
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((kept() - 1) / 2);
  std::nth_element(sorted.begin(), middle, end);
  const std::int64_t median = middle->ns;
  const auto good = std::partition(sorted.begin(), end, [&](Time time) {
    return time.ns <= median * kOutlier && time.ns * kOutlier >= median;
  });
  const auto number = static_cast<double>(good - sorted.begin());
  double sum = 0;
  for (auto time = sorted.begin(); time != good; ++time) sum += static_cast<double>(time->ns);
  const double mean = sum / number;
  double deviation = 0;
  for (auto time = sorted.begin(); time != good; ++time) {
    deviation += std::abs(static_cast<double>(time->ns) - mean) / number;
  }
  stable_ = kept() == kKept && deviation <= kEven * mean;
  const auto known = static_cast<double>(expected_.ns);
  if (std::abs(mean - known) > kEven * known || count_ == kKept) {
    expected_ = {std::max<std::int64_t>(static_cast<std::int64_t>(mean), 1)};
  }
}

void RunHistory::restore(std::uint64_t count, std::span<const Time> runs) {
  *this = {};
  if (runs.empty()) return;
  for (const Time time : runs) add(time);
  expected_ = {};
  assess();  // of all of them, not of how they came
  count_ = count;
  fresh_ = 0;
}

RunHistory RunHistory::after(const RunHistory& stored) const {
  RunHistory both = stored;
  const std::size_t mine = std::min<std::uint64_t>(fresh_, kKept);
  for (std::size_t i = kept() - mine; i < kept(); ++i) both.add(run(i));
  both.count_ = stored.count_ + fresh_;
  both.fresh_ = fresh_;
  return both;
}

// --- The law of sizes -----------------------------------------------------------------------------

std::optional<PowerLaw> PowerLaw::fit(std::span<const Point> points) {
  std::vector<double> sizes;
  double mean_x = 0;
  double mean_y = 0;
  for (const Point& point : points) {
    sizes.push_back(point.bytes);
    mean_x += std::log(point.bytes) / static_cast<double>(points.size());
    mean_y += std::log(point.seconds) / static_cast<double>(points.size());
  }
  std::sort(sizes.begin(), sizes.end());
  if (std::unique(sizes.begin(), sizes.end()) - sizes.begin() < 3) return std::nullopt;
  double xx = 0;
  double xy = 0;
  for (const Point& point : points) {
    const double x = std::log(point.bytes) - mean_x;
    xx += x * x;
    xy += x * (std::log(point.seconds) - mean_y);
  }
  PowerLaw law;
  law.b = xy / xx;
  law.log_a = mean_y - law.b * mean_x;
  law.least = std::ranges::min(points, {}, &Point::bytes).bytes;
  law.most = std::ranges::max(points, {}, &Point::bytes).bytes;
  if (!std::isfinite(law.log_a) || !(law.b >= 0)) return std::nullopt;
  return law;
}

Time PowerLaw::operator()(Bytes bytes) const {
  constexpr double kBeyond = 10;
  const auto size = static_cast<double>(bytes.value);
  if (size * kBeyond < least || size > most * kBeyond) return {0};
  const double ns = std::exp(log_a + b * std::log(size)) * 1e9;
  return {static_cast<std::int64_t>(std::clamp(ns, 1.0, 1e18))};
}

// --- All of them ----------------------------------------------------------------------------------

PerformanceModel::Known* PerformanceModel::find(Family& family, const Footprint& footprint) {
  const auto known = family.known.find(footprint.hash());
  if (known == family.known.end() || known->second.footprint != footprint) return nullptr;
  return &known->second;
}

bool PerformanceModel::add(std::string_view codelet, ProcessorKind kind, const Footprint& footprint,
                           std::span<const Time> runs) {
  const std::lock_guard lock(mutex_);
  auto& families = families_[static_cast<std::size_t>(kind)];
  auto family = families.find(codelet);
  if (family == families.end()) family = families.try_emplace(std::string(codelet)).first;
  Known* known = find(family->second, footprint);
  if (known == nullptr) {
    // One that has the same hash and another size goes: it happens once in 2^64.
    const bool full = family->second.known.size() >= kMostFootprints;
    if (full) return true;
    known = &(family->second.known[footprint.hash()] = Known{footprint, {}});
  }
  const Time before = known->history.expected();
  for (const Time time : runs) known->history.add(time);
  family->second.law_is_old |= known->history.expected() != before;
  return known->history.stable();
}

Time PerformanceModel::predict(std::string_view codelet, ProcessorKind kind,
                               const Footprint& footprint) {
  const std::lock_guard lock(mutex_);
  auto& families = families_[static_cast<std::size_t>(kind)];
  const auto found = families.find(codelet);
  if (found == families.end()) return {0};
  Family& family = found->second;
  if (const Known* known = find(family, footprint)) return known->history.expected();
  if (footprint.bytes().value == 0) return {0};
  if (family.law_is_old) {
    std::vector<PowerLaw::Point> points;
    for (const auto& [hash, known] : family.known) {
      if (known.footprint.bytes().value == 0) continue;
      points.push_back(
          {static_cast<double>(known.footprint.bytes().value), known.history.expected().seconds()});
    }
    family.law = PowerLaw::fit(points);
    family.law_is_old = false;
  }
  return family.law ? (*family.law)(footprint.bytes()) : Time{0};
}

std::uint64_t PerformanceModel::runs(std::string_view codelet, ProcessorKind kind,
                                     const Footprint& footprint) const {
  const std::lock_guard lock(mutex_);
  const auto& families = families_[static_cast<std::size_t>(kind)];
  const auto family = families.find(codelet);
  if (family == families.end()) return 0;
  const auto known = family->second.known.find(footprint.hash());
  return known == family->second.known.end() ? 0 : known->second.history.count();
}

}  // namespace vicinal::machine
