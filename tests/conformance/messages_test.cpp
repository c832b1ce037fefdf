// Messages name the call they come from, and what is so today.
#include <atomic>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

using Messages = Failure;

TEST_F(Messages, ACallOnAHandleThatWasNeverWrittenIsNamedAsItIsCalled) {
  Options options = out_of_core(8);
  options.accelerators = 1;
  Runtime runtime(options);
  const Handle a = runtime.register_empty(kPage, "a");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.prefetch(a, kRam); }),
              AllOf(HasSubstr("prefetch reads handle a, never written"), Not(HasSubstr("acquire")),
                    Not(HasSubstr("task prefetch"))));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(a, AccessMode::R); }),
              HasSubstr("acquire reads handle a, never written"));
}

TEST_F(Messages, UnregisterWaitsInItsOwnName) {
  Runtime runtime(small_options());
  const Handle a = runtime.register_empty(kPage, "a");
  runtime.submit(set(a, 1));
  const Acquired held = runtime.acquire(a, AccessMode::R);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.unregister(a); }),
              AllOf(HasSubstr("unregister waits for what this thread itself holds"),
                    Not(HasSubstr("acquire waits"))));
}

TEST_F(Messages, WhatWasInvalidatedIsNotSaidToHaveNeverBeenWritten) {
  Runtime runtime(small_options());
  std::int64_t value = 3;
  const Handle empty = runtime.register_empty(kPage, "empty");
  const Handle buffer = runtime.register_buffer(&value, Bytes{sizeof(value)}, "buffer");
  runtime.submit(set(empty, 1));
  for (const Handle handle : {empty, buffer}) {
    runtime.invalidate(handle);
    EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(add(handle, 1)); }),
                AllOf(HasSubstr("invalidated since it was written"), HasSubstr("writes it anew"),
                      Not(HasSubstr("never written")), Not(HasSubstr("register it"))));
    runtime.submit(set(handle, 2));
    runtime.submit(add(handle, 1));
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, empty), 3);
  // The next handle in the same place was never written.
  runtime.invalidate(empty);
  runtime.unregister(empty);
  const Handle next = runtime.register_empty(kPage, "next");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit(add(next, 1)); }),
              HasSubstr("never written"));
}

std::atomic<bool> started{false};
std::atomic<bool> may_end{false};
const Codelet kWaits{.name = "codelet_of_all", .cpu = [](KernelContext& /*k*/) {
                       started = true;
                       while (!may_end) std::this_thread::yield();
                     }};

TEST_F(Messages, AStallReportNamesTheTaskThatRunsRatherThanItsCodelet) {
  Options options = small_options();
  options.workers = 1;
  options.submitter_works = false;
  Runtime runtime(options);
  const auto report_of = [&](const std::string& name) {
    started = may_end = false;
    runtime.submit({.codelet = &kWaits, .name = name});
    while (!started) std::this_thread::yield();
    const std::string report = runtime.stall_report();
    may_end = true;
    runtime.wait();
    return report;
  };
  EXPECT_THAT(report_of("gemm(3,1,0)"), HasSubstr("runs gemm(3,1,0)\n"));
  EXPECT_THAT(report_of(""), HasSubstr("runs codelet_of_all\n"));
  // As much of a long name as there is room for.
  EXPECT_THAT(report_of(std::string(100, 'x')), HasSubstr("runs " + std::string(47, 'x') + "\n"));
  EXPECT_THAT(report_of(""), HasSubstr("runs codelet_of_all\n"));
}

// --- the sample of a stall report ----------------------------------------------------------------

// The first text block behind the heading.
std::string documented_block(const std::string& heading) {
  std::ifstream file(VICINAL_SOURCE_DIR "/docs/user-guide.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const auto begin = text.find("```text\n", text.find(heading + "\n")) + 8;
  return text.substr(begin, text.find("```", begin) - begin);
}

// What is free on the disk differs from one computer to the next.
std::string without_room_on_disk(const std::string& text) {
  return std::regex_replace(text, std::regex("(node disk: .* of )[0-9]+"), "$1N");
}

TEST_F(Messages, TheStallReportIsTheOneInTheGuide) {
  started = may_end = false;
  Options options = out_of_core(4);
  options.workers = 1;
  options.submitter_works = false;
  Runtime runtime(options);
  const Handle a = runtime.register_empty(kPage, "A(0,0)");
  const Handle b = runtime.register_empty(kPage, "A(1,0)");
  runtime.submit(set(a, 1));
  runtime.submit(set(b, 1));
  runtime.wait();
  std::string report;
  {
    const Acquired held = runtime.acquire(b, AccessMode::R);
    runtime.submit({.codelet = &kWaits, .operands = {RW(a)}, .name = "potrf(0)"});
    runtime.submit({.codelet = &kNothing, .operands = {R(a), RW(b)}, .name = "trsm(1,0)"});
    while (!started) std::this_thread::yield();
    // The policy plans: potrf may run before trsm has entered the graph.
    do {
      report = runtime.stall_report();
    } while (report.find("deferred until") != std::string::npos ||
             report.find("waiting: trsm(1,0)(RW)") == std::string::npos);
    may_end = true;
  }
  runtime.wait();
  EXPECT_EQ(without_room_on_disk(documented_block("## When nothing moves")),
            without_room_on_disk(report));
}

}  // namespace
}  // namespace vicinal
