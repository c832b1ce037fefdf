// Handles in parts: writes to the whole are read from the parts, and writes to parts from the whole, on any memory node.
#include <numeric>
#include <semaphore>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_names.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

void add_number(KernelContext& k) {
  const auto number = k.parameter<double>();
  const OperandView& view = k.operand(0);
  for (std::uint64_t j = 0; j < view.layout.columns; ++j) {
    auto* column = reinterpret_cast<double*>(view.address + j * view.layout.stride_bytes);
    for (std::uint64_t i = 0; i < view.layout.rows(); ++i) column[i] += number;
  }
}
void set_number(KernelContext& k) {
  const auto number = k.parameter<double>();
  const OperandView& view = k.operand(0);
  for (std::uint64_t j = 0; j < view.layout.columns; ++j) {
    auto* column = reinterpret_cast<double*>(view.address + j * view.layout.stride_bytes);
    for (std::uint64_t i = 0; i < view.layout.rows(); ++i) column[i] = number;
  }
}
void add_to_sum(KernelContext& k) {
  const OperandView& view = k.operand(0);
  double& sum = *k.data<double>(1);
  for (std::uint64_t j = 0; j < view.layout.columns; ++j) {
    const auto* column =
        reinterpret_cast<const double*>(view.address + j * view.layout.stride_bytes);
    for (std::uint64_t i = 0; i < view.layout.rows(); ++i) sum += column[i];
  }
}
const Codelet kAddToPart{.name = "add", .cpu = add_number};
const Codelet kSetPart{.name = "set", .cpu = set_number};
const Codelet kSumOfParts{.name = "sum", .cpu = add_to_sum};

constexpr std::size_t kRowsOfWhole = 6;
constexpr std::size_t kColumnsOfWhole = 4;
constexpr std::size_t kStride = 8;

// How the whole lives: a tile of a larger matrix of the application, or wherever the runtime has room for it.
enum class PartsHome : std::uint8_t { buffer, none };

struct PartsMachine {
  const char* name;
  std::uint32_t accelerators;
  bool disk;
};

class Partitioned
    : public ::testing::TestWithParam<std::tuple<std::string, PartsMachine, PartsHome>> {
 protected:
  void SetUp() override {
    const auto& [policy, machine, home] = GetParam();
    Options options{.workers = 2, .policy = policy};
    testing::use_accelerators(options, machine.accelerators);
    runtime.emplace(options);
    if (home == PartsHome::buffer) {
      whole =
          runtime->register_tile(matrix.data(), {kRowsOfWhole, kColumnsOfWhole, kStride, 8}, "A");
    } else {
      whole = runtime->register_empty({kRowsOfWhole, kColumnsOfWhole, 0, 8}, "A");
      set(whole, 0);
    }
    sum = runtime->register_buffer(&total, Bytes{8}, "sum");
  }
  void set(Handle handle, double number) {
    runtime->submit({.codelet = &kSetPart, .operands = {W(handle)}, .parameters = number});
  }
  void add(Handle handle, double number) {
    runtime->submit({.codelet = &kAddToPart, .operands = {RW(handle)}, .parameters = number});
  }
  void add_up(Handle handle) {
    runtime->submit({.codelet = &kSumOfParts, .operands = {R(handle), RW(sum)}});
  }
  double summed() { return *runtime->acquire(sum, AccessMode::R).data<double>(); }

  std::vector<double> matrix = std::vector<double>(kStride * kColumnsOfWhole, 0.0);
  double total = 0;
  std::optional<Runtime> runtime;
  Handle whole;
  Handle sum;
};

std::string name_of_partitioned(const ::testing::TestParamInfo<Partitioned::ParamType>& instance) {
  const auto& [policy, machine, home] = instance.param;
  return policy + "_on_" + machine.name +
         (home == PartsHome::buffer ? "_from_a_buffer" : "_anywhere");
}

INSTANTIATE_TEST_SUITE_P(
    Every, Partitioned,
    ::testing::Combine(::testing::ValuesIn(testing::policy_names_of_each_way()),
                       ::testing::Values(PartsMachine{"cores", 0, false},
                                         PartsMachine{"devices", 2, false}),
                       ::testing::Values(PartsHome::buffer, PartsHome::none)),
    name_of_partitioned);

TEST_P(Partitioned, TheWholeAndItsPartsSeeEachOthersWrites) {
  const Parts parts = runtime->partition(whole, tiles(4, 3));
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts.grid_rows(), 2U);
  for (const Handle part : parts) add(part, 1);  // 24 ones
  add_up(whole);                                 // 24
  add(whole, 1);
  add_up(parts(0, 0));  // 12 elements of 2
  EXPECT_EQ(summed(), 24 + 24);
  add(parts(1, 1), 3);  // 2 x 1 elements
  add_up(whole);        // 48 + 6
  EXPECT_EQ(summed(), 48 + 54);
  runtime->unpartition(parts);
  add_up(whole);
  EXPECT_EQ(summed(), 102 + 54);
}

