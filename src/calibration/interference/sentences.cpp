#include "calibration/interference/sentences.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vicinal::interference {

namespace {

using Curve = std::vector<const Row*>;
using Json = nlohmann::ordered_json;

bool is_latency(const Point& point) {
  return point.bytes <= kSmallBytes;
}

double value_on(Axis axis, const Point& point) {
  switch (axis) {
    case Axis::cores:
      return point.cores;
    case Axis::bytes:
      return static_cast<double>(point.bytes);
    case Axis::intensity:
      return intensity_of(point);
    default:
      return point.number;
  }
}

std::string where_on(Axis axis, const Point& point) {
  switch (axis) {
    case Axis::cores:
      return fmt::format("{} core{}", point.cores, point.cores == 1 ? "" : "s");
    case Axis::bytes:
      return point.bytes < 1024           ? fmt::format("{} bytes", point.bytes)
             : point.bytes < (1ULL << 20) ? fmt::format("{} KiB", point.bytes >> 10)
                                          : fmt::format("{} MiB", point.bytes >> 20);
    case Axis::intensity:
      return fmt::format("{:.2g} flop/B", intensity_of(point));
    default:
      return {};
  }
}

// Points that differ along the axis alone; those that share a core come in no curve.
std::string name_of_curve(Axis axis, const Point& point) {
  std::string name = fmt::format("{}|{}|{}|{}|{}", point.kernel, point.transfer,
                                 point.computation_node, point.transfer_node, point.thread_node);
  if (axis != Axis::bytes) name += is_latency(point) ? "|latency" : "|bandwidth";
  if (axis != Axis::cores) name += fmt::format("|{}", point.cores);
  return name;
}

std::vector<Curve> curves_of(const Experiment& experiment, std::span<const Row> rows, bool shared) {
  std::vector<std::pair<std::string, Curve>> curves;
  for (const Row& row : rows) {
    if (row.point.experiment != experiment.name || (row.shares && !shared)) continue;
    const std::string name = name_of_curve(experiment.axis, row.point);
    auto at =
        std::find_if(curves.begin(), curves.end(), [&](const auto& c) { return c.first == name; });
    if (at == curves.end()) at = curves.insert(curves.end(), {name, {}});
    at->second.push_back(&row);
  }
  std::vector<Curve> result;
  for (auto& [name, curve] : curves) {
    std::sort(curve.begin(), curve.end(), [&](const Row* a, const Row* b) {
      return value_on(experiment.axis, a->point) < value_on(experiment.axis, b->point);
    });
    result.push_back(std::move(curve));
  }
  return result;
}

using Quantity = Difference Row::*;

// "falls by two thirds (66 %)": of bandwidth, which is bytes over seconds; else of seconds.
std::string change_words(double change, bool of_bandwidth) {
  if (of_bandwidth) {
    const double share = 1 - 1 / (1 + change);
    return change > 0 ? "falls by " + share_words(share)
                      : fmt::format("rises by {:.0f} %", -100 * share);
  }
  if (change > 0.95 && change < 1.05) return "doubles";
  return change > 0 ? fmt::format("grows by {:.0f} %", 100 * change)
                    : "falls by " + share_words(-change);
}

// From where on the change is seen; the size at the strongest end. Empty: nowhere.
std::string change_along(Axis axis, Curve curve, Quantity quantity, bool of_bandwidth) {
  // The end at which most is expected comes last.
  const bool from_the_first = axis == Axis::intensity;
  if (from_the_first) std::reverse(curve.begin(), curve.end());
  const Row* first = nullptr;
  const Difference& strongest = curve.back()->*quantity;
  for (auto at = curve.rbegin(); at != curve.rend(); ++at) {
    const Difference& difference = (*at)->*quantity;
    if (!difference.is_seen() || (difference.change > 0) != (strongest.change > 0)) break;
    first = *at;
  }
  if (first == nullptr) return {};
  std::string words = change_words(strongest.change, of_bandwidth);
  const std::string end = where_on(axis, curve.back()->point);
  if (end.empty()) return words;
  if (first == curve.back()) return fmt::format("{} at {}", words, end);
  return fmt::format("{} {} {}, at {} it {}", from_the_first ? "up to" : "from",
                     where_on(axis, first->point), from_the_first ? "changes" : "on changes", end,
                     words);
}

double largest_noise(const Curve& curve, Quantity quantity) {
  double noise = 0;
  for (const Row* row : curve) noise = std::max(noise, (row->*quantity).noise);
  return noise;
}

std::string subject_of_transfer(Axis axis, const Point& point) {
  const std::string_view what = transfer_words(point.transfer);
  if (axis == Axis::bytes) return fmt::format("the time of {}", what);
  return fmt::format("the {} of {}", is_latency(point) ? "latency" : "bandwidth", what);
}

std::string beside_words(const Experiment& experiment, const Point& point) {
  std::string words = fmt::format("beside {}", kernel_words(point.kernel));
  if (experiment.axis != Axis::cores && point.cores > 0) {
    words += fmt::format(" on {}", where_on(Axis::cores, point));
  }
  if (experiment.axis == Axis::placement) {
    words += fmt::format(", data on node {} and the thread on node {},", point.transfer_node,
                         point.thread_node);
  }
  return words;
}

// Empty: nothing is seen.
std::string clause_of(const Experiment& experiment, const Curve& curve, Quantity quantity) {
  const Point& point = curve.front()->point;
  const bool is_transfer = quantity == &Row::transfer;
  const bool of_bandwidth = is_transfer && !is_latency(point) && experiment.axis != Axis::bytes;
  const std::string change = change_along(experiment.axis, curve, quantity, of_bandwidth);
  if (change.empty()) return {};
  if (is_transfer) {
    return fmt::format("{} {} {}", beside_words(experiment, point),
                       subject_of_transfer(experiment.axis, point), change);
  }
  const bool says_cores = experiment.axis != Axis::cores && point.cores > 0;
  const bool is_short = experiment.axis != Axis::bytes && point.bytes > 0 && is_latency(point);
  return fmt::format("the time of {}{} beside {}{} {}", kernel_words(point.kernel),
                     says_cores ? " on " + where_on(Axis::cores, point) : "",
                     is_short ? "short " : "", transfer_words(point.transfer), change);
}

// What changes, and up to which size a change of the others would not be seen.
std::string sentence_of_curves(const Experiment& experiment, const std::vector<Curve>& curves) {
  std::string sentence;
  double noise = 0;
  bool any = false;
  for (const Curve& curve : curves) {
    for (const Quantity quantity : {&Row::transfer, &Row::computation}) {
      // How fast workers look for tasks is nobody's concern.
      if (quantity == &Row::computation && curve.front()->point.kernel.starts_with("poll"))
        continue;
      any = any || std::any_of(curve.begin(), curve.end(),
                               [&](const Row* row) { return (row->*quantity).is_measured(); });
      const std::string clause = clause_of(experiment, curve, quantity);
      if (clause.empty()) noise = std::max(noise, largest_noise(curve, quantity));
      if (!clause.empty()) sentence += (sentence.empty() ? "" : "; ") + clause;
    }
  }
  if (!any) return {};
  if (sentence.empty())
    return fmt::format("Nothing changes beyond noise (up to {:.1f} %).", 100 * noise);
  return noise > 0 ? fmt::format("{}; nothing else changes beyond noise (up to {:.1f} %).",
                                 sentence, 100 * noise)
                   : sentence + ".";
}

void begin_with_capital(std::string& sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') {
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  }
}

