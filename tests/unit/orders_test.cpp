// Orders of tasks that share data: examples solved by hand, and what holds of every input.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sched/orders/balance.hpp"
#include "sched/orders/flip.hpp"
#include "sched/orders/hfp.hpp"
#include "sched/orders/mst.hpp"
#include "sched/orders/rcm.hpp"

namespace vicinal::sched::orders {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TaskInputs inputs(const std::vector<std::uint64_t>& bytes, const std::vector<Order>& tasks) {
  std::vector<Bytes> sizes;
  for (const std::uint64_t size : bytes) sizes.push_back({size});
  TaskInputs result(std::move(sizes));
  for (const Order& data : tasks) result.add(data);
  return result;
}

// Data of one byte, as many as are named.
TaskInputs unit_inputs(const std::vector<Order>& tasks) {
  std::size_t data = 0;
  for (const Order& task : tasks) {
    for (const Number datum : task) data = std::max<std::size_t>(data, datum + 1);
  }
  return inputs(std::vector<std::uint64_t>(data, 1), tasks);
}

// Of C = A * B, row by row: task (i, j) is n * i + j and reads row i of A, datum i, and column j of B, datum n + j.
TaskInputs square(Number n) {
  std::vector<Order> tasks;
  for (Number i = 0; i < n; ++i) {
    for (Number j = 0; j < n; ++j) tasks.push_back({i, n + j});
  }
  return unit_inputs(tasks);
}

Order natural(std::size_t tasks) {
  Order order(tasks);
  std::iota(order.begin(), order.end(), Number{0});
  return order;
}

Order together(const std::vector<Order>& packages) {
  Order all;
  for (const Order& package : packages) all.insert(all.end(), package.begin(), package.end());
  std::sort(all.begin(), all.end());
  return all;
}

Order reversed(Order order) {
  std::reverse(order.begin(), order.end());
  return order;
}

std::set<Number> data_of(const TaskInputs& inputs, const Order& tasks) {
  std::set<Number> data;
  for (const Number task : tasks) data.insert(inputs[task].begin(), inputs[task].end());
  return data;
}

std::uint64_t bytes_of(const TaskInputs& inputs, const std::set<Number>& data) {
  std::uint64_t bytes = 0;
  for (const Number datum : data) bytes += inputs.bytes(datum);
  return bytes;
}

std::uint64_t bytes_shared(const TaskInputs& inputs, const Order& a, const Order& b) {
  std::set<Number> shared;
  const std::set<Number> of_a = data_of(inputs, a);
  for (const Number datum : data_of(inputs, b)) {
    if (of_a.count(datum) > 0) shared.insert(datum);
  }
  return bytes_of(inputs, shared);
}

// Up to 40 tasks with up to 4 of up to 20 data, of up to 3 bytes, some of none: ties are frequent.
struct RandomCase {
  TaskInputs inputs;
  Bytes memory;
};
RandomCase random_case(base::Random& random) {
  std::vector<std::uint64_t> bytes(1 + random.below(20));
  for (std::uint64_t& size : bytes) size = random.below(4);
  std::vector<Order> tasks(random.below(41));
  for (Order& task : tasks) {
    std::set<Number> data;
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      data.insert(static_cast<Number>(random.below(bytes.size())));
    }
    task.assign(data.begin(), data.end());
  }
  return {inputs(bytes, tasks), {1 + random.below(12)}};
}

constexpr std::uint64_t kCases = 300;

