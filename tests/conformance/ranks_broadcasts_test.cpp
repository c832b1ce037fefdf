// Versions that several ranks read: each rank has in the end what one rank alone would have, however they were sent.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
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
};
struct Plan {
  std::vector<std::size_t> numbers;  // of each datum
  std::vector<RankId> owners;
  std::vector<Step> steps;
  tests::RankBytes bytes;
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

// Bytes that went on to accelerators when they had come, in all programs.
std::atomic<std::uint64_t> placed_on_arrival{0};

void play(const Plan& plan, const Serial& expected, Runtime& runtime) {
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
  }
  for (std::size_t i = 0; i < plan.numbers.size(); ++i) {
    if (!expected.written[i]) continue;
    const Acquired held = runtime.acquire(handles[i], AccessMode::R);
    EXPECT_TRUE(std::equal(expected.content[i].begin(), expected.content[i].end(),
                           held.data<std::uint64_t>()))
        << "data " << i << " on rank " << runtime.this_rank().value;
  }
  runtime.wait();
  placed_on_arrival += runtime.statistics().placed_on_arrival.value;
}

TEST(RanksBroadcasts, RandomProgramsAreAsOnOneRank) {
  tests::play_random_programs(
      "rank_broadcasts", [](std::uint64_t seed, std::uint32_t ranks, base::Random&) {
        const auto plan = std::make_shared<const Plan>(make_plan(seed, ranks));
        const auto expected = std::make_shared<const Serial>(run_serially(*plan));
        return tests::RankedProgram{plan->bytes,
                                    [=](Runtime& runtime) { play(*plan, *expected, runtime); }};
      });
  const bool is_usual = std::getenv("RANKS_SEED") == nullptr;
  if (is_usual && tests::launched_ranks().count() == 1) {
    EXPECT_GT(placed_on_arrival, 0U);
  }
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

// Rank 0 writes a version once all others have been submitted as its readers.
std::vector<Statistics> send_to_all(std::uint32_t ranks, const char* tree, Bytes bytes) {
  comm::LocalWorld world(ranks, {});
  comm::ExchangeRules rules;
  rules.deliveries.tree = comm::tree_of_option(tree);
  rules.deliveries.patience = Time::from_seconds(100);
  std::vector<Statistics> statistics(ranks);
  std::atomic<bool> is_open{false};
  const auto outcomes = tests::run_on_ranks(
      world,
      [](RankId) {
        Options options{.workers = 1};
        options.bind = false;
        options.submitter_works = false;
        options.models = "none";
        return options;
      },
      [&](Runtime& runtime) {
        const std::uint32_t here = runtime.this_rank().value;
        const Handle x = runtime.register_empty(RankId{0}, bytes, "x");
        runtime.submit({.codelet = &kWrite, .operands = {W(x)}, .parameters = &is_open});
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

// Who has gone is not waited for: a reader that comes later is served alone.
TEST(RanksBroadcasts, AReaderThatComesLaterIsServedAlone) {
  comm::LocalWorld world(3, {});
  std::vector<Statistics> statistics(3);
  const auto outcomes = tests::run_on_ranks(
      world,
      [](RankId) {
        Options options{.workers = 1};
        options.bind = false;
        options.models = "none";
        return options;
      },
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
  EXPECT_EQ(statistics[0].sent, Bytes{200'000});
}

}  // namespace
}  // namespace vicinal::rank_broadcasts
