// Figures 4.3 to 4.6 of paper 004 (parts_004.hpp): a broadcast alone.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reproduction/parts_004.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::uint64_t kMost = 38;  // recipients
constexpr std::string_view kLatency = "latency";
constexpr std::string_view kBandwidth = "bandwidth";
constexpr std::string_view kFlat = "flat";
constexpr std::array<std::string_view, 3> kTrees{kFlat, kBinary004, kBinomial004};

Values every_rank() {
  Values ranks;
  for (std::uint64_t rank = 1; rank <= kMost; ++rank) ranks.push_back(rank);
  return ranks;
}

Panel broadcast_panel(std::string_view name, const Axis& axis, Varied varied, Bytes bytes) {
  Panel panel{.name = std::string(name),
              .axis = axis,
              .machine = "occigen",
              .application = {},
              .varied = varied};
  panel.on_ranks.ranks = kMost + 1;
  panel.on_ranks.bytes = bytes;
  return panel;
}

Panel latency_panel() {
  Panel panel = broadcast_panel(kLatency, kRecipients, Varied::recipients, Bytes{429'000});
  panel.values = {Values{8, 16, kMost},
                  Values{1, 2, 3, 4, 6, 7, 8, 12, 15, 16, 20, 24, 28, 31, 32, 35, kMost},
                  every_rank()};
  return panel;
}

Panel bandwidth_panel() {
  Panel panel = broadcast_panel(kBandwidth, kMessageKb, Varied::bytes, {});
  panel.values = {Values{1 << 16, 1 << 22}, {}, {}};
  for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) {
    panel.values[1].push_back(bytes);
    panel.values[2].push_back(bytes);
    panel.values[2].push_back(2 * bytes);
  }
  return panel;
}

std::vector<Panel> rank_panels() {
  std::vector<Panel> panels;
  for (const std::string_view tree : kTrees) {
    panels.push_back(broadcast_panel(tree, kRank, Varied::rank, Bytes{409'000}));
    panels.back().on_ranks.broadcast = tree;
    panels.back().values = {Values{1, 20, kMost}, every_rank(), every_rank()};
  }
  return panels;
}

std::vector<Panel> bare(std::vector<Panel> panels) {
  for (Panel& panel : panels) panel.on_ranks.is_bare = true;
  return panels;
}

double microseconds(const Measures& measures) {
  return measures.seconds * 1e6;
}

std::vector<Plot> plots_of_broadcasts() {
  return {
      {.name = "time to the last", .unit = "us", .value = microseconds, .panel = kLatency},
      {.name = "bandwidth",
       .unit = "MB/s",
       .value =
           [](const Measures& m) { return m.seconds > 0 ? m.working_set / m.seconds * 1e-6 : 0; },
       .panel = kBandwidth}};
}

// 0: not measured.
double time_of(const Results& results, std::string_view series, std::uint64_t recipients) {
  const Row* const row = results.at(kLatency, series, static_cast<double>(recipients));
  return row == nullptr ? 0 : microseconds(row->measures);
}

Verdict one_by_one_is_linear(const Results& results) {
  const double few = time_of(results, kFlat, 8) / 8;
  const double many = time_of(results, kFlat, kMost) / kMost;
  if (few <= 0 || many <= 0) return unknown("the flat tree has not been measured");
  return verdict(meets(many, few),
                 fmt::format("{:.1f} us for each of 8, {:.1f} us for each of 38", few, many));
}

Verdict trees_are_logarithmic(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kBinary004, kBinomial004}) {
    const double few = time_of(results, tree, 16);
    const double many = time_of(results, tree, kMost);
    if (few <= 0 || many <= 0) continue;
    // log2(39) / log2(17) is 1.29, 38 / 16 is 2.38.
    verdicts.push_back(verdict(many / few < (1.29 + 2.38) / 2,
                               fmt::format("{} {:.2f} times the time", tree, many / few)));
  }
  return all_of(verdicts);
}

Verdict trees_are_faster(const Results& results) {
  const double flat = time_of(results, kFlat, kMost);
  const double binary = time_of(results, kBinary004, kMost);
  const double binomial = time_of(results, kBinomial004, kMost);
  if (flat <= 0 || binary <= 0 || binomial <= 0) return unknown("one has not been measured");
  const bool is_met =
      std::max(binary, binomial) < 1000 * (1 + kTolerance) && flat > 3000 * (1 - kTolerance);
  return numbered(
      std::max(binary, binomial) < flat, is_met,
      fmt::format("flat {:.0f} us, binary {:.0f} us, binomial {:.0f} us", flat, binary, binomial));
}

Verdict heights_make_plateaus(const Results& results) {
  std::vector<double> times;
  for (std::uint64_t recipients = 16; recipients <= 31; ++recipients) {
    const double time = time_of(results, kBinomial004, recipients);
    if (time > 0) times.push_back(time);
  }
  const double after = time_of(results, kBinomial004, 32);
  if (times.size() < 3 || after <= 0) return unknown("too few have been measured");
  const auto [least, most] = std::ranges::minmax(times);
  return verdict(most - least < after - times.back(),
                 fmt::format("{:.0f} to {:.0f} us from 16 to 31 recipients, {:.0f} us with 32",
                             least, most, after));
}

double best_bandwidth(const Results& results, std::string_view series) {
  double best = 0;
  for (const Row* row : results.of(kBandwidth, series)) {
    best = std::max(best, row->measures.working_set / row->measures.seconds * 1e-6);
  }
  return best;
}

Verdict bandwidths_differ(const Results& results) {
  const double flat = best_bandwidth(results, kFlat);
  const double binomial = best_bandwidth(results, kBinomial004);
  if (flat <= 0 || binomial <= 0) return unknown("one has not been measured");
  return numbered(flat < 200 && binomial > flat, meets(binomial, 1000),
                  fmt::format("flat at most {:.0f} MB/s, binomial {:.0f} MB/s", flat, binomial));
}

Figure figure_4_3() {
  return {
      .name = "004-4.3",
      .sentence = "A broadcast alone on occigen: by the number of recipients, and by the size",
      .note =
          "Tasks cost nothing here, as the paper measures its library alone; 429 KB, and 38 "
          "recipients, as there. MPI_Ibcast, which the paper has beside, is not simulated. Content "
          "goes along a tree in up to 64 segments, each sent on when it has come; the paper's "
          "library sends it on as a whole. The bandwidth of a broadcast is its size over the time "
          "to the last.",
      .panels = bare({latency_panel(), bandwidth_panel()}),
      .series = {{.label = kFlat, .policy = "lws", .broadcast = "flat"},
                 {.label = kBinary004, .policy = "lws", .broadcast = "binary"},
                 {.label = kBinomial004, .policy = "lws", .broadcast = "binomial"},
                 {.label = "auto (ours)", .policy = "lws", .beside = true, .broadcast = "auto"}},
      .plots = plots_of_broadcasts(),
      .statements = {
          {"One after the other takes time linear in the number of recipients", "section 4.4.1",
           "as much for each of 38 as for each of 8, within 25 %", one_by_one_is_linear},
          {"Binary and binomial trees are logarithmic", "section 4.4.1",
           "from 16 to 38 recipients the time grows less than half way between their logarithm "
           "and their number",
           trees_are_logarithmic},
          {"Times of equal heights of the tree are plateaus", "section 4.4.1",
           "binomial: from 16 to 31 recipients the time changes by less than from 31 to 32",
           heights_make_plateaus},
          {"Trees are faster than one after the other: less than 1000 us, more than 3000 us",
           "section 4.4.1", "both trees faster with 38 recipients; and the numbers",
           trees_are_faster},
          {"One after the other stays below 200 MB/s, a binomial tree reaches 1000 MB/s",
           "section 4.4.1", "the first below 200 MB/s, the other faster; and the 1000 MB/s",
           bandwidths_differ}}};
}

// --- figure 4.4

constexpr std::string_view kAlone = " (network alone)";

Verdict runtime_costs_little(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kWithout004, kBinary004, kBinomial004}) {
    const std::vector<double> times =
        ratios(results, {kLatency}, tree, fmt::format("{}{}", tree, kAlone), microseconds);
    if (times.empty()) continue;
    const auto [least, most] = std::ranges::minmax(times);
    verdicts.push_back(verdict(least >= 1 - kEqual && most <= 1 + kTolerance,
                               fmt::format("{} {}", tree, range(times))));
  }
  return all_of(verdicts);
}