// Calls it with cases that the seed, which is the case's number, makes.
void for_random_cases(const std::function<void(const RandomCase&, base::Random&)>& check) {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const RandomCase made = random_case(random);
    check(made, random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// What hfp.hpp says, with all pairs looked at in each round; without flips, for one memory.
class SlowPacking {
 public:
  SlowPacking(const TaskInputs& inputs, Bytes memory) : inputs_(inputs), memory_(memory.value) {
    for (Number task = 0; task < inputs.size(); ++task) packages_.push_back({task});
  }
  std::vector<Order> first_phase() {
    while (packages_.size() > 1 && round(true)) continue;
    return packages_;
  }
  Order order() {
    first_phase();
    Order aside;
    while (packages_.size() > 1) {
      if (round(false)) continue;
      const std::size_t size = fewest();
      for (std::size_t i = 0; i < packages_.size();) {
        const Order package = packages_[i];
        if (package.size() != size) {
          ++i;
          continue;
        }
        aside.insert(aside.end(), package.begin(), package.end());
        packages_.erase(packages_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    Order order = packages_.empty() ? Order{} : packages_.front();
    order.insert(order.end(), aside.begin(), aside.end());
    return order;
  }

 private:
  std::size_t fewest() const {
    std::size_t size = packages_.front().size();
    for (const Order& package : packages_) size = std::min(size, package.size());
    return size;
  }
  // What a pair shares; 0 if it may not be merged.
  std::uint64_t worth(const Order& a, const Order& b, bool limited) const {
    std::set<Number> all = data_of(inputs_, a);
    all.merge(data_of(inputs_, b));
    return limited && bytes_of(inputs_, all) > memory_ ? 0 : bytes_shared(inputs_, a, b);
  }
  bool round(bool limited) {
    const std::size_t size = fewest();
    const std::size_t count = packages_.size();
    std::vector<std::vector<std::uint64_t>> worths(count, std::vector<std::uint64_t>(count));
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (packages_[i].size() != size) continue;
      for (std::size_t j = 0; j < count; ++j) {
        if (i != j) worths[i][j] = worth(packages_[i], packages_[j], limited);
        most = std::max(most, worths[i][j]);
      }
    }
    if (most == 0) return false;
    std::vector<bool> used(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count && !used[i]; ++j) {
        if (used[j] || worths[i][j] != most) continue;
        packages_[i].insert(packages_[i].end(), packages_[j].begin(), packages_[j].end());
        packages_[j].clear();
        used[i] = used[j] = true;
      }
    }
    packages_.erase(std::remove(packages_.begin(), packages_.end(), Order{}), packages_.end());
    return true;
  }

  const TaskInputs& inputs_;
  std::uint64_t memory_;
  std::vector<Order> packages_;
};

// --- HFP

// Figure 1 of the paper has 5 tasks, 6 data and room for 3; its drawing is not needed: these inputs give the
// evictions and the 7 loads of its caption in the natural order.
TEST(Hfp, LoadsEachDatumOfTheFirstFigureOnce) {
  const TaskInputs tasks = unit_inputs({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5}});
  EXPECT_EQ(loaded_bytes(natural(5), tasks, {3}), Bytes{7});
  // Pairs share 1 and fit: (0, 1), (2, 3); task 4 with (0, 1) would need 4. Second phase: 4 takes (0, 1), a single
  // task is not flipped. (2, 3) takes (4, 0, 1): it fits whole, the start (4, 0) shares nothing with it,
  // the end (0, 1) datum 2: (4, 0, 1) is reversed.
  EXPECT_THAT(hfp_first_phase(tasks, {.memory = {3}}),
              ElementsAre(Order{0, 1}, Order{2, 3}, Order{4}));
  const Order order = hfp_order(tasks, {3});
  EXPECT_THAT(order, ElementsAre(2, 3, 1, 0, 4));
  EXPECT_EQ(loaded_bytes(order, tasks, {3}), Bytes{6});
  EXPECT_THAT(hfp_order(tasks, {3}, false), ElementsAre(2, 3, 4, 0, 1));
}

// Section 4.2: tasks that compute a square part of C, whose rows and columns fit the memory, come together.
TEST(Hfp, GathersSquaresOfAProductAndTurnsThemAsTheSecondFigureDoes) {
  const TaskInputs tasks = square(4);
  // Two neighbours of a row share it; such pairs share 2 columns with the pair below, and 4 data fit.
  EXPECT_THAT(hfp_first_phase(tasks, {.memory = {4}}),
              ElementsAre(Order{0, 1, 4, 5}, Order{2, 3, 6, 7}, Order{8, 9, 12, 13},
                          Order{10, 11, 14, 15}));
  // The first takes its right neighbour. Both fit: of the halves (0, 1), (4, 5) and (2, 3), (6, 7) the ends share a
  // row, which is the case of Figure 2: the right one is reversed. Likewise below. Of the two halves of C
  // the end (7, 6, 3, 2) and the end (15, 14, 11, 10) share 2 columns: the lower one is reversed.
  EXPECT_THAT(hfp_order(tasks, {4}),
              ElementsAre(0, 1, 4, 5, 7, 6, 3, 2, 10, 11, 14, 15, 13, 12, 9, 8));
  EXPECT_THAT(hfp_order(tasks, {4}, false),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  const auto loads = [&](const Order& order) { return loaded_bytes(order, tasks, {4}).value; };
  EXPECT_LT(loads(hfp_order(tasks, {4})), loads(hfp_order(tasks, {4}, false)));
  // Row by row each row of C loads its row of A and all 4 columns.
  EXPECT_EQ(loads(natural(16)), 20U);
  EXPECT_LT(loads(hfp_order(tasks, {4}, false)), 20U);
}

TEST(Hfp, WeighsSharedDataByTheirBytes) {
  // 0 and 1 share 1 byte, 0 and 2 share 5.
  const TaskInputs tasks = inputs({1, 5}, {{0, 1}, {0}, {1}});
  EXPECT_THAT(hfp_order(tasks, {10}), ElementsAre(1, 0, 2));
}

TEST(Hfp, PutsWhatSharesNothingLast) {
  EXPECT_THAT(hfp_order(unit_inputs({{0}, {1}, {2}, {1}}), {9}), ElementsAre(1, 3, 0, 2));
}

TEST(Hfp, KnowsTinyCases) {
  EXPECT_THAT(hfp_order({}, {1}), IsEmpty());
  EXPECT_THAT(hfp_order(unit_inputs({{0}}), {1}), ElementsAre(0));
  EXPECT_THAT(hfp_order(unit_inputs({{}, {}, {}}), {1}), ElementsAre(0, 1, 2));
  // Every task is larger than the memory, which leaves the second phase alone to bring 0 and 2 together.
  const TaskInputs large = inputs({100, 100}, {{0}, {1}, {0}});
  EXPECT_EQ(hfp_first_phase(large, {.memory = {10}}).size(), 3U);
  EXPECT_THAT(hfp_order(large, {10}), ElementsAre(0, 2, 1));
  EXPECT_THROW(hfp_packages(large, {.memory = {10}, .count = 0}), std::invalid_argument);
}

TEST(Hfp, StopsAtOnePackagePerDevice) {
  // Halves of C, upper and lower, are what is left before the last merge of the example above.
  EXPECT_THAT(hfp_packages(square(4), {.memory = {4}, .count = 2}),
              ElementsAre(Order{0, 1, 4, 5, 7, 6, 3, 2}, Order{8, 9, 12, 13, 15, 14, 11, 10}));
  EXPECT_THAT(hfp_packages(unit_inputs({{0}}), {.memory = {4}, .count = 2}),
              ElementsAre(Order{0}, Order{}));
  // Nothing is shared: all four are set aside, two make up for the missing packages, the rest goes to the shortest.
  EXPECT_THAT(hfp_packages(unit_inputs({{0}, {1}, {2}, {3}}), {.memory = {4}, .count = 2}),
              ElementsAre(Order{0, 2}, Order{1, 3}));
}

TEST(Hfp, RepacksEachPackageByItself) {
  std::vector<Order> packages{{0, 1, 3}, {2}};
  repack(packages, unit_inputs({{0}, {1}, {1}, {0}}), {.memory = {4}});
  EXPECT_THAT(packages, ElementsAre(Order{0, 3, 1}, Order{2}));
}

TEST(Hfp, KeepsPackagesWithinMemoryInTheFirstPhase) {
  for_random_cases([](const RandomCase& made, base::Random&) {
    for (const Order& package : hfp_first_phase(made.inputs, {.memory = made.memory})) {
      if (package.size() < 2) continue;
      EXPECT_LE(bytes_of(made.inputs, data_of(made.inputs, package)), made.memory.value);
    }
  });
}

TEST(Hfp, MergesTheSamePairsAsALookAtAllOfThem) {
  for_random_cases([](const RandomCase& made, base::Random&) {
    if (made.inputs.size() == 0) return;
    EXPECT_EQ(hfp_first_phase(made.inputs, {.memory = made.memory}),
              SlowPacking(made.inputs, made.memory).first_phase());
    EXPECT_EQ(hfp_order(made.inputs, made.memory, false),
              SlowPacking(made.inputs, made.memory).order());
  });
}

TEST(Hfp, PutsEachTaskIntoOnePackageAndDoesSoAgain) {
  for_random_cases([](const RandomCase& made, base::Random& random) {
    const Packing packing{made.memory, random.below(2) == 0, 1 + random.below(4)};
    const std::vector<Order> packages = hfp_packages(made.inputs, packing);
    EXPECT_EQ(packages.size(), packing.count);
    EXPECT_EQ(together(packages), natural(made.inputs.size()));
    EXPECT_EQ(hfp_packages(made.inputs, packing), packages);
  });
}

// --- flips

TEST(Flips, BringTheEndsThatShareMostTogether) {
  // Each list has 3 tasks with a datum of their own, of which 1 fits: its start and end are single tasks.
  const auto best = [](Number left_start, Number left_end, Number right_start, Number right_end) {
    const TaskInputs tasks =
        unit_inputs({{left_start}, {8}, {left_end}, {right_start}, {9}, {right_end}});
    Flips flips(tasks, {1});
    const Order left{0, 1, 2};
    const Order right{3, 4, 5};
    return flips.best({left, 1}, {right, 1});
  };
  EXPECT_EQ(best(0, 1, 1, 2), (Flip{.left = false, .right = false}));
  EXPECT_EQ(best(0, 1, 2, 1), (Flip{.left = false, .right = true}));  // Figure 2
  EXPECT_EQ(best(1, 0, 1, 2), (Flip{.left = true, .right = false}));
  EXPECT_EQ(best(1, 0, 2, 1), (Flip{.left = true, .right = true}));
  EXPECT_EQ(best(0, 1, 2, 3), (Flip{.left = false, .right = false}));  // nothing to gain
}

TEST(Flips, NeverLoadMoreAcrossTheJoint) {
  std::size_t flipped = 0;
  for_random_cases([&](const RandomCase& made, base::Random& random) {
    if (made.inputs.size() < 4) return;
    const std::size_t cut = 2 + random.below(made.inputs.size() - 3);
    const Order all = natural(made.inputs.size());
    Order left(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
    Order right(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
    std::size_t left_joint = 1 + random.below(left.size() - 1);
    std::size_t right_joint = 1 + random.below(right.size() - 1);
    Flips flips(made.inputs, made.memory);
    const std::uint64_t before = flips.shared_at_joint({left, left_joint}, {right, right_joint});
    const Flip flip = flips.best({left, left_joint}, {right, right_joint});
    if (flip.left) left = reversed(left), left_joint = left.size() - left_joint;
    if (flip.right) right = reversed(right), right_joint = right.size() - right_joint;
    const std::uint64_t after = flips.shared_at_joint({left, left_joint}, {right, right_joint});
    if (flip == Flip{}) {
      EXPECT_EQ(after, before);
    } else {
      EXPECT_GT(after, before);
      ++flipped;
    }
    EXPECT_EQ(flips.best({left, left_joint}, {right, right_joint}), Flip{}) << "still to gain";
  });
  EXPECT_GT(flipped, kCases / 10);
}

// --- several devices

TEST(Balance, MovesLastTasksOfTheLongestToTheEndOfTheShortest) {
  std::vector<Order> packages{{0, 1, 2, 3, 4, 5}, {6}, {7}};
  balance_counts(packages);
  // The average is 3, rounded up: 5 and 4 go, which they do in their order; then 3, from 4 tasks to 1.
  EXPECT_THAT(packages, ElementsAre(Order{0, 1, 2}, Order{6, 4, 5}, Order{7, 3}));
}

TEST(Balance, CountsTheDurationsOfTasks) {
  std::vector<Order> packages{{0, 1, 2}, {3}};
  // 9 and 1: the average is 5; task 2 goes (7 and 3), then task 1 (4 and 6) would still help: 6 < 7.
  balance_durations(packages, std::vector<Time>{{4}, {3}, {2}, {1}});
  EXPECT_THAT(packages, ElementsAre(Order{0}, Order{3, 1, 2}));
}

TEST(Balance, StepsAreAsLongAsCopiesThatTheTaskBeforeDoesNotHide) {
  // 1 byte takes 1 ns. Room for 2 data: task 2 finds datum 0 gone, for 1 and 2 came since.
  const TaskInputs tasks = inputs({10, 10, 10}, {{0}, {1, 2}, {0}});
  const std::vector<Time> durations{{30}, {5}, {7}};
  // 10 to copy; 30 of task 0, longer than 20; 10 to copy, longer than 5, and then task 2.
  EXPECT_THAT(simulated_steps(natural(3), tasks, durations, {{20}, {1e9}}),
              ElementsAre(10, 30, 17));
}

TEST(Balance, NeverMakesTheLongestLonger) {
  for_random_cases([](const RandomCase& made, base::Random& random) {
    std::vector<Order> packages =
        hfp_packages(made.inputs, {.memory = made.memory, .count = 1 + random.below(4)});
    std::vector<Time> durations(made.inputs.size());
    for (Time& time : durations) time.ns = static_cast<std::int64_t>(random.below(5));
    const SimulatedDevice device{made.memory, {1e9}};
    const auto longest = [&] {
      std::int64_t most = 0;
      for (const Order& package : packages) {
        const auto steps = simulated_steps(package, made.inputs, durations, device);
        most = std::max(most, std::accumulate(steps.begin(), steps.end(), std::int64_t{0}));
      }
      return most;
    };
    const std::int64_t before = longest();
    balance_simulated(packages, made.inputs, durations, device);
    EXPECT_LE(longest(), before);
    EXPECT_EQ(together(packages), natural(made.inputs.size()));
    balance_counts(packages);
    const auto [fewest, most] =
        std::minmax_element(packages.begin(), packages.end(),
                            [](const Order& a, const Order& b) { return a.size() < b.size(); });
    EXPECT_LE(most->size(), (made.inputs.size() + packages.size() - 1) / packages.size());
    EXPECT_LE(fewest->size(), most->size());
    EXPECT_EQ(together(packages), natural(made.inputs.size()));
  });
}

// --- MST and RCM

TEST(Mst, GoesAlongTheRowsOfAProduct) {  // as section 4.2 says
  EXPECT_EQ(mst_order(square(3)), natural(9));
}

TEST(Mst, FollowsTheHeaviestEdgeOutOfTheTree) {
  // Edges: 0-1 weighs 1, 0-2 weighs 2, 2-3 weighs 2; 4 and 5 have none.
  const TaskInputs tasks = inputs({1, 2, 1, 1, 9}, {{0, 1}, {0}, {1, 2, 3}, {2, 3}, {4}, {}});
  EXPECT_THAT(mst_order(tasks), ElementsAre(0, 2, 3, 1, 4, 5));
  EXPECT_THAT(mst_order({}), IsEmpty());
}

TEST(Rcm, StartsAtTheLightestTaskAndTakesLightEdgesFirst) {
  // Edges: 0-1 weighs 2, 0-2 and 0-3 weigh 1; 4 has none and is a component of its own, the first.
  const TaskInputs tasks = unit_inputs({{0, 1, 2, 3}, {0, 1}, {2}, {3}, {}});
  // 4; then 2, which weighs as little as 3 and comes first; 0; its neighbours 3 and 1. Reversed.
  EXPECT_THAT(rcm_order(tasks), ElementsAre(1, 3, 0, 2, 4));
  EXPECT_THAT(rcm_order({}), IsEmpty());
}

TEST(Rcm, TurnsAShuffledPathIntoAPath) {
  // Tasks i and i + 1 of the path 3, 0, 4, 1, 2 share a datum: neighbours then stand side by side.
  EXPECT_THAT(rcm_order(unit_inputs({{0, 1}, {2, 3}, {3}, {0}, {1, 2}})),
              ElementsAre(3, 0, 4, 1, 2));
}

TEST(Orders, NameEachTaskOnceAndAreTheSameAgain) {
  for_random_cases([](const RandomCase& made, base::Random&) {
    for (const auto& order_of : {mst_order, rcm_order}) {
      const Order order = order_of(made.inputs);
      EXPECT_EQ(together({order}), natural(made.inputs.size()));
      EXPECT_EQ(order_of(made.inputs), order);
    }
  });
}

TEST(Orders, RefuseInputsThatDoNotRise) {
  TaskInputs tasks({Bytes{1}, Bytes{1}});
  EXPECT_THROW(tasks.add(Order{1, 0}), std::invalid_argument);
  EXPECT_THROW(tasks.add(Order{0, 0}), std::invalid_argument);
  EXPECT_THROW(tasks.add(Order{2}), std::invalid_argument);
  tasks.add(Order{0, 1});
  EXPECT_EQ(tasks.size(), 1U);
}

}  // namespace
}  // namespace vicinal::sched::orders
