// The text of a machine file: its meaning, the refused texts with their messages, and hostile texts, which do no harm.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machine/machine_model.hpp"
#include "machine/quantity.hpp"
#include "machine/shipped.hpp"
#include "machine/toml_guard.hpp"
#include "support/machine_checks.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::StartsWith;

constexpr std::string_view kSmall = R"(name = "small"
sentence = "a machine of a test"
[cpu]
most = 2
[gpu]
most = 2
memory = "1 GB"
[segment.bridge]
bandwidth = "1 GB/s"
[[link]]
between = ["ram", "gpu"]
bandwidth = 2e9
)";

// What is said of kSmall with a part of it replaced, or with lines behind it.
std::string said(std::string_view part, std::string_view replacement) {
  std::string text(kSmall);
  text.replace(text.find(part), part.size(), replacement);
  try {
    parse_machine(text, "m.toml", {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}
std::string said_with(std::string_view more) {
  return said("bandwidth = 2e9\n", "bandwidth = 2e9\n" + std::string(more));
}

TEST(MachineText, RefusesWhatItDoesNotKnowWithLineAndNearestName) {
  EXPECT_EQ(said_with(""), "accepted");
  EXPECT_THAT(said("memory =", "memmory ="),
              AllOf(StartsWith("m.toml:7: "), HasSubstr("\"memmory\""), HasSubstr("\"memory\"")));
  EXPECT_THAT(said("sentence =", "xq =\"\"\nsentence ="),
              AllOf(StartsWith("m.toml:2: "), HasSubstr("write one of name, sentence")));
  EXPECT_THAT(said("\"gpu\"]", "\"gpus\"]"),
              AllOf(StartsWith("m.toml:11: "), HasSubstr("\"gpu\"")));
  EXPECT_THAT(said_with("segments = [\"brige\"]"),
              AllOf(StartsWith("m.toml:13: "), HasSubstr("did you mean \"bridge\"")));
  EXPECT_THAT(said_with("serialise = [\"arivals\"]"),
              AllOf(StartsWith("m.toml:13: "), HasSubstr("did you mean \"arrivals\"")));
  EXPECT_THAT(said_with("= 3"), StartsWith("m.toml:13: "));  // not TOML
}

constexpr std::string_view kDeviceText = R"([[device]]
name = "some device"
kind = "opencl"
memory = "2 GB"
in = "3 GB/s"
out = "4 GB/s"
)";

MachineDescription with_devices(std::string_view more, const MachineChoice& choice) {
  return parse_machine(std::string(kSmall) + std::string(kDeviceText) + std::string(more), "m.toml",
                       choice)
      .description;
}

TEST(MachineText, DevicesComeBehindTheGpusInTheirOrder) {
  const std::string cuda = R"(both = "5 GB/s"
[[device]]
name = "another"
kind = "cuda"
memory = "1 GB"
pipeline = 3
task_overhead = "2 us"
copy_overhead = "1 us"
latency = "4 us"
in = "6 GB/s"
out = "6 GB/s"
segments = ["bridge"]
serialise = ["same"]
)";
  const MachineDescription machine = with_devices(cuda, {});
  ASSERT_EQ(machine.nodes.size(), 5U);  // RAM, two GPUs
  EXPECT_EQ(machine.nodes[3].name, "opencl0");
  EXPECT_EQ(machine.nodes[3].device, "some device");
  EXPECT_EQ(machine.nodes[4].name, "cuda0");
  const WorkerDescription& worker = machine.workers.at(5);
  EXPECT_EQ(worker.kind, ProcessorKind::cuda);
  EXPECT_EQ(worker.node, NodeId{4});
  EXPECT_EQ(worker.pipeline, 3U);
  EXPECT_EQ(worker.task_overhead, Time{2000});
  EXPECT_EQ(worker.copy_overhead, Time{1000});
  ASSERT_EQ(machine.links.size(), 8U);
  EXPECT_EQ(machine.links[4].bandwidth.value, 3e9);
  EXPECT_EQ(machine.links[5].bandwidth.value, 4e9);
  EXPECT_EQ(machine.links[5].from, NodeId{3});
  ASSERT_EQ(machine.links[4].segments.size(), 1U);
  EXPECT_EQ(machine.links[4].segments, machine.links[5].segments);
  EXPECT_EQ(machine.segments[machine.links[4].segments[0]].bandwidth.value, 5e9);
  EXPECT_EQ(machine.links[6].latency, Time{4000});
  EXPECT_EQ(machine.links[6].serialised, std::vector<std::uint32_t>{6});
  EXPECT_EQ(machine.segments[machine.links[6].segments.at(0)].name, "bridge from RAM");
}

TEST(MachineText, AsManyDevicesOfAKindAsAreAskedFor) {
  EXPECT_EQ(with_devices(kDeviceText, {}).workers.size(), 6U);  // two CPUs, two GPUs, two devices
  EXPECT_EQ(with_devices(kDeviceText, {.opencl_devices = 1}).workers.size(), 5U);
  EXPECT_EQ(with_devices(kDeviceText, {.gpus = 0, .opencl_devices = 0}).workers.size(), 2U);
  EXPECT_EQ(with_devices("", {.gpu_memory = Bytes{8192}}).nodes[3].limit, Bytes{8192});
  EXPECT_THAT(message_of<UsageError>([] { with_devices("", {.cuda_devices = 1}); }),
              AllOf(HasSubstr("0 CUDA devices"), HasSubstr("1 are asked for")));
}

TEST(MachineText, RefusesDevicesThatCannotBe) {
  const std::string device(kDeviceText);
  EXPECT_EQ(said_with(device), "accepted");
  EXPECT_THAT(said_with(device + "duplex = \"half\""), HasSubstr("duplex"));
  EXPECT_THAT(said_with(device + "serialise = [\"arrivals\"]"), HasSubstr("between GPUs"));
  EXPECT_THAT(said_with("[[device]]\nkind = \"gpu\"\nname = \"a\""), HasSubstr("opencl"));
  std::string many;
  for (int i = 0; i < 61; ++i) many += device;
  EXPECT_THAT(said_with(many), HasSubstr("more than 62"));
}

TEST(MachineText, RefusesValuesThatCannotBe) {
  const auto at = [](int line, const char* what) {
    return AllOf(StartsWith("m.toml:" + std::to_string(line) + ": "), HasSubstr(what));
  };
  EXPECT_THAT(said("most = 2", "most = -1"), at(4, "from 0 to 1024"));
  EXPECT_THAT(said("most = 2", "most = 4000000000000"), at(4, "from 0 to 1024"));
  EXPECT_THAT(said("most = 2", "most = 2.5"), at(4, "whole number"));
  EXPECT_THAT(said("most = 2\nmemory", "most = 63\nmemory"), at(6, "from 1 to 62"));
  EXPECT_THAT(said("\"1 GB\"", "\"1 parsec\""), at(7, "parsec"));
  EXPECT_THAT(said("\"1 GB\"", "0"), at(7, "1 byte"));
  EXPECT_THAT(said("\"1 GB\"", "true"), at(7, "expected bytes"));
  EXPECT_THAT(said("\"1 GB/s\"", "\"1 GB\""), at(9, "GB/s"));
  EXPECT_THAT(said("2e9", "0"), at(12, "1 kB/s"));
  EXPECT_THAT(said("2e9", "nan"), at(12, "1 kB/s"));
  EXPECT_THAT(said("2e9", "-inf"), at(12, "1 kB/s"));
  EXPECT_THAT(said("2e9", "\"nan GB/s\""), at(12, "nan"));
  EXPECT_THAT(said_with("latency = -1"), at(13, "0 to 86400"));
  EXPECT_THAT(said_with("latency = \"10 weeks\""), at(13, "weeks"));
  EXPECT_THAT(said_with("duplex = \"none\""), at(13, "none"));
  EXPECT_THAT(said_with("copies_in_flight = 0"), at(13, "from 1"));
}

TEST(MachineText, SaysWhatAPageFaultCosts) {
  const std::string faults = "[unified_memory]\nfault = \"20 us\"\nbytes = \"64 KiB\"\n";
  const MachineDescription machine = with_devices(faults, {});
  EXPECT_EQ(machine.faults.time, Time{20'000});
  EXPECT_EQ(machine.faults.bytes, 64_KiB);
  EXPECT_EQ(with_devices("", {}).faults.bytes, Bytes{0});
  EXPECT_THAT(said_with("[unified_memory]\nfault = 1"), HasSubstr("bytes"));
  EXPECT_THAT(said_with("[unified_memory]\nfault = 1\nbytes = 0"), HasSubstr("1 byte"));
}

// kSmall, where kernels draw.
std::string drawing_text() {
  std::string text(kSmall);
  text.replace(text.find("most = 2\n[gpu]"), 8, "most = 2\ndraws_on = [\"memory\"]");
  text.replace(text.find("[segment"), 0, "draws_on = [\"hbm\", \"memory\"]\n");
  return text + R"([segment.memory]
bandwidth = "80 GB/s"
duplex = "half"
by_kernels = ["80 GB/s", "70 GB/s"]
for_copies = "5 GB/s"
[segment.hbm]
bandwidth = "900 GB/s"
duplex = "half"
part_of_gpu = [0, 1]
[[speed]]
kernel = "axpy"
kind = "cpu"
precision = "double"
rate = "1 GFlop/s"
demand = "12 GB/s"
)";
}

TEST(MachineText, KernelsDrawOnSegmentsGpusOnTheirParts) {
  const MachineModel model = parse_machine(drawing_text(), "m.toml", {});
  const MachineDescription& machine = model.description;
  ASSERT_EQ(machine.workers.size(), 4U);
  const auto names = [&](std::size_t worker) {
    std::vector<std::string> found;
    for (const std::uint32_t s : machine.workers[worker].draws_on) {
      found.push_back(machine.segments.at(s).name);
    }
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(names(0), ElementsAre("memory"));
  EXPECT_EQ(machine.workers[0].draws_on, machine.workers[1].draws_on);
  EXPECT_THAT(names(2), ElementsAre("hbm 0", "memory"));
  EXPECT_THAT(names(3), ElementsAre("hbm 1", "memory"));
  const SegmentDescription& memory = machine.segments.at(machine.workers[0].draws_on[0]);
  EXPECT_EQ(memory.bandwidth.value, 80e9);
  EXPECT_THAT(memory.by_kernels, ElementsAre(BytesPerSecond{80e9}, BytesPerSecond{70e9}));
  EXPECT_EQ(memory.for_copies, BytesPerSecond{5e9});
  EXPECT_EQ(model.demand("axpy", "double", ProcessorKind::cpu).value, 12e9);
  EXPECT_EQ(model.demand("axpy", "double", ProcessorKind::gpu).value, 0);
  EXPECT_EQ(model.demand("axpy", "float", ProcessorKind::cpu).value, 0);
}

TEST(MachineText, RefusesWhatKernelsCannotDrawOn) {
  const auto refused = [](std::string_view part, std::string_view replacement) {
    std::string text = drawing_text();
    text.replace(text.find(part), part.size(), replacement);
    try {
      parse_machine(text, "m.toml", {});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("", ""), "accepted");
  EXPECT_THAT(refused("draws_on = [\"memory\"]", "draws_on = [\"memry\"]"),
              AllOf(StartsWith("m.toml:5: "), HasSubstr("did you mean \"memory\"")));
  EXPECT_THAT(refused("draws_on = [\"memory\"]", "draws_on = [\"hbm\"]"),
              AllOf(StartsWith("m.toml:5: "), HasSubstr("a part for each GPU")));
  EXPECT_THAT(refused("draws_on = [\"memory\"]", "draws_on = [\"bridge\"]"),
              AllOf(StartsWith("m.toml:5: "), HasSubstr("duplex = \"half\"")));
  EXPECT_THAT(refused("\"hbm\", \"memory\"", "\"hbm\", \"hbm\""), HasSubstr("named twice"));
  EXPECT_THAT(refused("\"70 GB/s\"", "\"81 GB/s\""), HasSubstr("more than \"bandwidth\""));
  EXPECT_THAT(refused("\"5 GB/s\"", "\"81 GB/s\""), HasSubstr("more than \"bandwidth\""));
  EXPECT_THAT(refused("\"12 GB/s\"", "\"1001 TB/s\""), HasSubstr("1000 TB/s"));
  EXPECT_THAT(refused("\"12 GB/s\"", "0"), HasSubstr("demand"));
  EXPECT_THAT(refused("\"12 GB/s\"", "\"12 GB/s\"\nintensity = 2"), HasSubstr("intensity"));
}

TEST(MachineText, AnIntensityStandsForADemandByTheRate) {
  std::string text = drawing_text();
  const std::string demand = "demand = \"12 GB/s\"";
  text.replace(text.find(demand), demand.size(), "intensity = 0.5");
  const MachineDescription machine = parse_machine(text, "m.toml", {}).description;
  const auto draws = [](const KernelSpeed& speed) { return speed.demand.value > 0; };
  const auto speed = std::ranges::find_if(machine.speeds, draws);
  ASSERT_NE(speed, machine.speeds.end());
  EXPECT_EQ(speed->demand.value, 2 * speed->flops_per_second);
}

TEST(MachineText, RefusesAMachineThatDoesNotHoldTogether) {
  EXPECT_THAT(said("name = \"small\"", ""), AllOf(StartsWith("m.toml:1: "), HasSubstr("name")));
  EXPECT_THAT(said("between = [\"ram\", \"gpu\"]", "from = \"ram\"\nto = \"gpu\""),
              AllOf(StartsWith("m.toml:5: "), HasSubstr("missing in a direction")));
  EXPECT_THAT(said("[\"ram\", \"gpu\"]", "[\"ram\", \"ram\"]"), HasSubstr("RAM to itself"));
  EXPECT_THAT(said("[\"ram\", \"gpu\"]", "[\"ram\"]"), HasSubstr("two ends"));
  EXPECT_THAT(said_with("pairs = [[0, 1]]"), HasSubstr("between GPUs"));
  EXPECT_THAT(said_with("serialise = [\"arrivals\"]"), HasSubstr("between GPUs"));
  EXPECT_THAT(said_with("[[link]]\nbetween = [\"ram\", \"gpu\"]\nbandwidth = 1e9"),
              AllOf(StartsWith("m.toml:13: "), HasSubstr("already described in line 10")));
  const std::string peers = "[[link]]\nbetween = [\"gpu\", \"gpu\"]\nbandwidth = 1e9\npairs = ";
  EXPECT_EQ(said_with(peers + "[[0, 1]]"), "accepted");
  EXPECT_THAT(said_with(peers + "[[0, 2]]"), AllOf(StartsWith("m.toml:16: "), HasSubstr("0 to 1")));
  EXPECT_THAT(said_with(peers + "[[1, 1]]"), HasSubstr("itself"));
  EXPECT_THAT(said_with(peers + "[[0, 1], [1, 0]]"), HasSubstr("already described"));
  EXPECT_THAT(said("\"1 GB/s\"", "1e9\npart_of_gpu = [0]"), HasSubstr("each of the 2 GPUs"));
  EXPECT_THAT(said_with("[[speed]]\nkernel = \"gemm\"\nkind = \"gpu\""),
              AllOf(StartsWith("m.toml:13: "), HasSubstr("either \"rate\" or \"time\"")));
  EXPECT_THAT(said_with("[disk]\nread = 1e9\nworker_bandwidth = 0"), HasSubstr("worker_bandwidth"));
  EXPECT_THAT(said_with("[disk]\nread = 1e9\nfirst_write = 0"), HasSubstr("first_write"));
  EXPECT_THAT(said_with("[disk]\nread = 1e9\nbusy_latency = -1"), HasSubstr("busy_latency"));
  EXPECT_THAT(said_with("[disk]\nread = 1e9\nserialise = [\"arrivals\"]"), HasSubstr("arrivals"));
}

TEST(MachineText, RefusesAHeaderWithoutANameThatTheTomlLibraryWouldNotSurvive) {
  for (const std::string header : {"[[=", "[[[gpu]]]", "[", "[.a]", "[[", "  [[ ,"}) {
    EXPECT_EQ(line_of_nameless_header("a = 1\n" + header + "\n"), 2U) << header;
  }
  EXPECT_EQ(line_of_nameless_header("x = [[0]] # [\n[="), 2U);
  EXPECT_EQ(line_of_nameless_header("\xef\xbb\xbf[="), 1U);
  // A string of several lines may end with two quotes of its own.
  EXPECT_EQ(line_of_nameless_header("a = \"\"\"\n[=\n\"\"\"\"\"\nb = ['''x''''']\n[="), 5U);
  EXPECT_THAT(said_with("[[="), StartsWith("m.toml:13: "));
}

// toml++ walks along tables inside tables by recursion.
TEST(MachineText, RefusesKeysAndHeadersOfSoManyNamesThatTheTomlLibraryWouldNotSurvive) {
  const auto names = [](std::size_t count, const std::string& name = "a") {
    std::string text = name;
    for (std::size_t i = 1; i < count; ++i) text += "." + name;
    return text;
  };
  const std::string few = names(kMostDottedNames);
  for (const std::string& text :
       {"[" + few + "]", "[[" + few + "]]", few + " = 1",
        "x = { " + few + " = 1.5 } # " + names(20), "x = '" + names(20) + "'",
        "x = \"\"\"\n" + names(20) + "\"\"\"", "\"" + names(20) + "\" = 1",
        "x = [" + names(8) + ", " + names(8) + ", " + names(8) + "]"}) {
    EXPECT_EQ(line_of_too_many_names(text), std::nullopt) << text;
  }
  for (const std::string& many :
       {names(kMostDottedNames + 1), names(50'000), names(20, "'a'"), names(20, " \"a.b\"\t")}) {
    for (const std::string& text :
         {"[" + many + "]", "[[" + many + "]]", many + " = 1", "x = { b = { " + many + " = 1 } }",
          "x = [ {" + many + " = 1} ]"}) {
      EXPECT_EQ(line_of_too_many_names("y = 1\n" + text), 2U) << text.substr(0, 80);
      EXPECT_THAT(said_with(text), HasSubstr("names with dots")) << text.substr(0, 80);
    }
  }
}

TEST(MachineText, RefusesWhatIsNestedTooDeep) {
  for (const std::string& open : {std::string("["), std::string("{a="), std::string("[{a=["),
                                  "{" + std::string("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=")}) {
    std::string text = "x = ";
    for (int i = 0; i < 20'000; ++i) text += open;
    EXPECT_THAT(said_with(text), StartsWith("m.toml:13: ")) << open;
    std::string closed = "x = ";
    for (int i = 0; i < 200; ++i) closed += "[";
    for (int i = 0; i < 200; ++i) closed += "]";
    EXPECT_THAT(said_with(closed), StartsWith("m.toml:13: "));
  }
}

TEST(MachineText, LeavesListsStringsAndGoodHeadersToTheTomlLibrary) {
  for (const auto* text :
       {"[gpu]\n[ \"a b\" ]\n[[link]]\n['c']", "a = [\n[\n0, 1\n],\n[\n]\n]", "a = '''\n[='''",
        "a = \"\\\"\" # [\n", "", "[", "[]", "[ [a] ]", "a = { b = [\n[\n] ] }"}) {
    EXPECT_EQ(line_of_nameless_header(text), std::nullopt) << text;
  }
}

TEST(MachineText, OfSeveralSpeedsTheFirstThatMatchesCounts) {
  const MachineModel model = parse_machine(std::string(kSmall) + R"(
[[speed]]
kernel = "gemm"
kind = "gpu"
precision = "double"
rate = 1e9
[[speed]]
kernel = ["gemm", "syrk"]
kind = "gpu"
rate = "2 GFlop/s"
[[speed]]
kernel = "*"
kind = "gpu"
time = "5 ms"
)",
                                           "m.toml", {});
  EXPECT_EQ(model.seconds("gemm", "double", 4e9, kGpu), 4.0);
  EXPECT_EQ(model.seconds("gemm", "float", 4e9, kGpu), 2.0);
  EXPECT_EQ(model.seconds("gemm", "", 4e9, kGpu), 4.0);  // precision not said: the first
  EXPECT_DOUBLE_EQ(model.seconds("trsm", "float", 4e9, kGpu).value_or(0), 0.005);
  EXPECT_EQ(model.seconds("gemm", "float", 4e9, kCpu), std::nullopt);
}

TEST(MachineText, AKernelMayBeThatOfOneGraph) {
  const MachineModel model = parse_machine(std::string(kSmall) + R"(
[[speed]]
kernel = "lu.gemm"
kind = "gpu"
rate = "1 GFlop/s"
[[speed]]
kernel = "gemm"
kind = "gpu"
rate = "2 GFlop/s"
)",
                                           "m.toml", {});
  EXPECT_EQ(model.seconds("gemm", "float", 4e9, kGpu, "lu"), 4.0);
  EXPECT_EQ(model.seconds("gemm", "float", 4e9, kGpu, "cholesky"), 2.0);
  EXPECT_EQ(model.seconds("gemm", "float", 4e9, kGpu), 2.0);     // of a graph without a name
  EXPECT_EQ(model.seconds("lu.gemm", "float", 4e9, kGpu), 4.0);  // a kernel may be called so itself
  EXPECT_EQ(model.seconds("emm", "float", 4e9, kGpu, "lu.g"), std::nullopt);
}

TEST(MachineText, ASegmentOfTwoDirectionsIsTwoAndOfHalfDuplexOne) {
  const std::string text(kSmall);
  const std::string route = "segments = [\"bridge\"]\n";
  const auto full = parse_machine(text + route, "m.toml", {}).description;
  EXPECT_THAT(segments(full, "ram", "gpu1"), ElementsAre("bridge from RAM"));
  EXPECT_THAT(segments(full, "gpu1", "ram"), ElementsAre("bridge to RAM"));
  const auto half = parse_machine(text + "duplex = \"half\"\n", "m.toml", {}).description;
  EXPECT_THAT(segments(half, "ram", "gpu1"), ElementsAre("ram - gpu1"));
  EXPECT_THAT(segments(half, "gpu1", "ram"), ElementsAre("ram - gpu1"));
  EXPECT_EQ(half.segments.size(), 2U);  // of each GPU its own
  EXPECT_EQ(half.segments[0].bandwidth.value, 2e9);
}

TEST(Quantity, BitsPerSecondAreRefusedWithWhatToWrite) {
  for (const char* text : {"100 Gb/s", "100gb/s", "100 Gbit/s", "100 Gbps"}) {
    EXPECT_THAT(message_of<UsageError>([&] { parse_bandwidth(text); }),
                AllOf(HasSubstr(text), HasSubstr("write 12.5 GB/s")))
        << text;
  }
  EXPECT_THAT(said("\"1 GB/s\"", "\"1 Gb/s\""),
              AllOf(StartsWith("m.toml:9: "), HasSubstr("gigabits")));
  EXPECT_THAT(said("\"1 GB\"", "\"1 Gb\""), HasSubstr("gigabits"));
}

TEST(Quantity, AMemoryWhoseUnitWasForgottenIsRefused) {
  EXPECT_THAT(said("\"1 GB\"", "6"), AllOf(HasSubstr("6 bytes"), HasSubstr("\"6 GB\"")));
  EXPECT_THAT(said("\"1 GB\"", "\"64\""), HasSubstr("\"64 GB\""));
  EXPECT_THAT(said_with("[ram]\nlimit = 128"), HasSubstr("\"128 GB\""));
  EXPECT_THAT(said_with("[disk]\nread = 1e9\nlimit = 2"), HasSubstr("\"2 GB\""));
  EXPECT_NO_THROW(parse_machine(std::string(kSmall) + "[ram]\nlimit = \"6 B\"\n", "m.toml", {}));
  EXPECT_NO_THROW(parse_machine(std::string(kSmall) + "[ram]\nlimit = 1048576\n", "m.toml", {}));
}

TEST(Quantity, ReadsUnitsWithoutCaseAndWithOrWithoutASpace) {
  EXPECT_EQ(parse_bandwidth("12 GB/s").value, 12e9);
  EXPECT_EQ(parse_bandwidth(" 94mB/s ").value, 94e6);
  EXPECT_EQ(parse_bandwidth("1 KiB/s").value, 1024);
  EXPECT_EQ(parse_flop_rate("1.5 TFlop/s"), 1.5e12);
  EXPECT_DOUBLE_EQ(parse_seconds("10us"), 1e-5);
  EXPECT_THROW(parse_seconds("10"), UsageError);  // a bare number is no text
  EXPECT_THROW(parse_seconds("1e999 s"), UsageError);
}

TEST(MachineFile, WhatAPolicyCostsIsKnownByItsName) {
  const MachineModel model = parse_machine(
      "name = \"m\"\nsentence = \"s\"\n[cpu]\nmost = 1\n"
      "[[scheduling]]\npolicy = \"darts\"\ntime = \"3 us\"\n",
      "m.toml", {});
  EXPECT_DOUBLE_EQ(model.scheduling_seconds("darts").value(), 3e-6);
  EXPECT_EQ(model.scheduling_seconds("eager"), std::nullopt);
}

// --- The documentation ----------------------------------------------------------------------------

std::string file_text(const std::string& path) {
  std::ifstream stream(std::string(VICINAL_SOURCE_DIR) + path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(MachineFilePage, QuotesItsExampleWholeAndTheExampleIsAMachine) {
  const std::string example = file_text("/docs/examples/machine.toml");
  EXPECT_THAT(file_text("/docs/machine-file.md"), HasSubstr("```toml\n" + example + "```"));
  const MachineModel model =
      load_machine(std::string(VICINAL_SOURCE_DIR) + "/docs/examples/machine.toml", {});
  expect_sound(model.description);
  EXPECT_EQ(model.description.workers.size(), 6U + 2U);
}

TEST(MachineFilePage, NamesEveryShippedMachine) {
  const std::string page = file_text("/docs/machine-file.md");
  for (const auto& machine : shipped_machines()) {
    EXPECT_THAT(page, HasSubstr("`" + machine.name + "`"));
  }
}

// --- Damaged text

constexpr std::string_view kPieces[] = {"-1",
                                        "0",
                                        "1e400",
                                        "nan",
                                        "9223372036854775807",
                                        "\"\"",
                                        "[",
                                        "]",
                                        "[[",
                                        "=",
                                        "\n",
                                        "\"",
                                        "{",
                                        "'''",
                                        "\xff",
                                        "[gpu]\n",
                                        "3",
                                        "\"ram",
                                        ",",
                                        "inf",
                                        "[\"gpu\", \"gpu\"]",
                                        "gpu\"",
                                        "\\u0000",
                                        "a.b = 1",
                                        "#",
                                        "64",
                                        "2.5",
                                        "true",
                                        "1979-05-27",
                                        "[[0]]",
                                        ".",
                                        "\"half\""};

void edit(std::string& text, base::Random& random) {
  const std::string_view piece = kPieces[random.below(std::size(kPieces))];
  const std::size_t at = random.below(text.size() + 1);
  const std::size_t length = std::min<std::size_t>(random.below(12), text.size() - at);
  const std::size_t equals = text.find("= ", at);
  switch (random.below(5)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(random.below(text.size() + 1), 30));
      break;
    case 2:
      text.replace(at, length, piece);
      break;
    default:  // the value of a line
      if (equals == std::string::npos) break;
      text.replace(equals + 2, std::min(text.find('\n', equals), text.size()) - equals - 2, piece);
  }
}

TEST(MachineText, DamagedTextIsAMachineOrAnErrorThatNamesTheFile) {
  constexpr std::uint64_t kMutants = 2000;
  const auto texts = shipped_texts();
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    std::string text(texts[seed % texts.size()].text);
    for (auto edits = 1 + random.below(3); edits > 0; --edits) edit(text, random);
    try {
      expect_sound(parse_machine(text, "m.toml", {}).description);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), StartsWith("m.toml:"));
    }
    if (HasFailure()) break;
  }
  // The mutants come to both ends.
  EXPECT_GT(accepted, kMutants / 20);
  EXPECT_LT(accepted, kMutants * 19 / 20);
}

}  // namespace
}  // namespace vicinal::machine
