// The disk driver where a request fails, is cut short, or is not permitted: what serves instead, and what is said.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "drivers/disk/disk_driver.hpp"
#include "unit/disk_driver_fixture.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DiskFaults : public DiskDriverTest {};

INSTANTIATE_TEST_SUITE_P(Ways, DiskFaults, ::testing::ValuesIn(kWays), name_of_way);

TEST_P(DiskFaults, AFailedCopySaysWhichDataWhereAndWhy) {
  Data data(3 * kPage, MemoryKind::replica, 7);
  faults_.fail(IoKind::write, 2, EIO);
  EXPECT_EQ(written(data, kScratch, 0), "");
  EXPECT_THAT(
      written(data, kScratch, 8192),
      AllOf(HasSubstr("writing data 'tile 7'"), HasSubstr(folder_.path()), HasSubstr("offset 8192"),
            HasSubstr("0 of 12288 bytes"), HasSubstr("Input/output error")));
  faults_.fail(IoKind::read, 1, EIO);
  EXPECT_THAT(was_read(data, kScratch, 0), HasSubstr("reading data 'tile 7'"));
  EXPECT_EQ(was_read(data, kScratch, 0), "");
  data.handle.name.clear();
  data.handle.id = HandleId{41};
  faults_.fail(IoKind::read, 1, EIO);
  EXPECT_THAT(was_read(data, kScratch, 0), HasSubstr("data number 41"));
}

TEST_P(DiskFaults, ShortAndInterruptedReadsAndWritesAreContinued) {
  base::Random random(6);
  const int file = driver_->open_file(folder_.make_file("matrix", Content(200'000)), true);
  for (const MemoryKind kind : kKinds) {
    for (const int where : {kScratch, file}) {
      Data data(100'000, kind, 0);
      const Content content = random_bytes(data.bytes, random);
      data.fill(content);
      const std::uint64_t offset = where == kScratch ? 0 : 1234;
      for (const IoKind io : {IoKind::write, IoKind::read}) {
        faults_.shorten(io, 1, 1);
        faults_.shorten(io, 2, 5000);
        faults_.fail(io, 3, EINTR);
        faults_.fail(io, 4, EAGAIN);
        faults_.shorten(io, 5, 8192);
      }
      ASSERT_EQ(written(data, where, offset), "");
      std::memset(data.begin, 0, data.bytes);
      ASSERT_EQ(was_read(data, where, offset), "");
      EXPECT_TRUE(data.holds(content));
      EXPECT_TRUE(data.surroundings_intact());
    }
  }
}

TEST_P(DiskFaults, AFullDiskIsNamedWithTheOptionsThatHelp) {
  Data data(10 * kPage, MemoryKind::replica, 3);
  faults_.disk_full_after(Bytes{4 * kPage});
  EXPECT_THAT(
      written(data, kScratch, 0),
      AllOf(HasSubstr("disk full"), HasSubstr(folder_.path()), HasSubstr("'tile 3'"),
            HasSubstr("16384 of 40960 bytes"), HasSubstr("option disk "), HasSubstr("disk_space")));
}

TEST_P(DiskFaults, AFileThatBecameShorterIsAnError) {
  base::Random random(7);
  const Content content = random_bytes(20'000, random);
  const int file = driver_->open_file(folder_.make_file("matrix", content), false);
  std::filesystem::resize_file(folder_.path("matrix"), 10'000);
  for (const MemoryKind kind : kKinds) {
    Data data(15'000, kind, 0);
    EXPECT_THAT(was_read(data, file, 100),
                AllOf(HasSubstr(folder_.path("matrix")), HasSubstr("offset 10000"),
                      HasSubstr("9900 of 15000 bytes"), HasSubstr("the file ends here")));
  }
}

TEST_P(DiskFaults, WhereDirectIoIsRefusedOnUseThePageCacheServes) {
  base::Random random(8);
  for (const MemoryKind kind : kKinds) {
    restart({});
    Data data(50'000, kind, 0);
    const Content content = random_bytes(data.bytes, random);
    data.fill(content);
    if (GetParam().direct_io) faults_.fail(IoKind::write, 1, EINVAL);
    ASSERT_EQ(written(data, kScratch, 0), "");
    EXPECT_FALSE(driver_->uses_direct_io());
    std::memset(data.begin, 0, data.bytes);
    ASSERT_EQ(was_read(data, kScratch, 0), "");
    EXPECT_TRUE(data.holds(content));
    EXPECT_TRUE(data.surroundings_intact());
  }
}

// Seccomp as containers use it, for one thread of the test.
bool forbid_io_uring() {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_P(DiskFaults, WhereIoUringIsRefusedThreadsServe) {
  bool forbidden = false;
  std::thread([&] {
    forbidden = forbid_io_uring();
    if (forbidden) restart({});
  }).join();
  if (!forbidden) GTEST_SKIP() << "seccomp is not permitted here";
  EXPECT_FALSE(driver_->uses_io_uring());
  base::Random random(9);
  Data data(50'000, MemoryKind::replica, 0);
  const Content content = random_bytes(data.bytes, random);
  data.fill(content);
  ASSERT_EQ(written(data, kScratch, 0), "");
  std::memset(data.begin, 0, data.bytes);
  ASSERT_EQ(was_read(data, kScratch, 0), "");
  EXPECT_TRUE(data.holds(content));
}

}  // namespace
}  // namespace vicinal::drivers
