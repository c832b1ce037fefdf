#include "base/regular_file.hpp"

#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace vicinal::base {
namespace {

using vicinal::testing::TemporaryFolder;

std::string why_not(const std::string& path, std::uint64_t most = 1 << 20) {
  try {
    return "read: " + RegularFile(path).text(most);
  } catch (const RegularFile::Refused& refused) {
    return refused.why;
  }
}

TEST(RegularFile, IsReadWholeAndNoPipeDeviceOrFolderIs) {
  const TemporaryFolder folder("regular_file");
  const std::string file = folder.file("file");
  const std::string text(200'000, 'x');
  std::ofstream(file) << text;
  EXPECT_EQ(why_not(file), "read: " + text);
  EXPECT_EQ(why_not(file, text.size()), "read: " + text);
  EXPECT_EQ(why_not(file, text.size() - 1), "it is larger than 195.3 KiB");
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(why_not(pipe), "it is a device or a pipe");  // nobody waits
  EXPECT_EQ(why_not("/dev/zero"), "it is a device or a pipe");
  EXPECT_EQ(why_not(folder.path()), "it is a folder");
  EXPECT_EQ(why_not(folder.file("none")), "No such file or directory");
}

// What has no size is read until it ends.
TEST(RegularFile, OfProcIsRead) {
  EXPECT_NE(why_not("/proc/self/status").find("Name:"), std::string::npos);
  EXPECT_EQ(why_not("/proc/self/status", 10), "it is larger than 10 B");
}

}  // namespace
}  // namespace vicinal::base
