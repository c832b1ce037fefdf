// Typed data in files, in parts and with reductions, in every way to run.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/slabs.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kDataLength = kPage.value / sizeof(double);

TEST_P(Every, TypedDataInAFileAreThereForTheNextRuntime) {
  TemporaryFolder folder("typed_file");
  Options with_disk = options();
  if (with_disk.disk.empty()) with_disk.disk = folder.path();
  const std::string path = folder.path() + "/elements";
  constexpr std::uint64_t kBehind = kDataLength * sizeof(double);
  {
    Runtime runtime(with_disk);
    const auto x = runtime.data<double>({.path = path}, kDataLength, "x");
    const auto tile = runtime.tile<float>({.path = path, .offset = kBehind}, 10, 7, "tile");
    runtime.task(
        "iota", [](std::span<double> to) { std::iota(to.begin(), to.end(), 1.0); }, out(x));
    runtime.task(
        "fill",
        [](Tile<float> to) {
          for (std::uint64_t j = 0; j < to.columns(); ++j)
            std::ranges::fill(to.column(j), static_cast<float>(j));
        },
        out(tile));
    runtime.release(x);
    runtime.release(tile);
  }
  Runtime runtime(with_disk);
  // The third to the twentieth element.
  const FileRegion third{.path = path, .offset = 2 * sizeof(double), .writable = false};
  const auto some = runtime.data<double>(third, 18, "some");
  const auto sum = runtime.task(
      "sum",
      [](std::span<const double> from) { return std::accumulate(from.begin(), from.end(), 0.0); },
      in(some));
  EXPECT_EQ(sum.get(), 18 * (3 + 20) / 2);  // 3 + 4 + ... + 20
  const auto tile = runtime.tile<float>({.path = path, .offset = kBehind}, 10, 7, "tile");
  EXPECT_EQ(runtime.read(tile)(9, 6), 6);
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.task(
                    "writes", [](std::span<double> /*to*/) {}, inout(some));
              }),
              HasSubstr("registered read-only"));
}

TEST_P(Every, PartsOfTypedDataAreTypedData) {
  std::vector<double> values(kDataLength, 1.0);
  Runtime runtime(options());
  const auto x = runtime.data(values, "x");
  const DataParts<double, 1> thirds = runtime.partition(x, row_blocks(3));
  ASSERT_EQ(thirds.size(), 3U);
  double added = 0;
  for (const Data<double> third : thirds) {
    runtime.task(
        "add",
        [](std::span<double> to, double more) {
          for (double& value : to) value += more;
        },
        inout(third), ++added);
  }
  const auto sum = runtime.task(  // of the whole, behind all three
      "sum",
      [](std::span<const double> from) { return std::accumulate(from.begin(), from.end(), 0.0); },
      in(x));
  static_assert(kDataLength == 171 + 171 + 170);
  EXPECT_EQ(sum.get(), 512 + 171 * 1 + 171 * 2 + 170 * 3);
  runtime.unpartition(thirds);
  runtime.release(x);
  EXPECT_EQ(values.front(), 2);
  EXPECT_EQ(values.back(), 4);
}

TEST_P(Every, TilesOfATypedTileHaveRowsAndColumns) {
  Runtime runtime(options());
  const auto whole = runtime.tile<int>(20, 30, "whole");
  runtime.task(
      "zero",
      [](Tile<int> to) {
        for (std::uint64_t j = 0; j < to.columns(); ++j) std::ranges::fill(to.column(j), 0);
      },
      out(whole));
  const auto parts = runtime.partition(whole, tiles(8, 10));
  ASSERT_EQ(parts.grid_rows(), 3U);
  ASSERT_EQ(parts.grid_columns(), 3U);
  runtime.task(
      "mark",
      [](Tile<int> to) {
        EXPECT_EQ(to.rows(), 4U);  // 20 = 8 + 8 + 4
        EXPECT_EQ(to.columns(), 10U);
        to(3, 9) = 7;
      },
      inout(parts(2, 1)));
  runtime.unpartition(parts);
  const auto held = runtime.read(whole);
  EXPECT_EQ(held(19, 19), 7);
  EXPECT_EQ(held(18, 19), 0);
}