Verdict trees_are_faster_with_tasks(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kBinary004, kBinomial004}) {
    std::vector<double> times;
    for (const Row* row : results.of(kLatency, tree)) {
      const Row* const without = results.at(kLatency, kWithout004, row->point.x);
      if (without == nullptr || row->point.x < 8) continue;
      times.push_back(without->measures.seconds / row->measures.seconds);
    }
    if (times.empty()) continue;
    verdicts.push_back(verdict(std::ranges::min(times) > 1 + kEqual,
                               fmt::format("{} {} times as fast", tree, range(times))));
  }
  return all_of(verdicts);
}

Figure figure_4_4() {
  const auto alone = [](std::string_view label, std::string_view broadcast) {
    return Series{
        .label = label, .policy = "lws", .beside = true, .broadcast = broadcast, .is_bare = true};
  };
  return {
      .name = "004-4.4",
      .sentence = "The same broadcast as a runtime begins it: when a task has ended, for others",
      .note =
          "As 4.3, with the costs of tasks that machines/occigen.toml has: 1 us to submit one, 1 "
          "us to begin one. Without broadcasts the owner sends to one after the other, here in the "
          "order of priorities.",
      .panels = {latency_panel(), bandwidth_panel()},
      .series = {{.label = kWithout004, .policy = "lws", .broadcast = "off"},
                 {.label = kBinary004, .policy = "lws", .broadcast = "binary"},
                 {.label = kBinomial004, .policy = "lws", .broadcast = "binomial"},
                 alone("without broadcasts (network alone)", "off"),
                 alone("binary (network alone)", "binary"),
                 alone("binomial (network alone)", "binomial")},
      .plots = plots_of_broadcasts(),
      .statements = {
          {"The runtime adds a small overhead to the times of the network", "section 4.4.1",
           "no less than without it, and at most 25 % more", runtime_costs_little},
          {"Trees are faster than one after the other", "section 4.4.1",
           "from 8 recipients on, by more than 2 %", trees_are_faster_with_tasks}}};
}

