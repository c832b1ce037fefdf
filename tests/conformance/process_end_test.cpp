// The process around a runtime: errors that nobody was told, exit inside a task, signals. Each in a child process.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

struct Ended {
  int status = 0;
  std::string errors;  // what it wrote there
  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
};

// Of a child that does this, and then ends by exit with 0.
Ended end_of(const std::function<void()>& does) {
  int out[2];
  EXPECT_EQ(pipe(out), 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::signal(SIGABRT, SIG_DFL);
    dup2(out[1], STDERR_FILENO);
    close(out[0]);
    does();
    std::exit(0);
  }
  close(out[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(out[0], buffer, sizeof buffer)) > 0;) {
    ended.errors.append(buffer, static_cast<std::size_t>(n));
  }
  close(out[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

class ProcessEnd : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer does not follow a fork of several threads";
#endif
  }
};

void fail_once(Runtime& runtime) {
  runtime.task("boom", [] { throw std::runtime_error("bad"); });
}

// --- errors that no call has thrown -------------------------------------------------------------

TEST_F(ProcessEnd, AnErrorThatNobodyWasToldEndsTheProgram) {
  for (const std::uint32_t workers : {1U, 3U}) {
    const Ended ended = end_of([workers] {
      Runtime runtime(small_options(workers));
      fail_once(runtime);
    });
    EXPECT_TRUE(ended.aborted()) << ended.status;
    EXPECT_THAT(ended.errors, AllOf(HasSubstr("task boom failed: bad"), HasSubstr("wait()"),
                                    HasSubstr("undelivered_errors")));
  }
}

TEST_F(ProcessEnd, AnErrorThatSomeCallHasThrownDoesNot) {
  EXPECT_TRUE(end_of([] {
                Runtime runtime(small_options());
                fail_once(runtime);
                try {
                  runtime.wait();
                } catch (const TaskError&) {
                }
              }).exited_with(0));
  // get throws why the result is not there, and leaves the error to wait.
  EXPECT_TRUE(end_of([] {
                Runtime runtime(small_options());
                const Result<int> result =
                    runtime.task("boom", []() -> int { throw std::runtime_error("bad"); });
                try {
                  result.get();
                } catch (const Error&) {
                }
              }).exited_with(0));
}

TEST_F(ProcessEnd, AnErrorThatNobodyWasToldIsOnlyPrintedIfThatIsAskedFor) {
  const Ended ended = end_of([] {
    Options options = small_options();
    options.undelivered_errors = "warn";
    Runtime runtime(options);
    fail_once(runtime);
  });
  EXPECT_TRUE(ended.exited_with(0)) << ended.status;
  EXPECT_THAT(ended.errors, HasSubstr("task boom failed: bad"));
  Options options = small_options();
  options.undelivered_errors = "ignore";
  EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(options); }),
              AllOf(HasSubstr("ignore"), HasSubstr("terminate or warn")));
}

TEST_F(ProcessEnd, AnotherErrorOnItsWayIsNotReplacedByOneThatNobodyWasTold) {
  const Ended ended = end_of([] {
    try {
      Runtime runtime(small_options());
      fail_once(runtime);
      throw std::logic_error("of the application");
    } catch (const std::logic_error&) {
      std::exit(5);
    }
  });
  EXPECT_TRUE(ended.exited_with(5)) << ended.status;
  EXPECT_THAT(ended.errors, HasSubstr("task boom failed: bad"));
}

// The runtime lies in static memory: a thread inside a call finds the runtime there when another thread calls exit.
std::optional<Runtime>& runtime_of_process() {
  static std::optional<Runtime> runtime;
  return runtime;
}

TEST_F(ProcessEnd, AStaticRuntimeWithAnErrorThatNobodyWasToldDoesNotEndWithSuccess) {
  const auto fails = [] {
    runtime_of_process().emplace(small_options(2));
    fail_once(*runtime_of_process());
  };
  const Ended ended = end_of(fails);
  EXPECT_TRUE(ended.exited_with(EXIT_FAILURE)) << ended.status << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("task boom failed: bad"));
  // Another status is the application's word.
  EXPECT_TRUE(end_of([&] {
                fails();
                std::exit(7);
              }).exited_with(7));
}

// --- exit inside a task -------------------------------------------------------------------------

