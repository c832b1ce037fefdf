// Figures of papers: the arithmetic of their statements, their table, their page.
#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.hpp"
#include "graphs/make_graph.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "reproduction/figures.hpp"
#include "reproduction/measure.hpp"
#include "reproduction/orders.hpp"
#include "reproduction/statements.hpp"
#include "reproduction/text.hpp"
#include "sched/policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kMemory = 100;

// One second, so that a GFlop/s is 1e9 operations; `size` against a memory of 100.
Row row(std::string panel, std::string series, double size, double gflops, double loads = 0) {
  Row made;
  made.point.panel = std::move(panel);
  made.point.series = std::move(series);
  made.point.x = size;
  made.measures = {.seconds = 1,
                   .flops = gflops * 1e9,
                   .from_below = loads,
                   .working_set = size,
                   .memory = kMemory};
  return made;
}

TEST(Statements, RatiosAreOfPointsThatBothHave) {
  const Results results({row("p", "A", 50, 10), row("p", "B", 50, 5), row("p", "A", 200, 9),
                         row("p", "B", 200, 3), row("p", "A", 300, 8)});
  // 10 / 5 and 9 / 3; of 300 there is no B.
  EXPECT_THAT(ratios(results, {"p"}, "A", "B", gflops), ElementsAre(2, 3));
  EXPECT_THAT(ratios(results, {"p", Where::fitting}, "A", "B", gflops), ElementsAre(2));
  EXPECT_THAT(ratios(results, {"p", Where::beyond}, "A", "B", gflops), ElementsAre(3));
  EXPECT_THAT(ratios(results, {"q"}, "A", "B", gflops), ::testing::IsEmpty());
}

TEST(Statements, RatiosAcrossPanelsKeepToThePanel) {
  const Results results(
      {row("p", "A", 50, 10), row("p", "B", 50, 5), row("q", "A", 50, 12), row("q", "B", 50, 3)});
  EXPECT_THAT(ratios(results, {}, "A", "B", gflops), ElementsAre(2, 4));
}

TEST(Statements, MeansAndWords) {
  const std::array<double, 2> values{1, 4};
  EXPECT_DOUBLE_EQ(mean(values), 2.5);
  EXPECT_DOUBLE_EQ(geometric_mean(values), 2);
  EXPECT_EQ(range(values), "1.00 to 4.00");
  EXPECT_EQ(range(std::array<double, 2>{0.999, 1.001}), "1.00");
  EXPECT_EQ(percent(0.1234), "+12.3 %");
  EXPECT_EQ(percent(-0.05), "-5.0 %");
}

TEST(Statements, TheFastestMayBeBehindByTwoPercentAndMustLeadSomewhere) {
  // At 50 A has 0.99 of the speed of B, at 200 twice its speed.
  const Results leads({row("p", "A", 50, 99), row("p", "B", 50, 100), row("p", "A", 200, 100),
                       row("p", "B", 200, 50)});
  EXPECT_EQ(is_fastest(leads, {"p"}, "A").kind, Verdict::Kind::holds);
  EXPECT_EQ(is_fastest(leads, {"p"}, "A").measured, "over B 0.99 to 2.00");
  // Equal everywhere is no lead.
  EXPECT_EQ(is_fastest(leads, {"p", Where::fitting}, "A").kind, Verdict::Kind::fails);
  // At 50 B is ahead, but at 200 it is far behind.
  EXPECT_EQ(is_fastest(leads, {"p"}, "B").kind, Verdict::Kind::fails);
  EXPECT_EQ(is_fastest(leads, {"q"}, "A").kind, Verdict::Kind::unknown);
}

TEST(Statements, OthersLoadAtLeastSoManyTimesAsMuchAtEachPoint) {
  const Results results({row("p", "A", 200, 1, 10), row("p", "B", 200, 1, 30),
                         row("p", "A", 300, 1, 20), row("p", "B", 300, 1, 50)});
  const std::array<std::string, 1> b{"B"};
  // 3 and 2.5 times.
  EXPECT_EQ(others_load_more(results, {"p"}, "A", b, 2.5).kind, Verdict::Kind::holds);
  EXPECT_EQ(others_load_more(results, {"p"}, "A", b, 2.6).kind, Verdict::Kind::fails);
}

