// What every policy makes of one graph on one simulated machine, to the nanosecond and to the byte: a
// decision that has changed shows as a difference of lines.
//
// A change that was meant: take over the lines that the test prints, and say in the CHANGELOG what became
// better or worse by how much.
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"
#include "play/play.hpp"
#include "sched/policy.hpp"

namespace vicinal {
namespace {

// Cholesky of 12 x 12 tiles of 960 (274 MiB, 364 tasks) on the first two GPUs of v100p: nanoseconds until
// the last task has ended; bytes into the GPUs and bytes into RAM, until the results are at home.
constexpr std::string_view kRoomy = R"(
lws    115319252  788889600 287539200
eager   90025930  637747200 287539200
prio   121441489  822067200 287539200
darts   84576008  589824000 287539200
dmda   123881591  722534400 287539200
dmdar  123881591  722534400 287539200
dmdas   96133124  530841600 287539200
heft   103112975  648806400 287539200
random 167943708 1113292800 287539200
belady  90025930  637747200 287539200
owner   77196732  567705600 287539200
load    70025022  530841600 287539200
directed  70622908  530841600 287539200
touch   74362794  560332800 287539200
rws    130462109  825753600 287539200
xkaapi  84727383  567705600 287539200
ap      69161079  530841600 287539200
lfq    111939647  748339200 287539200
hfp     98982447  689356800 287539200
horizon  63954595  471859200 287539200
mst    110790621  763084800 287539200
rcm    116077129  759398400 287539200
)";
// The same with 100 MiB on each GPU, where evictions decide.
constexpr std::string_view kTight = R"(
lws    138424012  962150400 361267200
eager  192271543 1242316800 630374400
prio   265459527 1916928000 763084800
darts  127741168  951091200 423936000
dmda   135225947  892108800 335462400
dmdar  123686296  755712000 342835200
dmdas  128906524  788889600 372326400
heft   136309955  903168000 398131200
random 193268351 1201766400 578764800
belady 178469742 1157529600 689356800
owner  161557252 1153843200 571392000
load   132949146  991641600 471859200
directed 129424087  895795200 482918400
touch  145579943 1032192000 497664000
rws    171482352 1150156800 534528000
xkaapi 144453193 1010073600 390758400
ap     121023682  799948800 549273600
lfq    197033474 1445068800 357580800
hfp    162995308 1083801600 530841600
horizon  82137685  582451200 287539200
mst    194748161 1246003200 560332800
rcm    163777537 1072742400 464486400
)";

// On one GPU with 100 MiB, with the rules of StarPU for a full memory (option memory_rules).
constexpr std::string_view kTheirRules = R"(
lws    383324233 1983283200 552960000
eager  383366343 1710489600 1002700800
prio   383324233 1983283200 552960000
dmda   179088095  877363200 855244800
dmdar  218763430 1205452800 497664000
dmdas  250535717 1397145600 438681600
heft   437422057 2480947200 984268800
)";

std::string line_of(std::string_view policy, const machine::MachineChoice& choice,
                    const std::string& rules = {}) {
  const graph::Graph graph = graphs::cholesky({.tiles = 12, .tile = 960});
  Options options;
  options.policy = policy;
  options.memory_rules = rules;
  const play::Played played = play::play(graph, machine::load_machine("v100p", choice), options);
  const std::int64_t ns = (played.after.now - played.before.now).ns;
  Bytes loaded;
  for (std::size_t n = 1; n < played.last.nodes.size(); ++n)
    loaded += played.last.nodes[n].bytes_in;
  return fmt::format("{:6} {:>9} {:>10} {:>9}\n", policy, ns, loaded.value,
                     played.last.nodes[0].bytes_in.value);
}

std::string lines_of(const machine::MachineChoice& choice) {
  std::string lines = "\n";
  for (const sched::PolicyEntry& policy : sched::policies()) lines += line_of(policy.name, choice);
  return lines;
}

TEST(SimulatedSchedules, OfCholeskyInMemoryAreAsStored) {
  EXPECT_EQ(lines_of({.gpus = 2}), kRoomy);
}

TEST(SimulatedSchedules, OfCholeskyWithEvictionsAreAsStored) {
  EXPECT_EQ(lines_of({.gpus = 2, .gpu_memory = 100_MiB}), kTight);
}

TEST(SimulatedSchedules, WithTheRulesOfAnotherRuntimeAreAsStored) {
  std::string lines = "\n";
  for (const std::string_view policy : {"lws", "eager", "prio", "dmda", "dmdar", "dmdas", "heft"}) {
    lines += line_of(policy, {.gpus = 1, .gpu_memory = 100_MiB}, "starpu");
  }
  EXPECT_EQ(lines, kTheirRules);
}

TEST(SimulatedSchedules, AreTheSameAgain) {
  EXPECT_EQ(lines_of({.gpus = 3}), lines_of({.gpus = 3}));
}

}  // namespace
}  // namespace vicinal