std::string frequency_sentence(std::span<const Row> rows) {
  double least = 0;
  double most = 0;
  for (const Row& row : rows) {
    if (row.point.experiment != "frequency" || row.megahertz_alone <= 0) continue;
    least = least == 0 ? row.megahertz_alone : std::min(least, row.megahertz_alone);
    most = std::max(most, row.megahertz_alone);
  }
  if (most == 0) return "The system told no frequency while it was measured.";
  constexpr double kSame = 1.05;
  if (most < kSame * least) {
    return fmt::format(
        "The core stayed at {:.0f} MHz, so that nothing is seen of other frequencies; cpupower "
        "sets them.",
        most);
  }
  std::vector<const Row*> of;
  for (const Row& row : rows) {
    if (row.point.experiment == "frequency" && is_latency(row.point)) of.push_back(&row);
  }
  if (of.size() < 2) return "Too little was measured.";
  const auto [slow, fast] = std::minmax_element(
      of.begin(), of.end(),
      [](const Row* a, const Row* b) { return a->megahertz_alone < b->megahertz_alone; });
  return fmt::format(
      "The core ran at {:.0f} to {:.0f} MHz; a short transfer took {:.2f} us at the lowest and "
      "{:.2f} us at the highest.",
      least, most, 1e6 * (*slow)->transfer.alone, 1e6 * (*fast)->transfer.alone);
}

