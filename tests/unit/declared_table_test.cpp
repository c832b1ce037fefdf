// Data that a runtime has only declared, as a table.
#include "graph/declared_table.hpp"

#include <cstdint>
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/sanitized.hpp"

namespace vicinal::graph {
namespace {

Layout tile(std::uint64_t rows, std::uint64_t columns) {
  return {rows * 8, columns, rows * 8, 8};
}

TEST(DeclaredTable, GivesBackWhatItWasTold) {
  DeclaredTable data;
  const std::uint32_t a = data.add(tile(4, 2), "A(0,0)", {1});
  const std::uint32_t b = data.add(tile(3, 2), "", {7});
  const std::uint32_t c = data.add(tile(4, 2), "A(0,1)", {8});
  EXPECT_EQ(data.size(), 3U);
  ASSERT_TRUE(data.find(a));
  EXPECT_EQ(data.find(a)->name, "A(0,0)");
  EXPECT_EQ(data.find(a)->number, DataNumber{1});
  EXPECT_EQ(data.find(a)->layout.bytes(), Bytes{64});
  EXPECT_EQ(data.find(a)->handle, nullptr);
  EXPECT_EQ(data.find(b)->name, "");
  EXPECT_EQ(data.find(b)->layout.rows(), 3U);
  EXPECT_EQ(data.find(c)->name, "A(0,1)");
  EXPECT_EQ(data.find(c)->number, DataNumber{8});
  EXPECT_FALSE(data.find(c + 1));
  EXPECT_FALSE(data.find(0xffffffffU));
}

TEST(DeclaredTable, KnowsTheHandleThatOneWasGiven) {
  DeclaredTable data;
  Handle handle;
  const std::uint32_t a = data.add(tile(1, 1), "a", {1});
  data.give(a, handle, 5);
  EXPECT_EQ(data.find(a)->handle, &handle);
  EXPECT_EQ(data.find(a)->life, 5U);
}

TEST(DeclaredTable, NumbersAreNotGivenAgain) {
  DeclaredTable data;
  const std::uint32_t a = data.add(tile(1, 1), "a", {1});
  EXPECT_TRUE(data.forget(a));
  EXPECT_FALSE(data.forget(a));
  EXPECT_FALSE(data.find(a));
  EXPECT_NE(data.add(tile(1, 1), "b", {2}), a);
  EXPECT_FALSE(data.forget(1'000'000));
  EXPECT_EQ(data.size(), 1U);
}

// No public handle names a life of it.
TEST(DeclaredTable, NobodyTakesNoTasks) {
  DeclaredTable data;
  EXPECT_FALSE(data.nobody().takes_tasks());
  EXPECT_NE(data.nobody().life(), data.add(tile(1, 1), "a", {1}));
}

// Against a plain list of what is there.
TEST(DeclaredTable, AnyOrderOfComingAndGoing) {
  const std::uint64_t seed = 34;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  struct Told {
    std::uint32_t number;
    std::string name;
    std::uint64_t rows;
  };
  DeclaredTable data;
  std::vector<Told> there;
  std::vector<std::uint32_t> gone;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const bool comes = there.empty() || random.below(1000) < (step / 5000 % 2 == 0 ? 700 : 300);
    if (comes) {
      Told told{0, std::string(random.below(20), 'x') + std::to_string(step), 1 + random.below(9)};
      told.number = data.add(tile(told.rows, 1), told.name, {step + 1});
      there.push_back(told);
    } else {
      const std::size_t at = random.below(there.size());
      EXPECT_TRUE(data.forget(there[at].number));
      gone.push_back(there[at].number);
      there[at] = there.back();
      there.pop_back();
    }
  }
  ASSERT_EQ(data.size(), there.size());
  for (const Told& told : there) {
    const auto found = data.find(told.number);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, told.name);
    EXPECT_EQ(found->layout.rows(), told.rows);
  }
  for (const std::uint32_t number : gone) EXPECT_FALSE(data.find(number));
}

// What the system's allocator has given out, its own words included.
std::size_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(DeclaredTable, OneCostsAtMost40Bytes) {
#if TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer's allocator is another";
#endif
  constexpr std::uint64_t kCount = 10'000;
  const std::size_t before = allocated();
  const auto data = std::make_unique<DeclaredTable>();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::string name = "A(" + std::to_string(i / 100) + "," + std::to_string(i % 100) + ")";
    data->add(tile(480, 480), name, {i + 1});
  }
  EXPECT_LE(allocated() - before, 40 * kCount);
  EXPECT_GE(allocated() - before, 24 * kCount);
}

TEST(DeclaredTable, OfThoseThatAreForgottenNothingIsKept) {
#if TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer's allocator is another";
#endif
  DeclaredTable data;
  const std::size_t before = allocated();
  for (std::uint64_t i = 0; i < 100'000; ++i)
    data.forget(data.add(tile(480, 480), "some name", {i + 1}));
  EXPECT_LE(allocated() - before, 30'000U);  // some words for each 256
}

}  // namespace
}  // namespace vicinal::graph