TEST(Statements, MostAreEqualIfMoreThanHalfComeNear) {
  const Results two_of_three(
      {row("p", "A", 50, 100), row("p", "B", 50, 96), row("p", "C", 50, 10)});
  EXPECT_EQ(most_are_equal(two_of_three, {}, 0.05).kind, Verdict::Kind::holds);
  const Results one_of_two({row("p", "A", 50, 100), row("p", "C", 50, 10)});
  EXPECT_EQ(most_are_equal(one_of_two, {}, 0.05).kind, Verdict::Kind::fails);
  EXPECT_EQ(most_are_equal(one_of_two, {{}, Where::beyond}, 0.05).kind, Verdict::Kind::unknown);
}

TEST(Statements, AGainThatThePaperFindsToBeNothingMustBeNothing) {
  const Results results({row("p", "A", 50, 110), row("p", "B", 50, 100)});
  // + 10 %.
  const Verdict gain = is_faster_on_average(results, {"p"}, "A", "B", 0.5);
  EXPECT_EQ(gain.kind, Verdict::Kind::sign);
  EXPECT_EQ(gain.measured, "+10.0 % over 1 points (paper +50.0 %)");
  // From both sides: within 25 % of the gain, or 2 % of the speed.
  for (const double met : {0.081, 0.12, 0.13}) {
    EXPECT_EQ(is_faster_on_average(results, {"p"}, "A", "B", met).kind, Verdict::Kind::holds)
        << met;
  }
  for (const double not_met : {0.07, 0.14}) {
    EXPECT_EQ(is_faster_on_average(results, {"p"}, "A", "B", not_met).kind, Verdict::Kind::sign);
  }
  EXPECT_EQ(is_faster_on_average(results, {"p"}, "B", "A", 0.5).kind, Verdict::Kind::fails);
  EXPECT_EQ(is_faster_on_average(results, {"p"}, "A", "B", -0.002).kind, Verdict::Kind::fails);
  EXPECT_EQ(is_faster_on_average(results, {"p"}, "A", "A", -0.002).kind, Verdict::Kind::holds);
}

TEST(Statements, LossIsFromTheBestThatFitsToTheLargest) {
  const Results results({row("p", "A", 50, 80), row("p", "A", 90, 100), row("p", "A", 200, 90),
                         row("p", "A", 300, 60)});
  EXPECT_THAT(loss_at_largest(results, "p", "A"), ::testing::Optional(DoubleEq(0.4)));
  EXPECT_EQ(loss_at_largest(results, "p", "B"), std::nullopt);
}

TEST(Statements, AllOfFailsWithOneAndKnowsNothingWithoutOne) {
  const Verdict yes = verdict(true, "a");
  const Verdict no = verdict(false, "b");
  EXPECT_EQ(all_of(std::array{yes, no}).kind, Verdict::Kind::fails);
  EXPECT_EQ(all_of(std::array{yes, no}).measured, "a; b");
  EXPECT_EQ(all_of(std::array{yes, unknown("c")}).kind, Verdict::Kind::unknown);
  EXPECT_EQ(all_of({}).kind, Verdict::Kind::unknown);
}

TEST(Statements, ANumberIsMetFromBothSides) {
  EXPECT_TRUE(meets(4, 5) && meets(6.2, 5) && !meets(3.7, 5) && !meets(6.3, 5));
  EXPECT_TRUE(meets_speed(1620, 1790) && meets_speed(1960, 1790));
  EXPECT_FALSE(meets_speed(1600, 1790) || meets_speed(1980, 1790));
  EXPECT_EQ(numbered(true, true, "").kind, Verdict::Kind::holds);
  EXPECT_EQ(numbered(true, false, "").kind, Verdict::Kind::sign);
  EXPECT_EQ(numbered(false, true, "").kind, Verdict::Kind::fails);
  EXPECT_EQ(to_string(Verdict::Kind::sign), "holds in sign");
  // The worst counts.
  const Verdict sign = numbered(true, false, "c");
  EXPECT_EQ(all_of(std::array{verdict(true, "a"), sign}).kind, Verdict::Kind::sign);
  EXPECT_EQ(all_of(std::array{sign, verdict(false, "b")}).kind, Verdict::Kind::fails);
}

