// A limit on the size of files (ulimit -f) is an error that names the file, not the end of the process.
#include <csignal>
#include <cstdint>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using vicinal::testing::TemporaryFolder;
using vicinal::testing::Watchdog;

// Of this process, until the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

void set_bytes_kernel(KernelContext& k) {
  k.data<std::int64_t>(0)[0] = k.parameter<std::int64_t>();
}
const Codelet kSetBytes{.name = "set", .cpu = set_bytes_kernel};

class FileSize : public ::testing::TestWithParam<bool> {
 protected:
  Options options() const {
    Options options;
    options.workers = 2;
    options.bind = false;
    options.memory = 64_KiB;
    options.disk = folder_.path();
    options.direct_io = GetParam();
    return options;
  }
  TemporaryFolder folder_{"file_size"};
};

template <typename Function>
std::string message_of_run(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_P(FileSize, AFileThatMayNotGrowIsRefusedNamingFileAndRemedyAndTheSignalIsAsBefore) {
  Runtime runtime(options());
  const std::string path = folder_.file("users");
  struct sigaction before {};  // a library of the process may have one
  sigaction(SIGXFSZ, nullptr, &before);
  {
    const FileSizeLimit limit(32 << 10);
    EXPECT_THAT(message_of_run(
                    [&] { runtime.register_file({.path = path, .create = true}, 64_KiB, "big"); }),
                AllOf(HasSubstr(path), HasSubstr("too large"), HasSubstr("ulimit -f")));
  }
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGXFSZ), 0);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
  struct sigaction action {};
  sigaction(SIGXFSZ, nullptr, &action);
  EXPECT_EQ(action.sa_handler, before.sa_handler);
}

// The limit comes after the folder was looked at, so that the disk has more room than may be written.
TEST_P(FileSize, AWriteBeyondTheLimitEndsTheRunWithAnErrorAndWhatIsInMemoryStays) {
  Runtime runtime(options());
  const Watchdog watchdog(&runtime, "write beyond the limit");
  const FileSizeLimit limit(32 << 10);
  std::vector<Handle> tiles;
  for (int i = 0; i < 32; ++i) {
    tiles.push_back(runtime.register_empty(8_KiB, "tile" + std::to_string(i)));
    runtime.submit(
        {.codelet = &kSetBytes, .operands = {W(tiles[i])}, .parameters = std::int64_t{i}});
  }
  EXPECT_THAT(message_of_run([&] { runtime.wait(); }),
              AllOf(HasSubstr("tile"), HasSubstr("too large"), HasSubstr("ulimit -f")));
}

INSTANTIATE_TEST_SUITE_P(BothQueues, FileSize, ::testing::Bool(), [](const auto& way) {
  return std::string(way.param ? "IoUring" : "Threads");
});

}  // namespace
}  // namespace vicinal