TEST_P(Every, TypedReductionsAddByAnOperationOfTheLibrary) {
  Runtime runtime(options());
  const auto counts = runtime.data<std::int64_t>(16, "counts");
  runtime.set_reduction(counts, std::plus<>());
  for (std::int64_t i = 1; i <= 20; ++i) {
    runtime.task(
        "count",
        [](std::span<std::int64_t> to, std::int64_t more) {
          for (std::int64_t& value : to) value += more;
        },
        reduce(counts), i);
  }
  const auto held = runtime.read(counts);
  EXPECT_THAT(held.view(), Each(210));  // nobody has written them before: 0 + 1 + ... + 20
}

// Of a tile that lies in a matrix of the application: the copies are packed, and it is not.
TEST_P(Every, TypedReductionsAddByTwoFunctions) {
  static constexpr std::uint64_t kRows = 6;
  constexpr std::uint64_t kColumns = 5;
  constexpr std::uint64_t kLeading = 9;
  std::vector<double> matrix(kLeading * kColumns, -1.0);
  Runtime runtime(options());
  const auto largest = runtime.tile(Tile(matrix.data(), kRows, kColumns, kLeading), "largest");
  runtime.set_reduction(
      largest, [] { return -std::numeric_limits<double>::infinity(); },
      [](double a, double b) { return std::max(a, b); });
  for (int i = 0; i < 10; ++i) {
    runtime.task(
        "compare",
        [](Tile<double> to, int number) {
          double& here = to(static_cast<std::uint64_t>(number % 3), 4);
          here = std::max(here, static_cast<double>(number));
        },
        reduce(largest), i);
  }
  runtime.release(largest);
  const std::uint64_t column = 4 * kLeading;
  EXPECT_EQ(matrix[column], 9);      // of 0, 3, 6, 9
  EXPECT_EQ(matrix[column + 1], 7);  // of 1, 4, 7
  EXPECT_EQ(matrix[column + 2], 8);
  EXPECT_EQ(matrix[column + 3], -1);  // nobody compared: what was there
  EXPECT_EQ(matrix[column + kRows], -1);
}

TEST(TypedData, AResultOfARuntimeThatIsGoneIsRefused) {
  const auto three = [] { return 3; };
  const auto returned = [&] {
    Runtime runtime(small_options());
    const auto result = runtime.task("three", three);
    EXPECT_EQ(result.get(), 3);
    return result;
  };
  const auto gone = returned();
  EXPECT_THAT(message_of<UsageError>([&] { gone.get(); }), HasSubstr("a runtime that is gone"));
  // The same where something that is held keeps what is behind the runtime.
  std::vector<double> values(3, 1.0);
  auto runtime = std::make_unique<Runtime>(small_options());
  const auto result = runtime->task("three", three);
  const auto held = runtime->read(runtime->data(values));
  runtime.reset();
  EXPECT_THAT(message_of<UsageError>([&] { result.get(); }), HasSubstr("no longer"));
  EXPECT_EQ(held[2], 1);
}

TEST(TypedData, MistakesWithPartsReductionsAndTilesAreToldInWords) {
  Runtime runtime(small_options());
  const auto x = runtime.data<int>(10, "x");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.task(
                    "adds", [](std::span<int> /*to*/) {}, reduce(x));
              }),
              HasSubstr("set_reduction"));
  const TiledMatrix<double> a(runtime, {.rows = 10, .columns = 10, .tile_rows = 4}, "A");
  EXPECT_EQ(message_of<UsageError>([&] { a(3, 0); }),
            "there is no tile (3,0) in a matrix of 3 x 3 tiles; they count from 0");
  EXPECT_THAT(message_of<UsageError>([&] { a({0, 3}); }), HasSubstr("no tile (0,3)"));
  double memory[8] = {};
  EXPECT_THAT(message_of<UsageError>([&] { runtime.tile(Tile(memory, 4, 2, 3), "narrow"); }),
              HasSubstr("leading dimension"));
}