TEST(Statements, WhatVicinalDoesBesideIsNotJudged) {
  Row ours = row("p", "A (ours)", 50, 200);
  ours.point.beside = true;
  const Results results({row("p", "A", 50, 100), row("p", "B", 50, 90), ours});
  EXPECT_THAT(results.series("p"), ElementsAre("A", "B"));
  EXPECT_EQ(is_fastest(results, {"p"}, "A").measured, "over B 1.11");
  // It is in the table all the same.
  EXPECT_EQ(results.of("p", "A (ours)").size(), 1U);
}

// --- orders

OrderedTask task(std::uint64_t place, std::uint32_t row, std::uint32_t column,
                 std::vector<std::uint32_t> tiles, std::uint32_t worker = 0) {
  return {place, worker, 0, row, column, std::move(tiles)};
}

TEST(Orders, CorrelationIsOneAlongARowAndMinusOneAgainstIt) {
  OrderedRun run{"r", 4, 2, {task(0, 3, 0, {0}), task(1, 3, 1, {1}), task(2, 3, 2, {2})}};
  EXPECT_DOUBLE_EQ(rank_correlation(run, [](const OrderedTask& t) { return double(t.column); }), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(run, [](const OrderedTask& t) { return -double(t.column); }),
                   -1);
  // All rows are the same.
  EXPECT_DOUBLE_EQ(rank_correlation(run, [](const OrderedTask& t) { return double(t.row); }), 0);
  // Of later steps nothing counts.
  run.tasks.push_back(task(3, 3, 0, {0}));
  run.tasks.back().step = 1;
  EXPECT_DOUBLE_EQ(rank_correlation(run, [](const OrderedTask& t) { return double(t.column); }), 1);
}

TEST(Orders, TilesInUseByColour) {
  // Colours of two tasks: {0, 1} and {1, 2} use three tiles, {5} and {5} one; the last is not whole.
  const OrderedRun run{"r",
                       4,
                       2,
                       {task(0, 0, 0, {0, 1}), task(1, 0, 0, {2, 1}), task(2, 0, 0, {5}),
                        task(3, 0, 0, {5}), task(4, 0, 0, {5}, 1)}};
  EXPECT_THAT(tasks_per_tile(run), ElementsAre(DoubleEq(2.0 / 3), DoubleEq(2)));
  // Tile 1 is written twice in the first colour, tile 5 in the second.
  EXPECT_EQ(most_steps_at_once(run), 2U);
  EXPECT_THAT(tasks_by_worker(run), ElementsAre(4, 1));
  // Of tiles 0, 1, 2 and 5 both workers use one.
  EXPECT_DOUBLE_EQ(share_used_by_several(run), 0.25);
}

TEST(Orders, EveryTaskEndsOnceOnTheWorkerThatCountsIt) {
  graph::Graph graph;
  const auto kernel = graph.add_kernel({.name = "gemm", .flops = 1e9});
  for (int i = 0; i < 40; ++i) {
    const auto datum = graph.add_datum({.bytes = 1_MiB, .home = NodeKind::ram});
    for (int j = 0; j < 3; ++j) graph.add_task(kernel, {{{datum, AccessMode::RW}}});
  }
  graph.application().precision = "float";
  const machine::MachineModel machine = machine::load_machine("v100", {.gpus = 3});
  Options options;
  options.policy = "lws";
  options.models = "none";
  std::set<std::size_t> seen;
  std::vector<std::uint64_t> counts(3);
  std::vector<int> last(40, -1);
  for (const play::Ended& ended : play::ends_in_order(graph, machine, options)) {
    seen.insert(ended.task);
    ++counts.at(ended.worker.value);
    // Tasks of one datum end in the order of their submission.
    EXPECT_GT(static_cast<int>(ended.task), last[ended.task / 3]);
    last[ended.task / 3] = static_cast<int>(ended.task);
  }
  EXPECT_EQ(seen.size(), 120U);
  const play::Played played = play::play(graph, machine, options);
  for (std::size_t w = 0; w < 3; ++w) EXPECT_EQ(counts[w], played.after.workers[w].tasks);
}

// --- the table

