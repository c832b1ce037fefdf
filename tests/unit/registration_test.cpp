// What applications add under a name: refused with the reason. That what is added works is shown by
// docs/examples/extension, which the test of the package builds.
#include <cstdlib>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/device_kinds.hpp"
#include "sched/policy.hpp"
#include "support/small_runs.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<sched::Policy> make_none(const sched::Settings& /*settings*/) {
  return nullptr;
}
drivers::OpenedDevice open_none(const drivers::DeviceRequest& /*request*/) {
  return {};
}

TEST(RegisterPolicy, TheVariableIsNamedThatAsksForOneThatThereIsNot) {
  setenv("VICINAL_POLICY", "dart", 1);
  const std::string of_variable = testing::message_of<UsageError>([] { const Runtime runtime; });
  Options options;
  options.policy = "dats";
  const std::string of_program =
      testing::message_of<UsageError>([&] { const Runtime runtime(options); });
  unsetenv("VICINAL_POLICY");
  EXPECT_THAT(of_variable, AllOf(HasSubstr("environment variable VICINAL_POLICY: "),
                                 HasSubstr("did you mean \"darts\"")));
  EXPECT_THAT(of_program, Not(HasSubstr("VICINAL_POLICY")));
}

TEST(RegisterDeviceKind, TheVariableIsNamedThatAsksForOneThatThereIsNot) {
  setenv("VICINAL_DEVICES", "fpga:2", 1);
  const std::string of_variable =
      testing::message_of<UsageError>([] { const Runtime runtime(Options::from_environment()); });
  Options options;
  options.devices = "gpu:2";
  const std::string of_program =
      testing::message_of<UsageError>([&] { const Runtime runtime(options); });
  unsetenv("VICINAL_DEVICES");
  EXPECT_THAT(of_variable, HasSubstr("environment variable VICINAL_DEVICES: "));
  EXPECT_THAT(of_program, Not(HasSubstr("VICINAL_DEVICES")));
}

TEST(RegisterPolicy, WhatCannotBeKnownByItsNameIsRefused) {
  EXPECT_THAT(testing::message_of<UsageError>([] {
                sched::register_policy({"darts", "mine", make_none});
              }),
              AllOf(HasSubstr("policy \"darts\""), HasSubstr("there already")));
  EXPECT_THAT(testing::message_of<UsageError>([] {
                sched::register_policy({"all", "mine", make_none});
              }),
              HasSubstr("there already"));
  for (const char* const name : {"", "My policy", "a:b", "a,b", "gr\xc3\xbc"}) {
    EXPECT_THAT(testing::message_of<UsageError>([&] {
                  sched::register_policy({name, "mine", make_none});
                }),
                HasSubstr("small letters"))
        << name;
  }
  EXPECT_THAT(testing::message_of<UsageError>([] {
                sched::register_policy({"mine", "mine", nullptr});
              }),
              AllOf(HasSubstr("policy \"mine\""), HasSubstr("a function that makes it")));
  EXPECT_TRUE(sched::registered_policies().empty());
}

TEST(RegisterDeviceKind, WhatCannotBeOpenedIsRefused) {
  EXPECT_THAT(testing::message_of<UsageError>([] {
                drivers::register_device_kind({"mine", "mine", nullptr});
              }),
              AllOf(HasSubstr("\"mine\""), HasSubstr("a function that opens one")));
  EXPECT_THAT(testing::message_of<UsageError>([] {
                drivers::register_device_kind({"mine", "mine", open_none, ProcessorKind::cuda});
              }),
              AllOf(HasSubstr("cuda"), HasSubstr("drives itself")));
  EXPECT_THAT(testing::message_of<UsageError>([] {
                drivers::register_device_kind({"m:2", "mine", open_none});
              }),
              HasSubstr("small letters"));
  EXPECT_TRUE(drivers::device_kinds().empty());
}

TEST(Devices, AreOfKindsThatSomebodyHasRegistered) {
  EXPECT_THAT(
      testing::message_of<UsageError>(
          [] { const Runtime runtime({.workers = 1, .devices = "serial:2"}); }),
      AllOf(HasSubstr("devices"), HasSubstr("\"serial\""), HasSubstr("register_device_kind")));
}

TEST(ReadMachine, GivesTheMachineOfAFileOrOfAName) {
  const MachineDescription machine = read_machine("v100", {.gpus = 2});
  std::size_t gpus = 0;
  for (const WorkerDescription& worker : machine.workers) {
    gpus += worker.kind == ProcessorKind::gpu ? 1 : 0;
  }
  EXPECT_EQ(gpus, 2U);
  const std::string file(VICINAL_SOURCE_DIR "/docs/examples/machine.toml");
  EXPECT_FALSE(read_machine(file).workers.empty());
  EXPECT_THAT(testing::message_of<UsageError>([] { read_machine("v10"); }), HasSubstr("v100"));
}

}  // namespace
}  // namespace vicinal
