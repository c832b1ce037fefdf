// Versions that several ranks read: each rank has in the end what one rank alone would have, however they were sent.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_broadcasts {
namespace {

using Numbers = std::vector<std::uint64_t>;

// A task writes its outputs from its inputs, on a rank.
struct Step {
  std::vector<std::size_t> outputs;
  std::vector<std::size_t> inputs;
  bool adds = false;  // to what the outputs hold
  RankId on;
  int priority = 0;
  std::vector<std::uint32_t> pausing = {};  // ranks that wait a while before they submit it
  std::uint32_t announced = 0;              // readers of the first output; 0: none
};
struct Plan {
  std::vector<std::size_t> numbers;  // of each datum
  std::vector<RankId> owners;
  std::vector<Step> steps;
  tests::RankBytes bytes;
  std::uint32_t pause_microseconds = 0;
};

std::uint64_t counted(std::size_t numbers) {
  return (numbers * 8 + 4095) / 4096 * 4096;
}

// Few data are written and read by many; each rank has a small datum of its own for what it has read.
Plan make_plan(std::uint64_t seed, std::uint32_t ranks) {
  base::Random random(seed);
  const auto any_rank = [&] { return RankId{static_cast<std::uint32_t>(random.below(ranks))}; };
  Plan plan;
  const std::size_t shared = 1 + random.below(4);
  for (std::size_t i = 0; i < shared; ++i) {
    plan.numbers.push_back(random.below(4) == 0 ? random.below(513) : random.below(40'000));
    plan.owners.push_back(any_rank());
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    plan.numbers.push_back(16);
    plan.owners.push_back({rank});
  }
  std::vector<bool> written(plan.numbers.size());
  const auto add = [&](Step step) {
    std::uint64_t bytes = 0;
    for (const auto* const all : {&step.outputs, &step.inputs}) {
      for (const std::size_t one : *all) bytes += counted(plan.numbers[one]);
    }
    plan.bytes.most_of_task = std::max(plan.bytes.most_of_task, bytes);
    for (const std::size_t one : step.outputs) written[one] = true;
    plan.steps.push_back(std::move(step));
  };
  const std::size_t rounds = 1 + random.below(12);
  for (std::size_t round = 0; round < rounds; ++round) {
    Step writer{.outputs = {random.below(shared)}, .inputs = {}, .on = any_rank()};
    writer.adds = written[writer.outputs[0]] && random.below(2) == 0;
    if (shared > 1 && random.below(3) == 0) {  // two outputs, which overlapping ranks read
      writer.outputs.push_back((writer.outputs[0] + 1) % shared);
      writer.adds = writer.adds && written[writer.outputs[1]];
    }
    const std::vector<std::size_t> fresh = writer.outputs;
    add(std::move(writer));
    for (const std::size_t datum : fresh) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (random.below(4) == 0) continue;
        Step reader{.outputs = {shared + rank}, .inputs = {datum}, .on = {rank}};
        reader.adds = written[shared + rank];
        reader.priority = static_cast<int>(random.below(4));
        add(std::move(reader));
      }
    }
  }
  for (const std::size_t numbers : plan.numbers) {
    plan.bytes.largest = std::max({plan.bytes.largest, counted(numbers), std::uint64_t{4096}});
  }
  // Ranks that are behind with a part of the sequence: receives that are posted late, and readers that are.
  if (random.below(2) == 0) {
    plan.pause_microseconds = static_cast<std::uint32_t>(20 + random.below(300));
    for (Step& step : plan.steps) {
      if (random.below(12) == 0) step.pausing.push_back(any_rank().value);
    }
  }
  for (Step& step : plan.steps) {
    if (step.outputs[0] < shared && random.below(4) == 0)
      step.announced = static_cast<std::uint32_t>(1 + random.below(ranks));
  }
  return plan;
}

void work(const Step& step, std::uint64_t number,
          const std::vector<std::pair<std::uint64_t*, std::size_t>>& outputs,
          const std::vector<std::pair<const std::uint64_t*, std::size_t>>& inputs) {
  std::uint64_t sum = number;
  for (const auto& [numbers, count] : inputs) {
    for (std::size_t n = 0; n < count; ++n) sum = (sum ^ numbers[n]) * 0x9e3779b97f4a7c15U + n;
  }
  for (const auto& [numbers, count] : outputs) {
    for (std::size_t n = 0; n < count; ++n) {
      numbers[n] = step.adds ? numbers[n] * 3 + sum + n : sum * (n + 1);
    }
  }
}

struct Parameters {
  const Step* step;
  std::uint64_t number;
};

const Codelet kWork{.name = "work", .cpu = [](KernelContext& k) {
                      const auto& [step, number] = k.parameter<Parameters>();
                      std::vector<std::pair<std::uint64_t*, std::size_t>> outputs;
                      std::vector<std::pair<const std::uint64_t*, std::size_t>> inputs;
                      for (std::size_t i = 0; i < k.operands(); ++i) {
                        const std::size_t count = k.count<std::uint64_t>(i);
                        if (i < step->outputs.size()) {
                          outputs.emplace_back(k.data<std::uint64_t>(i), count);
                        } else {
                          inputs.emplace_back(k.data<std::uint64_t>(i), count);
                        }
                      }
                      work(*step, number, outputs, inputs);
                    }};

struct Serial {
  std::vector<Numbers> content;
  std::vector<bool> written;
};

Serial run_serially(const Plan& plan) {
  Serial run;
  for (const std::size_t numbers : plan.numbers) run.content.emplace_back(numbers);
  run.written.resize(plan.numbers.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    std::vector<std::pair<std::uint64_t*, std::size_t>> outputs;
    std::vector<std::pair<const std::uint64_t*, std::size_t>> inputs;
    for (const std::size_t one : plan.steps[s].outputs) {
      outputs.emplace_back(run.content[one].data(), run.content[one].size());
      run.written[one] = true;
    }
    for (const std::size_t one : plan.steps[s].inputs) {
      inputs.emplace_back(run.content[one].data(), run.content[one].size());
    }
    work(plan.steps[s], s, outputs, inputs);
  }
  return run;
}

// Of all ranks of this process.
struct Played {
  std::atomic<std::uint64_t> broadcasts{0};
  std::atomic<std::uint64_t> several{0};
  std::atomic<std::uint64_t> in_time{0};
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> placed_on_arrival{0};  // bytes that went on to accelerators
  void add(const Statistics& one) {
    broadcasts += one.broadcasts;
    several += one.versions_to_several;
    in_time += one.versions_in_time;
    missed += one.broadcasts_missed;
    late += one.late_sends;
    placed_on_arrival += one.placed_on_arrival.value;
  }
  void say() const {
    std::printf(
        "broadcasts %llu of %llu versions to several; in time %llu, missed %llu; late sends %llu\n",
        static_cast<unsigned long long>(broadcasts), static_cast<unsigned long long>(several),
        static_cast<unsigned long long>(in_time), static_cast<unsigned long long>(missed),
        static_cast<unsigned long long>(late));
  }
};

void play(const Plan& plan, const Serial& expected, Runtime& runtime, Played& played) {
  const std::uint32_t here = runtime.this_rank().value;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < plan.numbers.size(); ++i) {
    handles.push_back(runtime.register_empty(plan.owners[i], Bytes{plan.numbers[i] * 8},
                                             "d" + std::to_string(i)));
    // Advice of each rank for itself: where content of others goes, if at all.
    for (const NodeDescription& node : runtime.machine().nodes) {
      if (node.kind == NodeKind::device && i % 3 == node.id.value % 3) {
        runtime.advise(handles[i], node.id);
      }
    }
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (std::ranges::find(step.pausing, here) != step.pausing.end())
      std::this_thread::sleep_for(std::chrono::microseconds(plan.pause_microseconds));
    std::vector<Operand> operands;
    for (const std::size_t one : step.outputs) {
      operands.push_back({handles[one], step.adds ? AccessMode::RW : AccessMode::W});
    }
    for (const std::size_t one : step.inputs) operands.push_back({handles[one], AccessMode::R});
    runtime.submit({.codelet = &kWork,
                    .operands = operands,
                    .parameters = Parameters{&step, s},
                    .priority = step.priority,
                    .rank = step.on});
    if (step.announced > 0) runtime.announce_readers(handles[step.outputs[0]], step.announced);
  }
  for (std::size_t i = 0; i < plan.numbers.size(); ++i) {
    if (!expected.written[i]) continue;
    const Acquired held = runtime.acquire(handles[i], AccessMode::R);
    EXPECT_TRUE(std::equal(expected.content[i].begin(), expected.content[i].end(),
                           held.data<std::uint64_t>()))
        << "data " << i << " on rank " << runtime.this_rank().value;
  }
  runtime.wait();
  played.add(runtime.statistics());
}

