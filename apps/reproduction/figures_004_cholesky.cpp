// Figures 4.9 to 4.12 of paper 004 (parts_004.hpp): Cholesky on inti and on occigen.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "reproduction/parts_004.hpp"
#include "reproduction/statements.hpp"

namespace vicinal::reproduction {

namespace {

constexpr std::string_view kOfCholesky004 =
    "Single precision and tiles of 320, as the thesis has them (footnote of section 4.4.3); "
    "priorities by place, as in StarPU's example, and work stealing (lws). The sizes of its "
    "matrices are in its pictures alone. Kernel speeds are assumptions of the machine file: 0.85 "
    "of the peak for gemm. Content goes along trees in segments, which the paper's library does "
    "not do. ";

Panel cholesky_panel(std::string_view name, std::string_view machine, std::uint32_t ranks) {
  Panel panel = panel_004(name, "cholesky", machine, ranks);
  panel.values = {Values{20}, Values{50, 80, 110}, Values{50, 80, 110, 140, 170, 200}};
  return panel;
}

// --- figure 4.9

constexpr std::string_view k64 = "64 ranks";
constexpr std::string_view k100 = "100 ranks";

Verdict gains_on_64(const Results& results) {
  return gains_up_to(results, k64, kBinomial004, kWithout004, 0.2);
}
Verdict gains_on_100(const Results& results) {
  return gains_up_to(results, k100, kBinomial004, kWithout004, 0.3);
}

Verdict gains_with_ranks(const Results& results) {
  const std::vector<double> few = gains_004(results, k64, kBinomial004, kWithout004);
  const std::vector<double> many = gains_004(results, k100, kBinomial004, kWithout004);
  if (few.empty() || many.empty()) return unknown("one of the two has not been measured");
  return verdict(
      std::ranges::max(many) > kEqual + std::max(std::ranges::max(few), 0.0),
      fmt::format("64 ranks {}, 100 ranks {}", range_of_gains(few), range_of_gains(many)));
}

Verdict large_matrices_gain_less(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const std::string_view panel : {k64, k100}) {
    const std::vector<double> gains = gains_004(results, panel, kBinomial004, kWithout004);
    if (gains.size() < 2) continue;
    verdicts.push_back(
        verdict(std::ranges::max(gains) > kEqual + std::max(gains.back(), 0.0),
                fmt::format("{}: {} at most, {} for the largest", panel,
                            percent(std::ranges::max(gains)), percent(gains.back()))));
  }
  return all_of(verdicts);
}

Verdict most_are_detected(const Results& results) {
  double all = 0;
  double late = 0;
  for (const Row* row : results.of({}, kBinomial004)) {
    all += row->measures.broadcasts;
    late += row->measures.late_sends;
  }
  if (all <= 0) return unknown("no broadcast has been counted");
  return verdict(late <= 0.02 * all,
                 fmt::format("{:.0f} sends missed one of {:.0f} broadcasts", late, all));
}

Figure figure_4_9() {
  return {
      .name = "004-4.9",
      .sentence = "Cholesky on 64 and 100 hosts of inti, with binomial trees and without",
      .note = std::string(kOfCholesky004) +
              "The paper's first implementation is simulated: recipients are not ordered by "
              "priority, and content is read when it has been sent on "
              "(binomial:priorities=sends:readers=last); beside it, (ours), stands a binomial "
              "tree as Vicinal has it.",
      .panels = {cholesky_panel(k64, "inti", 64), cholesky_panel(k100, "inti", 100)},
      .series =
          {{.label = kWithout004, .policy = "lws", .broadcast = "off"},
           {.label = kBinomial004,
            .policy = "lws",
            .broadcast = "binomial:priorities=sends:readers=last"},
           {.label = "binomial (ours)", .policy = "lws", .beside = true, .broadcast = "binomial"}},
      .plots = {performance_004()},
      .statements = {
          {"On 64 nodes broadcasts improve the performance by up to 20 %", "section 4.4.2",
           "somewhere by more than 2 %; and the number", gains_on_64},
          {"On 100 nodes by up to 30 %", "section 4.4.2",
           "somewhere by more than 2 %; and the number", gains_on_100},
          {"More nodes gain more", "section 4.4.2",
           "there is a gain on 100, above that on 64 by more than 2 % of the speed",
           gains_with_ranks},
          {"Larger matrices gain less than those of medium size", "section 4.4.2",
           "there is a gain, and that of the largest matrix is smaller by more than 2 % of the "
           "speed",
           large_matrices_gain_less},
          {"98 % of the broadcasts have all recipients", "section 4.2.1",
           "sends that missed a broadcast are at most 2 % of the broadcasts", most_are_detected}}};
}

// --- figure 4.10

constexpr std::string_view k196 = "196 ranks";
constexpr std::string_view k400 = "400 ranks on 200 hosts";

std::vector<Series> trees_004() {
  return {{.label = kWithout004, .policy = "lws", .broadcast = "off"},
          {.label = kBinary004, .policy = "lws", .broadcast = "binary"},
          {.label = kBinomial004, .policy = "lws", .broadcast = "binomial"}};
}

Verdict nothing_is_gained_on_196(const Results& results) {
  return all_of(std::array{are_equal(results, k196, kBinary004, kWithout004),
                           are_equal(results, k196, kBinomial004, kWithout004)});
}
Verdict binary_gains_on_400(const Results& results) {
  return gains_up_to(results, k400, kBinary004, kWithout004, 0.15);
}

Panel on_200_hosts() {
  Panel panel = cholesky_panel(k400, "occigen", 400);
  panel.on_ranks.per_host = 2;
  panel.values = {Values{20}, Values{60, 100}, Values{60, 100, 150, 200}};
  return panel;
}

Figure figure_4_10() {
  Panel on_196 = cholesky_panel(k196, "occigen", 196);
  on_196.values = {Values{20}, Values{60, 100}, Values{60, 100, 150, 200}};
  return {.name = "004-4.10",
          .sentence = "Cholesky on occigen, one rank on each host and two",
          .note = std::string(kOfCholesky004) +
                  "Two ranks of a host have 14 cores and half of the NIC each, whether the other "
                  "one sends or not, and reach each other through it.",
          .panels = {on_196, on_200_hosts()},
          .series = trees_004(),
          .plots = {performance_004()},
          .statements = {
              {"With one rank per node broadcasts do not improve the performance", "section 4.4.2",
               "neither tree differs by more than 2 % anywhere", nothing_is_gained_on_196},
              {"With two, binary trees gain up to 15 %", "section 4.4.2",
               "somewhere more than 2 %; and the number", binary_gains_on_400}}};
}

// --- figure 4.11

constexpr std::string_view kWithoutPriorities = "without broadcasts and priorities";
constexpr std::string_view kBinaryUnordered = "binary without priorities";
constexpr std::string_view kBinomialUnordered = "binomial without priorities";

Verdict single_sends_need_priorities(const Results& results) {
  const std::vector<double> speeds =
      ratios(results, {k196}, kWithoutPriorities, kWithout004, gflops);
  if (speeds.empty()) return unknown("single sends have not been measured");
  const double least = std::ranges::min(speeds);
  return numbered(least < 1 - kEqual, meets(least, 151.0 / 228),
                  fmt::format("{} of the speed (paper 0.66)", range(speeds)));
}
Verdict priorities_help_binary(const Results& results) {
  return is_faster(results, k196, kBinary004, kBinaryUnordered);
}
Verdict priorities_do_not_help_binomial(const Results& results) {
  return are_equal(results, k196, kBinomial004, kBinomialUnordered);
}

Figure figure_4_11() {
  std::vector<Series> series = trees_004();
  series.push_back(
      {.label = kWithoutPriorities, .policy = "lws", .broadcast = "off:priorities=no"});
  series.push_back(
      {.label = kBinaryUnordered, .policy = "lws", .broadcast = "binary:priorities=no"});
  series.push_back(
      {.label = kBinomialUnordered, .policy = "lws", .broadcast = "binomial:priorities=no"});
  Panel panel = cholesky_panel(k196, "occigen", 196);
  panel.values = {Values{20}, Values{60, 100}, Values{60, 100, 150, 200}};
  return {
      .name = "004-4.11",
      .sentence = "Cholesky on occigen: what priorities of messages are worth",
      .note = std::string(kOfCholesky004) +
              "Tasks keep their priorities where messages have none. The paper does not say on "
              "how many nodes; here they are 196.",
      .panels = {panel},
      .series = std::move(series),
      .plots = {performance_004()},
      .statements =
          {{"Without broadcasts and priorities the performance is very poor: 151 TFlop/s in "
            "place of 228",
            "section 4.4.2", "somewhere slower by more than 2 %; and the ratio at the worst",
            single_sends_need_priorities},
           {"Binary trees gain by the order of recipients", "section 4.4.2",
            "on average more than 2 %", priorities_help_binary},
           {"Binomial trees do not", "section 4.4.2", "nowhere a difference of more than 2 %",
            priorities_do_not_help_binomial}},
      .causes = {
          "**Binomial trees**: their last rank gets the content later than that of a binary tree "
          "(4.3), so that more depends on which rank it is. The paper gives no time for either."}};
}

// --- figure 4.12

constexpr std::string_view kBinaryLast = "binary: wait write";
constexpr std::string_view kBinomialLast = "binomial: wait write";

Verdict readers_help_binomial(const Results& results) {
  return is_faster(results, k196, kBinomial004, kBinomialLast);
}
Verdict readers_do_not_help_binary(const Results& results) {
  return are_equal(results, k196, kBinary004, kBinaryLast);
}

Figure figure_4_12() {
  Panel panel = cholesky_panel(k196, "occigen", 196);
  panel.values = {Values{20}, Values{60, 100}, Values{60, 100, 150, 200}};
  return {
      .name = "004-4.12",
      .sentence = "Cholesky on occigen: content read when it has come, or when it has been sent on",
      .note = std::string(kOfCholesky004) +
              "The paper does not say on how many nodes; here they are 196. Wait write is "
              "broadcast=binary:readers=last.",
      .panels = {panel},
      .series = {{.label = kBinary004, .policy = "lws", .broadcast = "binary"},
                 {.label = kBinomial004, .policy = "lws", .broadcast = "binomial"},
                 {.label = kBinaryLast, .policy = "lws", .broadcast = "binary:readers=last"},
                 {.label = kBinomialLast, .policy = "lws", .broadcast = "binomial:readers=last"}},
      .plots = {performance_004()},
      .statements = {{"To read at once is better with binomial trees", "section 4.4.2",
                      "on average by more than 2 %", readers_help_binomial},
                     {"Not with binary ones", "section 4.4.2",
                      "nowhere a difference of more than 2 %", readers_do_not_help_binary}},
      .causes = {
          "**Binary trees**: who sends to two is done after two transfers, some 130 us. The path "
          "of "
          "these matrices, of steps of 1.5 ms, passes such ranks at each step. Binomial ones lose "
          "more, as the paper says."}};
}

}  // namespace

std::vector<Figure> cholesky_figures_004() {
  return {figure_4_9(), figure_4_10(), figure_4_11(), figure_4_12()};
}

}  // namespace vicinal::reproduction
