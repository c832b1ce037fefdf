// What control groups of both versions, other processes and SLURM leave to the process, from files of a made system.
#include "base/process_limits.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "vicinal/options.hpp"
#include "vicinal/units.hpp"

namespace vicinal::base {
namespace {

constexpr const char* kVariables[] = {"SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE",
                                      "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"};

class Limits : public ::testing::Test {
 protected:
  Limits() {
    for (const char* name : kVariables) unsetenv(name);
    write("proc/meminfo", "MemTotal:  8388608 kB\nMemAvailable:    4194304 kB\n");
  }
  ~Limits() override {
    for (const char* name : kVariables) unsetenv(name);
  }
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void version_2(const std::string& group) {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo",
          "22 1 0:1 / /proc rw - proc proc rw\n"
          "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  // Of a container that sees the hierarchy from its own group on.
  void version_1(const std::string& group) {
    write("proc/self/cgroup",
          "5:cpuacct,cpu:" + group + "\n4:memory:" + group + "\n0::/elsewhere\n");
    write("proc/self/mountinfo",
          "30 22 0:26 " + group +
              " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + "31 22 0:27 " +
              group + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }
  ProcessLimits limits() const { return ProcessLimits(folder_.path()); }

  vicinal::testing::TemporaryFolder folder_{"limits"};
};

TEST_F(Limits, WithoutControlGroupsAreWhatIsAvailable) {
  EXPECT_EQ(limits().memory(), 4_GiB);
  EXPECT_EQ(limits().processors(), std::nullopt);
}

TEST_F(Limits, NothingIsKnownWhereNothingCanBeRead) {
  const ProcessLimits none("/there is no such folder");
  EXPECT_EQ(none.memory(), std::nullopt);
  EXPECT_EQ(none.processors(), std::nullopt);
}

TEST_F(Limits, OfVersion2AreTheLeastOfTheGroupAndThoseAroundIt) {
  version_2("/job/step");
  write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.high", "1073741824\n");
  write("sys/fs/cgroup/job/step/memory.current", "10\n");
  write("sys/fs/cgroup/job/memory.max", "1073741824\n");
  write("sys/fs/cgroup/job/memory.current", "314572800\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 104857600\nfile 209715200\nfile_mapped 0\n");
  EXPECT_EQ(limits().processors(), 2U);  // 1.5
  EXPECT_EQ(limits().memory(), Bytes{(1024 - 100) << 20});
}

TEST_F(Limits, OfVersion1AreLookedForWhereAContainerSeesThem) {
  version_1("/docker/abc");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "157286400\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "20971520\n");
  write("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_cache 10485760\n");
  EXPECT_EQ(limits().processors(), 1U);
  EXPECT_EQ(limits().memory(), 140_MiB);
}

TEST_F(Limits, AQuotaOfVersion1ThatIsNoneIsNone) {
  version_1("/docker/abc");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limits().processors(), std::nullopt);
  EXPECT_EQ(limits().memory(), 4_GiB);
}

TEST_F(Limits, OfSlurmCountToo) {
  setenv("SLURM_CPUS_PER_TASK", "3", 1);
  setenv("SLURM_MEM_PER_NODE", "2048", 1);
  EXPECT_EQ(limits().processors(), 3U);
  EXPECT_EQ(limits().memory(), 2_GiB);
  setenv("SLURM_MEM_PER_NODE", "0", 1);  // all
  EXPECT_EQ(limits().memory(), 4_GiB);
  setenv("SLURM_MEM_PER_CPU", "512", 1);
  setenv("SLURM_CPUS_ON_NODE", "4", 1);
  EXPECT_EQ(limits().memory(), 2_GiB);
}

TEST_F(Limits, WhatIsNoNumberIsNoLimit) {
  version_2("/job");
  setenv("SLURM_CPUS_PER_TASK", "many", 1);
  write("sys/fs/cgroup/job/cpu.max", "all of them");
  write("sys/fs/cgroup/job/memory.max", "123 apples\n");
  write("proc/meminfo", "MemAvailable: unknown\n");
  EXPECT_EQ(limits().processors(), std::nullopt);
  write("sys/fs/cgroup/job/memory.max", "");
  EXPECT_EQ(limits().memory(), std::nullopt);
}

TEST(Memory, AsAShareIsOfWhatCanBeAllocated) {
  const auto available = ProcessLimits().memory();
  if (!available) GTEST_SKIP() << "the system does not tell";
  Options options;
  options.set("memory", "auto");
  const Bytes automatic = *options.memory;
  EXPECT_LT(automatic.value, available->value);
  EXPECT_GT(automatic.value, available->value / 2);
  options.set("memory", "20%");
  EXPECT_LT(options.memory->value, automatic.value / 2);
  EXPECT_EQ(options.memory->value % 4096, 0U);
}

}  // namespace
}  // namespace vicinal::base