TEST(RanksBroadcasts, RandomProgramsAreAsOnOneRank) {
  Played played;
  tests::play_random_programs(
      "rank_broadcasts", [&played](std::uint64_t seed, std::uint32_t ranks, base::Random&) {
        const auto plan = std::make_shared<const Plan>(make_plan(seed, ranks));
        const auto expected = std::make_shared<const Serial>(run_serially(*plan));
        return tests::RankedProgram{plan->bytes, [=, &played](Runtime& runtime) {
                                      play(*plan, *expected, runtime, played);
                                    }};
      });
  if (std::getenv("RANKS_PROGRAMS") != nullptr) played.say();
  const bool is_usual = std::getenv("RANKS_SEED") == nullptr;
  if (is_usual && tests::launched_ranks().count() == 1) {
    EXPECT_GT(played.placed_on_arrival, 0U);
  }
}

// What random programs are to meet, in the first of them.
TEST(RanksBroadcasts, RandomProgramsHoldWhatIsDifficult) {
  std::set<std::string> met;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    constexpr std::uint32_t kRanks = 4;
    const Plan plan = make_plan(seed, kRanks);
    const auto is_shared = [&](std::size_t datum) { return datum + kRanks < plan.numbers.size(); };
    std::vector<std::set<std::uint32_t>> readers(plan.numbers.size());
    std::vector<std::set<int>> priorities(plan.numbers.size());
    std::optional<Step> writer;  // the last
    const auto look = [&] {
      if (!writer) return;
      for (const std::size_t datum : writer->outputs) {
        const std::size_t remote =
            readers[datum].size() - readers[datum].count(plan.owners[datum].value);
        if (remote < 2) continue;
        met.insert("a broadcast");
        if (priorities[datum].size() > 1) met.insert("priorities");
        if (plan.numbers[datum] * 8 >= 4 * comm::kLeastSegment) met.insert("segments");
        if (plan.numbers[datum] * 8 <= comm::kMostContentInMessage) met.insert("small content");
        if (writer->on != plan.owners[datum]) met.insert("content written elsewhere");
      }
      if (writer->outputs.size() < 2) return;
      const auto& some = readers[writer->outputs[0]];
      const auto& others = readers[writer->outputs[1]];
      std::vector<std::uint32_t> both;
      std::ranges::set_intersection(some, others, std::back_inserter(both));
      if (!both.empty() && some != others) met.insert("two outputs with overlapping readers");
    };
    for (const Step& step : plan.steps) {
      if (!step.pausing.empty()) met.insert("receives posted late");
      if (step.announced > 0) met.insert("announced readers");
      if (!is_shared(step.outputs[0])) {
        readers[step.inputs[0]].insert(step.on.value);
        priorities[step.inputs[0]].insert(step.priority);
        continue;
      }
      look();
      for (const std::size_t datum : step.outputs) {
        const bool has_read = readers[datum].contains(step.on.value);
        if (has_read && readers[datum].size() > 2 && step.on != plan.owners[datum])
          met.insert("a writer behind forwards");
        if (has_read) met.insert("a receiver that has the next version");
        readers[datum].clear();
        priorities[datum].clear();
      }
      writer = step;
    }
    look();
    const Options options = tests::random_rank_options(seed, RankId{1}, plan.bytes, "folder");
    if (options.memory &&
        options.memory->value <=
            std::max(plan.bytes.most_of_task, plan.bytes.largest) + plan.bytes.largest)
      met.insert("the tightest memory");
    met.insert(options.broadcast_finding);
  }
  EXPECT_EQ(
      met, (std::set<std::string>{"a broadcast", "a receiver that has the next version",
                                  "a writer behind forwards", "announced readers", "bags",
                                  "content written elsewhere", "priorities", "receives posted late",
                                  "segments", "sequence", "small content", "the tightest memory",
                                  "two outputs with overlapping readers"}));
}