TEST(Figures, EachHasANameOfItsOwnStatementsAndPointsAtEveryEffort) {
  std::set<std::string_view> names;
  for (const Figure& figure : figures()) {
    SCOPED_TRACE(figure.name);
    EXPECT_TRUE(names.insert(figure.name).second);
    EXPECT_FALSE(figure.sentence.empty());
    EXPECT_FALSE(figure.statements.empty());
    for (const Statement& statement : figure.statements) {
      EXPECT_FALSE(statement.rule.empty());
      // Of nothing nothing is known.
      EXPECT_EQ(statement.check({}).kind, Verdict::Kind::unknown) << statement.sentence;
    }
    if (figure.is_order()) continue;
    const std::size_t quick = points_of(figure, Effort::quick).size();
    const std::size_t usual = points_of(figure, Effort::usual).size();
    EXPECT_GT(quick, 0U);
    EXPECT_GT(usual, quick);
    EXPECT_GE(points_of(figure, Effort::full).size(), usual);
    for (const Point& point : points_of(figure, Effort::full)) {
      if (point.on_ranks.ranks > 0) {
        EXPECT_EQ(cluster_of(point).network.hosts, point.on_ranks.ranks);
      } else {
        EXPECT_NO_THROW(machine::load_machine(point.machine, {.gpus = point.gpus}));
      }
      EXPECT_EQ(point.tiles > 0, !point.application.empty());
      // They are columns of a CSV.
      EXPECT_EQ((point.panel + point.series + point.policy).find(','), std::string::npos);
    }
  }
}

TEST(Figures, AnUnknownOneNamesTheNearest) {
  EXPECT_THAT([] { figure("001_3"); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr("did you mean 001-3?")));
}

TEST(Figures, APointSaysWhatVaries) {
  const Figure& figure3 = figure("003-2");
  const std::vector<Point> points = points_of(figure3, Effort::usual);
  // 40 tiles of 1024, on one GPU first.
  EXPECT_EQ(points.front().tiles, 40U);
  EXPECT_EQ(points.front().gpus, 1U);
  EXPECT_EQ(points.back().gpus, 8U);
  const std::vector<Point> memories = points_of(figure("001-3"), Effort::quick);
  EXPECT_EQ(memories.back().gpu_memory, Bytes{300ULL << 20});
  EXPECT_EQ(memories.back().tiles, 15U);
}

// Three matrices of 2 x 2 tiles. The third is read only if the first task on a tile does so.
TEST(Figures, ResultsThatAreMadeAnewAreNotLoaded) {
  Point point{.application = "gemm3d", .tiles = 2, .tile = 960, .precision = "float"};
  point.machine = "v100p";
  point.gpus = 1;
  point.policy = "eager";
  const double tile = 960.0 * 960 * 4;
  for (const bool anew : {false, true}) {
    point.results_anew = anew;
    const Measures measures =
        measure(point, graphs::make_graph({.application = "gemm3d", .tiles = 2, .tile = 960}));
    EXPECT_EQ(measures.loaded(), (anew ? 8 : 12) * tile);
    EXPECT_EQ(measures.working_set, 12 * tile);
  }
}

// --- on clusters