void exit_in_a_task(bool submitter_works, bool is_static, std::uint32_t accelerators) {
  Options options = small_options(2);
  options.submitter_works = submitter_works;
  options.accelerators = accelerators;
  std::optional<Runtime> scoped;
  Runtime& runtime = (is_static ? runtime_of_process() : scoped).emplace(options);
  // What the application goes on to use while a thread exits is its own affair.
  static std::atomic<bool> waits{false};
  const Codelet exits{.name = "exits",
                      .cpu =
                          [](KernelContext&) {
                            while (!waits) std::this_thread::yield();
                            std::exit(42);
                          },
                      .kernels = {}};
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit({.codelet = &exits, .operands = {W(x)}});
  for (int i = 0; i < 100; ++i) runtime.submit(add(x, 1));
  waits = true;
  runtime.wait();
}

TEST_F(ProcessEnd, ExitInATaskEndsTheProcessWithItsStatus) {
  for (const bool submitter_works : {false, true}) {
    for (const bool is_static : {false, true}) {
      for (const std::uint32_t accelerators : {0U, 1U}) {
        const Ended ended =
            end_of([&] { exit_in_a_task(submitter_works, is_static, accelerators); });
        EXPECT_TRUE(ended.exited_with(42)) << ended.status;
        EXPECT_EQ(ended.errors, "");
      }
    }
  }
}

// The outer task waits for the inner one, which does not end.
TEST_F(ProcessEnd, ExitInATaskOfARuntimeThatATaskOfAnotherUses) {
  const Ended ended = end_of([] {
    Runtime& outer = runtime_of_process().emplace(small_options(2));
    outer.task("outer", [] {
      static Runtime inner(small_options(2));
      inner.task("inner", [] { std::exit(42); });
      inner.wait();
    });
    outer.wait();
  });
  EXPECT_TRUE(ended.exited_with(42)) << ended.status << ended.errors;
}

TEST_F(ProcessEnd, ARuntimeThatATaskOwnsLastEndsWithAWarning) {
  const Ended ended = end_of([] {
    static std::atomic<bool> goes{false};
    static std::atomic<bool> gone{false};
    Options options = small_options(2);
    options.submitter_works = false;
    auto runtime = std::make_shared<Runtime>(options);
    runtime->task("owner", [runtime]() mutable {
      while (!goes) std::this_thread::yield();
      runtime.reset();
      gone = true;
    });
    runtime.reset();
    goes = true;
    while (!gone) std::this_thread::yield();
  });
  EXPECT_TRUE(ended.exited_with(0)) << ended.status << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("inside one of its own tasks"));
}

// --- signals ------------------------------------------------------------------------------------

// As sigwait is used: blocked in the application's threads, when the runtime's are there already.
TEST_F(ProcessEnd, ThreadsOfTheLibraryTakeNoSignalsOfTheApplication) {
  const Ended ended = end_of([] {
    const TemporaryFolder folder("signals");
    Options options = small_options(3);
    options.submitter_works = false;
    options.accelerators = 1;
    options.memory = kPage * 8;
    options.disk = folder.path();
    options.stall_seconds = 60;
    options.trace = folder.path() + "/t.vtrace";
    Runtime runtime(options);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    runtime.task("nothing", [] {});
    runtime.wait();
    for (const int sent : {SIGUSR2, SIGTERM}) {
      kill(getpid(), sent);
      int taken = 0;
      if (sigwait(&set, &taken) != 0 || taken != sent) _exit(1);
    }
    // Those that a thread causes, and those of profilers, are left open; the application's threads are as they were.
    runtime.task("looks", [] {
      sigset_t own;
      pthread_sigmask(SIG_BLOCK, nullptr, &own);
      for (const int open : {SIGSEGV, SIGFPE, SIGABRT, SIGPROF, SIGVTALRM}) {
        if (sigismember(&own, open) != 0) _exit(2);
      }
      if (sigismember(&own, SIGINT) != 1) _exit(3);
    });
    runtime.wait();
    sigset_t own;
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    if (sigismember(&own, SIGINT) != 0) _exit(4);
  });
  EXPECT_TRUE(ended.exited_with(0)) << ended.status << ended.errors;
}

}  // namespace
}  // namespace vicinal
