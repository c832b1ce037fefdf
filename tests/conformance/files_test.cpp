// Files are input unless said otherwise: what a file does not hold is written before it is read.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

constexpr std::size_t kLength = kPage.value / sizeof(std::int64_t);

void fill_with(std::span<std::int64_t> to, std::int64_t value) {
  std::ranges::fill(to, value);
}

class Files : public Failure {
 protected:
  std::string with(const std::string& name, std::size_t bytes, char content = 'x') const {
    std::ofstream(folder_.file(name), std::ios::binary) << std::string(bytes, content);
    return folder_.file(name);
  }
  static std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Of a region that its file does not hold.
  static void expect_no_reader(Runtime& runtime, Handle handle, const std::string& path) {
    const auto refused = [&](const std::function<void()>& use) {
      EXPECT_THAT(message_of<UsageError>(use),
                  AllOf(HasSubstr("never written"), HasSubstr(path), HasSubstr("create = true")));
    };
    for (const Operand operand : {R(handle), RW(handle), Commute(handle)}) {
      refused([&] { runtime.submit(task_on(operand, 1, kAdd)); });
    }
    refused([&] { runtime.acquire(handle, AccessMode::R); });
    refused([&] { runtime.acquire(handle, AccessMode::RW); });
    refused([&] { runtime.prefetch(handle, kRam); });
  }
};

TEST_F(Files, APathThatIsMisspeltIsNotMadeAndCannotBeRead) {
  const std::string path = folder_.file("misspelt");
  {
    Runtime runtime(out_of_core(4));
    const Handle a = runtime.register_file({path}, kPage, "a");
    expect_no_reader(runtime, a, path);
    const auto typed = runtime.data<std::int64_t>({.path = path, .offset = 4096}, kLength, "typed");
    EXPECT_THAT(message_of<UsageError>([&] { runtime.read(typed); }), HasSubstr("no file " + path));
    runtime.wait();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Files, WhatLiesBehindTheEndOfAFileCannotBeReadAndTheFileKeepsItsLength) {
  const std::string path = with("short", 800);
  {
    Runtime runtime(out_of_core(4));
    expect_no_reader(runtime, runtime.register_file({path}, kPage, "a"), path);
    expect_no_reader(runtime, runtime.register_file({path, 8192}, kPage, "behind"),
                     "had 800 bytes when it was registered, and its region ends at byte 12288");
  }
  EXPECT_EQ(content_of(path), std::string(800, 'x'));
}

TEST_F(Files, CreateMakesAndLengthensThemAtOnceAndTheNewBytesAreZero) {
  const std::string made = folder_.file("made");
  const std::string longer = with("longer", 4096);
  Runtime runtime(out_of_core(4));
  const Handle a = runtime.register_file({.path = made, .create = true}, kPage, "a");
  const Handle b = runtime.register_file({.path = longer, .create = true}, kPage * 2, "b");
  EXPECT_EQ(std::filesystem::file_size(made), 4096U);
  EXPECT_EQ(std::filesystem::file_size(longer), 8192U);
  EXPECT_EQ(value_of(runtime, a), 0);
  {
    const Acquired held = runtime.acquire(b, AccessMode::R);
    EXPECT_EQ(held.data<std::int64_t>()[kLength - 1], 0x7878787878787878);
    EXPECT_EQ(held.data<std::int64_t>()[kLength], 0);
  }
  const FileRegion contradiction{.path = made, .offset = 4096, .writable = false, .create = true};
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_file(contradiction, kPage, "c"); }),
              AllOf(HasSubstr(made), HasSubstr("leave one of them out")));
}

TEST_F(Files, WhatIsWrittenFirstMakesTheFileWhenItGoesThere) {
  const std::string path = folder_.file("result");
  Runtime runtime(out_of_core(4));
  const Handle a = runtime.register_file({path}, kPage, "a");
  runtime.submit(set(a, 5));
  runtime.submit(add(a, 1));
  EXPECT_EQ(value_of(runtime, a), 6);
  EXPECT_FALSE(std::filesystem::exists(path));
  runtime.unregister(a);
  EXPECT_EQ(std::filesystem::file_size(path), 4096U);
  EXPECT_EQ(value_of(runtime, runtime.register_file({path, 0, false}, kPage, "again")), 6);
}