std::string overhead_sentence(std::span<const Row> rows) {
  for (const Row& row : rows) {
    if (row.point.experiment != "runtime-overhead" || !row.transfer.is_measured()) continue;
    if (!row.transfer.is_seen()) return "No cost of the runtime's layers is seen beyond noise.";
    return fmt::format(
        "A message between two ranks of one process takes {:.1f} us, and {:.1f} us as the operand "
        "of tasks.",
        1e6 * row.transfer.alone, 1e6 * row.transfer.beside);
  }
  return {};
}

}  // namespace

std::string share_words(double share) {
  constexpr double kNear = 0.02;
  constexpr std::array<std::pair<double, std::string_view>, 6> kWords{{{0.25, "a quarter"},
                                                                       {1.0 / 3, "a third"},
                                                                       {0.5, "half"},
                                                                       {2.0 / 3, "two thirds"},
                                                                       {0.75, "three quarters"},
                                                                       {0.9, "nine tenths"}}};
  for (const auto& [value, word] : kWords) {
    if (std::abs(share - value) <= kNear) return fmt::format("{} ({:.0f} %)", word, 100 * share);
  }
  return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
}

std::string sentence_of(const Experiment& experiment, std::span<const Row> rows,
                        const MachineFacts& machine) {
  if (std::string why = why_not(experiment, machine); !why.empty()) return why;
  const std::string lack = shortcoming(experiment, machine);
  std::string sentence;
  if (experiment.name == "frequency") {
    sentence = frequency_sentence(rows);
  } else if (experiment.name == "runtime-overhead") {
    sentence = overhead_sentence(rows);
  } else {
    std::vector<Curve> curves = curves_of(experiment, rows, false);
    // Where every point shares a core, or all cores are wanted, that is what there is.
    if (curves.empty() || experiment.axis == Axis::kernel)
      curves = curves_of(experiment, rows, true);
    sentence = sentence_of_curves(experiment, curves);
  }
  if (sentence.empty()) sentence = "Nothing has been measured.";
  begin_with_capital(sentence);
  return lack.empty() ? sentence : sentence + " " + lack;
}

std::string picture_json(const Experiment& experiment, std::span<const Row> rows) {
  const std::vector<Curve> curves = curves_of(experiment, rows, true);
  const bool has_axis = experiment.axis == Axis::cores || experiment.axis == Axis::bytes ||
                        experiment.axis == Axis::intensity;
  if (!has_axis || curves.empty()) return {};
  Json series = Json::array();
  Json plots = Json::array();
  for (const Quantity quantity : {&Row::transfer, &Row::computation}) {
    Json panels = Json::array();
    for (const Curve& curve : curves) {
      const Point& point = curve.front()->point;
      Json of_panel = Json::array();
      for (const bool beside : {false, true}) {
        Json x = Json::array();
        Json y = Json::array();
        Json low = Json::array();
        Json high = Json::array();
        for (const Row* row : curve) {
          const Difference& d = row->*quantity;
          if (!d.is_measured()) continue;
          x.push_back(value_on(experiment.axis, row->point));
          y.push_back(1e6 * (beside ? d.beside : d.alone));
          low.push_back(1e6 * (beside ? d.low_beside : d.low_alone));
          high.push_back(1e6 * (beside ? d.high_beside : d.high_alone));
        }
        if (x.empty()) continue;
        of_panel.push_back({{"series", beside ? "side by side" : "alone"},
                            {"dash", beside ? "--" : "-"},
                            {"x", x},
                            {"y", y},
                            {"low", low},
                            {"high", high}});
      }
      if (of_panel.empty()) continue;
      panels.push_back({{"name", fmt::format("{}, {}{}", kernel_words(point.kernel),
                                             transfer_words(point.transfer),
                                             experiment.axis == Axis::bytes ? ""
                                             : is_latency(point)            ? ", short"
                                                                            : ", long")},
                        {"x_label", experiment.axis == Axis::cores   ? "cores that compute"
                                    : experiment.axis == Axis::bytes ? "bytes of a transfer"
                                                                     : "flop per byte"},
                        {"x_scale", experiment.axis == Axis::cores ? "linear" : "log"},
                        {"marks", Json::array()},
                        {"curves", of_panel},
                        {"limits", Json::array()}});
    }
    if (!panels.empty())
      plots.push_back({{"name", quantity == &Row::transfer ? "Time of a transfer"
                                                           : "Time of a run of the kernel"},
                       {"unit", "us"},
                       {"panels", panels}});
  }
  if (plots.empty()) return {};
  series.push_back("alone");
  series.push_back("side by side");
  const Json picture{{"title", fmt::format("{}: {}", experiment.name, experiment.question)},
                     {"series", series},
                     {"plots", plots}};
  return picture.dump(1) + "\n";
}

}  // namespace vicinal::interference
