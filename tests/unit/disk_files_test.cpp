// The folder of the disk driver, its scratch file, and the files of the user.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/disk/disk_bandwidth.hpp"
#include "drivers/disk/disk_driver.hpp"
#include "unit/disk_driver_fixture.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string refusal(const DiskConfig& config) {
  try {
    const DiskDriver driver(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DiskDriver, AFolderThatCannotServeIsNamedWithTheRemedy) {
  const Folder folder;
  const std::string file = folder.make_file("file", Content(1));
  for (const std::string& path : {folder.path("missing"), file, std::string("/proc")}) {
    EXPECT_THAT(refusal({.folder = path}),
                AllOf(HasSubstr("'" + path + "'"), HasSubstr("set the option disk to a folder")));
  }
}

TEST(DiskDriver, SpaceIsWhatWasAskedForOrWhatIsFree) {
  const Folder folder;
  EXPECT_EQ(DiskDriver({.folder = folder.path(), .space = 1_MiB}).space(), 1_MiB);
  const Bytes free = DiskDriver({.folder = folder.path()}).space();
  EXPECT_EQ(free > 1_MiB, true);
  EXPECT_THAT(refusal({.folder = folder.path(), .space = Bytes{1ULL << 62}}),
              AllOf(HasSubstr("disk_space"), HasSubstr(folder.path()), HasSubstr("free")));
}

TEST(DiskDriver, ItsScratchFileHasNoNameAndNoDescriptorLeaks) {
  const Folder folder;
  const std::string path = folder.make_file("matrix", Content(10));
  const std::size_t before = open_descriptors();
  for (const bool io_uring : {true, false}) {
    FakeEngine engine;
    DiskDriver driver({.folder = folder.path(), .io_uring = io_uring, .node = kDisk});
    driver.start(engine);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    const int closed = driver.open_file(path, false);
    driver.close_file(closed);
    const std::size_t closed_all = open_descriptors();
    driver.open_file(path, false);
    driver.open_file(path, true);
    EXPECT_GT(open_descriptors(), closed_all);
    EXPECT_ANY_THROW(driver.open_file(folder.path("missing"), false));
    EXPECT_ANY_THROW(driver.open_file(folder.path(), false));
  }
  EXPECT_ANY_THROW(DiskDriver({.folder = "/proc"}));
  EXPECT_EQ(open_descriptors(), before);
}

class UsersFiles : public ::testing::Test {
 protected:
  std::string open_refusal(const std::string& path, bool writable) {
    try {
      driver_.open_file(path, writable);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
  Folder folder_;
  DiskDriver driver_{{.folder = folder_.path(), .node = kDisk}};
};

TEST_F(UsersFiles, OneFileHasOneNumberByWhateverPath) {
  const std::string path = folder_.make_file("matrix", Content(10));
  std::filesystem::create_symlink(path, folder_.path("link"));
  const int file = driver_.open_file(path, false);
  EXPECT_EQ(driver_.open_file(folder_.path("link"), false), file);
  const int other = driver_.open_file(folder_.make_file("other", Content(20)), false);
  EXPECT_NE(other, file);
  EXPECT_EQ(driver_.file_size(file).value, 10U);
  EXPECT_EQ(driver_.file_size(other).value, 20U);
  driver_.close_file(file);
  EXPECT_EQ(driver_.file_size(file).value, 10U);
  driver_.close_file(file);
  EXPECT_THROW(driver_.file_size(file), std::logic_error);
}

TEST_F(UsersFiles, AWritableFileIsCreatedAndExtendedIfAskedTo) {
  const int file = driver_.open_file(folder_.path("new"), true, true);
  EXPECT_EQ(driver_.file_size(file).value, 0U);
  driver_.extend_file(file, Bytes{5000});
  EXPECT_EQ(driver_.file_size(file).value, 5000U);
  driver_.extend_file(file, Bytes{100});
  EXPECT_EQ(driver_.file_size(file).value, 5000U);
}

TEST_F(UsersFiles, OneThatIsNotThereIsMadeByTheFirstWrite) {
  const int file = driver_.open_file(folder_.path("new"), true);
  EXPECT_EQ(driver_.open_file(folder_.path(".") + "/new", true), file);
  EXPECT_FALSE(driver_.file_exists(file));
  EXPECT_EQ(driver_.file_size(file).value, 0U);
  driver_.close_file(file);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("new")));

  FakeEngine engine;
  driver_.start(engine);
  Data data(9000, MemoryKind::replica, 0);
  memory::Copy copy;
  copy.id.slot = 1;
  copy.handle = &data.handle;
  copy.from = {.node = kRam, .address = data.begin, .layout = data.handle.layout};
  copy.to = {.node = kDisk, .file = file, .layout = data.handle.layout};
  driver_.start_copy(copy);
  EXPECT_EQ(engine.copy_error(1), "");
  EXPECT_TRUE(driver_.file_exists(file));
  EXPECT_EQ(driver_.file_size(file).value, 9000U);
  driver_.stop();
  driver_.close_file(file);
}

TEST_F(UsersFiles, AReadOnlyFileIsNotExtendedUntilItIsOpenedForWriting) {
  const std::string path = folder_.make_file("matrix", Content(10));
  const int file = driver_.open_file(path, false);
  EXPECT_THROW(driver_.extend_file(file, Bytes{11}), UsageError);
  EXPECT_EQ(driver_.open_file(path, true), file);
  driver_.extend_file(file, Bytes{9000});
  EXPECT_EQ(driver_.file_size(file).value, 9000U);

  FakeEngine engine;
  driver_.start(engine);
  Data data(9000, MemoryKind::replica, 0);
  memory::Copy copy;
  copy.id.slot = 1;
  copy.handle = &data.handle;
  copy.from = {.node = kRam, .address = data.begin, .layout = data.handle.layout};
  copy.to = {.node = kDisk, .file = file, .layout = data.handle.layout};
  driver_.start_copy(copy);
  EXPECT_EQ(engine.copy_error(1), "");
  driver_.stop();
  EXPECT_EQ(folder_.read_file("matrix").back(), data.canary);
}

TEST_F(UsersFiles, WhatIsNoReadableRegularFileIsRefusedByName) {
  EXPECT_THAT(open_refusal(folder_.path("missing"), false),
              AllOf(HasSubstr(folder_.path("missing")), HasSubstr("No such file")));
  EXPECT_THAT(open_refusal(folder_.path("missing/matrix"), true), HasSubstr("create the folder"));
  EXPECT_THAT(open_refusal(folder_.path(), false), HasSubstr("regular file"));
  mkfifo(folder_.path("fifo").c_str(), 0600);
  EXPECT_THAT(open_refusal(folder_.path("fifo"), false), HasSubstr("regular file"));
}

TEST(DiskBandwidth, MeasuresBothDirections) {
  const Folder folder;
  const DiskBandwidth result =
      measure_bandwidth(folder.path(), {.bytes = 8_MiB, .tile = 1_MiB, .copies = 3});
  EXPECT_GT(result.write.value, 0);
  EXPECT_GT(result.read.value, 0);
}

}  // namespace
}  // namespace vicinal::drivers
