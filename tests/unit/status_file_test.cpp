#include "runtime/status_file.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace vicinal::runtime {
namespace {

// Two threads write it again and again; whoever opens it meanwhile finds all of one text.
TEST(StatusFileContent, IsWholeWhoeverLooks) {
  const testing::TemporaryFolder folder("status");
  const std::string path = folder.path() + "/status";
  std::atomic<int> writes{0};
  StatusFile file(path, "0", 1, [&] { return std::string(20'000, "012345"[writes++ % 6]); });
  std::atomic<bool> end{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      while (!end) file.write();
    });
  }
  for (int i = 0; i < 200; ++i) {
    std::ifstream stream(path);
    const std::string text((std::istreambuf_iterator<char>(stream)),
                           std::istreambuf_iterator<char>());
    ASSERT_EQ(text.size(), 20'000U);
    ASSERT_EQ(text.find_first_not_of(text[0]), std::string::npos);
  }
  end = true;
  for (std::thread& writer : writers) writer.join();
  file.end();
  const int written = writes;
  file.end();  // once
  EXPECT_EQ(writes, written);
}

}  // namespace
}  // namespace vicinal::runtime
