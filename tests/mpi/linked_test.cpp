// A program that has an MPI of its own: the library uses that one, where threads may, and leaves its end to the program.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include <mpi.h>

#include "comm/launch.hpp"

namespace {

std::string why_not(const vicinal::comm::Launch& launch) {
  try {
    vicinal::comm::make_transport(launch);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

bool expect(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what);
  return right;
}

}  // namespace

// `linked_test multiple` or `linked_test funneled`.
int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = true;
  try {
    const auto launch = vicinal::comm::find_launch("auto");
    right &= expect(launch.mpi != vicinal::comm::Mpi::none, "no launcher was found");
    std::string elsewhere;
    std::thread([&] { elsewhere = why_not(launch); }).join();
    if (multiple) {
      right &= expect(elsewhere.empty(), elsewhere.c_str());
      right &= expect(make_transport(launch)->ranks() == static_cast<std::uint32_t>(ranks),
                      "the transport has other ranks");
    } else {
      right &=
          expect(elsewhere.find("MPI_THREAD_MULTIPLE") != std::string::npos, elsewhere.c_str());
    }
  } catch (const std::exception& error) {
    right = expect(false, error.what());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return right ? 0 : 1;
}