// --- what is counted

// Writes when it is told to.
const Codelet kWrite{.name = "write", .cpu = [](KernelContext& k) {
                       k.parameter<std::atomic<bool>*>()->wait(false);
                       std::fill_n(k.data<std::byte>(0), k.operand(0).layout.bytes().value,
                                   std::byte{1});
                     }};
const Codelet kLook{.name = "look", .cpu = [](KernelContext& k) {
                      k.data<std::byte>(0)[0] = k.data<std::byte>(1)[0];
                    }};

Options options_of_rank(const char* finding) {
  Options options{.workers = 1};
  options.bind = false;
  options.models = "none";
  options.broadcast_finding = finding;
  return options;
}

// Rank 0 writes a version once all others have been submitted as its readers.
std::vector<Statistics> send_to_all(std::uint32_t ranks, const char* tree, Bytes bytes,
                                    const char* finding = "sequence", std::uint32_t announced = 0) {
  comm::LocalWorld world(ranks, {});
  comm::ExchangeRules rules;
  rules.deliveries.tree = comm::tree_of_option(tree);
  rules.deliveries.patience = Time::from_seconds(100);
  std::vector<Statistics> statistics(ranks);
  std::atomic<bool> is_open{false};
  const auto outcomes = tests::run_on_ranks(
      world,
      [&](RankId) {
        Options options = options_of_rank(finding);
        options.submitter_works = false;
        return options;
      },
      [&](Runtime& runtime) {
        const std::uint32_t here = runtime.this_rank().value;
        const Handle x = runtime.register_empty(RankId{0}, bytes, "x");
        runtime.submit({.codelet = &kWrite, .operands = {W(x)}, .parameters = &is_open});
        if (announced > 0) runtime.announce_readers(x, announced);
        for (std::uint32_t rank = 1; rank < ranks; ++rank) {
          const Handle seen = runtime.register_empty(RankId{rank}, Bytes{1}, "seen");
          runtime.submit({.codelet = &kLook, .operands = {W(seen), R(x)}});
        }
        if (here == 0) {
          is_open = true;
          is_open.notify_all();
        }
        runtime.wait();
        statistics[here] = runtime.statistics();
      },
      rules);
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
  return statistics;
}

