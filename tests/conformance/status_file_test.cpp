// The option status: a file of what goes on, in numbers that are those of Runtime::statistics.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/status_text.hpp"
#include "support/every_way.hpp"
#include "support/machines.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// Without those that name a clock, which goes on.
std::vector<std::string> lines_of(std::istream& text) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.find("_seconds") == std::string::npos) lines.push_back(line);
  }
  return lines;
}
std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return lines_of(file);
}
std::vector<std::string> lines_of_text(const std::string& text) {
  std::istringstream stream(text);
  return lines_of(stream);
}

TEST_P(Every, TheStatusFileSaysWhatTheStatisticsDo) {
  const std::string path = folder_.path() + "/status";
  Options with_status = options();
  with_status.status = path;
  std::vector<std::string> expected;
  {
    Runtime runtime(with_status);
    const Watched watched(watchdog_, runtime);
    EXPECT_THAT(lines_of_file(path), ::testing::Contains("vicinal_tasks_submitted_total 0"));
    std::vector<Handle> handles;
    for (int i = 0; i < 12; ++i) {
      handles.push_back(runtime.register_empty(kPage));
      runtime.submit(set(handles.back(), i));
      runtime.submit(
          add(handles.back(), 1, i % 2 == 0 && GetParam().accelerators > 0 ? kAddOnDevice : kAdd));
    }
    runtime.wait();
    for (const Handle handle : handles) runtime.unregister(handle);
    const Statistics s = runtime.statistics();
    EXPECT_EQ(s.tasks_ready, 0U);
    EXPECT_EQ(s.tasks_running, 0U);
    expected = lines_of_text(runtime::status_text(s, runtime.machine(), GetParam().policy));
  }
  EXPECT_EQ(lines_of_file(path), expected);
  const auto names = std::filesystem::directory_iterator(folder_.path());
  for (const auto& entry : names) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("status.")) << entry.path();
  }
  // It may be written anew by another runtime.
  const Runtime again(with_status);
  EXPECT_THAT(lines_of_file(path), ::testing::Contains("vicinal_tasks_submitted_total 0"));
}

TEST_P(Every, TasksThatWaitAndRunAreCounted) {
  Options with_status = options();
  with_status.status = folder_.path() + "/status";
  Runtime runtime(with_status);
  const Watched watched(watchdog_, runtime);
  const Result<int> running = runtime.task(
      "looks", [&runtime] { return static_cast<int>(runtime.statistics().tasks_running); });
  EXPECT_EQ(running.get(), 1);
}

TEST(StatusFile, OfASimulationHasItsTime) {
  const TemporaryFolder folder("status");
  const Codelet second{.name = "second", .expected = {Time{1'000'000'000}}};
  const MachineDescription machine = around_ram({{kRam, "ram \"a\\b\"", NodeKind::ram, 1_GiB}},
                                                {{WorkerId{0}, ProcessorKind::cpu, kRam}});
  Options options;
  options.status = folder.path() + "/status";
  options.policy = "eager";  // defers none
  {
    Runtime runtime(machine, options);
    runtime.submit({.codelet = &second});
    runtime.submit({.codelet = &second});
    EXPECT_EQ(runtime.statistics().tasks_ready, 2U);
    runtime.wait();
  }
  std::ifstream file(options.status);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("\nvicinal_clock_seconds 2\n"),
            HasSubstr("\nvicinal_tasks_ended_total{outcome=\"done\"} 2\n"),
            HasSubstr("\nvicinal_memory_limit_bytes{node=\"ram \\\"a\\\\b\\\"\"} 1073741824\n"),
            HasSubstr("# TYPE vicinal_tasks_ready gauge\nvicinal_tasks_ready 0\n")));
}

TEST(StatusFile, ThatCannotBeWrittenIsNoFailureOfTheRun) {
  const TemporaryFolder folder("status");
  Options options = small_options();
  options.status = folder.path() + "/none/status";
  Runtime runtime(options);
  EXPECT_EQ(runtime.task("seven", [] { return 7; }).get(), 7);
  EXPECT_FALSE(std::filesystem::exists(options.status));
}

TEST(StatusFile, ReplacesNothingElse) {
  const TemporaryFolder folder("status");
  Options options = small_options();
  const auto refusal = [&](const std::string& path) {
    options.status = path;
    return message_of<UsageError>([&] { const Runtime runtime(options); });
  };
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is no file, which would be lost"));
  const std::string data = folder.path() + "/data";
  std::ofstream(data) << "results of a year, in text";
  EXPECT_THAT(refusal(data), HasSubstr("is a file of another kind, which would be lost"));
  std::filesystem::create_symlink(data, folder.path() + "/link");
  EXPECT_THAT(refusal(folder.path() + "/link"), HasSubstr("is no file"));
  std::ifstream file(data);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "results of a year, in text");
}

}  // namespace
}  // namespace vicinal
