#include "sched/orders/dependency_order.hpp"

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sched/orders/chains.hpp"
#include "vicinal/access.hpp"

namespace vicinal::sched::orders {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

class DependentTasks : public ::testing::Test {
 protected:
  graph::Graph graph_;
  void data(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) graph_.add_datum({.bytes = {10}});
    graph_.add_kernel({});
  }
  void task(const std::vector<graph::Graph::Access>& accesses, const Order& after = {}) {
    graph_.add_task(0, accesses, 0, {}, after);
  }
};

TEST_F(DependentTasks, ReadWhatTheyReadOrChange) {
  data(3);
  task({{2, AccessMode::R}, {0, AccessMode::RW}, {1, AccessMode::W}, {2, AccessMode::R}});
  const TaskInputs tasks = inputs_of(graph_);
  EXPECT_EQ(Order(tasks[0].begin(), tasks[0].end()), (Order{0, 2}));
  EXPECT_EQ(tasks.bytes(2), 10U);
}

TEST_F(DependentTasks, ComeInTheOrderAsFarAsTheyMay) {
  data(2);
  task({{0, AccessMode::W}});
  task({{0, AccessMode::R}});
  task({{0, AccessMode::R}});
  task({{0, AccessMode::RW}});
  task({{1, AccessMode::R}});
  task({}, {4});
  // 5 waits for 4, 3 for 1 and 2, these for 0.
  EXPECT_THAT(respecting_dependencies(Order{5, 3, 2, 1, 4, 0}, graph_),
              ElementsAre(4, 5, 0, 2, 1, 3));
  EXPECT_EQ(respecting_dependencies((Order{0, 1, 2, 3, 4, 5}), graph_), (Order{0, 1, 2, 3, 4, 5}));
  EXPECT_THROW(respecting_dependencies(Order{0, 1, 2, 3, 4}, graph_), std::invalid_argument);
  EXPECT_THROW(respecting_dependencies(Order{0, 1, 2, 3, 4, 4}, graph_), std::invalid_argument);
}

// 0 and 1 change datum 0, 2 and 3 datum 1: each pair keeps its places. 4 and 5, which change datum 2, are no
// chain, as 5 waits for 6, too.
TEST_F(DependentTasks, OfAChainShareItsPlacesInTheOrderOfSubmission) {
  data(5);
  for (const Number datum : Order{0, 0, 1, 1}) {
    task({{4, AccessMode::R}, {datum, AccessMode::RW}});
  }
  task({{2, AccessMode::RW}});
  task({{2, AccessMode::RW}, {3, AccessMode::R}});
  task({{3, AccessMode::W}});
  const Chains chains(graph_);
  Order order{6, 5, 3, 1, 2, 4, 0};
  chains.straighten(order);
  EXPECT_THAT(order, ElementsAre(6, 5, 2, 0, 3, 4, 1));
  Order some{1, 3, 0};
  chains.straighten(some);
  EXPECT_THAT(some, ElementsAre(0, 3, 1));
}

TEST_F(DependentTasks, KeepTheirDependenciesInAnyOrder) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  base::Random random(kSeed);
  data(12);
  const auto some_datum = [&] { return static_cast<Number>(random.below(12)); };
  for (int i = 0; i < 80; ++i) {
    const AccessMode modes[] = {AccessMode::R, AccessMode::W, AccessMode::RW};
    task({{some_datum(), AccessMode::R}, {some_datum(), modes[random.below(3)]}});
  }
  Order order(80);
  std::iota(order.begin(), order.end(), Number{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const Order kept = respecting_dependencies(order, graph_);
  ASSERT_THAT(kept, UnorderedElementsAreArray(order));
  EXPECT_EQ(respecting_dependencies(kept, graph_), kept);
  EXPECT_NE(kept, order);
  const auto accesses = [&](Number task) { return graph_.accesses_of(graph_.tasks()[task]); };
  for (std::size_t late = 0; late < kept.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      if (kept[early] < kept[late]) continue;  // as submitted
      for (const auto& a : accesses(kept[early])) {
        for (const auto& b : accesses(kept[late])) {
          const bool conflict = a.datum == b.datum && (writes(a.mode) || writes(b.mode));
          EXPECT_FALSE(conflict) << kept[early] << " before " << kept[late];
        }
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::sched::orders
