// Several ranks in one process: every rank makes the same calls, and has in the end what one rank alone would have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_ranks.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::rank_programs {
namespace {

using Numbers = std::vector<std::uint64_t>;

// What a task does. Written operands come first, operands to be read alone behind them. All are rows of numbers.
struct Step {
  std::uint32_t seed = 0;
  std::uint8_t written = 0;  // operands
  std::uint8_t inputs = 0;   // bit i: the task sees the content of written operand i
  bool adds = false;         // to its one written operand; the order is free
};

std::uint64_t digest(std::uint64_t sum, const std::uint64_t* numbers, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) sum = (sum ^ numbers[n]) * 0x9e3779b97f4a7c15U + n;
  return sum;
}

struct Row {
  std::uint64_t* numbers;
  std::size_t count;
};

void work(const Step& step, const std::vector<Row>& rows) {
  std::uint64_t sum = step.seed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool seen = i >= step.written || (!step.adds && ((step.inputs >> i) & 1U) != 0);
    if (seen) sum = digest(sum, rows[i].numbers, rows[i].count);
  }
  for (std::size_t i = 0; i < step.written; ++i) {
    for (std::size_t n = 0; n < rows[i].count; ++n) {
      rows[i].numbers[n] = step.adds ? rows[i].numbers[n] + sum + n : sum + n * (i + 1);
    }
  }
}

void work_kernel(KernelContext& k) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < k.operands(); ++i) {
    rows.push_back({k.data<std::uint64_t>(i), k.count<std::uint64_t>(i)});
  }
  work(k.parameter<Step>(), rows);
}

const Codelet kWork{.name = "work", .cpu = work_kernel};
const Codelet kClear{.name = "clear", .cpu = [](KernelContext& k) {
                       std::fill_n(k.data<std::byte>(0), k.operand(0).layout.bytes().value,
                                   std::byte{0});
                     }};
const Codelet kSum{.name = "sum", .cpu = [](KernelContext& k) {
                     for (std::size_t n = 0; n < k.count<std::uint64_t>(0); ++n) {
                       k.data<std::uint64_t>(0)[n] += k.data<std::uint64_t>(1)[n];
                     }
                   }};

struct PlannedData {
  std::size_t numbers = 0;
  std::optional<RankId> owner;  // none: in turn
  bool has_home = false;
  bool is_reduced = false;
};

struct PlannedTask {
  Step step;
  std::vector<std::pair<std::size_t, AccessMode>> operands;
  std::optional<RankId> on;
  int priority = 0;
  bool is_read = false;  // the application reads the first operand behind it
  bool waits = false;    // and waits for all
};

struct Plan {
  std::vector<PlannedData> data;
  std::vector<PlannedTask> tasks;
  std::uint64_t most_bytes = 0;     // of the operands of one task, as a limit of memory counts them
  std::uint64_t largest_bytes = 0;  // of one datum
};

std::uint64_t counted(const PlannedData& data) {
  return (data.numbers * 8 + 4095) / 4096 * 4096;
}

// The data have content behind a task that does this.
bool gives_content(AccessMode mode) {
  return writes(mode) || mode == AccessMode::reduction;
}

Plan make_plan(std::uint64_t seed, std::uint32_t ranks) {
  base::Random random(seed);
  Plan plan;
  const std::size_t count = 1 + random.below(12);
  for (std::size_t i = 0; i < count; ++i) {
    PlannedData data;
    data.numbers = random.below(3) == 0 ? random.below(4) : 1 + random.below(2000);
    if (random.below(3) > 0) data.owner = RankId{static_cast<std::uint32_t>(random.below(ranks))};
    data.has_home = random.below(3) == 0 && data.numbers > 0;
    data.is_reduced = random.below(4) == 0;
    plan.largest_bytes = std::max({plan.largest_bytes, counted(data), std::uint64_t{4096}});
    if (data.is_reduced) plan.most_bytes = std::max(plan.most_bytes, 2 * counted(data));
    plan.data.push_back(data);
  }
  std::vector<bool> written(count);
  for (std::size_t i = 0; i < count; ++i) written[i] = plan.data[i].has_home;
  const std::size_t tasks = random.below(60);
  for (std::size_t t = 0; t < tasks; ++t) {
    PlannedTask task;
    task.step.seed = static_cast<std::uint32_t>(random.next());
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const std::size_t operands = 1 + random.below(std::min<std::size_t>(count, 5));
    order.resize(operands);
    const std::size_t first = order[0];
    const bool adds = written[first] || plan.data[first].is_reduced;
    if (adds && random.below(3) == 0) {
      const bool reduces = !written[first] || (plan.data[first].is_reduced && random.below(2) == 0);
      task.step.adds = true;
      task.step.written = 1;
      task.operands.emplace_back(first, reduces ? AccessMode::reduction : AccessMode::commute);
    } else {
      const std::size_t writers = random.below(std::min<std::size_t>(operands, 3) + 1);
      for (std::size_t i = 0; i < writers; ++i) {
        const bool sees = written[order[i]] && random.below(2) == 0;
        task.operands.emplace_back(order[i], sees ? AccessMode::RW : AccessMode::W);
        if (sees) task.step.inputs = static_cast<std::uint8_t>(task.step.inputs | (1U << i));
      }
      task.step.written = static_cast<std::uint8_t>(writers);
    }
    for (std::size_t i = task.operands.size(); i < operands; ++i) {
      if (written[order[i]]) task.operands.emplace_back(order[i], AccessMode::R);
    }
    for (const auto& [data, mode] : task.operands)
      written[data] = written[data] || gives_content(mode);
    const bool reduces = !task.operands.empty() && task.operands[0].second == AccessMode::reduction;
    if (!reduces && random.below(4) == 0) {
      task.on = RankId{static_cast<std::uint32_t>(random.below(ranks))};
    }
    task.priority = static_cast<int>(random.below(3));
    task.is_read = !task.operands.empty() && random.below(12) == 0;
    task.waits = random.below(15) == 0;
    std::uint64_t bytes = 0;
    for (const auto& [data, mode] : task.operands) bytes += counted(plan.data[data]);
    plan.most_bytes = std::max(plan.most_bytes, bytes);
    plan.tasks.push_back(task);
  }
  return plan;
}