// More than memory holds: regions go there, and come back, while others are not there yet.
TEST_F(Files, RegionsOfOneNewFileComeAndGoInAnyOrder) {
  const std::string path = folder_.file("result");
  constexpr int kRegions = 12;
  {
    Runtime runtime(out_of_core(3));
    std::vector<Handle> regions;
    for (int i = 0; i < kRegions; ++i) {
      const FileRegion region{path, (kRegions - 1 - static_cast<std::uint64_t>(i)) * 4096};
      regions.push_back(runtime.register_file(region, kPage, "r" + std::to_string(i)));
    }
    for (int i = 0; i + 1 < kRegions; ++i) {
      runtime.submit(set(regions[static_cast<std::size_t>(i)], i));
      runtime.submit(add(regions[static_cast<std::size_t>(i / 2)], 100));
    }
    runtime.wait();
    expect_no_reader(runtime, regions.back(), path);
  }
  const std::string content = content_of(path);
  ASSERT_EQ(content.size(), kRegions * 4096U);
  // Region i is counted up by tasks 2 i and 2 i + 1, of which there are 11 in all.
  const auto* values = reinterpret_cast<const std::int64_t*>(content.data());
  for (int i = 0; i + 1 < kRegions; ++i) {
    const int times = (2 * i < kRegions - 1 ? 1 : 0) + (2 * i + 1 < kRegions - 1 ? 1 : 0);
    EXPECT_EQ(values[static_cast<std::size_t>(kRegions - 1 - i) * kLength], i + 100 * times) << i;
  }
}

TEST_F(Files, AKernelThatThrowsLeavesNoFile) {
  const std::string path = folder_.file("result");
  const Codelet throws{.name = "throws",
                       .cpu = [](KernelContext& /*context*/) { throw std::runtime_error("no"); }};
  {
    Runtime runtime(out_of_core(4));
    const Handle a = runtime.register_file({path}, kPage, "a");
    runtime.submit(task_on(W(a), 1, throws));
    EXPECT_THROW(runtime.wait(), TaskError);
    EXPECT_THROW(runtime.unregister(a), PoisonedError);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Files, WhatCannotBecomeAFileIsRefusedWhenItIsRegistered) {
  std::filesystem::create_symlink(folder_.file("nowhere"), folder_.file("link"));
  Runtime runtime(out_of_core(4));
  const auto refusal = [&](const std::string& path) {
    return message_of<UsageError>([&] { runtime.register_file({path}, kPage, "a"); });
  };
  EXPECT_THAT(refusal(folder_.file("missing/file")), HasSubstr("create the folder"));
  EXPECT_THAT(refusal(folder_.file("link")),
              AllOf(HasSubstr("symbolic link to"), HasSubstr("nowhere")));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("regular file"));
  EXPECT_THAT(refusal(folder_.file("missing/")), HasSubstr("missing/"));
  EXPECT_THAT(refusal("/dev/zero"), AllOf(HasSubstr("/dev/zero"), HasSubstr("regular file")));
  EXPECT_THAT(refusal(""), HasSubstr("''"));
}