// The tiles of a lower triangle, column by column: (0,0) (1,0) (2,0) (1,1) (2,1) (2,2).
TEST(TypedData, ATriangleOfATiledMatrixHasNoOtherTiles) {
  Runtime runtime(small_options());
  const auto places = [&](Triangle triangle) {
    const MatrixShape shape{.rows = 10, .columns = 10, .tile_rows = 4, .triangle = triangle};
    const TiledMatrix<double> matrix(runtime, shape, "A");
    std::string text;
    for (const TilePlace at : matrix) {
      text += std::to_string(at.row) + std::to_string(at.column) + " ";
      EXPECT_TRUE(matrix.has(at));
      runtime.task(
          "fill", [](Tile<double> tile) { tile(0, 0) = 1; }, out(matrix(at)));
    }
    return text;
  };
  EXPECT_EQ(places(Triangle::none), "00 10 20 01 11 21 02 12 22 ");
  EXPECT_EQ(places(Triangle::lower), "00 10 20 11 21 22 ");
  EXPECT_EQ(places(Triangle::upper), "00 01 11 02 12 22 ");
  const TiledMatrix<double> lower(
      runtime, {.rows = 10, .columns = 10, .tile_rows = 4, .triangle = Triangle::lower}, "L");
  EXPECT_FALSE(lower.has({0, 2}));
  EXPECT_EQ(message_of<UsageError>([&] { lower(0, 2); }),
            "there is no tile (0,2) in the lower triangle of a matrix; use tile (2,0) instead, or "
            "leave triangle out of its shape");
  EXPECT_THAT(message_of<UsageError>([&] { lower(3, 0); }), HasSubstr("3 x 3 tiles"));
  std::vector<double> memory(100);
  const TiledMatrix<double> own(runtime, Tile(memory.data(), 10, 10), 4, 4, "own", Triangle::upper);
  runtime.task(
      "fill", [](Tile<double> tile) { tile(1, 1) = 3; }, out(own(1, 2)));
  runtime.release(own(1, 2));
  EXPECT_EQ(memory[5 + 9 * 10], 3);
  for (const MatrixShape& shape :
       {MatrixShape{.rows = 10, .columns = 8, .tile_rows = 4, .triangle = Triangle::lower},
        MatrixShape{10, 10, 4, 5, Triangle::upper}}) {
    EXPECT_THAT(message_of<UsageError>([&] { TiledMatrix<double>(runtime, shape, "A"); }),
                HasSubstr("only a square matrix in square tiles has triangles"));
  }
  runtime.wait();
}

// Seven planes of three elements, in slabs of 3, 3 and 1, whose ends are a plane.
TEST(TypedData, SlabsSeeTheEndsOfTheirNeighbours) {
  Runtime runtime(small_options());
  const Slabs<int> grid(runtime, {.planes = 7, .plane = 3, .slab = 3}, "grid");
  ASSERT_EQ(grid.size(), 3U);
  EXPECT_EQ(grid.planes_of(0), 3U);
  EXPECT_EQ(grid.planes_of(2), 1U);
  EXPECT_EQ(grid.first_plane(2), 6U);
  EXPECT_EQ(grid.before(1), grid.last(0));
  EXPECT_EQ(grid.after(1), grid.first(2));
  const auto set = [](std::span<int> to, int value) { std::ranges::fill(to, value); };
  runtime.task("set", set, out(grid.before(0)), -1);
  runtime.task("set", set, out(grid.after(2)), -2);
  for (int i = 0; i < 3; ++i) {
    runtime.task("set", set, out(grid(i)), i);
    runtime.task("set", set, out(grid.first(i)), 10 + i);
    runtime.task("set", set, out(grid.last(i)), 20 + i);
  }
  const auto seen = [&](std::size_t i) {
    return std::vector<int>{runtime.read(grid.before(i))[2], runtime.read(grid(i))[0],
                            runtime.read(grid.after(i))[0]};
  };
  EXPECT_THAT(seen(0), ElementsAre(-1, 0, 11));
  EXPECT_THAT(seen(1), ElementsAre(20, 1, 12));
  EXPECT_THAT(seen(2), ElementsAre(21, 2, -2));
  EXPECT_EQ(runtime.read(grid(2)).size(), 3U);
  EXPECT_EQ(message_of<UsageError>([&] { grid.before(3); }),
            "there is no slab 3 in a grid of 3; they count from 0");
}

TEST(TypedData, SlabsThatCannotBeAreRefused) {
  Runtime runtime(small_options());
  const std::uint64_t many = std::uint64_t{1} << 63;
  for (const SlabShape& shape :
       {SlabShape{}, SlabShape{7, 3, 0}, SlabShape{7, 0, 3}, SlabShape{7, 3, 3, 0},
        SlabShape{7, 3, 3, 2}, SlabShape{many, 3, 1}, SlabShape{7, many, 7}}) {
    EXPECT_THAT(message_of<UsageError>([&] { Slabs<int>(runtime, shape, "grid"); }),
                HasSubstr("grid grid"));
  }
  // Each of its sizes could be.
  EXPECT_THROW(Slabs<int>(runtime, {1ULL << 40, 1ULL << 40, 1ULL << 40, 1ULL << 39}), UsageError);
}

