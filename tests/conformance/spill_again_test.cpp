// A disk that was full ends a run; when the error has been taken and there is room, data go to it again.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::TemporaryFolder;
using vicinal::testing::Watchdog;

constexpr Bytes kTile = 4_KiB;

void set_kernel(KernelContext& k) {
  k.data<std::int64_t>(0)[0] = k.parameter<std::int64_t>();
}
const Codelet kSetCodelet{.name = "set", .cpu = set_kernel};

class FullDisk : public ::testing::Test {
 protected:
  // 4 tiles in RAM, 6 on the disk.
  Options options() const {
    Options options;
    options.workers = 2;
    options.bind = false;
    options.memory = kTile * 4;
    options.disk = folder_.path();
    options.disk_space = kTile * 6;
    return options;
  }
  static Handle written(Runtime& runtime, const std::string& name, std::int64_t value) {
    const Handle handle = runtime.register_empty(kTile, name);
    runtime.submit({.codelet = &kSetCodelet, .operands = {W(handle)}, .parameters = value});
    return handle;
  }
  static std::int64_t value_of(Runtime& runtime, Handle handle) {
    return *runtime.acquire(handle, AccessMode::R).data<std::int64_t>();
  }

 private:
  TemporaryFolder folder_{"full_disk"};
};

TEST_F(FullDisk, IsWrittenAgainOnceTheErrorHasBeenTakenAndThereIsRoom) {
  Runtime runtime(options());
  const Watchdog watchdog(&runtime, "spill again");
  std::vector<Handle> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(written(runtime, "kept" + std::to_string(i), i));
  runtime.wait();
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::vector<Handle> too_many;
    for (int i = 0; i < 8; ++i)
      too_many.push_back(written(runtime, "more" + std::to_string(i), 10 + i));
    try {
      runtime.wait();
      FAIL() << "12 tiles fit where 10 do";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), HasSubstr("disk full"));
    }
    for (const Handle handle : too_many) runtime.unregister(handle);
    // There is room for four more, and what is there moves to the disk and back.
    std::vector<Handle> more;
    for (int i = 0; i < 4; ++i) more.push_back(written(runtime, "few" + std::to_string(i), 20 + i));
    runtime.wait();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(value_of(runtime, more[i]), 20 + i);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(value_of(runtime, kept[i]), i);
    for (const Handle handle : more) runtime.unregister(handle);
  }
}

// Nothing was submitted that could have been told.
TEST_F(FullDisk, IsWrittenAgainWhenOnlyAnAcquisitionFoundItFull) {
  Runtime runtime(options());
  const Watchdog watchdog(&runtime, "spill again after an acquisition");
  std::vector<Handle> data;
  for (int i = 0; i < 12; ++i) {
    data.push_back(runtime.register_empty(kTile, "x" + std::to_string(i)));
  }
  const auto write = [&](std::size_t i) {
    *runtime.acquire(data[i], AccessMode::W).data<std::int64_t>() = static_cast<int>(i);
  };
  std::size_t written = 0;
  try {
    for (; written < data.size(); ++written) write(written);
    FAIL() << "12 tiles fit where 10 do";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("disk full"));
  }
  EXPECT_GE(written, 8U);
  for (std::size_t i = 0; i < 4; ++i) runtime.unregister(data[i], WriteBack::no);
  try {
    runtime.wait();
  } catch (const Error&) {  // it may have been told here, too
  }
  for (std::size_t i = written; i < data.size(); ++i) write(i);
  for (std::size_t i = 4; i < data.size(); ++i) {
    EXPECT_EQ(value_of(runtime, data[i]), static_cast<std::int64_t>(i));
  }
}

}  // namespace
}  // namespace vicinal
