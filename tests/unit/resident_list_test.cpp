#include "memory/resident_list.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/random.hpp"
#include "gtest/gtest.h"

namespace vicinal::memory {
namespace {

class ResidentListTest : public ::testing::Test {
 protected:
  Replica& make(std::uint64_t last_use = 0) {
    Replica& replica = replicas_.emplace_back();
    replica.last_use = last_use;
    return replica;
  }
  std::vector<Replica*> in_order() const {
    std::vector<Replica*> found;
    for (Replica* r = list.oldest(); r != nullptr; r = list.newer_than(*r)) found.push_back(r);
    return found;
  }
  ResidentList list;

 private:
  std::deque<Replica> replicas_;
};

TEST_F(ResidentListTest, KeepsTheOrderInWhichReplicasArePutAtItsEnds) {
  EXPECT_EQ(list.oldest(), nullptr);
  Replica& a = make();
  Replica& b = make();
  Replica& c = make();
  list.append(a);
  list.append(b);
  list.prepend(c);
  EXPECT_EQ(in_order(), (std::vector{&c, &a, &b}));
  list.remove(a);
  EXPECT_EQ(in_order(), (std::vector{&c, &b}));
  list.remove(c);
  list.remove(b);
  EXPECT_EQ(list.oldest(), nullptr);
}

TEST_F(ResidentListTest, TellsWhoWasUsedSinceItWasPutInItsPlace) {
  Replica& replica = make(3);
  list.append(replica);
  EXPECT_FALSE(list.was_used(replica));
  replica.last_use = 4;
  EXPECT_TRUE(list.was_used(replica));
  list.remove(replica);
  list.append(replica);
  EXPECT_FALSE(list.was_used(replica));
}

TEST_F(ResidentListTest, DoesWhatAListOfPointersDoes) {
  base::Random random(20261122);
  std::deque<Replica*> model;
  std::vector<Replica*> out;
  for (int i = 0; i < 40; ++i) out.push_back(&make());
  for (int step = 0; step < 5000; ++step) {
    if (!model.empty() && random.below(40) < model.size()) {
      const auto at = model.begin() + static_cast<std::ptrdiff_t>(random.below(model.size()));
      list.remove(**at);
      EXPECT_EQ((*at)->resident_slot, 0U);
      out.push_back(*at);
      model.erase(at);
    } else {
      Replica& replica = *out.back();
      out.pop_back();
      if (random.below(2) == 0) {
        list.append(replica);
        model.push_back(&replica);
      } else {
        list.prepend(replica);
        model.push_front(&replica);
      }
    }
    ASSERT_TRUE(std::ranges::equal(in_order(), model)) << step;
  }
}

}  // namespace
}  // namespace vicinal::memory
