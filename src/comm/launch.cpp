#include "comm/launch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "comm/module_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {

namespace {

constexpr std::array<std::string_view, 4> kChoices{"auto", "openmpi", "mpich", "none"};

std::string_view name_of(Mpi mpi) {
  return mpi == Mpi::openmpi ? "Open MPI" : "MPICH";
}

const char* module_of(Mpi mpi) {
  return mpi == Mpi::openmpi ? "libvicinal_openmpi.so" : "libvicinal_mpich.so";
}

std::optional<std::uint32_t> count_of(Environment variable, const char* name) {
  const char* const text = variable(name);
  if (text == nullptr) return std::nullopt;
  std::uint32_t count = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, count);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return count;
}

// What the variables of a launcher say. `mpi` none: processes that know nothing of each other.
std::optional<Launch> launched(Environment variable) {
  const auto as = [&](Mpi mpi, std::optional<std::uint32_t> rank,
                      std::optional<std::uint32_t> ranks,
                      std::string_view launcher) -> std::optional<Launch> {
    return Launch{.mpi = mpi,
                  .rank = rank.value_or(0),
                  .ranks = ranks.value_or(0),
                  .launcher = std::string(launcher)};
  };
  // mpirun under Slurm leaves Slurm's variables of its own daemons there, so that Slurm comes last.
  if (const auto ranks = count_of(variable, "OMPI_COMM_WORLD_SIZE")) {
    return as(Mpi::openmpi, count_of(variable, "OMPI_COMM_WORLD_RANK"), ranks,
              "mpirun of Open MPI");
  }
  // Only srun sets it; SLURM_NTASKS is there in a batch script, too, which runs once.
  const auto of_step = count_of(variable, "SLURM_STEP_NUM_TASKS");
  const bool by_srun = of_step && count_of(variable, "SLURM_PROCID");
  if (const auto ranks = count_of(variable, "PMI_SIZE")) {
    return as(Mpi::mpich, count_of(variable, "PMI_RANK"), ranks,
              by_srun ? "srun" : "mpirun of MPICH");
  }
  if (const auto rank = count_of(variable, "PMI_RANK"); rank && by_srun) {
    return as(Mpi::mpich, rank, of_step, "srun");
  }
  if (const auto rank = count_of(variable, "PMIX_RANK")) {
    return as(Mpi::openmpi, rank, of_step, by_srun ? "srun" : "a launcher that speaks PMIx");
  }
  if (by_srun && *of_step > 1) {
    return as(Mpi::none, count_of(variable, "SLURM_PROCID"), of_step, "srun");
  }
  return std::nullopt;
}

// The program's own MPI: a second one in the process would get its functions.
Mpi linked_mpi() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Init_thread") == nullptr) return Mpi::none;
  return ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr ? Mpi::openmpi : Mpi::mpich;
}

}  // namespace

Launch find_launch(std::string_view option, Environment variable, Mpi linked) {
  if (std::find(kChoices.begin(), kChoices.end(), option) == kChoices.end()) {
    const std::string_view meant = base::nearest(option, kChoices);
    throw UsageError(fmt::format("option mpi: \"{}\" is none of auto, openmpi, mpich and none{}",
                                 option,
                                 meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  if (option == "none") return {};
  Launch launch = launched(variable).value_or(Launch{});
  if (option != "auto") {
    launch.mpi = option == "openmpi" ? Mpi::openmpi : Mpi::mpich;
    launch.chosen = true;
    return launch;
  }
  if (launch.launcher.empty()) return launch;
  if (linked != Mpi::none) {
    launch.mpi = linked;
  } else if (launch.mpi == Mpi::none) {
    throw UsageError(fmt::format(
        "{} processes that do not know of each other: {} has started them without MPI; start them "
        "by srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH), or set VICINAL_MPI=none to let each "
        "run alone",
        launch.ranks, launch.launcher));
  }
  return launch;
}

Launch find_launch(std::string_view option) {
  return find_launch(
      option, [](const char* name) -> const char* { return std::getenv(name); }, linked_mpi());
}

// Slurm says how many tasks each node has, "4(x2),1", and which of the nodes this is: the tasks of a step are spread
// evenly, so that their mean, rounded up, will do.
std::uint32_t ranks_on_this_host(Environment variable) {
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const auto ranks = count_of(variable, name)) return std::max(1U, *ranks);
  }
  const auto tasks = count_of(variable, "SLURM_STEP_NUM_TASKS");
  const auto nodes = count_of(variable, "SLURM_STEP_NUM_NODES");
  if (!tasks || !nodes || *nodes == 0) return 1;
  return std::max(1U, (*tasks - 1) / *nodes + 1);
}

std::uint32_t ranks_on_this_host() {
  return ranks_on_this_host([](const char* name) -> const char* { return std::getenv(name); });
}

std::unique_ptr<Transport> make_transport(const Launch& launch, const MpiSettings& settings) {
  void* const function =
      find_in_module(module_of(launch.mpi), kMakeMpiTransport, name_of(launch.mpi));
  std::array<char, 2048> why{};
  std::unique_ptr<Transport> transport(
      reinterpret_cast<MakeMpiTransport*>(function)(settings, why.data(), why.size()));
  if (!transport) throw UsageError(why.data());
  if (launch.ranks > 1 && transport->ranks() == 1) {
    throw UsageError(fmt::format(
        "{} processes of size 1: the program was built for another MPI than this mpirun: it uses "
        "{}, and {} has started it; {}",
        launch.ranks, name_of(launch.mpi), launch.launcher,
        launch.chosen ? "unset VICINAL_MPI, or leave out the option mpi"
                      : fmt::format("start it by the mpirun of {}, or link it without",
                                    name_of(launch.mpi))));
  }
  return transport;
}

}  // namespace vicinal::comm
