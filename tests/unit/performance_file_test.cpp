// The file of measured run times lies in a folder that others may write, too.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/performance_model.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"

namespace vicinal::machine {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::TemporaryFolder;
using vicinal::testing::Watchdog;
using Reading = PerformanceModel::Reading;

std::string content_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void learn(PerformanceModel& model) {
  Footprint footprint;
  footprint.add(Bytes{64}, AccessMode::R);
  const Time runs[] = {Time{1000}};
  model.add("codelet", ProcessorKind::cpu, footprint, runs);
}

// Refused at once, and left as it is.
void expect_refused(const std::string& path, const char* why_not) {
  const Watchdog watchdog("reading " + path, 20);
  PerformanceModel model;
  std::string why;
  EXPECT_EQ(model.read(path, why), Reading::refused);
  EXPECT_THAT(why, HasSubstr(why_not));
  learn(model);
  why.clear();
  EXPECT_FALSE(model.write(path, why));
  EXPECT_THAT(why, HasSubstr(why_not));
}

TEST(PerformanceFile, IsNotWrittenThroughLinksThatSomebodyPutBesideIt) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  const std::string victim = folder.file("victim");
  std::ofstream(victim) << "precious";
  // Names made of the process and a count can be known before.
  for (int i = 0; i < 100; ++i) {
    const std::string planted = path + "." + std::to_string(getpid()) + "." + std::to_string(i);
    ASSERT_EQ(symlink(victim.c_str(), planted.c_str()), 0);
  }
  PerformanceModel model;
  learn(model);
  std::string why;
  EXPECT_TRUE(model.write(path, why)) << why;
  EXPECT_EQ(content_of(victim), "precious");
  EXPECT_THAT(content_of(path), HasSubstr("codelet"));
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST(PerformanceFile, ReplacesALinkAndNotWhatItLeadsTo) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  const std::string target = folder.file("target.json");
  PerformanceModel model;
  learn(model);
  std::string why;
  ASSERT_TRUE(model.write(target, why)) << why;
  const std::string before = content_of(target);
  ASSERT_EQ(symlink(target.c_str(), path.c_str()), 0);
  EXPECT_TRUE(model.write(path, why)) << why;
  EXPECT_EQ(content_of(target), before);
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST(PerformanceFile, OthersMayReadIt) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  PerformanceModel model;
  learn(model);
  std::string why;
  ASSERT_TRUE(model.write(path, why)) << why;
  const mode_t mask = umask(0);
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST(PerformanceFile, ThatIsAPipeIsRefusedAndNotWaitedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  expect_refused(path, "not a regular file");
}

TEST(PerformanceFile, WithoutEndIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  ASSERT_EQ(symlink("/dev/zero", path.c_str()), 0);
  expect_refused(path, "not a regular file");
}

TEST(PerformanceFile, ThatIsTooLargeIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  std::ofstream(path) << "{";
  std::filesystem::resize_file(path, std::uint64_t{1} << 40);
  expect_refused(path, "larger than any");
}

TEST(PerformanceFile, ThatIsAFolderIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("host.json");
  std::filesystem::create_directory(path);
  expect_refused(path, "not a regular file");
}

}  // namespace
}  // namespace vicinal::machine