Numbers initial(const Plan& plan, std::size_t data) {
  Numbers numbers(plan.data[data].numbers);
  for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = data * 1000 + n;
  return numbers;
}

struct SerialRun {
  std::vector<Numbers> content;
  std::vector<bool> written;
  std::vector<Numbers> reads;
};

SerialRun run_serially(const Plan& plan) {
  SerialRun run;
  for (std::size_t i = 0; i < plan.data.size(); ++i) {
    run.content.push_back(plan.data[i].has_home ? initial(plan, i) : Numbers(plan.data[i].numbers));
    run.written.push_back(plan.data[i].has_home);
  }
  for (const PlannedTask& task : plan.tasks) {
    std::vector<Row> rows;
    for (const auto& [data, mode] : task.operands) {
      rows.push_back({run.content[data].data(), run.content[data].size()});
      if (gives_content(mode)) run.written[data] = true;
    }
    work(task.step, rows);
    if (task.is_read && run.written[task.operands[0].first])
      run.reads.push_back(run.content[task.operands[0].first]);
  }
  return run;
}

// On one rank; checks all that the application can see.
void play(const Plan& plan, const SerialRun& expected, Runtime& runtime) {
  std::vector<Numbers> homes;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < plan.data.size(); ++i) homes.push_back(initial(plan, i));
  for (std::size_t i = 0; i < plan.data.size(); ++i) {
    const PlannedData& data = plan.data[i];
    const Bytes size{data.numbers * 8};
    const std::string name = "d" + std::to_string(i);
    if (data.has_home) {
      handles.push_back(data.owner
                            ? runtime.register_buffer(*data.owner, homes[i].data(), size, name)
                            : runtime.register_buffer(homes[i].data(), size, name));
    } else {
      handles.push_back(data.owner ? runtime.register_empty(*data.owner, size, name)
                                   : runtime.register_empty(size, name));
    }
    if (data.is_reduced) runtime.set_reduction(handles[i], {.neutral = &kClear, .combine = &kSum});
  }
  std::size_t reads = 0;
  const auto require_equal = [&](std::size_t data, const Numbers& numbers) {
    const Acquired held = runtime.acquire(handles[data], AccessMode::R);
    const Numbers seen(held.data<std::uint64_t>(), held.data<std::uint64_t>() + numbers.size());
    EXPECT_EQ(seen, numbers) << "data " << data << " on rank " << runtime.this_rank().value;
  };
  std::vector<bool> written(plan.data.size());
  for (std::size_t i = 0; i < plan.data.size(); ++i) written[i] = plan.data[i].has_home;
  for (const PlannedTask& task : plan.tasks) {
    std::vector<Operand> operands;
    for (const auto& [data, mode] : task.operands) {
      operands.push_back({handles[data], mode});
      if (gives_content(mode)) written[data] = true;
    }
    runtime.submit({.codelet = &kWork,
                    .operands = operands,
                    .parameters = task.step,
                    .priority = task.priority,
                    .rank = task.on});
    if (task.is_read && written[task.operands[0].first]) {
      require_equal(task.operands[0].first, expected.reads[reads++]);
    }
    if (task.waits) runtime.wait();
  }
  for (std::size_t i = 0; i < plan.data.size(); ++i) {
    if (expected.written[i]) require_equal(i, expected.content[i]);
  }
  runtime.wait();
  for (const Handle handle : handles) runtime.unregister(handle);  // the homes go
}

TEST(Ranks, RandomProgramsAreAsOnOneRank) {
  tests::play_random_programs("ranks", [](std::uint64_t seed, std::uint32_t ranks, base::Random&) {
    const auto plan = std::make_shared<const Plan>(make_plan(seed, ranks));
    const auto expected = std::make_shared<const SerialRun>(run_serially(*plan));
    return tests::RankedProgram{{plan->most_bytes, plan->largest_bytes},
                                [=](Runtime& runtime) { play(*plan, *expected, runtime); }};
  });
}

}  // namespace
}  // namespace vicinal::rank_programs
