#include "trace/recorder.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "trace/reader.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {
namespace {

using ::testing::HasSubstr;
using vicinal::testing::message_of;
using vicinal::testing::TemporaryFolder;

class RecorderTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name = "run.vtrace") const {
    return folder_.path() + "/" + name;
  }
  TemporaryFolder folder_{"recorder"};
};

// Of the events of one kind: the second field.
std::vector<std::uint64_t> second_fields(const Reader& reader, Event event) {
  std::vector<std::uint64_t> fields;
  reader.each([&](const RecordedEvent& recorded) {
    if (recorded.event == event) fields.push_back(recorded.field(1));
  });
  return fields;
}

TEST_F(RecorderTest, WhatIsRecordedIsReadInItsOrder) {
  Recorder recorder;
  recorder.start({.file = file()});
  for (std::uint64_t i = 0; i < 5; ++i) recorder.record<Event::task_ready>(7, i);
  recorder.record_text<Event::mark>("half way", 0);
  recorder.record<Event::task_ended>(3, 812, Outcome::failed, 55);
  const RecordingSummary summary = recorder.stop();
  EXPECT_EQ(summary.events_lost, 0U);
  EXPECT_EQ(summary.error, "");

  const Reader reader(file());
  EXPECT_TRUE(reader.is_complete());
  EXPECT_FALSE(reader.is_simulated());
  EXPECT_EQ(reader.bytes(), summary.bytes);
  EXPECT_EQ(second_fields(reader, Event::task_ready), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  std::int64_t last = 0;
  std::string text;
  reader.each([&](const RecordedEvent& event) {
    EXPECT_GE(event.time, last);
    last = event.time;
    if (event.event == Event::mark) text = event.text();
    if (event.event != Event::task_ended) return;
    EXPECT_EQ(event.first, 3U);
    EXPECT_EQ(event.field(1), 812U);
    EXPECT_EQ(event.field(2), 1U);  // failed
    EXPECT_EQ(event.field(3), 55U);
  });
  EXPECT_EQ(text, "half way");
}

TEST_F(RecorderTest, CategoriesThatWereNotAskedForAreOff) {
  Recorder recorder;
  EXPECT_FALSE(recorder.on(Category::tasks));
  recorder.start({.file = file(), .categories = parse_categories("tasks,memory")});
  EXPECT_TRUE(recorder.on(Category::tasks));
  EXPECT_TRUE(recorder.on(Category::memory));
  EXPECT_TRUE(recorder.on(Category::always));
  EXPECT_FALSE(recorder.on(Category::scheduler));
  EXPECT_FALSE(recorder.listens());
  recorder.stop();
  EXPECT_FALSE(recorder.records());
  recorder.start({.file = file(), .categories = parse_categories("decisions")});
  EXPECT_TRUE(recorder.listens());
}

// More than several chunks of each thread, whose events keep their order.
TEST_F(RecorderTest, ThreadsRecordAtOnce) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint64_t kEvents = 60'000;
  Recorder recorder;
  recorder.start({.file = file()});
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&recorder, t] {
      for (std::uint64_t i = 0; i < kEvents; ++i) recorder.record<Event::task_ready>(t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(recorder.stop().events_lost, 0U);
  const Reader reader(file());
  std::map<std::uint32_t, std::uint64_t> next;  // by thread
  std::map<std::uint32_t, std::uint32_t> lanes;
  reader.each([&](const RecordedEvent& event) {
    if (event.event != Event::task_ready) return;
    EXPECT_EQ(event.field(1), next[event.first]++);
    lanes.try_emplace(event.first, event.lane);
    EXPECT_EQ(lanes[event.first], event.lane);
  });
  EXPECT_EQ(next.size(), kThreads);
  for (const auto& [thread, count] : next) EXPECT_EQ(count, kEvents) << thread;
}

// The file is a pipe that nobody reads until the threads have ended: memory for 1 MiB of events, some 260 KiB a chunk.
TEST_F(RecorderTest, WhatHasNoMemoryIsCountedAndSaid) {
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  std::string content;
  std::atomic<bool> begins{false};
  std::thread opens([&] {
    std::ifstream pipe(file(), std::ios::binary);  // waits for the recorder
    while (!begins.load()) std::this_thread::yield();
    content.assign(std::istreambuf_iterator<char>(pipe), {});
  });
  Recorder recorder;
  recorder.start({.file = file(), .memory = Bytes{1 << 20}});
  constexpr std::uint64_t kEvents = 200'000;  // of 24 bytes
  for (std::uint64_t i = 0; i < kEvents; ++i) recorder.record<Event::task_ready>(0, i);
  begins.store(true);
  const RecordingSummary summary = recorder.stop();
  opens.join();
  EXPECT_GT(summary.events_lost, 100'000U);
  std::ofstream(file("copy"), std::ios::binary) << content;
  const Reader reader(file("copy"));
  EXPECT_EQ(reader.events_lost(), summary.events_lost);
  EXPECT_EQ(second_fields(reader, Event::task_ready).size() + summary.events_lost, kEvents);
}

TEST_F(RecorderTest, AFileThatCannotBeWrittenIsAnError) {
  Recorder recorder;
  EXPECT_THAT(message_of<UsageError>([&] { recorder.start({.file = file("no/such/folder")}); }),
              HasSubstr("cannot be written"));
  EXPECT_FALSE(recorder.records());
  recorder.start({.file = file()});
  EXPECT_THAT(message_of<UsageError>([&] { recorder.start({.file = file("other")}); }),
              HasSubstr("stop it before"));
  Recorder other;
  EXPECT_THAT(message_of<UsageError>([&] { other.start({.file = file()}); }),
              HasSubstr("another runtime records into it"));
}

TEST_F(RecorderTest, AFullDiskIsToldAtTheEnd) {
  Recorder recorder;
  recorder.start({.file = "/dev/full"});
  recorder.record<Event::task_ready>(0, std::uint64_t{1});
  EXPECT_THAT(recorder.stop().error, HasSubstr("/dev/full\" is not whole"));
}

// The process has nothing set for the signal, which would end it; it gets none.
TEST_F(RecorderTest, AFileThatMayNotGrowIsToldAtTheEnd) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 64 << 10;
  for (const bool simulated : {false, true}) {
    Recorder recorder(simulated ? std::function<Time()>([] { return Time{}; }) : nullptr);
    recorder.start({.file = file()});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (std::uint64_t i = 0; i < 100'000; ++i) recorder.record<Event::task_ready>(0, i);
    const RecordingSummary summary = recorder.stop();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(summary.error, HasSubstr("is not whole: File too large"));
    EXPECT_FALSE(Reader(file()).is_complete());
  }
}

TEST_F(RecorderTest, NoFileOfAnotherKindIsLost) {
  const auto content = [&] {
    std::ifstream in(file(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::ofstream(file()) << "a thesis";
  Recorder recorder;
  EXPECT_THAT(message_of<UsageError>([&] { recorder.start({.file = file()}); }),
              HasSubstr("of another kind"));
  EXPECT_EQ(content(), "a thesis");
  std::filesystem::create_symlink(file(), file("link"));
  EXPECT_THAT(message_of<UsageError>([&] { recorder.start({.file = file("link")}); }),
              HasSubstr("of another kind"));
  EXPECT_EQ(content(), "a thesis");
  // An empty file, a recording, and one that a full disk has cut.
  for (const std::string& old :
       {std::string(), std::string("VICTRACE and more"), std::string("VICT")}) {
    std::ofstream(file(), std::ios::trunc) << old;
    recorder.start({.file = file()});
    EXPECT_EQ(recorder.stop().error, "") << old;
    EXPECT_TRUE(Reader(file()).is_complete()) << old;
  }
}

TEST_F(RecorderTest, OneThatEndsStopsItsRecording) {
  {
    Recorder recorder;
    recorder.start({.file = file()});
    recorder.record<Event::task_ready>(0, std::uint64_t{1});
  }
  EXPECT_TRUE(Reader(file()).is_complete());
}

TEST_F(RecorderTest, TheNextRecordingHasItsOwnEvents) {
  Recorder recorder;
  for (std::uint64_t run = 0; run < 3; ++run) {
    recorder.start({.file = file(std::to_string(run))});
    recorder.record<Event::task_ready>(0, run);
    recorder.stop();
    recorder.record<Event::task_ready>(0, run + 100);  // late: nobody reads it
  }
  for (std::uint64_t run = 0; run < 3; ++run) {
    EXPECT_EQ(second_fields(Reader(file(std::to_string(run))), Event::task_ready),
              std::vector<std::uint64_t>{run});
  }
}

TEST_F(RecorderTest, NamesAreGivenOnceAThreadAndMayChange) {
  Recorder recorder;
  recorder.start({.file = file()});
  const int key = 0;
  const std::uint32_t first = recorder.name(&key, "gemm");
  EXPECT_EQ(recorder.name(&key, "gemm"), first);
  const std::uint32_t second = recorder.name(&key, "trsm");
  EXPECT_NE(second, first);
  recorder.stop();
  std::map<std::uint32_t, std::string> names;
  Reader(file()).each([&](const RecordedEvent& event) {
    if (event.event == Event::name_given) names[event.first] = event.text();
  });
  EXPECT_EQ(names, (std::map<std::uint32_t, std::string>{{first, "gemm"}, {second, "trsm"}}));
}

// What was recorded some time before the process is killed is in the file.
TEST_F(RecorderTest, AProcessThatIsKilledLeavesWhatItHasRecorded) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Recorder recorder;
    recorder.start({.file = file()});
    for (std::uint64_t i = 0; i < 1000; ++i) recorder.record<Event::task_ready>(0, i);
    while (second_fields(Reader(file()), Event::task_ready).size() < 1000) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Reader reader(file());
  EXPECT_FALSE(reader.is_complete());
  EXPECT_EQ(second_fields(reader, Event::task_ready).size(), 1000U);
}

TEST_F(RecorderTest, ASimulationsFileIsTheSameEachTimeAndLacksNothing) {
  std::vector<std::string> contents;
  for (const char* const name : {"a", "b"}) {
    Time now;
    Recorder recorder([&now] { return now; });
    recorder.start({.file = file(name), .memory = Bytes{1 << 20}});
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      now.ns += 3;
      recorder.record<Event::task_ready>(0, i);
    }
    EXPECT_EQ(recorder.stop().events_lost, 0U);
    std::ifstream stream(file(name), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>{});
  }
  EXPECT_TRUE(contents[0] == contents[1]);
  const Reader reader(file("a"));
  EXPECT_TRUE(reader.is_simulated());
  std::int64_t expected = 0;
  reader.each([&](const RecordedEvent& event) {
    if (event.event != Event::task_ready) return;
    EXPECT_EQ(event.time, expected += 3);
  });
  EXPECT_EQ(expected, 300'000);
}

}  // namespace
}  // namespace vicinal::trace
