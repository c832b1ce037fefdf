// The least key of items whose keys change, against a search through all of them.
#include "sim/indexed_heap.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim {
namespace {

TEST(IndexedHeap, TheTopIsTheLeastOfAllKeysWhateverChanges) {
  for (const std::uint64_t seed : testing::seeds(50)) {
    SCOPED_TRACE("TEST_SEED_VICINAL=" + std::to_string(seed));
    base::Random random(seed);
    IndexedHeap<std::uint64_t> heap;
    std::map<std::uint32_t, std::uint64_t> keys;
    for (std::uint64_t step = 0; step < 500; ++step) {
      const auto item = static_cast<std::uint32_t>(random.below(40));
      if (keys.contains(item) && random.below(3) == 0) {
        heap.erase(item);
        keys.erase(item);
      } else {
        keys[item] = random.below(1000) * 1000 + step;  // no two are equal
        heap.set(item, keys[item]);
      }
      ASSERT_EQ(heap.empty(), keys.empty());
      if (keys.empty()) continue;
      const auto least =
          std::ranges::min_element(keys, {}, [](const auto& key) { return key.second; });
      ASSERT_EQ(heap.top().item, least->first);
      ASSERT_EQ(heap.top().key, least->second);
    }
  }
}

}  // namespace
}  // namespace vicinal::sim