// --- figures 4.5 and 4.6: by rank

// What the paper draws as an area lies between the two.
constexpr std::string_view kHasCome = "has come";
constexpr std::string_view kIsSentOn = "is sent on";

std::vector<Series> series_by_rank() {
  return {{.label = kHasCome, .policy = "lws"},
          {.label = kIsSentOn, .policy = "lws", .broadcast = ":readers=last"}};
}

// From the highest priority on; empty unless all are there.
std::vector<double> times_by_priority(const Results& results, std::string_view tree,
                                      std::string_view what) {
  std::vector<double> times;
  for (const Row* row : results.of(tree, what)) times.push_back(microseconds(row->measures));
  std::ranges::reverse(times);
  return times.size() == kMost ? times : std::vector<double>();
}

std::vector<double> times_of_sending(const Results& results, std::string_view tree) {
  std::vector<double> come = times_by_priority(results, tree, kHasCome);
  const std::vector<double> sent = times_by_priority(results, tree, kIsSentOn);
  if (come.size() != sent.size()) return {};
  for (std::size_t i = 0; i < come.size(); ++i) come[i] = sent[i] - come[i];
  return come;
}

// How far a value is below one before it, at most.
double most_below(const std::vector<double>& values) {
  double highest = values.front();
  double most = 0;
  for (const double value : values) {
    highest = std::max(highest, value);
    most = std::max(most, highest - value);
  }
  return most;
}

// Of the content from one rank to another: 409 KB at 6.22 GB/s.
constexpr double kTransfer = 65.8;

Verdict higher_priorities_come_first(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : kTrees) {
    const std::vector<double> times = times_by_priority(results, tree, kHasCome);
    if (times.empty()) continue;
    const double most = most_below(times);
    verdicts.push_back(verdict(most < kTransfer,
                               fmt::format("{} at most {:.1f} us before a higher one, of {:.0f} us",
                                           tree, most, std::ranges::max(times))));
  }
  return all_of(verdicts);
}

Verdict who_sends_nothing_on_is_done(const Results& results) {
  const std::vector<double> times = times_of_sending(results, kFlat);
  if (times.empty()) return unknown("the flat tree has not been measured");
  return verdict(std::ranges::max(times) <= 1,
                 fmt::format("at most {:.1f} us later", std::ranges::max(times)));
}

// In a binary tree of 38 recipients 19 send on.
Verdict leaves_are_done(const Results& results) {
  const std::vector<double> times = times_of_sending(results, kBinary004);
  if (times.empty()) return unknown("the binary tree has not been measured");
  const auto done = std::ranges::count_if(times, [](double time) { return time <= 1; });
  return verdict(done > 0 && done < static_cast<long>(times.size()),
                 fmt::format("{} of 38 at once, the others after up to {:.0f} us", done,
                             std::ranges::max(times)));
}