// Element (i, j) is 10 i + j.
TEST_P(Every, RowMajorTilesAreIndexedByRowAndColumnAndDividedByThem) {
  static constexpr std::uint64_t kRows = 6;
  static constexpr std::uint64_t kColumns = 4;
  std::vector<int> memory(kRows * 5, -1);  // a row is 5 elements behind the one before
  Runtime runtime(options());
  const auto own = runtime.tile(RowTile(memory.data(), kRows, kColumns, 5), "own");
  const auto made = runtime.row_tile<int>(kRows, kColumns, "made");
  const auto number = [](RowTile<int> to) {
    EXPECT_EQ(to.rows(), kRows);
    EXPECT_EQ(to.row(1).size(), kColumns);
    for (std::uint64_t i = 0; i < to.rows(); ++i) {
      for (std::uint64_t j = 0; j < to.columns(); ++j) to(i, j) = static_cast<int>(10 * i + j);
    }
  };
  runtime.task("number", number, out(own));
  runtime.task(
      "copy",
      [](RowTile<const int> from, RowTile<int> to) {
        for (std::uint64_t i = 0; i < to.rows(); ++i)
          std::ranges::copy(from.row(i), to.row(i).begin());
      },
      in(own), out(made));
  EXPECT_EQ(runtime.read(made)(5, 3), 53);
  const auto parts = runtime.partition(made, tiles(2, 3));  // 3 x 2 of them
  ASSERT_EQ(parts.size(), 6U);
  ASSERT_EQ(parts.grid_rows(), 3U);
  const auto corner = runtime.task(
      "corner",
      [](RowTile<const int> part) {
        return part(0, 0) + 100 * static_cast<int>(part.rows()) +
               1000 * static_cast<int>(part.columns());
      },
      in(parts(2, 1)));
  EXPECT_EQ(corner.get(), 43 + 200 + 1000);
  runtime.task(
      "set", [](RowTile<int> part) { part(1, 2) = 7; }, inout(parts(1, 0)));
  EXPECT_EQ(runtime.read(made)(3, 2), 7);
  runtime.release(own);
  EXPECT_EQ(memory[1 * 5 + 2], 12);
  EXPECT_EQ(memory[1 * 5 + 4], -1);  // between the rows
}

TEST_P(Every, TemporariesAreReleasedWithoutAWait) {
  Runtime runtime(options());
  const auto sum = runtime.data<double>(kDataLength, "sum");
  runtime.task(
      "zero", [](std::span<double> to) { std::ranges::fill(to, 0.0); }, out(sum));
  for (int i = 0; i < 600; ++i) {
    const auto room = runtime.data<double>(kDataLength, "room");
    runtime.task(
        "make", [](std::span<double> to, int value) { std::ranges::fill(to, value); }, out(room),
        i);
    runtime.task(
        "add", [](std::span<const double> from, std::span<double> to) { to[3] += from[3]; },
        in(room), inout(sum));
    runtime.release_later(room);
    EXPECT_THAT(message_of<UsageError>([&] { runtime.read(room); }),
                HasSubstr("read: handle room"));
  }
  EXPECT_EQ(runtime.read(sum)[3], 599 * 600 / 2);
}

TEST(TypedData, WhatCannotBeReleasedLaterIsRefused) {
  Runtime runtime(small_options());
  std::vector<double> values(10);
  const auto own = runtime.data(values, "own");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.release_later(own); }),
              HasSubstr("own lies in memory or a file of the application"));
  const auto whole = runtime.data<double>(10, "whole");
  const auto parts = runtime.partition(whole, row_blocks(2));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.release_later(parts[0]); }),
              HasSubstr("is a part or in parts"));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.release_later(whole); }),
              HasSubstr("is a part or in parts"));
  const auto twice = runtime.data<double>(10, "twice");
  runtime.release_later(twice);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.release_later(twice); }),
              HasSubstr("release_later"));
}

TEST(TypedData, ATileOfMemoryIsPackedUnlessItSaysOtherwise) {
  double memory[6] = {1, 2, 3, 4, 5, 6};
  const Tile packed(memory, 3, 2);
  EXPECT_EQ(packed.leading_dimension(), 3U);
  EXPECT_EQ(packed(1, 1), 5);
  Runtime runtime(small_options());
  const auto tile = runtime.tile(packed, "tile");
  runtime.task(
      "set", [](Tile<double> to) { to(2, 1) = 7; }, inout(tile));
  runtime.release(tile);
  EXPECT_EQ(memory[5], 7);
}

}  // namespace
}  // namespace vicinal::testing
