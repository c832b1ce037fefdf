// Who has started this process, as the environment says.
#include "comm/launch.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/module_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Launch launch_with(const Variables& variables, std::string_view option = "auto",
                   Mpi linked = Mpi::none) {
  return find_launch(
      option,
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      linked);
}

std::string refusal_with(const Variables& variables, std::string_view option = "auto") {
  try {
    launch_with(variables, option);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

void expect_launch(const Launch& launch, Mpi mpi, std::uint32_t rank, std::uint32_t ranks) {
  EXPECT_EQ(launch.mpi, mpi);
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.ranks, ranks);
}

const Variables kOpenMpi{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}};
const Variables kHydra{{"PMI_SIZE", "7"}, {"PMI_RANK", "2"}};

Variables by_srun(Variables others) {
  others.insert({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}});
  return others;
}

TEST(Launch, IsNoneWithoutALauncher) {
  expect_launch(launch_with({}), Mpi::none, 0, 0);
  expect_launch(launch_with({}, "auto", Mpi::mpich), Mpi::none, 0, 0);
}

TEST(Launch, IsThatOfMpirun) {
  expect_launch(launch_with(kOpenMpi), Mpi::openmpi, 3, 4);
  expect_launch(launch_with(kHydra), Mpi::mpich, 2, 7);
}

TEST(Launch, BySrunDependsOnWhatSlurmSpeaks) {
  expect_launch(launch_with(by_srun({{"PMIX_RANK", "5"}})), Mpi::openmpi, 5, 8);
  expect_launch(launch_with(by_srun({{"PMI_RANK", "5"}})), Mpi::mpich, 5, 8);
  expect_launch(launch_with(by_srun({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}})), Mpi::mpich, 5, 8);
  EXPECT_THAT(refusal_with(by_srun({})), AllOf(HasSubstr("8 processes"), HasSubstr("--mpi=pmix"),
                                               HasSubstr("VICINAL_MPI=none")));
}

TEST(Launch, ByMpirunInAJobOfSlurmIsThatOfMpirun) {
  expect_launch(launch_with(by_srun(kOpenMpi)), Mpi::openmpi, 3, 4);
  expect_launch(launch_with(by_srun(kHydra)), Mpi::mpich, 2, 7);
}

TEST(Launch, IsNoneInABatchScript) {
  expect_launch(launch_with({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}), Mpi::none, 0, 0);
}

TEST(Launch, HeedsTheOption) {
  expect_launch(launch_with(kOpenMpi, "none"), Mpi::none, 0, 0);
  expect_launch(launch_with(by_srun({}), "none"), Mpi::none, 0, 0);
  expect_launch(launch_with(kOpenMpi, "mpich"), Mpi::mpich, 3, 4);
  expect_launch(launch_with({}, "openmpi"), Mpi::openmpi, 0, 0);
  EXPECT_TRUE(launch_with({}, "openmpi").chosen);
  EXPECT_THAT(refusal_with(kOpenMpi, "mpihc"),
              AllOf(HasSubstr("option mpi"), HasSubstr("auto, openmpi, mpich and none"),
                    HasSubstr("did you mean mpich?")));
  EXPECT_THAT(refusal_with({}, ""), HasSubstr("auto, openmpi, mpich and none"));
}

TEST(Launch, PrefersTheMpiThatTheProgramIsLinkedWith) {
  expect_launch(launch_with(kOpenMpi, "auto", Mpi::mpich), Mpi::mpich, 3, 4);
}

TEST(Launch, TakesNoNumberFromWhatIsNone) {
  for (const char* text : {"", "-1", "four", "4 ", "99999999999999999999"}) {
    expect_launch(launch_with({{"PMI_SIZE", text}, {"PMI_RANK", text}}), Mpi::none, 0, 0);
  }
}

TEST(ModuleFile, ThatIsMissingIsNamedWithTheRemedy) {
  try {
    find_in_module("libvicinal_absent.so", "any", "Absent MPI");
    FAIL() << "there is none";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("libvicinal_absent.so"), HasSubstr("Absent MPI"),
                                    HasSubstr("LD_LIBRARY_PATH"), HasSubstr("VICINAL_MPI=none")));
  }
}

}  // namespace
}  // namespace vicinal::comm