Verdict deeper_ones_send_less(const Results& results) {
  std::vector<double> times = times_of_sending(results, kBinomial004);
  if (times.empty()) return unknown("the binomial tree has not been measured");
  const double most = std::ranges::max(times);
  for (double& time : times) time = -time;
  return verdict(most_below(times) < kTransfer,
                 fmt::format("from {:.0f} us down; at most {:.1f} us longer than a higher one",
                             most, most_below(times)));
}

Figure figure_4_5() {
  return {
      .name = "004-4.5",
      .sentence = "When each of 38 recipients has the content, and when it has sent it on",
      .note =
          "409 KB, and priorities that grow with the rank, as in the paper; tasks cost nothing. "
          "When content has been sent on is when a reader starts that has to wait for that "
          "(broadcast=binary:readers=last).",
      .panels = bare(rank_panels()),
      .series = series_by_rank(),
      .plots = {{.name = "time", .unit = "us", .value = microseconds}},
      .statements =
          {{"Ranks of higher priority get the content before those of lower (levels are a little "
            "distorted)",
            "section 4.4.1",
            "none before one of higher priority by as much as one transfer takes, 66 us",
            higher_priorities_come_first},
           {"Of a flat tree nobody sends on: content is free when it has come", "section 4.4.1",
            "within 1 us", who_sends_nothing_on_is_done},
           {"Of a binary tree the leaves are free at once, the others later", "section 4.4.1",
            "some within 1 us, and some not", leaves_are_done},
           {"Of a binomial tree the time to send on shrinks with the priority", "section 4.4.1",
            "none sends longer than one of higher priority by as much as one transfer takes",
            deeper_ones_send_less}},
      .causes = {
          "**Binary trees** in segments send to two children in turns, and the segments of what is "
          "on its way at once, 128 KiB, share the NIC. The model that chooses places has them one "
          "after the other. With all of 512 KiB on its way two contents shared the NIC, too, and "
          "binomial trees were out of order by two transfers.",
          "**To send on** in binomial trees: a rank sends on by the number of its children, and "
          "places are given by when content comes, so that of ranks that get it at nearly the same "
          "time one with more children may have the lower priority."}};
}

Verdict readers_start_sooner(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view tree : {kBinary004, kBinomial004}) {
    const std::vector<double> times = times_of_sending(results, tree);
    if (times.empty()) continue;
    verdicts.push_back(verdict(mean(times) > kEqual * kTransfer,
                               fmt::format("{} {:.0f} us on average", tree, mean(times))));
  }
  return all_of(verdicts);
}

Verdict first_ranks_come_early(const Results& results) {
  const std::vector<double> times = times_by_priority(results, kFlat, kHasCome);
  if (times.empty()) return unknown("single sends have not been measured");
  const auto earlier =
      std::ranges::count_if(times, [&](double time) { return time < times.back(); });
  return verdict(earlier < static_cast<long>(kMost) / 2,
                 fmt::format("rank 1 is number {} of 38", earlier + 1));
}

Figure figure_4_6() {
  Figure figure{
      .name = "004-4.6",
      .sentence = "When each of 38 recipients begins to read: at once, or when it has sent on",
      .note =
          "As 4.5, with the costs of tasks (see 4.4). The paper's two modes, Unlock read and Wait "
          "write, are the two curves of a tree. Without broadcasts Vicinal does as with a flat "
          "tree: the owner knows all recipients when its task has ended, and sends to the highest "
          "priority first.",
      .panels = rank_panels(),
      .series = series_by_rank(),
      .plots = {{.name = "time", .unit = "us", .value = microseconds}},
      .statements =
          {{"Priorities are respected", "section 4.4.1",
            "no rank before one of higher priority by as much as one transfer takes, 66 us",
            higher_priorities_come_first},
           {"Who only reads starts sooner than when the content has been sent on", "section 4.4.1",
            "on average, in both trees", readers_start_sooner},
           {"Without broadcasts the first ranks get it early, though of the lowest priority: their "
            "sends are submitted first",
            "section 4.4.1", "rank 1 is among the first half", first_ranks_come_early}},
      .causes = {
          "**Priorities**: see 4.5.",
          "**The first ranks** have no lead: readers are submitted before the writer has ended, "
          "and "
          "their sends are known together, with trees and without. The paper's runtime hands them "
          "to its library one by one."}};
  return figure;
}

}  // namespace

std::vector<Figure> broadcast_figures_004() {
  return {figure_4_3(), figure_4_4(), figure_4_5(), figure_4_6()};
}

}  // namespace vicinal::reproduction