TEST_P(Partitioned, PartsOfPartsAsWell) {
  const Parts columns = runtime->partition(whole, column_blocks(2));
  const Parts pieces = runtime->partition(columns[0], row_blocks(3));
  ASSERT_EQ(pieces.size(), 3U);
  add(pieces[1], 5);   // 2 x 2 elements: 20
  add_up(columns[0]);  // 20
  add_up(whole);       // 20
  add(columns[1], 1);  // 12
  add_up(pieces[1]);   // 20
  add_up(whole);       // 32
  add(whole, 1);       // 24 more
  add_up(pieces[0]);   // 4 ones
  EXPECT_EQ(summed(), 20 + 20 + 20 + 32 + 4);
  runtime->unpartition(columns);
  add_up(whole);
  EXPECT_EQ(summed(), 96 + 56);
}

TEST_P(Partitioned, WhatIsOverwrittenIsNotBrought) {
  const Parts parts = runtime->partition(whole, row_blocks(2));
  add(parts[0], 1);
  set(whole, 2);
  add_up(parts[1]);
  set(parts[0], 1);
  add_up(whole);
  EXPECT_EQ(summed(), 24 + 12 + 24);
}

TEST_P(Partitioned, SeveralPartitionsMayBeReadAtOnce) {
  const Parts rows = runtime->partition(whole, row_blocks(2), PartAccess::read_only);
  const Parts columns = runtime->partition(whole, column_blocks(4), PartAccess::read_only);
  add(whole, 1);
  add_up(rows[1]);
  add_up(columns[3]);
  add_up(whole);
  EXPECT_EQ(summed(), 12 + 6 + 24);
  EXPECT_THROW(add(rows[0], 1), UsageError);
  EXPECT_THROW(runtime->partition(whole, tiles(1, 1)), UsageError);
  runtime->unpartition(rows);
  runtime->unpartition(columns);
  const Parts all = runtime->partition(whole, tiles(1, 1));
  EXPECT_EQ(all.size(), 24U);
}

// Columns 2 first .. 2 first + 1 of the whole, row by row.
Divide half(std::uint64_t first) {
  return [first](const Layout& layout) {
    Division division = row_blocks(layout.rows())(layout);
    for (Block& block : division.blocks) {
      block.column = 2 * first;
      block.columns = 2;
    }
    return division;
  };
}

TEST_P(Partitioned, SeveralPartitionsMayBeWrittenWhereTheyDoNotOverlap) {
  const Parts left = runtime->partition(whole, half(0));
  const Parts right = runtime->partition(whole, half(1));
  EXPECT_THROW(runtime->partition(whole, row_blocks(2)), UsageError);
  for (const Handle part : left) add(part, 1);   // 12 ones
  for (const Handle part : right) add(part, 2);  // 12 twos
  add(left[2], 1);                               // 2 more
  add_up(right[0]);                              // 4
  add_up(whole);                                 // 12 + 24 + 2
  add(whole, 1);                                 // 24 more
  add(right[5], 3);                              // 6 more
  runtime->unpartition(right);
  add_up(left[2]);  // 2 of 3
  add_up(whole);    // 38 + 24 + 6
  set(whole, 1);
  add(left[0], 1);
  const Parts again = runtime->partition(whole, half(1), PartAccess::read_only);
  add_up(again[0]);  // 2 ones
  runtime->unpartition(left);
  add_up(whole);  // 24 + 2
  EXPECT_EQ(summed(), 4 + 38 + 6 + 68 + 2 + 26);
}

TEST_P(Partitioned, WhatIsRegisteredInThePlaceOfAnotherMayBeDividedToo) {
  for (int round = 0; round < 3; ++round) {
    const Handle other = runtime->register_empty({kRowsOfWhole, kColumnsOfWhole, 0, 8}, "B");
    set(other, round);
    for (const Handle part : runtime->partition(other, row_blocks(2))) add(part, 1);
    add_up(other);  // 24 of round + 1
    runtime->unregister(other);
  }
  EXPECT_EQ(summed(), 24 * (1 + 2 + 3));
}

TEST_P(Partitioned, TheApplicationHoldsEitherSide) {
  const Parts parts = runtime->partition(whole, row_blocks(2));
  add(parts[0], 1);
  {
    const Acquired held = runtime->acquire(whole, AccessMode::RW);
    EXPECT_EQ(held.data<double>()[0], 1);
    held.data<double>()[0] = 5;
  }
  {
    const Acquired held = runtime->acquire(parts[0], AccessMode::R);
    EXPECT_EQ(held.data<double>()[0], 5);
    EXPECT_EQ(held.data<double>()[1], 1);
  }
  runtime->wait(parts[1]);
  runtime->wait(whole);
}