// 0.622 MB take 100 us from NIC to NIC of occigen, and a little for messages. Times of rank 1, and of the last.
Point broadcast_of(std::uint32_t ranks, std::string broadcast) {
  Point point{.machine = "occigen", .policy = "lws"};
  point.on_ranks = {.ranks = ranks, .broadcast = std::move(broadcast), .bytes = Bytes{622'000}};
  return point;
}

TEST(OnRanks, ABroadcastTakesATransferForEachRecipientOrForEachLevel) {
  EXPECT_NEAR(measure(broadcast_of(2, "off"), {}).seconds * 1e6, 100, 20);
  EXPECT_NEAR(measure(broadcast_of(9, "off"), {}).seconds * 1e6, 800, 30);
  EXPECT_LT(measure(broadcast_of(9, "binary"), {}).seconds * 1e6, 500);
  EXPECT_EQ(measure(broadcast_of(9, "binary"), {}).working_set, 622'000);
}

TEST(OnRanks, ThePointSaysWhoseTimeItIs) {
  // Rank 4 has the largest priority, and the others wait for nothing behind it.
  Point point = broadcast_of(5, "chain");
  point.on_ranks.to = 4;
  const double first = measure(point, {}).seconds;
  point.on_ranks.to = 1;
  const double last = measure(point, {}).seconds;
  EXPECT_LT(first, last);
  EXPECT_EQ(measure(broadcast_of(5, "chain"), {}).seconds, last);
  // The last one sends nothing on, the first one does.
  point.on_ranks.broadcast = "chain:readers=last";
  EXPECT_EQ(measure(point, {}).seconds, last);
  point.on_ranks.to = 4;
  EXPECT_GT(measure(point, {}).seconds, first);
}

TEST(OnRanks, RanksOfOneHostShareItsCoresAndItsNic) {
  Point point = broadcast_of(8, "off");
  EXPECT_EQ(cluster_of(point).host.description.workers.size(), 28U);
  const machine::NetworkModel whole = cluster_of(point).network;
  point.on_ranks.per_host = 2;
  EXPECT_EQ(cluster_of(point).host.description.workers.size(), 14U);
  const machine::NetworkModel half = cluster_of(point).network;
  EXPECT_EQ(half.hosts, 8U);
  EXPECT_EQ(half.nic.value, whole.nic.value / 2);
}

TEST(OnRanks, AGraphIsPlayedOnAllOfThem) {
  Point point = broadcast_of(4, "binomial");
  point.application = "cholesky";
  point.tiles = 8;
  const graph::Graph graph =
      graphs::make_graph({.application = "cholesky", .tiles = 8, .tile = 320});
  const Measures measures = measure(point, graph);
  EXPECT_EQ(measures.flops, graph.flops());
  EXPECT_GE(measures.seconds, measures.least_seconds);
  EXPECT_GT(measures.least_seconds, 0);
  EXPECT_GT(measures.broadcasts, 0);
  EXPECT_GT(measures.between_ranks, 0);
  // Without it nobody is on another host.
  point.on_ranks.ranks = 1;
  EXPECT_EQ(measure(point, graph).between_ranks, 0);
}

TEST(OnRanks, TilesOfOtherSizesCutTheSameMatrix) {
  const std::vector<Point> points = points_of(figure("004-4.15"), Effort::full);
  for (const Point& point : points) EXPECT_EQ(point.tiles * point.tile, 9600U);
  EXPECT_EQ(points.front().tile, 240U);
  EXPECT_EQ(points.front().on_ranks.width, 3U);
}

TEST(OnRanks, APictureShowsAPlotInItsPanelsAlone) {
  const Figure& figure4 = figure("004-4.3");
  EXPECT_TRUE(figure4.plots[0].shows(figure4.panels[0]));
  EXPECT_FALSE(figure4.plots[0].shows(figure4.panels[1]));
  Row one;
  one.point = points_of(figure4, Effort::quick).front();
  one.measures = {.seconds = 1e-3, .working_set = 1e6};
  const std::string table = table_text(figure4, Results({one}));
  EXPECT_THAT(table, HasSubstr("latency, time to the last (us)"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("latency, bandwidth")));
}

// --- the page

TEST(Page, ASectionIsReplacedAndOthersStay) {
  const Results nothing;
  const std::string first = with_section("", {figure("000-10"), nothing, "command one", {}});
  EXPECT_THAT(first, HasSubstr("# Figures of the papers"));
  const std::string both = with_section(first, {figure("000-6"), nothing, "command two", {}});
  EXPECT_LT(both.find("## 000-6: "), both.find("## 000-10: "));
  const std::string again = with_section(both, {figure("000-6"), nothing, "command three", {"x."}});
  EXPECT_THAT(again, ::testing::Not(HasSubstr("command two")));
  EXPECT_THAT(again, HasSubstr("command one"));
  EXPECT_THAT(again, HasSubstr("\nx.\n"));
  EXPECT_EQ(with_section(again, {figure("000-6"), nothing, "command three", {"x."}}), again);
}

TEST(Page, CountsItsVerdictsByPaper) {
  const auto with = [](double gflops) {
    return Results({row("DPOTRF", "H2", 50, gflops), row("DPOTRF", "default", 50, 1)});
  };
  // Of figure 003-2 the peak is known alone: 1790 within a tenth, or above the other at least.
  const std::string met = with_section("", {figure("003-2"), with(1700), "command", {}});
  EXPECT_THAT(met, HasSubstr("| 003 (work stealing, in XKaapi) | 10 | 1 | 1 | 0 | 0 |\n"));
  EXPECT_THAT(met, HasSubstr("| all | 46 | 26 | 1 | 0 | 0 |\n"));
  const std::string again = with_section(met, {figure("003-2"), with(1500), "command", {}});
  EXPECT_THAT(again, HasSubstr("| 003 (work stealing, in XKaapi) | 10 | 1 | 0 | 1 | 0 |\n"));
}

}  // namespace
}  // namespace vicinal::reproduction