template <typename Member>
std::uint64_t sum(const std::vector<Statistics>& all, Member member) {
  std::uint64_t total = 0;
  for (const Statistics& one : all) total += (one.*member).value;
  return total;
}

TEST(RanksBroadcasts, TheSameBytesAreSentByMoreRanks) {
  constexpr std::uint32_t kRanks = 6;
  for (const Bytes bytes : {Bytes{3000}, Bytes{300'000}}) {
    const std::vector<Statistics> off = send_to_all(kRanks, "off", bytes);
    EXPECT_EQ(off[0].sent.value, 5 * bytes.value);
    EXPECT_EQ(sum(off, &Statistics::forwarded), 0U);
    EXPECT_EQ(off[0].broadcasts, 1U);
    const std::vector<Statistics> chain = send_to_all(kRanks, "chain", bytes);
    EXPECT_EQ(chain[0].sent, bytes);
    EXPECT_EQ(sum(chain, &Statistics::sent), 5 * bytes.value);
    EXPECT_EQ(sum(chain, &Statistics::forwarded), 4 * bytes.value);
    EXPECT_EQ(sum(chain, &Statistics::received), 5 * bytes.value);
    EXPECT_EQ(chain[0].broadcasts, 1U);
    EXPECT_EQ(chain[0].late_sends, 0U);
    // Participant 4 of 6 serves 5; participants 2 and 1 are served by the root, 3 by 2.
    const std::vector<Statistics> binomial = send_to_all(kRanks, "binomial", bytes);
    EXPECT_EQ(binomial[0].sent.value, 3 * bytes.value);
    EXPECT_EQ(sum(binomial, &Statistics::forwarded), 2 * bytes.value);
  }
}

TEST(RanksBroadcasts, BothWaysFindTheReadersSubmittedInTime) {
  for (const char* const finding : {"sequence", "bags"}) {
    const std::vector<Statistics> all = send_to_all(5, "binomial", Bytes{100'000}, finding);
    EXPECT_EQ(all[0].broadcasts, 1U) << finding;
    EXPECT_EQ(all[0].versions_to_several, 1U) << finding;
    EXPECT_EQ(all[0].versions_in_time, 1U) << finding;
    EXPECT_EQ(all[0].broadcasts_missed, 0U) << finding;
    EXPECT_EQ(all[0].late_sends, 0U) << finding;
  }
}

TEST(RanksBroadcasts, AnAnnouncedCountClosesABagAndNothingElse) {
  const std::vector<Statistics> bag = send_to_all(5, "chain", Bytes{100'000}, "bags", 2);
  EXPECT_EQ(bag[0].broadcasts, 1U);
  EXPECT_EQ(bag[0].broadcasts_missed, 1U);
  EXPECT_EQ(bag[0].sent, Bytes{300'000});  // the first of the bag, and two alone
  const std::vector<Statistics> sequence = send_to_all(5, "chain", Bytes{100'000}, "sequence", 2);
  EXPECT_EQ(sequence[0].broadcasts_missed, 0U);
  EXPECT_EQ(sequence[0].sent, Bytes{100'000});
}

// Who has gone is not waited for: a reader that comes later is served alone.
TEST(RanksBroadcasts, AReaderThatComesLaterIsServedAlone) {
  for (const char* const finding : {"sequence", "bags"}) {
    comm::LocalWorld world(3, {});
    std::vector<Statistics> statistics(3);
    const auto outcomes = tests::run_on_ranks(
        world, [&](RankId) { return options_of_rank(finding); },
        [&](Runtime& runtime) {
          static std::atomic<bool> is_open{true};
          const Handle x = runtime.register_empty(RankId{0}, Bytes{100'000}, "x");
          runtime.submit({.codelet = &kWrite, .operands = {W(x)}, .parameters = &is_open});
          for (std::uint32_t rank = 1; rank < 3; ++rank) {
            const Handle seen = runtime.register_empty(RankId{rank}, Bytes{1}, "seen");
            runtime.submit({.codelet = &kLook, .operands = {W(seen), R(x)}});
            runtime.wait();
          }
          statistics[runtime.this_rank().value] = runtime.statistics();
        });
    for (const auto& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
    EXPECT_EQ(statistics[0].broadcasts, 0U);
    EXPECT_EQ(statistics[0].late_sends, 1U);
    EXPECT_EQ(statistics[0].versions_to_several, 1U);
    EXPECT_EQ(statistics[0].versions_in_time, 0U);
    EXPECT_EQ(statistics[0].broadcasts_missed, 0U);
    EXPECT_EQ(statistics[0].sent, Bytes{200'000});
  }
}

// Cholesky's graph of 12 x 12 tiles, whose kernels take no time, on a grid of ranks: nothing that was submitted in time is missed,
// however the submission and the kernels race.
TEST(RanksBroadcasts, NoneOfAFactorisationIsMissedOnEightRanks) {
  static const Codelet kNothing{.name = "nothing", .cpu = [](KernelContext&) {}};
  constexpr std::uint32_t kTiles = 12;
  for (const char* const finding : {"sequence", "bags"}) {
    for (const std::uint32_t ranks : {4U, 8U}) {
      comm::LocalWorld world(ranks, {.seed = 1, .delayed = 0.5, .most_delay = 8});
      std::vector<Statistics> statistics(ranks);
      const auto outcomes = tests::run_on_ranks(
          world, [&](RankId) { return options_of_rank(finding); },
          [&](Runtime& runtime) {
            std::vector<Handle> tiles;
            for (std::uint32_t row = 0; row < kTiles; ++row) {
              for (std::uint32_t column = 0; column < kTiles; ++column)
                tiles.push_back(runtime.register_empty(
                    RankId{row % 2 * (ranks / 2) + column % (ranks / 2)}, Bytes{5000}));
            }
            const auto at = [&](std::uint32_t row, std::uint32_t column) {
              return tiles[row * kTiles + column];
            };
            const auto submit = [&](const std::vector<Operand>& operands) {
              runtime.submit({.codelet = &kNothing, .operands = operands});
            };
            for (std::uint32_t k = 0; k < kTiles; ++k) {
              for (std::uint32_t i = k; k == 0 && i < kTiles; ++i) {
                for (std::uint32_t j = 0; j <= i; ++j) submit({W(at(i, j))});
              }
              submit({RW(at(k, k))});
              for (std::uint32_t i = k + 1; i < kTiles; ++i) submit({RW(at(i, k)), R(at(k, k))});
              for (std::uint32_t i = k + 1; i < kTiles; ++i) {
                for (std::uint32_t j = k + 1; j < i; ++j)
                  submit({RW(at(i, j)), R(at(i, k)), R(at(j, k))});
                submit({RW(at(i, i)), R(at(i, k))});
              }
            }
            runtime.wait();
            statistics[runtime.this_rank().value] = runtime.statistics();
          });
      for (const auto& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
      const auto total = [&](std::uint64_t Statistics::*member) {
        std::uint64_t all = 0;
        for (const Statistics& one : statistics) all += one.*member;
        return all;
      };
      // Counted from the graph: which tiles two other ranks or more read.
      std::uint64_t several = 0;
      const auto owner = [&](std::uint32_t row, std::uint32_t column) {
        return row % 2 * (ranks / 2) + column % (ranks / 2);
      };
      for (std::uint32_t k = 0; k < kTiles; ++k) {
        std::set<std::uint32_t> of_diagonal;
        for (std::uint32_t i = k + 1; i < kTiles; ++i) {
          of_diagonal.insert(owner(i, k));
          std::set<std::uint32_t> of_panel;
          for (std::uint32_t j = k + 1; j <= i; ++j) of_panel.insert(owner(i, j));
          for (std::uint32_t j = i; j < kTiles; ++j) of_panel.insert(owner(j, i));
          of_panel.erase(owner(i, k));
          several += of_panel.size() >= 2 ? 1U : 0U;
        }
        of_diagonal.erase(owner(k, k));
        several += of_diagonal.size() >= 2 ? 1U : 0U;
      }
      RecordProperty(std::string(finding) + std::to_string(ranks),
                     std::to_string(total(&Statistics::broadcasts)) + " of " +
                         std::to_string(several) + ", in time " +
                         std::to_string(total(&Statistics::versions_in_time)));
      EXPECT_EQ(total(&Statistics::versions_to_several), several) << finding << ", " << ranks;
      EXPECT_EQ(total(&Statistics::broadcasts_missed), 0U) << finding << ", " << ranks;
      EXPECT_GE(total(&Statistics::broadcasts), total(&Statistics::versions_in_time))
          << finding << ", " << ranks;
    }
  }
}

}  // namespace
}  // namespace vicinal::rank_broadcasts