// --- which parts may be forgotten

Options two_workers_with_parts() {
  return {.workers = 2, .submitter_works = false, .bind = false, .models = "none"};
}

// What a task waits for, until it is told.
std::binary_semaphore gate_of_parts{0};
const Codelet kWaitsInPart{.name = "waits", .cpu = [](KernelContext&) { gate_of_parts.acquire(); }};
const Codelet kLooksAtPart{.name = "looks", .cpu = [](KernelContext&) {}};
const Codelet kDivided{.name = "divided", .recursive = [](Recursion& r) {
                         for (const Handle part : r.parts(0, row_blocks(2))) {
                           r.submit({.codelet = &kLooksAtPart, .operands = {R(part)}});
                         }
                       }};

// A recursive task on a part of a part has yet to begin when the divisions are taken back, and the slots of what may be
// forgotten are used again.
TEST(NestedPartitions, KeepAPartAsLongAsAPartOfItIsInUse) {
  testing::Watchdog watchdog("nested partitions", 20);
  for (const std::size_t depth : {2U, 3U, 4U}) {
    Runtime runtime(two_workers_with_parts());
    const Handle x = runtime.register_empty(TileShape{64, 1}, "x");
    const Handle y = runtime.register_empty(Bytes{1}, "y");
    const Handle z = runtime.register_empty(TileShape{64, 1}, "z");
    runtime.submit({.codelet = &kLooksAtPart, .operands = {W(x), W(z)}});
    std::vector<Parts> divided{runtime.partition(x, row_blocks(2))};
    while (divided.size() < depth) {
      divided.push_back(runtime.partition(divided.back()[0], row_blocks(2)));
    }
    runtime.submit({.codelet = &kWaitsInPart, .operands = {W(y)}});
    runtime.submit({.codelet = &kDivided, .operands = {R(divided.back()[0]), R(y)}});
    runtime.unpartition(divided.front());
    for (int i = 0; i < 4; ++i)
      static_cast<void>(runtime.partition(z, column_blocks(1), PartAccess::read_only));
    gate_of_parts.release();
    runtime.wait();
    runtime.unregister(x);
    runtime.unregister(z);
  }
}

// Of a handle that is unregistered its own parts must have gone, no others.
TEST(NestedPartitions, OfAnotherHandleAreNotWaitedFor) {
  testing::Watchdog watchdog("partitions of another handle", 20);
  Runtime runtime(two_workers_with_parts());
  std::vector<Handle> both;
  for (const char* name : {"x", "y"}) {
    both.push_back(runtime.register_empty(TileShape{64, 1}, name));
    runtime.submit({.codelet = &kLooksAtPart, .operands = {W(both.back())}});
  }
  const Parts of_x = runtime.partition(both[0], row_blocks(2));
  const Parts of_y = runtime.partition(both[1], row_blocks(2));
  const Acquired held = runtime.acquire(of_y[0], AccessMode::R);
  runtime.unpartition(of_y);
  runtime.unpartition(of_x);
  EXPECT_NO_THROW(runtime.unregister(both[0]));
}

// --- what is lost is lost on either side

const Codelet kFails{.name = "fails", .cpu = [](KernelContext&) { throw Error("no"); }};

// Two halves of what a failed task has left. Partitions of both are written anew, or of one.
class LostWhole : public ::testing::Test {
 protected:
  LostWhole() {
    runtime_.submit({.codelet = &kFails, .operands = {W(whole_)}});
    EXPECT_THROW(runtime_.wait(), TaskError);
  }
  void write_half(std::uint64_t half) {
    const Parts parts = runtime_.partition(whole_, [half](const Layout&) {
      return Division{.blocks = {{.row = 32 * half, .column = 0, .rows = 32, .columns = 1}}};
    });
    // Its content passes to the parts, lost as it is, and one is written anew.
    runtime_.submit({.codelet = &kLooksAtPart, .operands = {W(parts[0])}});
  }
  std::vector<double> values_ = std::vector<double>(64, 1.0);
  Runtime runtime_{two_workers_with_parts()};
  Handle whole_ = runtime_.register_tile(values_.data(), {64, 1}, "whole");
};

TEST_F(LostWhole, StaysLostIfSomeOfItIsWrittenAnew) {
  write_half(0);
  EXPECT_THROW(runtime_.acquire(whole_, AccessMode::R), PoisonedError);
  EXPECT_THROW(runtime_.unregister(whole_), PoisonedError);
}

TEST_F(LostWhole, IsThereWhenAllOfItIsWrittenAnew) {
  write_half(0);
  write_half(1);
  EXPECT_NO_THROW(runtime_.acquire(whole_, AccessMode::R));
}

}  // namespace
}  // namespace vicinal