TEST_F(Files, OneThatIsNotThereYetIsOneByWhateverPathAndWhoeverMakesIt) {
  const std::string path = folder_.file("result");
  Runtime runtime(out_of_core(4));
  const Handle a = runtime.register_file({path}, kPage, "a");
  const auto overlapping = [&](const std::string& other) {
    return message_of<UsageError>([&] { runtime.register_file({other, 8}, kPage, "b"); });
  };
  EXPECT_THAT(overlapping(folder_.path() + "/./result"), HasSubstr("overlaps"));
  with("result", 100'000);
  std::filesystem::create_symlink(path, folder_.file("link"));
  EXPECT_THAT(overlapping(path), HasSubstr("overlaps"));
  EXPECT_THAT(overlapping(folder_.file("link")), HasSubstr("overlaps"));
  runtime.submit(set(a, 7));
  runtime.unregister(a);
  EXPECT_EQ(std::filesystem::file_size(path), 100'000U);
  EXPECT_EQ(value_of(runtime, runtime.register_file({path, 0, false}, kPage, "again")), 7);
}

// The region that is written behind the new end would make zeros of what was cut off.
TEST_F(Files, OneThatAnotherProgramTruncatesIsNamedWhenItIsWritten) {
  const std::string path = with("matrix", 8192);
  Runtime runtime(out_of_core(4));
  const Handle a = runtime.register_file({path, 0}, kPage, "a");
  const Handle b = runtime.register_file({path, 4096}, kPage, "b");
  runtime.submit(set(b, 1));
  runtime.wait();
  std::filesystem::resize_file(path, 0);
  try {
    runtime.unregister(b);
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'b'"), HasSubstr(path), HasSubstr("truncated")));
    EXPECT_THROW(std::rethrow_if_nested(error), Error);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  EXPECT_THAT(message_of<DeviceError>([&] { runtime.acquire(a, AccessMode::R); }),
              AllOf(HasSubstr("'a'"), HasSubstr(path), HasSubstr("truncated")));
}

TEST_F(Files, PartsOfOneThatIsNotThereYetAreAllWrittenOrNone) {
  const std::string path = folder_.file("result");
  Runtime runtime(out_of_core(8));
  const auto whole = runtime.data<std::int64_t>({.path = path}, kLength, "whole");
  const auto halves = runtime.partition(whole, row_blocks(2));
  runtime.task("fill", fill_with, out(halves[0]), 1);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.task("fill", fill_with, inout(halves[1]), 2); }),
              HasSubstr("never written"));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.release(whole); }),
              AllOf(HasSubstr("whole[1] was never written"), HasSubstr("WriteBack::no")));
  runtime.task("fill", fill_with, out(halves[1]), 2);
  runtime.release(whole);
  const auto again = runtime.data<std::int64_t>({.path = path}, kLength, "again");
  const auto held = runtime.read(again);
  EXPECT_EQ(held[0] + held[kLength - 1], 3);
}

TEST_F(Files, AReductionBeginsOneThatIsNotThereYet) {
  const std::string path = folder_.file("sum");
  Runtime runtime(out_of_core(8));
  const auto sum = runtime.data<std::int64_t>({.path = path}, kLength, "sum");
  runtime.set_reduction(sum, std::plus<>());
  for (int i = 1; i <= 10; ++i) {
    runtime.task(
        "count", [](std::span<std::int64_t> to, std::int64_t value) { to[3] += value; },
        reduce(sum), std::int64_t{i});
  }
  runtime.release(sum);
  EXPECT_EQ(value_of(runtime, runtime.register_file({path, 24}, Bytes{8}, "again")), 55);
}

TEST_F(Files, ATiledMatrixHasTheTilesThatItsFileHolds) {
  const std::string path = with("matrix", 4 * 4 * sizeof(double), '\0');  // one tile of four
  Runtime runtime(out_of_core(8));
  const MatrixShape shape{.rows = 8, .columns = 8, .tile_rows = 4};
  const TiledMatrix<double> a(runtime, {.path = path}, shape, "A");
  EXPECT_EQ(runtime.read(a(0, 0))(3, 3), 0);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.read(a(1, 1)); }), HasSubstr("A(1,1)"));
  const FileRegion made{.path = folder_.file("made"), .create = true};
  const TiledMatrix<double> b(runtime, made, shape, "B");
  EXPECT_EQ(std::filesystem::file_size(made.path), 8 * 8 * sizeof(double));
  EXPECT_EQ(runtime.read(b(1, 1))(3, 3), 0);
}

}  // namespace
}  // namespace vicinal
