// [contention] of machine files: the meaning of its keys, and the words of refusals.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/calibrate.hpp"
#include "calibration/contention_sweep.hpp"
#include "machine/machine_model.hpp"
#include "support/contention_tables.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kHead = R"(name = "small"
sentence = "a machine of a test"
[cpu]
most = 8
)";
constexpr std::string_view kOneSocket = R"([contention]
cores_per_socket = 8
[contention.local]
most_beside = 4
total_beside = "50 GB/s"
most_alone = 6
total_alone = "46 GB/s"
loss_before = "1 GB/s"
loss_after = "-20 MB/s"
core = "9 GB/s"
transfer = "10 GB/s"
least_share = 0.5
)";

ContentionModel read(std::string_view tables) {
  return *parse_machine(std::string(kHead) + std::string(tables), "m.toml", {})
              .description.contention;
}

// What is said of kOneSocket with a part of it replaced.
std::string said_of_change(std::string_view part, std::string_view replacement) {
  std::string text(kOneSocket);
  text.replace(text.find(part), part.size(), replacement);
  try {
    (void)read(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ContentionText, AMachineOfOneSocketNeedsNoRemote) {
  const ContentionModel model = read(kOneSocket);
  EXPECT_EQ(model.sockets, 1U);
  EXPECT_EQ(model.numa_nodes_per_socket, 1U);
  EXPECT_EQ(model.cores_per_socket, 8U);
  EXPECT_EQ(model.local.total_beside.value, 50e9);
  EXPECT_EQ(model.local.loss_after.value, -20e6);
  EXPECT_EQ(model.local.total_at_most_alone.value, 48e9);  // two cores that lose 1 GB/s each
  EXPECT_EQ(model.remote.core.value, model.local.core.value);
  EXPECT_FALSE(model.surface);
}

TEST(ContentionText, AMachineWithoutItHasNone) {
  EXPECT_FALSE(parse_machine(kHead, "m.toml", {}).description.contention);
}

TEST(ContentionText, RefusalsNameLineTableAndKey) {
  EXPECT_EQ(said_of_change("least_share = 0.5", "least_share = 1"), "accepted");
  EXPECT_THAT(
      said_of_change("most_beside = 4", "most_besid = 4"),
      AllOf(StartsWith("m.toml:8: [contention.local] has no key"), HasSubstr("\"most_beside\"")));
  EXPECT_THAT(said_of_change("most_alone = 6", "most_alone = 3"),
              AllOf(StartsWith("m.toml:10: most_alone of [contention.local]: "),
                    HasSubstr("less than \"most_beside\"")));
  EXPECT_THAT(said_of_change("\"1 GB/s\"", "\"-1 GB/s\""), StartsWith("m.toml:12: loss_before of"));
  EXPECT_THAT(said_of_change("least_share = 0.5", "least_share = 1.5"),
              StartsWith("m.toml:16: least_share"));
  EXPECT_THAT(said_of_change("\"9 GB/s\"", "\"9 Gbit/s\""), StartsWith("m.toml:14: core of"));
  EXPECT_THAT(said_of_change("core = \"9 GB/s\"\n", ""), HasSubstr("lacks the key \"core\""));
  EXPECT_THAT(said_of_change("\"1 GB/s\"", "\"30 GB/s\""), HasSubstr("total_at_most_alone"));
  EXPECT_THAT(said_of_change("cores_per_socket = 8", "cores_per_socket = 8\nsockets = 2"),
              HasSubstr("lacks [contention.remote]"));
  EXPECT_THAT(said_of_change("cores_per_socket = 8", "cores_per_socket = 8\ntransfer_reads = 1"),
              HasSubstr("is of a surface"));
  EXPECT_THAT(said_of_change("[contention.local]", "[contention.locl]"), HasSubstr("\"local\""));
  EXPECT_THAT(said_of_change("cores_per_socket = 8", "cores_per_socket = 8\nsurface = \"mess\""),
              HasSubstr("mess-skylake"));
  EXPECT_THAT(
      said_of_change("cores_per_socket = 8", "cores_per_socket = 8\nsurface = \"no/such.csv\""),
      AllOf(StartsWith("m.toml:7: surface of [contention]: "), HasSubstr("no/such.csv")));
}

TEST(ContentionText, ASurfaceLiesBesideTheFileThatNamesIt) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path(folder.path());
  std::ofstream(path / "s.csv") << "read_share,bandwidth,latency\n1,1000,100\n1,40000,200\n";
  std::ofstream(path / "m.toml") << kHead << R"([contention]
cores_per_socket = 8
surface = "s.csv"
transfer_reads = 1.0
[contention.local]
core = "8 GB/s"
transfer = "5 GB/s"
)";
  const auto machine = load_machine((path / "m.toml").string(), {}).description;
  ASSERT_TRUE(machine.contention && machine.contention->surface);
  EXPECT_EQ(machine.contention->surface->curves.size(), 1U);
  EXPECT_EQ(machine.contention->surface->transfer_reads, 1);
  EXPECT_EQ(predict_contention(*machine.contention, 0, 0, 0).transfer.value, 5e9);
}

TEST(ContentionText, WhatIsWrittenReadsAsTheSame) {
  for (const auto& table : testing::contention_tables()) {
    const ContentionModel& known = table.model;
    const ContentionModel model = read(calibration::contention_tables(known));
    EXPECT_EQ(model.sockets, known.sockets);
    for (const double cores : {1.0, 7.0, 15.0}) {
      for (const std::uint32_t node : {0U, known.numa_nodes_per_socket}) {
        EXPECT_NEAR(predict_contention(model, cores, node, node).computations.value,
                    predict_contention(known, cores, node, node).computations.value, 1)
            << table.machine;
      }
    }
  }
}

TEST(ContentionText, ACalibratedMachineHasItInItsFile) {
  calibration::Calibration calibration;
  calibration.name = "measured";
  calibration.workers = 36;
  calibration.contention = testing::contention_model("henri");
  const std::string text = calibration::machine_file(calibration, "of a test");
  const auto machine = parse_machine(text, "m.toml", {}).description;
  ASSERT_TRUE(machine.contention);
  EXPECT_EQ(machine.contention->remote.most_alone, 7U);
}

}  // namespace
}  // namespace vicinal::machine
