// SMPI as an oracle: broadcast.c, in simulated time on the network of a cluster.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "machine/network_model.hpp"
#include "simgrid/smpirun.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::testing::simgrid {

// Hosts on one switch, "h0" and so on, with a NIC each that has its bandwidth out and in. Latency is broadcast.c's.
inline std::string platform_of(const machine::NetworkModel& network) {
  if (network.tree || network.backplane || network.nics != 1)
    throw std::invalid_argument("platform_of: hosts have more between them than a NIC each");
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n"
      "<cluster id=\"cluster\" prefix=\"h\" suffix=\"\" radical=\"0-{}\" speed=\"1f\""
      " bw=\"{:.17g}Bps\" lat=\"0s\" sharing_policy=\"SPLITDUPLEX\""
      " loopback_bw=\"1e18Bps\" loopback_lat=\"0s\"/>\n"
      "</platform>\n",
      network.hosts - 1, network.nic.value);
}

// Of each rank of broadcast.c.
inline constexpr int kProcesses = 3;

// For a file of broadcast.c with this text: of each broadcast the times that it prints.
inline std::vector<std::vector<double>> broadcast_arrivals(const machine::NetworkModel& network,
                                                           const std::string& text) {
  const TemporaryFolder folder("smpi");
  std::ofstream(folder.file("platform.xml")) << platform_of(network);
  std::ofstream(folder.file("broadcasts")) << text;
  std::ofstream hosts(folder.file("hosts"));
  for (int of_rank = 0; of_rank < kProcesses; ++of_rank) {
    for (std::uint32_t host = 0; host < network.hosts; ++host) hosts << 'h' << host << '\n';
  }
  hosts.close();
  // Without the variable smpicc links SimGrid's library.
  output_of(
      fmt::format("SMPI_NO_UNDEFINED_CHECK=1 '{}' -std=c11 -D_DEFAULT_SOURCE -O1 '{}' -o '{}' 2>&1",
                  VICINAL_SMPICC, VICINAL_SMPI_BROADCAST, folder.file("broadcast")));
  std::istringstream output(output_of(fmt::format(
      "cd '{}' && '{}' -np {} -no-privatize -platform platform.xml -hostfile hosts{}"
      // What the program computes takes no time, nor do calls of MPI_Wtime, and of MPI_Testsome that find nothing.
      " --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/test:0"
      " ./broadcast broadcasts 2>&1",
      folder.path(), VICINAL_SMPIRUN, kProcesses * network.hosts, kNetworkOptions)));
  std::vector<std::vector<double>> all;
  for (std::string line; std::getline(output, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "came") continue;
    std::vector<double>& arrivals = all.emplace_back();
    for (double at = 0; words >> at;) arrivals.push_back(at);
  }
  return all;
}

}  // namespace vicinal::testing::simgrid
