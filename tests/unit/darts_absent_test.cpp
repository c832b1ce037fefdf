// The list of absent data against a vector that is walked anew for each choice.

#include "sched/policies/darts_absent.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sched::darts {
namespace {

// Few values, so that there are ties.
bool is_better(const DataOnNode& a, const DataOnNode& b) {
  return a.free_tasks > b.free_tasks;
}

bool never(const DataOnNode& /*a*/, const DataOnNode& /*b*/) {
  return false;
}

class AbsentListUnderRandomChanges {
 public:
  explicit AbsentListUnderRandomChanges(std::uint64_t seed) : random_(seed), data_(200) {
    for (DataOnNode& at : data_) {
      give_value(at);
      at.left_ns = 1;
    }
  }

  void step() {
    DataOnNode& at = data_[random_.below(data_.size())];
    switch (random_.below(6)) {
      case 0:
      case 1:
        if (!at.listed) insert(at, random_.below(listed_.size() + 1));
        break;
      case 2:
        if (!at.listed) insert(at, listed_.size());
        break;
      case 3:
        if (at.listed) remove(at);
        break;
      case 4:
        give_value(at);
        list_.changed(at);
        break;
      default:
        at.left_ns = random_.below(8) == 0 ? 0 : 1;
        list_.changed(at);
        break;
    }
  }

  void check_best() {
    const DataOnNode* const best = list_.best(is_better);
    std::erase_if(listed_, [](const DataOnNode* at) { return at->left_ns == 0; });
    const DataOnNode* expected = nullptr;
    for (const DataOnNode* at : listed_) {
      if (expected == nullptr || is_better(*at, *expected)) expected = at;
    }
    EXPECT_EQ(best, expected);
    EXPECT_EQ(list_.size(), listed_.size());
  }

  // Where none is better than another the first is the best.
  void check_order() {
    check_best();
    for (DataOnNode* at : listed_) list_.changed(*at);
    while (!listed_.empty() && !::testing::Test::HasFailure()) {
      EXPECT_EQ(list_.best(never), listed_.front());
      remove(*listed_.front());
    }
    EXPECT_EQ(list_.best(never), nullptr);
  }

 private:
  void give_value(DataOnNode& at) { at.free_tasks = static_cast<std::uint32_t>(random_.below(9)); }
  void insert(DataOnNode& at, std::size_t position) {
    listed_.insert(listed_.begin() + static_cast<std::ptrdiff_t>(position), &at);
    position + 1 == listed_.size() ? list_.push_back(at) : list_.insert_at(position, at);
  }
  void remove(DataOnNode& at) {
    std::erase(listed_, &at);
    list_.remove(at);
  }

  base::Random random_;
  std::vector<DataOnNode> data_;
  std::vector<DataOnNode*> listed_;  // in their order
  AbsentList list_;
};

TEST(DartsAbsent, TheBestIsThatOfAWalkAfterRandomChanges) {
  vicinal::testing::for_each_seed(20, [](base::Random& /*random*/, std::uint64_t seed) {
    AbsentListUnderRandomChanges list(seed);
    for (int step = 0; step < 2000; ++step) {
      list.step();
      if (step % (1 + static_cast<int>(seed) % 7) == 0) list.check_best();
      if (::testing::Test::HasFailure()) return;
    }
    list.check_order();
  });
}

}  // namespace
}  // namespace vicinal::sched::darts
